# SPDX-License-Identifier: Apache-2.0
"""A run is sent to a hub while it is recorded, whatever is killed, cut, dead, slow or full."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from faultkit import wait_for

TOKEN = "write-token-0123456789-secret"
READ_TOKEN = "read-token-0123456789"
STAY = {"lock", "shipping.json", "received.json"}
ROUNDS = int(os.environ.get("FOOTPLATE_SHIP_ROUNDS", "5"))  # kills and cuts; more in `make trial`


class Hub:
    """A `footplate serve --receive` that can be killed and started again at its port."""

    def __init__(
        self, footplate: Path, folder: Path, *words: str, tls: tuple[str, ...] = ()
    ) -> None:
        self.footplate, self.folder, self.tls = footplate, folder / "hub", tls
        self.tokens = folder / "tokens"
        self.tokens.write_text(
            f"write {TOKEN} name=team{' '.join(('', *words))}\nread {READ_TOKEN}\n"
        )
        self.tokens.chmod(0o600)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.log = folder / "hub.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Hub:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.footplate, "serve", self.folder, "--receive", "--token-file", self.tokens]
                + ["--port", str(self.port), *self.tls],
                stdout=log,
                stderr=log,
            )
        wait_for(self.answers, "the hub")
        return self

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Proxy:
    """Relays connections to a port, until they are cut."""

    def __init__(self, port: int, bytes_per_s: float = 0) -> None:
        self.target, self.rate = port, bytes_per_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open: list[socket.socket] = []
        self.refuse = False
        self.wrong_offsets = 0  # answers that correct the sender
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def accept(self) -> None:
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            if self.refuse:
                here.close()
                continue
            try:
                there = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                here.close()
                continue
            self.open += [here, there]
            for a, b in ((here, there), (there, here)):
                threading.Thread(target=self.relay, args=(a, b), daemon=True).start()

    def relay(self, a: socket.socket, b: socket.socket) -> None:
        with suppress(OSError):
            while data := a.recv(4096):
                self.wrong_offsets += data.startswith(b"HTTP/1.1 409")
                b.sendall(data)
                if self.rate:
                    time.sleep(len(data) / self.rate)
        for s in (a, b):
            with suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for s in self.open:
            with suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()
        self.open = []

    def close(self) -> None:
        self.listener.close()
        self.cut()


@pytest.fixture
def hub(footplate: Path, tmp_path: Path) -> Iterator[Hub]:
    one = Hub(footplate, tmp_path).start()
    yield one
    one.kill()


def contents(run: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(run)): p.read_bytes()
        for p in sorted(run.rglob("*"))
        if p.is_file() and p.name not in STAY
    }


def only_run(folder: Path) -> Path | None:
    found = [p.parent for p in folder.glob("*/run.json")]
    return found[0] if found else None


def environment(**more: str) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE_")}
    return clean | {"FOOTPLATE_TOKEN": TOKEN} | more


def record(
    footplate: Path, tmp_path: Path, url: str, job: str, *words: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [footplate, "run", "--dir", tmp_path / "runs", "-i", "10ms", "--to", url, *words, "--"]
        + ["sh", "-c", job],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(FOOTPLATE_TO_INTERVAL="1s"),
    )


class Lasting:
    """A job that ends when it is told to, so that a busy machine does not end it too early."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "goes-on"
        self.file.touch()
        self.job = f"while [ -e {self.file} ]; do sleep 0.1; done"

    def end(self, job: subprocess.Popen[str]) -> None:
        self.file.unlink()
        _, said = job.communicate(timeout=90)
        assert job.returncode == 0 and "the run is at" in said, said


class Watcher:
    """Opens the run on the hub all the time: it must never be broken. With the address of the hub
    it does so as another machine."""

    def __init__(self, footplate: Path, folder: Path, url: str = "") -> None:
        self.footplate, self.folder, self.url = footplate, folder, url
        self.seen, self.broken = 0, ""
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        while not self.end.wait(0.05):
            run = only_run(self.folder)
            if not run or not list(run.glob("node-*/metrics.fp")):
                continue
            env = environment(
                FOOTPLATE_TOKEN=READ_TOKEN, XDG_CACHE_HOME=str(self.folder.parent / "cache")
            )
            done = subprocess.run(
                [self.footplate, "show", f"{self.url}/{run.name}" if self.url else run, "--json"],
                capture_output=True,
                text=True,
                env=env,
            )
            if self.url and "has no run called" in done.stderr:  # not in its list yet
                continue
            self.seen += 1
            if done.returncode or "damaged" in done.stdout or "torn" in done.stdout:
                self.broken = done.stderr + done.stdout

    def check(self) -> None:
        self.end.set()
        self.thread.join()
        assert self.seen and not self.broken, (self.seen, self.broken)


def assert_same(tmp_path: Path) -> None:
    here, there = only_run(tmp_path / "runs"), only_run(tmp_path / "hub")
    assert here and there and here.name == there.name
    a, b = contents(here), contents(there)
    assert sorted(a) == sorted(b)
    assert [name for name in a if a[name] != b[name]] == []


def shippers() -> list[int]:
    """Processes that have libcurl mapped and our token: the shipper of a test here."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                TOKEN.encode() in (folder / "environ").read_bytes()
                and b"libcurl" in (folder / "maps").read_bytes()
            ):
                found.append(int(folder.name))
    return found


def test_a_run_is_on_the_hub_while_it_is_recorded(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    watcher = Watcher(footplate, hub.folder)
    job = record(footplate, tmp_path, hub.url, "sleep 6; exit 3")

    def readings() -> bool:
        run = only_run(hub.folder)
        return bool(run) and any(p.stat().st_size > 5000 for p in run.glob("node-*/metrics.tail"))

    wait_for(readings, "readings on the hub", 10)
    assert job.poll() is None
    shown = subprocess.run(
        [footplate, "show", only_run(tmp_path / "runs") or "", "--json"],
        capture_output=True,
        text=True,
    ).stdout
    assert f'"to": "{hub.url}"' in shown and '"state": "ok"' in shown
    _, said = job.communicate(timeout=60)
    assert job.returncode == 3 and f"the run is at {hub.url}" in said
    watcher.check()
    assert_same(tmp_path)


def test_a_killed_shipper_goes_on(footplate: Path, hub: Hub, tmp_path: Path) -> None:
    watchers = [Watcher(footplate, hub.folder), Watcher(footplate, hub.folder, hub.url)]
    lasting = Lasting(tmp_path)
    job = record(footplate, tmp_path, hub.url, lasting.job)
    here = wait_for(lambda: list((tmp_path / "runs").glob("*/node-*/shipping.json")), "its state")
    here[0].with_name("shipping.json.tmp-0badcafe").write_text("{")  # killed while it wrote it
    for _ in range(ROUNDS):
        wait_for(shippers, "the shipper")
        time.sleep(random.uniform(0, 1.5))
        for pid in shippers():
            os.kill(pid, 9)
    lasting.end(job)
    for watcher in watchers:
        watcher.check()
    assert_same(tmp_path)


def test_a_killed_hub_is_found_again(footplate: Path, hub: Hub, tmp_path: Path) -> None:
    watcher = Watcher(footplate, hub.folder)
    lasting = Lasting(tmp_path)
    job = record(footplate, tmp_path, hub.url, lasting.job)
    for _ in range(ROUNDS):
        time.sleep(random.uniform(0.5, 2))
        hub.kill()
        time.sleep(random.uniform(0, 0.5))
        hub.start()
    lasting.end(job)
    watcher.check()
    assert_same(tmp_path)


def test_a_cut_network_costs_nothing(footplate: Path, hub: Hub, tmp_path: Path) -> None:
    proxy = Proxy(hub.port)
    watcher = Watcher(footplate, hub.folder)
    lasting = Lasting(tmp_path)
    job = record(footplate, tmp_path, proxy.url, lasting.job)
    for _ in range(ROUNDS):
        time.sleep(random.uniform(0.3, 1.5))
        proxy.refuse = True
        proxy.cut()
        time.sleep(random.uniform(0, 0.5))
        proxy.refuse = False
    lasting.end(job)
    proxy.close()
    watcher.check()
    assert_same(tmp_path)


@pytest.fixture
def large_run(footplate: Path, tmp_path: Path) -> Path:
    """A run whose recorder died and left files of many parts."""
    done = subprocess.run(
        [footplate, "run", "--dir", tmp_path / "runs", "-i", "10ms", "--", "sleep", "1"],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path / "runs")
    assert run
    file = next(run.glob("node-*/metrics.fp"))
    file.write_bytes(file.read_bytes()[:-16] + os.urandom(20_000_000))
    return run


def test_a_push_that_is_killed_goes_on_where_it_was(
    footplate: Path, hub: Hub, tmp_path: Path, large_run: Path
) -> None:
    proxy = Proxy(hub.port, bytes_per_s=40e6)
    command = [footplate, "push", large_run, proxy.url]
    size = 0
    for _ in range(ROUNDS):
        push = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0.1, 0.5))
        push.kill()
        push.wait()
        for file in hub.folder.glob("*/node-*/metrics.fp"):
            assert file.stat().st_size >= size
            size = file.stat().st_size
            assert (
                next(large_run.glob("node-*/metrics.fp")).read_bytes().startswith(file.read_bytes())
            )
    for _ in range(2):  # the second time there is nothing to do
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    proxy.close()
    assert size and "0 B" not in done.stdout
    assert_same(tmp_path)


def pushed(footplate: Path, run: Path, hub: Hub | Proxy) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [footplate, "push", run, hub.url], env=environment(), capture_output=True, text=True
    )


def test_what_is_missing_is_sent_to_the_last_byte(
    footplate: Path, hub: Hub, tmp_path: Path, large_run: Path
) -> None:
    """As after a loss of power: the hub has less than it had."""
    proxy = Proxy(hub.port)
    assert pushed(footplate, large_run, proxy).returncode == 0
    file = next(hub.folder.glob("*/node-*/metrics.fp"))
    size = file.stat().st_size
    for left in (size - 1, size - 2, size // 2, 65, 64, 63, 1, 0):
        os.truncate(file, left)
        done = pushed(footplate, large_run, proxy)
        assert done.returncode == 0, done.stderr
        assert_same(tmp_path)
    proxy.close()
    assert proxy.wrong_offsets == 0, "it asks for the offset first, and knows it then"


def described(run: Path, folder: Path, **members: object) -> Path:
    """A copy of the run with another description."""
    copy = folder / run.name
    shutil.copytree(run, copy)
    about = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(about | members))
    return copy


JOB = {"cluster": "west", "id": "6", "step": "0", "start_ns": 1_790_000_000_000_000_000}


@pytest.mark.parametrize(
    "other",
    [
        {"job": JOB | {"id": "7"}},
        {"job": JOB | {"cluster": None}},
        {"job": JOB | {"start_ns": JOB["start_ns"] + 1}},
        {"job": None, "start_ns": 1},
    ],
    ids=["job", "cluster", "start", "none"],
)
def test_two_jobs_with_one_run_id_do_not_mix(
    footplate: Path, hub: Hub, tmp_path: Path, large_run: Path, other: dict[str, object]
) -> None:
    first = described(large_run, tmp_path / "a", job=JOB)
    second = described(large_run, tmp_path / "b", **other)
    before = contents(second)
    assert pushed(footplate, first, hub).returncode == 0
    done = pushed(footplate, second, hub)
    assert done.returncode == 1 and f"has another run called '{first.name}'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert contents(hub.folder / first.name) == contents(first)
    assert contents(second) == before


def test_nodes_of_one_job_with_folders_of_their_own_become_one_run(
    footplate: Path, hub: Hub, tmp_path: Path, large_run: Path
) -> None:
    first = described(large_run, tmp_path / "a", job=JOB)
    second = described(large_run, tmp_path / "b", job=JOB, start_ns=5)
    next(second.glob("node-*")).rename(second / "node-other")
    for run in (first, second):
        done = pushed(footplate, run, hub)
        assert done.returncode == 0, done.stderr
    assert contents(hub.folder / first.name) == contents(second) | contents(first)


def test_another_recorder_of_the_same_node_changes_nothing(
    footplate: Path, hub: Hub, tmp_path: Path, large_run: Path
) -> None:
    """Not even node.json, which is sent first."""
    assert pushed(footplate, large_run, hub).returncode == 0
    subprocess.run(
        [footplate, "run", "--quiet", "--dir", tmp_path / "b", "--", "true"],
        env=environment(),
        check=True,
    )
    other = only_run(tmp_path / "b")
    assert other
    other = other.rename(tmp_path / large_run.name)
    (other / "run.json").write_bytes((large_run / "run.json").read_bytes())
    done = pushed(footplate, other, hub)
    assert done.returncode == 2 and "has another recording of node" in done.stderr
    assert_same(tmp_path)


def test_a_job_whose_run_has_the_name_of_another_is_recorded_and_not_sent(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    def recorded(folder: str) -> str:
        done = subprocess.run(
            [footplate, "run", "--dir", tmp_path / folder, "--to", hub.url, "--name", "x"]
            + ["--", "sleep", "1"],
            env=environment(FOOTPLATE_TO_INTERVAL="1s", FOOTPLATE_RUN="same"),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0
        return done.stderr

    assert "the run is at" in recorded("runs")
    run = only_run(hub.folder)
    assert run
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(about | {"job": JOB}))
    before = contents(run)
    said = recorded("other")
    assert "has another run called 'same'" in said, said
    assert contents(run) == before
    here = only_run(tmp_path / "other")
    assert here and next(here.glob("node-*/metrics.fp")).stat().st_size > 64


def test_notes_are_sent_by_push_and_at_the_end_of_the_run(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    def note(*words: str | Path) -> str:
        return subprocess.run(
            [footplate, "note", *words], capture_output=True, text=True, check=True
        ).stdout

    job = record(footplate, tmp_path, hub.url, "sleep 4")
    wait_for(lambda: only_run(hub.folder), "the run on the hub", 15)
    run = only_run(tmp_path / "runs")
    assert run
    note(run, "--name", "baseline", "--tag", "paper", "--text", "lr 0.01")
    job.communicate(timeout=60)
    assert_same(tmp_path)
    there = hub.folder / run.name
    assert note(there) == "name  baseline\ntag   paper\ntext  lr 0.01\n"
    note(run, "--tag", "later")
    assert pushed(footplate, run, hub).returncode == 0
    assert note(there) == note(run)


def slow_server() -> socket.socket:
    """Takes connections and never answers."""
    return socket.create_server(("127.0.0.1", 0), backlog=16)


@pytest.mark.parametrize("endpoint", ["dead", "slow", "refusing", "full"])
def test_the_job_does_not_notice_a_bad_endpoint(
    footplate: Path, tmp_path: Path, endpoint: str
) -> None:
    hub = Hub(footplate, tmp_path, *(["quota=1kB"] if endpoint == "full" else []))
    server = slow_server()
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    if endpoint == "dead":
        server.close()
    elif endpoint in ("refusing", "full"):
        url = hub.start().url
    if endpoint == "refusing":
        hub.tokens.write_text("write another-token-0123456789 name=team\n")
        time.sleep(2.5)
    try:
        stamp = tmp_path / "ended"
        begin = time.time()
        job = record(footplate, tmp_path, url, f"sleep 2; date +%s.%N > {stamp}; exit 7")
        _, said = job.communicate(timeout=60)
        total = time.time() - begin
    finally:
        server.close()
        hub.kill()
    assert job.returncode == 7
    assert float(stamp.read_text()) - begin < 4.5, "the job was held up"
    assert total < 14, "the end waited for too long"
    assert "not all of the run was sent" in said and "footplate push" in said, said
    assert TOKEN not in said
    run = only_run(tmp_path / "runs")
    assert run
    shown = subprocess.run([footplate, "show", run], capture_output=True, text=True).stdout
    assert "sent " in shown and url in shown


def test_the_token_is_in_no_log_no_file_and_no_process_list(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    job = record(footplate, tmp_path, hub.url, "sleep 3")
    lines = b""
    for _ in range(20):
        time.sleep(0.1)
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                lines += file.read_bytes()
    out, said = job.communicate(timeout=60)
    assert job.returncode == 0 and TOKEN not in out + said
    assert TOKEN.encode() not in lines and TOKEN not in hub.log.read_text()
    for folder in ("runs", "hub"):
        for file in (tmp_path / folder).rglob("*"):
            assert not file.is_file() or TOKEN.encode() not in file.read_bytes(), file


def test_without_libcurl_the_job_runs_and_one_sentence_says_why(
    footplate: Path, tmp_path: Path
) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [footplate, "run", "--dir", tmp_path / "runs", "--to", "http://127.0.0.1:1", *words]
            + ["--", "sh", "-c", "echo ran; exit 5"],
            capture_output=True,
            text=True,
            env=environment(FOOTPLATE_CURL="/nonexistent/libcurl.so"),
        )

    done = run()
    assert done.returncode == 5 and done.stdout == "ran\n"
    assert sum("the run is not sent" in line for line in done.stderr.splitlines()) == 1
    assert "libcurl" in done.stderr
    refused = run("--require-recording")
    assert refused.returncode == 1 and refused.stdout == ""


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org", "https:// only"),
        ("ftp://x", "not the address of a hub"),
        ("https://user@x", "not the address of a hub"),
        ("https://x/path", "not the address of a hub"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(
    footplate: Path, tmp_path: Path, large_run: Path, url: str, words: str
) -> None:
    done = subprocess.run(
        [footplate, "push", large_run, url], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 2 and words in done.stderr


def test_a_push_needs_a_token(footplate: Path, hub: Hub, large_run: Path, tmp_path: Path) -> None:
    def push(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [footplate, "push", large_run, hub.url, *words],
            capture_output=True,
            text=True,
            env=environment(**more),
        )

    assert "write token" in push(FOOTPLATE_TOKEN="").stderr
    wrong = push(FOOTPLATE_TOKEN="wrong-token-0123456789")
    assert wrong.returncode == 2 and "answered 401" in wrong.stderr
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    done = push("--token-file", file, FOOTPLATE_TOKEN="")
    assert done.returncode == 0, done.stderr


def test_a_hub_is_known_by_its_certificate_or_its_key(
    footplate: Path, tmp_path: Path, large_run: Path
) -> None:
    if not shutil.which("openssl"):
        pytest.skip("SKIPPED: openssl is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
        f"-keyout {key} -out {cert}",
        shell=True,
        check=True,
        capture_output=True,
    )
    der = subprocess.run(
        f"openssl x509 -in {cert} -pubkey -noout | openssl pkey -pubin -outform der",
        shell=True,
        check=True,
        capture_output=True,
    ).stdout
    pin = "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode()
    hub = Hub(footplate, tmp_path, tls=("--tls-cert", str(cert), "--tls-key", str(key))).start()

    def push(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [footplate, "push", large_run, f"https://127.0.0.1:{hub.port}", *words],
            capture_output=True,
            text=True,
            env=environment(),
        )

    try:
        assert push().returncode == 1  # nobody vouches for it
        assert push("--pinned-key", "sha256//" + "A" * 43 + "=").returncode == 1
        assert not only_run(hub.folder)
        assert push("--ca", cert).returncode == 0
        pinned = push("--pinned-key", pin)
        assert pinned.returncode == 0, pinned.stderr
    finally:
        hub.kill()
    assert_same(tmp_path)


def test_the_rest_is_sent_when_the_job_is_ended(footplate: Path, hub: Hub, tmp_path: Path) -> None:
    job = record(footplate, tmp_path, hub.url, "sleep 60")
    wait_for(lambda: only_run(hub.folder), "the run on the hub", 15)
    job.terminate()
    _, said = job.communicate(timeout=60)
    assert "the run is at" in said, said
    assert_same(tmp_path)


def test_a_killed_recorder_leaves_a_run_that_is_sent(
    footplate: Path, hub: Hub, tmp_path: Path
) -> None:
    job = record(footplate, tmp_path, hub.url, "sleep 5")
    wait_for(lambda: only_run(hub.folder), "the run on the hub", 15)
    time.sleep(1)
    job.kill()
    job.communicate(timeout=60)
    wait_for(lambda: not shippers(), "the end of the shipper", 30)
    assert_same(tmp_path)
