# SPDX-License-Identifier: Apache-2.0
"""A recorder on another machine is changed through the hub that its run is sent to."""

from __future__ import annotations

import http.client
import http.server
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faultkit import wait_for
from test_ship import TOKEN, Hub, Watcher, assert_same, contents, environment, only_run, record

CONTROL, READ = "control-token-0123456789-secret", "read-token-0123456789-secret"


class Desk:
    """A user of the hub."""

    def __init__(self, hub: Hub, token: str = CONTROL) -> None:
        self.port, self.token = hub.port, token

    def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            text = None if body is None else json.dumps(body)
            connection.request("GET" if body is None else "POST", "/api/v1" + path, text, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, got = self.ask(path)
        assert status == 200, got
        return got

    def set(self, run: str, line: str) -> dict[str, Any]:
        """Leaves a request and waits for what became of it."""
        status, got = self.ask(f"/runs/{run}/control", {"set": line})
        assert status == 200, got
        (asked,) = got["requests"]
        assert asked["state"] == "waiting" and "within 1 s" in got["answer"][0]["text"]

        def done() -> dict[str, Any] | None:
            known = self.get(f"/runs/{run}/control")["requests"]
            (mine,) = [q for q in known if q["id"] == asked["id"]]
            return None if mine["state"] == "waiting" else mine

        found: dict[str, Any] = wait_for(done, f"the answer to {line}", 30)
        return found

    def marks(self, run: str, what: str) -> list[float]:
        return [m["number"] for m in self.get(f"/runs/{run}")["marks"] if m["mark"] == what]


@pytest.fixture
def hub(footplate: Path, tmp_path: Path) -> Iterator[Hub]:
    one = Hub(footplate, tmp_path)
    with one.tokens.open("a") as f:
        f.write(f"control {CONTROL} name=alice\nread {READ} name=rita\n")
    one.start()
    yield one
    one.kill()


def living(desk: Desk) -> str:
    """The name of the run, as soon as its recorder can be reached."""

    def found() -> str | None:
        for run in desk.get("/runs"):
            if run["live"] and desk.get(f"/runs/{run['run']}/control")["within_s"]:
                return str(run["run"])
        return None

    name: str = wait_for(found, "a run whose recorder takes requests", 30)
    return name


def audit(hub: Hub) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (hub.folder / "audit.jsonl").read_text().splitlines()]


def test_a_user_of_the_hub_changes_and_stops_a_job_on_another_machine(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    watcher = Watcher(footplate, hub.folder)
    job = record(footplate, tmp_path, hub.url, "sleep 300")
    desk = Desk(hub)
    run = living(desk)
    control = desk.get(f"/runs/{run}")["control"]
    assert control["allowed"] and control["within_s"] == 1
    assert desk.set(run, "interval=200ms")["state"] == "applied"
    wait_for(lambda: desk.marks(run, "interval") == [200e6], "the new interval in the run")
    refused = desk.set(run, "detail=off")
    assert refused["state"] in ("applied", "refused") and refused["text"]

    # While it pauses nothing grows; the run must not look as if its recorder had died.
    assert desk.set(run, "monitoring=off")["state"] == "applied"
    tail = next((hub.folder / run).glob("node-*/metrics.tail"))
    wait_for(lambda: desk.marks(run, "monitoring") == [0], "the pause in the run")
    time.sleep(2)
    before = tail.stat()
    wait_for(lambda: tail.stat().st_mtime_ns > before.st_mtime_ns, "a sign of life")
    assert tail.stat().st_size == before.st_size
    assert desk.set(run, "monitoring=on")["state"] == "applied"

    assert desk.set(run, "stop")["state"] == "applied"
    _, said = job.communicate(timeout=60)
    assert "the run is at" in said, said
    wait_for(lambda: desk.get(f"/runs/{run}")["status"] == "stopped", "its end on the hub")
    watcher.check()
    assert_same(tmp_path)
    lines = audit(hub)
    assert [x["detail"] for x in lines if x["action"] == "control"] == [
        "interval=200ms", "detail=off", "monitoring=off", "monitoring=on", "stop"
    ]  # fmt: skip
    assert {x["by"] for x in lines} == {"alice"} and {x["run"] for x in lines} == {run}
    assert (hub.folder / "audit.jsonl").stat().st_mode & 0o777 == 0o600
    text = (hub.folder / "audit.jsonl").read_text()
    assert CONTROL not in text and TOKEN not in text


def test_a_detail_window_is_opened_through_the_hub(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    """The steps of the job, which another machine runs, then have operators on the hub."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    enough = tmp_path / "enough"
    script = Path(__file__).parents[1] / "py/scripts/torch_phases.py"
    job = record(
        footplate, tmp_path, hub.url, f"exec {sys.executable} {script} 100000 10 0 {enough}"
    )
    desk = Desk(hub)
    run = living(desk)
    wait_for(lambda: len(desk.get(f"/runs/{run}/steps")["steps"]) > 5, "steps on the hub", 60)
    assert desk.set(run, "detail=now:3")["state"] == "applied"
    wait_for(lambda: len(desk.get(f"/runs/{run}/breakdown")["steps"]) == 3, "the window", 60)
    assert any(x["name"] == "aten::linear" for x in desk.get(f"/runs/{run}/ops"))
    assert len(desk.marks(run, "detail")) == 1
    enough.touch()
    _, said = job.communicate(timeout=90)
    assert job.returncode == 0 and "the run is at" in said, said
    assert_same(tmp_path)


def test_only_a_control_token_changes_a_run(footplate: Path, hub: Hub, tmp_path: Path) -> None:
    job = record(footplate, tmp_path, hub.url, "sleep 300")
    try:
        run = living(Desk(hub))
        for token in (READ, TOKEN):
            status, got = Desk(hub, token).ask(f"/runs/{run}/control", {"set": "stop"})
            assert status == 403, got
        why = Desk(hub, READ).get(f"/runs/{run}")["control"]
        assert not why["allowed"] and "reading only" in why["why"]
        for body in ({"set": "exec=id"}, {"set": "stop\nstop"}, {"set": "status"}, {"run": "stop"}):
            status, got = Desk(hub).ask(f"/runs/{run}/control", body)
            assert status == 400, (body, got)
        assert Desk(hub).get(f"/runs/{run}/control")["requests"] == []
    finally:
        job.terminate()
        job.communicate(timeout=60)


def test_a_recorder_that_does_not_allow_it_takes_no_request(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    job = record(footplate, tmp_path, hub.url, "sleep 300", "--to-control", "off")
    try:
        desk = Desk(hub)
        name = str(wait_for(lambda: [r["run"] for r in desk.get("/runs") if r["live"]], "it")[0])
        tail = lambda: list((hub.folder / name).glob("node-*/metrics.tail"))  # noqa: E731
        wait_for(tail, "data of the run")
        status, got = desk.ask(f"/runs/{name}/control", {"set": "stop"})
        assert status == 409 and "--to-control off" in got["error"]
        control = desk.get(f"/runs/{name}")["control"]
        assert not control["allowed"] and "--to-control off" in control["why"]
        time.sleep(2)
        assert job.poll() is None
    finally:
        job.terminate()
        job.communicate(timeout=60)


EVIL = [
    "exec=touch {victim}",
    "stop; touch {victim}",
    "interval=1ns",
    "interval=100ms\nstop",
    "detail=$(touch {victim})",
    "monitoring=off\x01stop",
    "status",
    "",
    "x" * 100_000,
]


class FalseHub(http.server.BaseHTTPRequestHandler):
    """Takes everything, and asks for what a hub must not get."""

    protocol_version = "HTTP/1.1"
    requests: list[dict[str, object]]
    answers: list[dict[str, Any]]

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self) -> None:
        self.reply(200, json.dumps({"files": {}, "requests": self.requests}).encode())

    def do_PUT(self) -> None:
        self.body()
        self.reply(201)

    def do_PATCH(self) -> None:
        size = len(self.body())
        if self.headers.get("Content-Encoding"):
            self.reply(415, b'{"error": "plain, please"}')
            return
        end = int(self.headers["Upload-Offset"]) + size
        self.reply(204, Upload_Offset=str(end), Footplate_Requests="9")

    def do_POST(self) -> None:
        self.answers.append(json.loads(self.body()))
        self.reply(204)

    def log_message(self, *_: object) -> None:
        pass


def test_a_hostile_hub_gets_nothing_but_the_four_requests(footplate: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    FalseHub.answers = []
    FalseHub.requests = [
        {"id": i + 1, "set": text.replace("{victim}", str(victim))} for i, text in enumerate(EVIL)
    ]
    FalseHub.requests += [{"id": "x", "set": 7}, {"id": 99, "set": "interval=300ms"}]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FalseHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    stamp = tmp_path / "ended"
    job = record(footplate, tmp_path, url, f"sleep 4; touch {stamp}; exit 5")
    try:
        _, said = job.communicate(timeout=60)
    finally:
        server.shutdown()
        server.server_close()
    assert job.returncode == 5 and stamp.exists() and not victim.exists(), said
    by_id = {a["id"]: a["applied"] for a in FalseHub.answers}
    assert by_id[99] and not any(by_id[i + 1] for i in range(len(EVIL)))
    run = only_run(tmp_path / "runs")
    shown = subprocess.run(
        [footplate, "show", run or "", "--json"], capture_output=True, text=True, env=environment()
    ).stdout
    marks = {m["mark"] for m in json.loads(shown)["marks"]}
    assert "interval" in marks and not marks & {"monitoring", "stop", "detail"}


def test_a_recorder_is_reached_again_after_the_hub_was_killed(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    job = record(footplate, tmp_path, hub.url, "sleep 300")
    try:
        desk = Desk(hub)
        run = living(desk)
        hub.kill()
        hub.start()
        # The next upload announces the recorder again.
        assert living(desk) == run
        assert desk.get(f"/runs/{run}/control")["requests"] == []
        assert desk.set(run, "interval=100ms")["state"] == "applied"
    finally:
        job.terminate()
        job.communicate(timeout=60)
    assert contents(hub.folder / run)
