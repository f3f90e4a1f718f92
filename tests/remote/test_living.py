# SPDX-License-Identifier: Apache-2.0
"""A run that is sent to object storage while it is recorded: kills, cuts, signals, secrets.

FOOTPLATE_ROUNDS is how often the shipper is killed and the network is cut (5). FOOTPLATE_S3_SERVER
is where the kill loop sends the run: the stub, or swift."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from s3_requests import S3
from test_s3_stub import DEST, files, objects

ROUNDS = int(os.environ.get("FOOTPLATE_ROUNDS", "5"))
SERVER = os.environ.get("FOOTPLATE_S3_SERVER", "stub")


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 30) -> object:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {timeout_s} s for {what}")


class OnStub:
    """What the stub has of a run."""

    def __init__(self, stub) -> None:
        self.stub = stub

    def names(self, run: str) -> list[str]:
        return list(self.objects(run))

    def objects(self, run: str) -> dict[str, bytes]:
        return objects(self.stub, run)


class OnSwift:
    """What Swift has of a run."""

    def __init__(self, swift) -> None:
        self.s3 = S3(swift.url, swift.KEY, swift.SECRET)

    def names(self, run: str) -> list[str]:
        start = f"team/runs/{run}/"
        return [key[len(start) :] for key in self.s3.keys("bucket", start)]

    def objects(self, run: str) -> dict[str, bytes]:
        return {x: self.s3.get("bucket", f"team/runs/{run}/{x}") for x in self.names(run)}


class Sent:
    """A recording that is sent to object storage, and what is there of it."""

    def __init__(
        self, footplate: Path, there: OnStub | OnSwift, env: dict[str, str], folder: Path
    ) -> None:
        self.footplate, self.place, self.folder = footplate, there, folder
        self.secret = env["AWS_SECRET_ACCESS_KEY"]
        self.mark = uuid.uuid4().hex
        self.env = env | {"MARK_OF_TEST": self.mark}
        self.job: subprocess.Popen[str] | None = None

    def start(
        self,
        *words: object,
        job: str = "sleep 1000",
        interval: str = "1s",
        args: tuple[str, ...] = (),
    ) -> None:
        self.job = subprocess.Popen(
            [self.footplate, "run", "--dir", self.folder, "--name", "sent", "-i", "20ms"]
            + ["--to", DEST, "--to-interval", interval, *map(str, words)]
            + ["--", "sh", "-c", job, "sh", *args],
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, number: int | None = None) -> tuple[int, str]:
        assert self.job
        if number:
            self.job.send_signal(number)
        _, err = self.job.communicate(timeout=120)
        return self.job.returncode, err

    @property
    def run(self) -> Path:
        return next(p.parent for p in self.folder.glob("*/run.json"))

    def names(self) -> list[str]:
        return self.place.names(self.run.name) if list(self.folder.glob("*/run.json")) else []

    def there(self) -> dict[str, bytes]:
        return self.place.objects(self.run.name) if list(self.folder.glob("*/run.json")) else {}

    def is_same(self) -> bool:
        return self.there() == files(self.run)

    def show(self, **env: str) -> subprocess.CompletedProcess[str]:
        words = [self.footplate, "show", f"{DEST}/{self.run.name}", "--json"]
        return subprocess.run(words, env=self.env | env, capture_output=True, text=True)

    def shippers(self) -> list[int]:
        """Not those that read the run: they have the same environment and library."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (
                    self.mark.encode() in (folder / "environ").read_bytes()
                    and b"\0run\0" in (folder / "cmdline").read_bytes()
                    and b"libcurl" in (folder / "maps").read_bytes()
                ):
                    found.append(int(folder.name))
        return found


def to_its_end(one: Sent) -> Iterator[Sent]:
    yield one
    if one.job and one.job.poll() is None:
        one.end(signal.SIGTERM)


@pytest.fixture
def sent(footplate, stub, stub_env, tmp_path) -> Iterator[Sent]:
    env = stub_env | {"AWS_SECRET_ACCESS_KEY": "secret-" + uuid.uuid4().hex}
    yield from to_its_end(Sent(footplate, OnStub(stub), env, tmp_path / "runs"))


@pytest.fixture
def sent_there(request, footplate, tmp_path) -> Iterator[Sent]:
    """To the server that FOOTPLATE_S3_SERVER names."""
    if SERVER == "swift":
        swift, env = map(request.getfixturevalue, ("swift", "swift_env"))
        yield from to_its_end(Sent(footplate, OnSwift(swift), env, tmp_path / "runs"))
    else:
        yield request.getfixturevalue("sent")


class Watcher:
    """Opens the run there all the time, without a cache: it must never be broken."""

    def __init__(self, sent: Sent, cache: Path, **env: str) -> None:
        self.sent, self.cache, self.env = sent, cache, env
        self.seen, self.broken = 0, ""
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        while not self.end.wait(0.1):
            if not any("metrics" in name for name in self.sent.names()):
                continue
            env = {"XDG_CACHE_HOME": str(self.cache / str(self.seen))} | self.env
            done = self.sent.show(**env)
            self.seen += 1
            if done.returncode or "damaged" in done.stdout or "torn" in done.stdout:
                self.broken = done.stderr + done.stdout

    def check(self) -> None:
        self.end.set()
        self.thread.join()
        assert self.seen and not self.broken, (self.seen, self.broken)


def test_a_shipper_that_is_killed_goes_on_and_no_reader_sees_a_broken_run(sent_there, tmp_path):
    sent = sent_there
    watcher = Watcher(sent, tmp_path / "watched")
    sent.start()
    for _ in range(ROUNDS):
        wait_for(sent.shippers, "the shipper")
        time.sleep(random.uniform(0, 1.5))
        for pid in sent.shippers():
            os.kill(pid, signal.SIGKILL)
    status, said = sent.end(signal.SIGTERM)
    assert status == 143 and "the run is at" in said, said
    watcher.check()
    assert sent.is_same()


def test_a_file_of_events_that_is_taken_back_while_the_run_is_opened_is_no_damage(sent, stub):
    """A recorder without events removes its file at the end. The reader listed it before that."""
    sent.start()
    wait_for(lambda: any("events.fp" in name for name in sent.there()), "the file of events")
    gone = (404, "NoSuchKey")
    stub.faults = lambda asked: gone if "events.fp" in asked.key and asked.method == "GET" else None
    losses = json.loads(sent.show().stdout)["losses"]
    assert losses and not [x for x in losses if x["what"] == "events.fp"], losses
    stub.faults = lambda asked: None
    sent.end(signal.SIGTERM)


def test_a_network_that_is_cut_costs_nothing_and_no_reader_sees_a_broken_run(sent, stub, tmp_path):
    """A request that got no answer may have been done, or not. The reader's network is whole. Cuts
    are so far apart that they hit different uploads."""
    watcher = Watcher(sent, tmp_path / "watched", AWS_ACCESS_KEY_ID="READER")
    sent.start()
    cuts, last = 0, 0.0

    def cut(asked) -> object:
        nonlocal cuts, last
        reader = "READER" in asked.headers.get("authorization", "")
        late = time.monotonic() - last > 0.5
        if late and random.random() < 0.6 and cuts < ROUNDS and not reader:
            cuts, last = cuts + 1, time.monotonic()
            return random.choice(["drop", "lost", "cut"])
        return None

    wait_for(lambda: any("metrics.tail" in x for x in sent.names()), "the tail")
    stub.faults = cut
    wait_for(lambda: cuts >= ROUNDS, "all cuts", 60 + 10 * ROUNDS)
    stub.faults = lambda asked: None
    status, said = sent.end(signal.SIGTERM)
    assert status == 143 and "the run is at" in said, said
    watcher.check()
    assert sent.is_same()
    assert sent.show().returncode == 0


@pytest.mark.parametrize(
    "fault",
    [(503, "SlowDown"), (403, "AccessDenied"), (507, "InsufficientStorage"), "slow", "dead"]
    + ["silent"],
    ids=["busy", "refusing", "full", "slow", "dead", "silent"],
)
def test_the_status_and_the_time_of_the_job_are_those_without_to(sent, stub, fault):
    """dead: nothing listens there; silent: nobody accepts the connection."""
    there = dict(sent.env)
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1] if fault == "silent" else 1
    if fault in ("dead", "silent"):
        sent.env["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{port}"
    elif fault == "slow":
        stub.delay_s = 3
    else:
        stub.faults = lambda asked: fault
    ended = sent.folder.parent / "ended"
    sent.start(job=f"sleep 1; date +%s.%N > {ended}; exit 9")
    begin = time.time()
    status, said = sent.end()
    silent.close()
    assert status == 9 and "not all of the run was sent" in said or fault == "slow", said
    assert status == 9 and float(ended.read_text()) - begin < 8, "the job did not wait"
    assert time.time() - begin < 60
    stub.delay_s, stub.faults, sent.env = 0, lambda asked: None, there
    words = [sent.footplate, "push", sent.run, DEST]
    assert subprocess.run(words, env=sent.env, stdout=subprocess.DEVNULL).returncode == 0
    assert sent.is_same()


def test_when_it_is_said_that_push_sends_the_rest_nothing_is_sent_any_more(sent, stub):
    """A request that is answered later, or tried again, would follow those of push."""
    stub.delay_s = 20
    sent.start()
    wait_for(sent.shippers, "the shipper")
    time.sleep(0.5)
    status, said = sent.end(signal.SIGTERM)
    assert status == 143 and "sends the rest" in said, said
    wait_for(lambda: not sent.shippers(), "the end of the shipper", 1)


def test_only_what_is_sealed_is_sent_with_seal_and_the_run_counts_as_running(sent, stub):
    sent.start(interval="seal")
    wait_for(lambda: any("metrics.fp.0" in x for x in sent.there()), "the first part")
    time.sleep(1.5)
    assert not any(x.endswith(".tail") for x in sent.there())
    node = next(v for k, v in sent.there().items() if k.endswith("node.json"))
    assert json.loads(node)["ship_interval_ns"] == 600 * 10**9
    for stored in stub.objects.values():
        stored.changed -= 1500
    assert json.loads(sent.show().stdout)["status"] == "running"
    for stored in stub.objects.values():
        stored.changed -= 400
    time.sleep(0.1)
    assert json.loads(sent.show().stdout)["status"] == "died"
    status, said = sent.end(signal.SIGTERM)
    assert status == 143 and "the run is at" in said, said
    assert sent.is_same()
    assert json.loads(sent.show().stdout)["status"] == "interrupted"


@pytest.mark.parametrize("way", ["attach", "environment", "footplate.yaml"])
def test_a_run_is_sent_from_whichever_way_it_was_asked_for(sent, tmp_path, way):
    env, words = dict(sent.env), ["run", "--", "sleep", "2"]
    job = None
    if way == "environment":
        env |= {"FOOTPLATE_TO": DEST, "FOOTPLATE_TO_INTERVAL": "1s"}
    elif way == "footplate.yaml":
        (tmp_path / "footplate.yaml").write_text(f"to: {DEST}\nto-interval: 1s\n")
    else:
        job = subprocess.Popen(["sleep", "2"])
        words = ["attach", "--to", DEST, "--to-interval", "1s", "--pid", str(job.pid)]
    words[1:1] = ["--dir", str(sent.folder)]
    done = subprocess.run(
        [sent.footplate, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    if job:
        job.wait()
    assert done.returncode == 0 and f"the run is at {DEST}" in done.stderr, done.stderr
    assert sent.is_same()


# ---- the machine goes away


class Metadata(BaseHTTPRequestHandler):
    """Stands in for the metadata service of EC2."""

    notice = False

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self.answer(200, b"metadata-token")

    def do_GET(self) -> None:
        spot = self.path.endswith("/spot/instance-action") and type(self).notice
        body = b'{"action": "terminate", "time": "2026-11-15T12:00:00Z"}'
        self.answer(200, body) if spot else self.answer(404, b"")

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def metadata() -> Iterator[type[Metadata]]:
    kind = type("Bound", (Metadata,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    kind.address = f"127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield kind
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("interval", ["1h", "seal"])
def test_after_a_spot_notice_everything_is_sent_at_once(sent, metadata, tmp_path, interval):
    """Within seconds, with an interval of an hour."""
    dmi = tmp_path / "sys/class/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "sys_vendor").write_text("Amazon EC2\n")
    sent.env |= {"FOOTPLATE_SYS": str(tmp_path / "sys"), "FOOTPLATE_METADATA": metadata.address}
    sent.start(interval=interval)
    wait_for(lambda: any("metrics.fp.0" in x for x in sent.there()), "the first part")

    def tail() -> bytes:
        return next((v for k, v in sent.there().items() if k.endswith("metrics.tail")), b"")

    before = tail()
    time.sleep(1.5)
    assert tail() == before
    metadata.notice = True
    wait_for(lambda: len(tail()) > len(before), "the tail")
    size = len(tail())
    wait_for(lambda: len(tail()) > size, "more of it")
    status, said = sent.end(signal.SIGTERM)
    assert status == 143 and "the run is at" in said, said
    assert sent.is_same()


# ---- several recorders


def test_two_nodes_and_a_recorder_that_starts_again_become_one_run(
    run_fp, stub, stub_env, tmp_path
):
    """Each has a folder of its own, as on machines without a shared file system."""
    env = stub_env | {"SLURM_JOB_ID": "", "FOOTPLATE_RUN": "job-1"}
    for folder, node in (("a", "n1"), ("b", "n2"), ("a", "n1")):
        done = run_fp("run", "--dir", tmp_path / folder, "--node", node, "--quiet", "--to", DEST,
                      "--", "sleep", "0.5", env=env)  # fmt: skip
        assert done.returncode == 0 and "not all" not in done.stderr, done.stderr
    a, b = (files(tmp_path / x / "job-1") for x in "ab")
    there = objects(stub, "job-1")
    assert there.keys() == a.keys() | b.keys()
    assert {"node-n1/metrics.fp", "node-n1/metrics-2.fp", "node-n2/metrics.fp"} <= there.keys()
    nodes = {k: v for k, v in (a | b).items() if k.startswith("node-")}
    assert {k: v for k, v in there.items() if k.startswith("node-")} == nodes
    (row,) = json.loads(run_fp("ls", "--dir", DEST, "--json", env=env).stdout)
    assert [(n["id"], n["sessions"]) for n in row["nodes"]] == [("n1", 2), ("n2", 1)]
    assert row["status"] == "finished"


# ---- secrets


def test_no_secret_is_in_a_log_a_run_a_process_list_the_cache_or_the_bucket(sent, stub, tmp_path):
    token = "token-" + uuid.uuid4().hex
    sent.env["AWS_SESSION_TOKEN"] = token
    sent.start(job="sleep 3")
    command_lines = set()
    answers = iter([(403, "ExpiredToken"), None, (500, "InternalError")] * 3)
    stub.faults = lambda asked: next(answers, None)
    assert sent.job
    while sent.job.poll() is None:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command_lines.add((folder / "cmdline").read_bytes())
        time.sleep(0.1)
    status, said = sent.end()
    assert status == 0 and any(token == a.headers.get("x-amz-security-token") for a in stub.log)
    shown = sent.show()
    assert shown.returncode == 0
    texts = [said.encode(), shown.stdout.encode(), shown.stderr.encode(), *command_lines]
    texts += [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    texts += [stored.body for stored in stub.objects.values()]
    texts += [a.key.encode() + json.dumps(a.query).encode() for a in stub.log]
    assert len(texts) > 20
    for text in texts:
        for word in (sent.secret, token, "X-Amz-Signature", "X-Amz-Credential"):
            assert word.encode() not in text


def test_a_secret_in_the_command_of_a_job_is_in_no_object(sent, stub):
    """Neither as it lies there while the run grows, nor in what commands read from it."""
    args = ("--api-key", "HIDDEN-ARG", "--db_password=HIDDEN-EQ", "WANDB_API_KEY=HIDDEN-ENV")
    args += ("https://me:HIDDEN-LOGIN@host/x", "Authorization: Bearer HIDDEN-HEAD")
    sent.start(job='sh -c "sleep 3; exit 5" child "$@"', args=args)
    assert sent.job
    texts = {}
    while sent.job.poll() is None:
        texts |= {(k, v.etag): v.body for k, v in list(stub.objects.items())}
        time.sleep(0.1)
    status, said = sent.end()
    assert status == 5 and "the run is at" in said, said
    texts |= {(k, v.etag): v.body for k, v in stub.objects.items()}
    there = f"{DEST}/{sent.run.name}"
    for words in (["show", "--json"], ["export", "--format", "jsonl", "-o", "-"], ["show"]):
        line = [sent.footplate, words[0], there, *words[1:]]
        done = subprocess.run(line, env=sent.env, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        texts[" ".join(words), ""] = done.stdout + done.stderr
    assert b"--api-key" in texts["show", ""] and b"***" in texts["show", ""]
    assert any(key.endswith("metrics.tail") for key, _ in texts)
    found = {where for where, text in texts.items() if b"HIDDEN" in text}
    assert not found, found
