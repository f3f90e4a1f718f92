# SPDX-License-Identifier: Apache-2.0
"""What the server does by itself and what it holds: a list that fills itself, bounded memory."""

from __future__ import annotations

import json
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from servekit import Server, import_scene, serving, wait_for

SCENES = Path(__file__).resolve().parent.parent / "rules"

# 60 000 steps with four spans each: enough that steps, operators and findings take a worker.
LONG = """scene 1
node a cores=4 gpus=1 memory=64GiB
interval 1s
a cpu.util total 0s..6000s 24 noise 4
a gpu.util gpu0  0s..6000s 40 noise 9
rank 0 on a: steps 60000 x 100ms from 0s data=41% forward=20% backward=30% optimizer=5%
job 0s..6000s exit 0
"""
LONG_RUNS = 3
# Eight ranks with 50 000 events each: more than a request looks at, in intervals that are large.
MANY = "\n".join(
    ["scene 1", "node a cores=4 gpus=1 memory=64GiB", "interval 1s"]
    + [f"rank {r} on a: steps 10000 x 100ms from 0s data=41% forward=20% backward=30% optimizer=5%"
       for r in range(8)]
    + ["job 0s..1000s exit 0", ""]
)  # fmt: skip
MIB = 1 << 20


def listed(s: Server) -> dict[str, Any]:
    return {run["run"]: run["findings"] for run in s.api("/runs")}


def checked(s: Server, run: str) -> dict[str, int]:
    """What the findings of a run add up to; evaluates them."""
    answer = wait_for(
        lambda: (a := s.ask(f"/api/v1/runs/{run}/findings")).status == 200 and a, "the findings"
    )
    counts = {"critical": 0, "warning": 0, "info": 0, "evaluated": 0}
    for rule in answer.json:
        if rule["state"] == "issue":
            counts[rule["severity"]] += 1
        # That a job ended well says nothing about its speed.
        speaks = rule["rule"] != "FailedEarly" or rule["state"] == "issue"
        evaluated = rule["state"] != "not_evaluated" and not rule.get("summary")
        counts["evaluated"] += evaluated and speaks
    return counts


def test_the_list_fills_itself_with_the_findings_of_runs_that_have_none(
    footplate: Path, tmp_path: Path
) -> None:
    for i, scene in enumerate(("dataloader/fires", "gpu_throttling/fires", "example/first")):
        import_scene(footplate, SCENES / f"{scene}.scene", tmp_path / f"run-{i}")
    with serving(footplate, tmp_path) as s:
        assert listed(s) == {"run-0": None, "run-1": None, "run-2": None}
        wait_for(lambda: all(listed(s).values()), "findings of all runs in the list")
        found = listed(s)
        assert found == {run: checked(s, run) for run in found}
        assert found["run-0"]["critical"] + found["run-0"]["warning"] > 0


def test_a_run_too_large_for_that_is_in_the_list_once_its_findings_were_asked_for(
    footplate: Path, tmp_path: Path
) -> None:
    scene = tmp_path / "wide.scene"
    scene.write_text(
        "scene 1\nnode a cores=96 gpus=0 memory=64GiB\ninterval 500ms\n"
        "a cpu.util cpu* 0s..40000s 50 noise 50\njob 0s..40000s exit 0\n"
    )
    runs = tmp_path / "runs"
    runs.mkdir()
    wide = import_scene(footplate, scene, runs / "wide")
    assert sum(f.stat().st_size for f in wide.rglob("*")) > 8 * MIB
    import_scene(footplate, SCENES / "example/first.scene", runs / "small")
    with serving(footplate, runs) as s:
        wait_for(lambda: listed(s)["small"], "findings of the small run in the list")
        assert listed(s)["wide"] is None
        counts = checked(s, "wide")
        wait_for(lambda: listed(s)["wide"] == counts, "the findings in the list")


def test_findings_that_are_written_later_are_those_of_the_list(
    footplate: Path, tmp_path: Path
) -> None:
    run = import_scene(footplate, SCENES / "dataloader/fires.scene", tmp_path / "run")
    with serving(footplate, tmp_path) as s:
        wait_for(lambda: listed(s)["run"], "findings in the list")
        rule = {"rule": "gpu-throttling", "state": "issue", "severity": "info"}
        other = [
            {"rule": "OverallSystemUsage", "summary": True, "state": "clear", "severity": "info"},
            {"rule": "BatchSize", "state": "not_evaluated", "severity": "info"},
            {"rule": "Dataloader", "state": "clear", "severity": "info"},
        ]
        (run / "findings.json").write_text(json.dumps({"rules": [rule] * 3 + other}))
        wait_for(
            lambda: listed(s)["run"] == {"critical": 0, "warning": 0, "info": 3, "evaluated": 4},
            "the counts of findings.json",
        )


def anonymous(s: Server) -> int:
    """Bytes that the server holds; files that are only mapped do not count."""
    status = Path(f"/proc/{s.process.pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


def visit(s: Server, run: str) -> None:
    """Everything that the page asks about a run, until it is there."""
    for path in (
        "", "/findings", "/steps", "/ops", "/breakdown", "/events", "/timeline", "/stats",
        "/histograms", "/heatmap", "/grid?metric=cpu.util:total&points=500", "/report.html",
    ):  # fmt: skip
        wait_for(
            lambda path=path: s.ask(f"/api/v1/runs/{run}{path}").status == 200, path, timeout_s=60
        )


def is_sanitized(program: Path) -> bool:
    return b"__asan_init" in program.read_bytes()


@pytest.fixture(scope="module")
def long_runs(footplate: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    scene = folder / "long.scene"
    scene.write_text(LONG)
    runs = folder / "runs"
    runs.mkdir()
    for i in range(LONG_RUNS):
        import_scene(footplate, scene, runs / f"long-{i}")
    return runs


def test_memory_goes_back_after_slow_work_however_many_runs(
    footplate: Path, long_runs: Path
) -> None:
    with serving(footplate, long_runs) as s:
        sanitized = is_sanitized(footplate)
        visit(s, "long-0")
        first = anonymous(s)
        for i in range(1, LONG_RUNS):
            visit(s, f"long-{i}")
        if sanitized:  # it keeps freed memory for a while, so only growth can be told
            assert anonymous(s) - first < LONG_RUNS * 40 * MIB
        else:
            assert anonymous(s) < 32 * MIB + LONG_RUNS * 4 * MIB
        status = s.api("/status")
        assert 1 <= status["open_runs"] <= 8
        assert 0 < status["open_runs_bytes"] <= 64 * MIB


def trace_of_steps(n: int) -> str:
    """As PyTorch's profiler writes them; hooks tell steps that are not broken down."""
    steps = [
        {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1}
        | {"ts": 100 * i, "dur": 90}
        for i in range(n)
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": steps})


def test_a_breakdown_of_many_steps_is_of_the_last_and_counts_the_others(
    footplate: Path, tmp_path: Path
) -> None:
    (tmp_path / "steps.json").write_text(trace_of_steps(60000))
    import_scene(footplate, tmp_path / "steps.json", tmp_path / "runs" / "long")
    with serving(footplate, tmp_path / "runs") as s:
        path = "/api/v1/runs/long/breakdown"
        answer = wait_for(lambda: (a := s.ask(path)).status == 200 and a, "the breakdown")
        assert len(answer.body) < MIB
        steps = answer.json["steps"]
        assert [row["step"] for row in steps] == list(range(58000, 60000))
        assert answer.json["earlier_steps"] == 58000


def test_findings_of_a_run_that_was_deleted_say_that_it_is_gone(
    footplate: Path, tmp_path: Path
) -> None:
    for scene in ("example/first", "dataloader/fires"):
        import_scene(footplate, SCENES / f"{scene}.scene", tmp_path / scene.replace("/", "-"))
    with serving(footplate, tmp_path) as s:
        checked(s, "example-first")
        for run in tmp_path.iterdir():  # one that was evaluated, and one that was not
            shutil.rmtree(run)
        for run in ("example-first", "dataloader-fires"):
            path = f"/api/v1/runs/{run}/findings"
            until = time.monotonic() + 20
            while (status := s.ask(path).status) != 410:  # half a second may be told what was known
                assert status in (200, 202) and time.monotonic() < until, status
                time.sleep(0.05)


def test_what_ran_in_many_large_intervals_is_worked_out_beside_the_request(
    footplate: Path, tmp_path: Path
) -> None:
    (tmp_path / "many.scene").write_text(MANY)
    import_scene(footplate, tmp_path / "many.scene", tmp_path / "runs" / "many")
    with serving(footplate, tmp_path / "runs") as s:
        path = "/api/v1/runs/many/events?limit=2000"
        first = s.ask(path)
        assert (first.status, first.json) == (202, {"pending": True})
        rows = wait_for(lambda: (a := s.ask(path)).status == 200 and a, "what ran").json
        counts = {r["rank"]: r["count"] for r in rows if r["name"] == "forward"}
        assert counts == dict.fromkeys(range(8), 10000)
        short = s.ask(f"{path}&rank=3")
        assert short.status == 200, "one rank is within the budget"


def test_a_search_ends_with_its_budget_and_says_so(footplate: Path, long_runs: Path) -> None:
    with serving(footplate, long_runs) as s:
        everything = s.api("/runs/long-0/search?q=FORWARD&limit=3")
        assert everything["cut"] and 3 < everything["count"] < 60000
        start = everything["matches"][0]["start_ns"]
        part = s.api(f"/runs/long-0/search?q=forward&from={start}&to={start + 100_000_000_000}")
        assert not part["cut"] and part["count"] == 1000
        assert not s.api("/runs/long-0/search?q=no-such-name")["cut"]


def test_answers_that_nobody_takes_are_bounded_over_all_connections(
    footplate: Path, long_runs: Path
) -> None:
    with serving(footplate, long_runs) as s:
        before = anonymous(s)
        metrics = "&metric=cpu.util:total" * 16
        silent = []
        for i in range(200):  # a megabyte each, of which next to nothing fits on the way
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", s.port))
            path = f"/api/v1/runs/long-0/grid?points={4000 - i}{metrics}"
            one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            silent.append(one)
        wait_for(lambda: s.api("/status")["requests"] > len(silent), "all requests")
        wait_for(lambda: s.ask("/api/v1/runs/long-0/stats").status == 200, "an answer behind them")
        # Those that wait to be taken, those that are kept, and what is being worked on.
        assert anonymous(s) - before < (64 + 64 + 32) * MIB
        last = silent[-1].makefile("rb")  # who came last is not the one who made no room
        assert b"200 OK" in last.readline()
        for one in silent:
            one.close()


def test_a_report_does_not_keep_others_from_the_same_run(footplate: Path, long_runs: Path) -> None:
    with serving(footplate, long_runs) as s:
        waiting = s.connect()
        waiting.request("GET", "/api/v1/runs/long-0/report.html")
        for points in range(20):  # none of these is kept from before
            s.api(f"/runs/long-0/grid?metric=cpu.util:total&points={100 + points}")
        waiting.sock.setblocking(False)
        with pytest.raises(BlockingIOError):  # it is still being written
            waiting.sock.recv(1)
        waiting.close()


def test_no_key_stands_twice_in_an_answer(server: Server) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        assert len(set(keys)) == len(keys), keys
        return dict(pairs)

    for path in ("", "/steps", "/timeline", "/events", "/stats", "/histograms", "/report.json"):
        answer = server.ask(f"/api/v1/runs/run-0{path}")
        assert answer.status == 200
        json.loads(answer.body, object_pairs_hook=once)
    for path in ("/runs", "/status", "/rules", "/openapi.json", "/compare?a=run-0&b=run-1"):
        json.loads(server.ask(f"/api/v1{path}").body, object_pairs_hook=once)
    assert isinstance(server.api("/runs/run-0")["data_version"], int)


@pytest.mark.parametrize("path", ["/", "/api/v1/runs/run-0/stats"])
def test_not_modified_repeats_the_policy_of_what_was_not(server: Server, path: str) -> None:
    first = server.ask(path)
    if "ETag" not in first.headers:
        pytest.skip("this build has no page")
    again = server.ask(path, If_None_Match=first.headers["ETag"])
    assert again.status == 304
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "Cache-Control", "ETag"):
        assert again.headers[name] == first.headers[name] is not None
