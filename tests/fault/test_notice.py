# SPDX-License-Identifier: Apache-2.0
"""Notices that the machine will be taken away come from a stand-in of the cloud's metadata service,
and nobody is asked on a machine that is not in that cloud."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from faultkit import Lab, wait_for

TOKEN = "secret-token"


class Metadata:
    """What the service answers, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.without_token = 0
        self.broken = False
        self.address = ""


class Handler(BaseHTTPRequestHandler):
    metadata: Metadata

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self.metadata.asked.append(("PUT", self.path))
        ttl = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
        self.answer(200, TOKEN.encode()) if ttl else self.answer(400)

    def do_GET(self) -> None:
        self.metadata.asked.append(("GET", self.path))
        if self.metadata.broken:
            self.wfile.write(b"\xff\x00 what is this\r\n\r\n" + b"x" * 100_000)
            return
        aws = self.path.startswith("/latest/")
        if aws and self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            self.metadata.without_token += 1
            self.answer(401)
            return
        body = self.metadata.answers.get(self.path)
        self.answer(404) if body is None else self.answer(200, body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    state = Metadata()
    handler = type("Bound", (Handler,), {"metadata": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    state.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def on_machine(lab: Lab, metadata: Metadata, file: str, text: str) -> dict[str, str]:
    """The environment of a recorder on a machine whose DMI says this."""
    dmi = lab.folder / "sys" / "class" / "dmi" / "id"
    dmi.mkdir(parents=True)
    (dmi / file).write_text(text + "\n")
    return lab.env | {
        "FOOTPLATE_SYS": str(lab.folder / "sys"),
        "FOOTPLATE_METADATA": metadata.address,
    }


ACTION = "/latest/meta-data/spot/instance-action"
NOTICE = b'{"action": "terminate", "time": "2026-11-15T12:00:00Z"}'


def test_an_aws_notice_is_marked_and_is_why_the_run_was_interrupted(lab: Lab, metadata: Metadata):
    env = on_machine(lab, metadata, "sys_vendor", "Amazon EC2")
    recording = lab.start("--interval", "100ms", "--", "sleep", "60", env=env)
    wait_for(lambda: ("GET", ACTION) in metadata.asked, "the first question")
    assert not lab.marks("interruption")
    metadata.answers[ACTION] = NOTICE
    wait_for(lambda: lab.marks("interruption"), "the mark, in the living run", 30)
    recording.signal(15)  # what the cloud does next
    assert recording.end() == 143
    (mark,) = lab.marks("interruption")
    assert mark["text"] == "AWS spot: terminate at 2026-11-15T12:00:00Z"
    (node,) = lab.show()["nodes"]
    assert (node["status"], node["why"]) == ("interrupted", mark["text"])
    assert mark["text"] in recording.stderr, "the user is told at once"
    notices = [line for line in recording.stderr.splitlines() if "AWS spot" in line]
    assert len(notices) == 2 and "The job was interrupted" in notices[1], notices
    assert metadata.asked[0] == ("PUT", "/latest/api/token")
    assert metadata.without_token == 0
    assert "AWS spot: terminate" in lab.fp("show", "last").stdout


def test_a_job_that_ends_well_in_spite_of_a_notice_is_finished(lab: Lab, metadata: Metadata):
    env = on_machine(lab, metadata, "sys_vendor", "Amazon EC2")
    metadata.answers[ACTION] = NOTICE
    recording = lab.start("--", "sleep", "2", env=env)
    assert recording.end() == 0
    assert lab.show()["status"] == "finished"
    assert len(lab.marks("interruption")) == 1


def test_gcp_preemption_is_asked_with_its_header(lab: Lab, metadata: Metadata):
    env = on_machine(lab, metadata, "product_name", "Google Compute Engine")
    metadata.answers["/computeMetadata/v1/instance/preempted"] = b"TRUE"
    recording = lab.start("--", "sh", "-c", "sleep 2; exit 1", env=env)
    assert recording.end() == 1
    (node,) = lab.show()["nodes"]
    assert (node["status"], node["why"]) == ("interrupted", "GCP spot: preempted")


@pytest.mark.parametrize("vendor", ["QEMU", "Dell Inc.", "Microsoft Corporation", "Not Amazon EC2"])
def test_nobody_is_asked_on_a_machine_that_is_not_in_a_cloud(
    lab: Lab, metadata: Metadata, vendor: str
):
    env = on_machine(lab, metadata, "sys_vendor", vendor)
    metadata.answers[ACTION] = NOTICE
    assert lab.record("--", "sleep", "1", env=env).returncode == 0
    assert metadata.asked == []
    assert lab.marks("interruption") == []


def test_a_service_that_answers_nonsense_does_no_harm(lab: Lab, metadata: Metadata):
    env = on_machine(lab, metadata, "sys_vendor", "Amazon EC2")
    metadata.broken = True
    began = time.monotonic()
    done = lab.record("--", "sh", "-c", "sleep 2; exit 4", env=env)
    assert done.returncode == 4
    assert time.monotonic() - began < 4
    assert metadata.asked and lab.marks("interruption") == []


def test_a_service_that_never_answers_does_not_hold_the_end_of_the_run(lab: Lab):
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        quiet = Metadata()
        quiet.address = f"127.0.0.1:{silent.getsockname()[1]}"
        env = on_machine(lab, quiet, "sys_vendor", "Amazon EC2")
        began = time.monotonic()
        assert lab.record("--", "sh", "-c", "sleep 0.3; exit 4", env=env).returncode == 4
        assert time.monotonic() - began < 2.3, "the recorder waited for the service"
