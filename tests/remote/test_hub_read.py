# SPDX-License-Identifier: Apache-2.0
"""Commands read runs from a hub: what they ask for, what they say when it fails, and runs that are
being recorded."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import Hub, running, token_of
from servekit import serving, wait_for
from test_s3_stub import files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def env(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return hub.env(tmp_path / "cache")


@pytest.fixture
def fp(run_fp, env):
    """Runs a command that must succeed; its stdout."""

    def call(*words, **more: str) -> str:
        done = run_fp(*words, env=env | more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture
def sent(footplate: Path, hub: Hub, recorded: Path) -> str:
    """The address of a run that has ended."""
    return hub.push(footplate, recorded)


def test_pull_gives_the_folder_back_byte_for_byte(fp, sent, recorded, tmp_path):
    made = Path(fp("pull", sent, "--dir", tmp_path / "pulled").strip())
    assert made.name == recorded.name and files(made) == files(recorded)
    assert files(made)["run.json"] == (recorded / "run.json").read_bytes()


def test_pull_takes_token_and_key_as_push_does(run_fp, hub, sent, recorded, tmp_path):
    key = subprocess.run(
        ["openssl", "x509", "-in", hub.folder / "cert.pem", "-pubkey", "-noout"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    der = base64.b64decode("".join(key.strip().splitlines()[1:-1]))
    pin = "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode()
    env = {k: v for k, v in hub.env(tmp_path).items() if not k.startswith("FOOTPLATE_")}
    words = ["pull", sent, "--dir", tmp_path / "pulled", "--token-file", hub.folder / "read"]
    done = run_fp(*words, "--pinned-key", pin, env=env)
    assert done.returncode == 0, done.stderr
    done = run_fp(*words, "--pinned-key", pin[:-5] + "AAAA=", env=env)
    assert done.returncode == 1 and "is not trusted" in done.stderr


def test_ls_show_and_python_take_the_address_of_a_hub(fp, hub, env, sent, recorded):
    def paths() -> list[str]:
        return [row["path"] for row in json.loads(fp("ls", "--dir", hub.url, "--json"))]

    wait_for(lambda: f"{hub.url}/{recorded.name}" in paths(), "the run in the list", 30)
    assert "demo" in fp("show", recorded.name, "--dir", hub.url)
    code = (
        "import sys, footplate\n"
        "found = footplate.runs(sys.argv[1], frames='table')\n"
        "print(sorted(found['path']))\n"
        "print(footplate.open(sys.argv[2]).info['id'])\n"
    )
    python = {"PYTHONPATH": os.environ.get("FOOTPLATE_PYTHON", str(ROOT / "build/release/python"))}
    done = subprocess.run(
        [sys.executable, "-c", code, hub.url, sent],
        env=env | python, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"'{sent}'" in done.stdout and recorded.name in done.stdout


def test_a_dashboard_shows_the_runs_of_a_hub(footplate, hub, env, sent, recorded):
    with serving(footplate, hub.url, "--api-only", env=env) as server:
        assert recorded.name in [run["run"] for run in server.api("/runs")]
        assert server.api(f"/runs/{recorded.name}/stats")


# ---- requests


class Counting(http.server.BaseHTTPRequestHandler):
    """Hands requests on to a server and remembers them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.log.append(self.path)  # type: ignore[attr-defined]
        headers = {k.replace("-", "_"): v for k, v in self.headers.items() if k != "Host"}
        answer = self.server.there.ask(self.path, **headers)  # type: ignore[attr-defined]
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            if key.lower() not in ("connection", "date", "content-length"):
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def listening(handler: type) -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def test_opening_a_run_costs_one_list_and_one_get_a_data_file_and_later_no_get(
    fp, hub, sent, recorded
):
    with listening(Counting) as proxy:
        proxy.log, proxy.there = [], hub.server
        there = f"http://127.0.0.1:{proxy.server_address[1]}"
        first = fp("stats", f"{there}/{recorded.name}")
        base = f"/api/v1/files/{recorded.name}"
        assert proxy.log[0] == base
        assert all(re.fullmatch(base + r"/node-[^/]+/\w+\.fp", x) for x in proxy.log[1:])
        assert len(proxy.log) <= 3 and len(set(proxy.log)) == len(proxy.log)
        proxy.log.clear()
        assert fp("stats", f"{there}/{recorded.name}") == first
        assert proxy.log == [base]


class Conditional(Counting):
    """Refuses each data file once, as if it had changed since the list was made."""

    def do_GET(self) -> None:
        refused = self.server.refused  # type: ignore[attr-defined]
        if not self.path.endswith(".fp"):
            return super().do_GET()
        self.server.tags.append((self.path, self.headers["If-Match"]))  # type: ignore[attr-defined]
        if self.path in refused:
            return super().do_GET()
        refused.add(self.path)
        body = b'{"error": "the file is another one by now"}'
        self.send_response(412)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_file_is_read_only_as_it_was_listed_and_listed_again_when_it_changed(
    fp, hub, sent, recorded
):
    with listening(Conditional) as proxy:
        proxy.log, proxy.there, proxy.refused, proxy.tags = [], hub.server, set(), []
        there = f"http://127.0.0.1:{proxy.server_address[1]}/{recorded.name}"
        said = fp("stats", there)
    assert said == fp("stats", sent)
    read = {"Authorization": f"Bearer {token_of('read')}"}
    base = f"/api/v1/files/{recorded.name}"
    listed = hub.server.ask(base, **read).json["nodes"][0]
    tags = {f"{base}/node-{listed['node']}/{f['name']}": f["etag"] for f in listed["files"]}
    assert proxy.tags and all(tags[path] == tag for path, tag in proxy.tags)
    assert proxy.log.count(base) == 1 + len(proxy.refused), "it was listed again after each"


def test_a_list_of_many_runs_takes_a_page_for_each_500(fp, footplate, recorded, tmp_path):
    many = tmp_path / "many"
    for i in range(501):
        run = many / f"run-{i:03}"
        shutil.copytree(recorded, run, ignore=lambda *_: {"metrics.fp", "events.fp", "report.html"})
    with serving(footplate, many, "--api-only") as server, listening(Counting) as proxy:
        proxy.log, proxy.there = [], server
        there = f"http://127.0.0.1:{proxy.server_address[1]}"
        rows = json.loads(fp("ls", "--dir", there, "--json", FOOTPLATE_TOKEN_FILE=""))
    assert len(rows) == 501 and len({row["path"] for row in rows}) == 501
    assert proxy.log == ["/api/v1/files?after=", "/api/v1/files?after=run-499"]


# ---- failures: one sentence each


def failure(run_fp, env: dict[str, str], *words) -> str:
    done = run_fp(*words, env=env)
    assert done.returncode in (1, 2) and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("footplate: ")
    assert not any(token_of(r) in line for r in ("read", "write", "control"))
    return line


def test_a_token_that_is_missing_wrong_or_for_sending_is_one_sentence(run_fp, hub, env, sent):
    none = env | {"FOOTPLATE_TOKEN_FILE": ""}
    assert "needs a read token: set FOOTPLATE_TOKEN" in failure(run_fp, none, "show", sent)
    wrong = none | {"FOOTPLATE_TOKEN": "wrong-token-0123456789"}
    said = failure(run_fp, wrong, "stats", sent)
    assert said.endswith("does not know the token of FOOTPLATE_TOKEN") and "wrong-" not in said
    write = env | {"FOOTPLATE_TOKEN_FILE": str(hub.folder / "write")}
    for words in (["show", sent], ["ls", "--dir", hub.url], ["pull", sent]):
        assert "this token only sends runs" in failure(run_fp, write, *words)


def test_what_is_not_there_is_one_sentence(run_fp, hub, env):
    for words in (["show", "{}/nope"], ["pull", "{}/nope"], ["compare", "{}/nope", "{}/nope"]):
        said = failure(run_fp, env, *[w.format(hub.url) for w in words])
        assert said == f"footplate: {hub.url} has no run called 'nope'"
    said = failure(run_fp, env, "show", hub.url)
    assert said == f"footplate: '{hub.url}' is not a run: it has no run.json"


def test_a_hub_that_cannot_be_reached_or_trusted_is_one_sentence(run_fp, hub, env, sent):
    assert "cannot reach https://127.0.0.1:1: " in failure(
        run_fp, env, "show", "https://127.0.0.1:1/x"
    )
    said = failure(run_fp, env | {"FOOTPLATE_CA": ""}, "show", sent)
    assert "the certificate of" in said and "is not trusted" in said and "FOOTPLATE_CA" in said
    said = failure(run_fp, env | {"FOOTPLATE_CURL": "/nonexistent"}, "show", sent)
    assert "requires libcurl, which is not installed" in said
    said = failure(run_fp, env, "show", "http://192.0.2.1/x")
    assert "a token is sent to other machines over https:// only" in said


class Redirecting(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.log.append(self.path)  # type: ignore[attr-defined]
        self.send_response(302)
        self.send_header("Location", self.server.to + self.path)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def test_a_redirect_is_not_followed(run_fp, env):
    with listening(Redirecting) as target, listening(Redirecting) as server:
        target.log, target.to = [], ""
        server.log, server.to = [], f"http://127.0.0.1:{target.server_address[1]}"
        said = failure(run_fp, env, "show", f"http://127.0.0.1:{server.server_address[1]}/x")
        assert "redirects to another address" in said
        assert server.log and not target.log


def test_what_is_no_server_of_ours_is_one_sentence(run_fp, env):
    class Other(Redirecting):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

    with listening(Other) as server:
        said = failure(run_fp, env, "show", f"http://127.0.0.1:{server.server_address[1]}/x")
        assert "is not a server of Footplate" in said


def test_a_list_of_a_stranger_names_nothing_outside_of_the_run(run_fp, env, recorded, tmp_path):
    """Names of a hostile server are compared, never made into paths."""
    about = (recorded / "run.json").read_text()

    class Hostile(Redirecting):
        def do_GET(self) -> None:
            names = ["../escape", "a/b", "", "..", "metrics.fp"]
            files = [{"name": n, "bytes": 4, "etag": '"1"', "text": "evil"} for n in names]
            files.append({"name": "run.json", "bytes": len(about), "etag": '"2"', "text": about})
            nodes = [{"node": n, "files": files} for n in ("../x", "a/b", "", "n")]
            body = json.dumps({"run": "x", "now_ns": 1, "files": files, "nodes": nodes}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with listening(Hostile) as server:
        base = f"http://127.0.0.1:{server.server_address[1]}"
        run_fp("show", f"{base}/x", env=env)
        done = run_fp("pull", f"{base}/x", "--dir", tmp_path / "pulled", env=env)
    assert done.returncode == 0, done.stderr
    made = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    wanted = ["pulled/x/node-n/metrics.fp", "pulled/x/run.json"]
    assert [p for p in made if not p.startswith("cache/")] == wanted


# ---- changes


def test_notes_and_removal_need_a_token_for_control(
    run_fp, footplate, hub, env, recorded, tmp_path
):
    run = tmp_path / "mine"
    shutil.copytree(recorded, run)
    there = hub.push(footplate, run)
    assert "does not allow controlling" in failure(run_fp, env, "note", there, "--name", "new")
    assert "Permission denied" in failure(run_fp, env, "rm", there, "--yes")
    control = hub.env(tmp_path / "cache", "control")
    assert run_fp("note", there, "--name", "new", env=control).returncode == 0
    assert "new" in run_fp("show", there, env=env).stdout
    assert run_fp("rm", there, "--yes", env=control).returncode == 0
    assert not (hub.runs / "mine").exists()
    assert "has no run called" in failure(run_fp, env, "show", there)


def test_nothing_is_recorded_or_made_there(run_fp, hub, env, sent):
    trace = ROOT / "tests/data/traces/h200_window.json.gz"
    done = run_fp("import", trace, "--dir", hub.url, env=env)
    assert done.returncode == 2 and "a run cannot be made at" in done.stderr


# ---- a run that is being recorded


@pytest.fixture
def living(footplate, hub, tmp_path) -> Iterator[tuple[str, Path, subprocess.Popen[bytes]]]:
    """A run that is recorded and sent every second; its address, folder and process."""
    runs = tmp_path / "living"
    env = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE_T")}
    words = ["--to", hub.url, "--to-token-file", hub.folder / "write"]
    words += ["--to-ca", hub.folder / "cert.pem", "--to-interval", "1s"]
    job = subprocess.Popen(
        [footplate, "run", "--dir", runs, "--name", "live", "--interval", "20ms", "--quiet"]
        + [*words, "--", "sleep", "120"],
        env=env | {"FOOTPLATE_NVML": "/nonexistent.so"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        run = wait_for(lambda: next(iter(runs.glob("live*")), None), "the run", 30)
        tails = f"{run.name}/node-*/metrics.tail"
        wait_for(lambda: list(hub.runs.glob(tails)), "its tail on the hub", 30)
        yield f"{hub.url}/{run.name}", run, job
    finally:
        if job.poll() is None:
            job.send_signal(signal.SIGINT)
            job.wait(60)


@pytest.fixture
def readings(run_fp, env, living):
    """The times of the readings that are on the hub by now; empty: none."""

    def ask() -> list[int]:
        done = run_fp("query", living[0], "--metric", "cpu.util", "--json", env=env)
        assert done.returncode == 0 or "no readings were recorded" in done.stderr, done.stderr
        return json.loads(done.stdout)[0]["t_ns"] if done.returncode == 0 else []

    return ask


def test_a_run_that_is_recorded_is_followed_and_then_is_the_same(fp, living, readings):
    there, run, job = living
    assert json.loads(fp("show", there, "--json"))["status"] == "running"
    first = wait_for(readings, "readings")
    wait_for(lambda: readings()[-1] > first[-1] + 2 * 10**9, "newer readings", 60)
    lag_s = time.time() - readings()[-1] / 1e9  # an upload each second, on a busy machine
    assert lag_s < 15, f"the newest reading is {lag_s:.1f} s old"
    job.send_signal(signal.SIGINT)
    job.wait(60)
    wait_for(lambda: json.loads(fp("show", there, "--json"))["status"] != "running", "the end", 30)
    assert fp("stats", there).replace(there, str(run)) == fp("stats", run)


def test_a_follower_sees_no_gap_while_the_files_grow(readings):
    """Sealed blocks move from the tail to the file at any moment: readings stay, in order."""
    before = wait_for(readings, "readings")
    until = time.monotonic() + 6
    while time.monotonic() < until:
        now = readings()
        assert now[: len(before)] == before, "readings that were there are gone"
        before = now


def test_set_reaches_the_recorder_of_a_run_on_a_hub_and_prints_its_answer(
    run_fp, hub, env, living, tmp_path
):
    there, run, job = living
    node = next(run.glob("node-*")).name.removeprefix("node-")
    control = hub.env(tmp_path / "cache", "control")
    assert "does not allow controlling" in failure(run_fp, env, "set", there, "interval=50ms")
    assert "is not seen" in failure(run_fp, control, "set", there, "stop", "--node", "other")
    done = run_fp("set", there, "interval=50ms", "monitoring=off", "--node", node, env=control)
    assert done.returncode == 0, done.stderr
    answers = ["taking readings every 50 ms", "monitoring is off"]
    assert done.stdout.splitlines() == [f"{node}: {x}" for x in answers]
    here = run_fp("set", run, "status").stdout
    assert "50 ms" in here and "off" in here, here
    last = run_fp("set", "last", "stop", "--dir", hub.url, env=control)
    assert last.returncode == 0, last.stderr
    job.wait(60)
    wait_for(lambda: "not being recorded" in failure(run_fp, control, "set", there, "stop"), "end")


def test_a_request_that_the_recorder_refuses_is_a_failure_of_set(run_fp, env, recorded):
    """The hub lists it as waiting first."""
    about = (recorded / "run.json").read_text()
    node = json.dumps({"id": "n", "status": "running"})
    states = iter(["waiting", "waiting", "refused"])
    asked: list[str] = []

    class Refusing(Redirecting):
        def answer(self, body: dict[str, object]) -> None:
            text = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            nodes = [{"id": 7, "node": "n"}, {"id": 8, "node": "m"}]
            self.answer({"answer": [], "requests": nodes})

        def do_GET(self) -> None:
            if self.path.endswith("/control"):
                state, text = next(states), "the disk is full"
                ours = {"id": 7, "state": state, "text": text}
                other = {"id": 8, "state": "applied", "text": "done"}
                return self.answer({"requests": [ours, other]})
            described = [("run.json", about)], [("node.json", node)]
            files = [
                [{"name": n, "bytes": len(t), "etag": '"1"', "text": t} for n, t in one]
                for one in described
            ]
            nodes = [{"node": "n", "recorder": "alive", "files": files[1]}]
            self.answer({"run": "x", "now_ns": 1, "files": files[0], "nodes": nodes})

    with listening(Refusing) as server:
        base = f"http://127.0.0.1:{server.server_address[1]}"
        done = run_fp("set", f"{base}/x", "monitoring=off", env=env)
    assert done.returncode == 2 and done.stdout == "m: done\n", done
    assert "n: the disk is full" in done.stderr and done.stderr.count("\n") == 1
    assert asked == ['{"set":"monitoring=off"}'] and not list(states)


def test_a_hub_that_is_started_again_is_read_on(run_fp, footplate, recorded, tmp_path):
    folder = tmp_path / "again"
    folder.mkdir()
    with running(footplate, folder) as first:
        there = first.push(footplate, recorded)
        env = first.env(tmp_path / "cache")
        said = run_fp("stats", there, env=env).stdout
        port = str(first.server.port)
    done = run_fp("stats", there, env=env)
    assert done.returncode == 1 and "cannot reach" in done.stderr
    words = ["--token-file", folder / "tokens", "--tls-cert", folder / "cert.pem"]
    words += ["--tls-key", folder / "key.pem", "--api-only"]
    with serving(footplate, folder / "runs", *words, port=port):
        assert run_fp("stats", there, env=env).stdout == said
