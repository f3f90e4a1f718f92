# SPDX-License-Identifier: Apache-2.0
"""A gzip trace to a stored run, in one thread, against what others need only to read it."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import peers
import traces
from harness import BENCH, Context, Line, Result, Skipped
from traces import Trace

GOAL_MB_S = 800.0
GOAL_HTA = 20.0
GOAL_SIMDJSON = 0.4
LONG, VERY_LONG = 500_000_000, 1_000_000_000
RSS_MOST_MB = 64.0
# Other guests of the host may slow a machine down for seconds on end, so turns go on for longer.
TURNS_LEAST_S, TURNS_MOST = 12.0, 300

PYTHON = "import gzip, json, sys; print(len(json.load(gzip.open(sys.argv[1]))['traceEvents']))"
NODE = (
    "const t = require('zlib').gunzipSync(require('fs').readFileSync(process.argv[1]));"
    "const c = process.cpuUsage(); const n = JSON.parse(t).traceEvents.length;"
    "const d = process.cpuUsage(c);"
    "console.log(JSON.stringify({s: (d.user + d.system) / 1e6, events: n}))"
)


def _peak_mb(pid: int) -> float:
    """Of the program itself: what wait4 says counts what its parent had when it was started."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(found[0].split()[1]) / 1024 if found else 0.0


@contextlib.contextmanager
def _cores(one: bool) -> Iterator[None]:
    """What is started here inherits them; a child that set them itself would cost CPU time."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_of_them)} if one else all_of_them)
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def cpu_and_memory(command: list[str], one_core: bool = False) -> tuple[float, float]:
    """CPU seconds of a program, its start included, and its peak resident MB as last seen. With one
    core to run on, an import uses one thread."""
    with tempfile.TemporaryFile() as said:
        with _cores(one_core):
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        peak, done = 0.0, 0
        while not done:
            peak = max(peak, _peak_mb(child.pid))
            done, status, used = os.wait4(child.pid, os.WNOHANG)
            time.sleep(0 if done else 0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise RuntimeError(f"{command[0]}: {said.read().decode()[-300:]}")
    return used.ru_utime + used.ru_stime, peak


@dataclasses.dataclass
class Taken:
    """The best of some turns: other work on the machine only ever adds."""

    cpu_s: float = 1e9
    wall_s: float = 1e9
    mb: float = 0.0


def _import(context: Context, trace: Trace, rounds: int) -> tuple[Taken, Taken, int]:
    """With one thread, and with as many as it likes, in turns; and how many turns there were."""
    home = context.scratch / "imported"
    taken = Taken(), Taken()
    command = [context.footplate, "import", "--dir", str(home), str(trace.path)]
    start, turns = time.perf_counter(), 0
    long_enough = 0.0 if context.quick or rounds == 1 else TURNS_LEAST_S
    while turns < rounds or (turns < TURNS_MOST and time.perf_counter() - start < long_enough):
        turns += 1
        for one_core, best in zip((True, False), taken, strict=True):
            home.mkdir()
            begin = time.perf_counter()
            seconds, mb = cpu_and_memory(command, one_core)
            best.wall_s = min(best.wall_s, time.perf_counter() - begin)
            best.cpu_s, best.mb = min(best.cpu_s, seconds), max(best.mb, mb)
            shutil.rmtree(home)
    return *taken, turns


def _json_of(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"{command[0]}: {done.stderr.strip()[-200:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _simdjson(context: Context, trace: Trace, rounds: int) -> float:
    peers.ensure("simdjson", context.venv)
    program, plain = context.scratch / "peer_simdjson", context.scratch / "plain.json"
    if not program.exists():
        source = str(BENCH / "peer_simdjson.cpp")
        gpp = ["g++", "-O2", source, "-o", str(program), "-lsimdjson"]
        if subprocess.run(gpp, capture_output=True).returncode:
            raise Skipped("peer_simdjson.cpp does not build")
    with gzip.open(trace.path) as file, plain.open("wb") as to:
        shutil.copyfileobj(file, to, 1 << 20)
    best = _json_of([str(program), str(plain), str(rounds)])["s"]
    plain.unlink()
    return best


def _hta(context: Context, trace: Trace, rounds: int) -> float:
    peers.ensure("hta", context.venv)
    script = str(BENCH / "peer_hta.py")
    turns = [_json_of([context.python, script, str(trace.path)])["s"] for _ in range(rounds)]
    return min(turns)


def _python(context: Context, trace: Trace, rounds: int) -> float:
    command = [sys.executable, "-c", PYTHON, str(trace.path)]
    return min(cpu_and_memory(command)[0] for _ in range(rounds))


def _node(context: Context, trace: Trace, rounds: int) -> float:
    if not shutil.which("node"):
        raise Skipped("node is not installed")
    return min(_json_of(["node", "-e", NODE, str(trace.path)])["s"] for _ in range(rounds))


PEERS = {
    "HolisticTraceAnalysis, parse": (_hta, GOAL_HTA),
    "python json": (_python, None),
    "node JSON.parse, text in memory": (_node, None),
    "simdjson DOM, text in memory": (_simdjson, GOAL_SIMDJSON),
}


def _ours(context: Context, result: Result, trace: Trace, rounds: int) -> float:
    one, more, turns = _import(context, trace, rounds)
    rate = trace.json_bytes / one.cpu_s / 1e6
    size = trace.json_bytes / 1e6
    memory = max(one.mb, more.mb)
    result.lines += [
        Line(
            f"{trace.name}: {size:.0f} MB of JSON to a run",
            rate,
            "MB/s",
            "at least 800 MB/s",
            rate >= GOAL_MB_S,
            note=f"{trace.name}: {one.cpu_s:.3f} s of CPU, the best of {turns}",
        ),
        Line(
            f"{trace.name}: by the clock, all threads",
            trace.json_bytes / more.wall_s / 1e6,
            "MB/s",
            peer="one thread",
            peer_value=trace.json_bytes / one.wall_s / 1e6,
            ratio=one.wall_s / more.wall_s,
        ),
        Line(
            f"{trace.name}: peak memory",
            memory,
            "MB",
            "whatever the size",
            memory <= RSS_MOST_MB,
        ),
    ]
    result.detail[trace.name] = {
        "one_thread": dataclasses.asdict(one),
        "all_threads": dataclasses.asdict(more),
        "json_bytes": trace.json_bytes,
    }
    return rate


def _theirs(context: Context, result: Result, trace: Trace, ours: float, rounds: int) -> None:
    for name, (measure, goal) in PEERS.items():
        try:
            rate = trace.json_bytes / measure(context, trace, rounds) / 1e6
        except Skipped as why:
            result.notes.append(f"{name}: SKIPPED, {why}")
            continue
        ratio = ours / rate
        result.lines.append(
            Line(
                f"{trace.name}",
                ours,
                "MB/s",
                f"at least {goal:g} x" if goal else "",
                ratio >= goal if goal else None,
                name,
                rate,
                ratio,
            )
        )


def run(context: Context, result: Result) -> None:
    rounds = 3 if context.quick else 7
    short = traces.short(context)
    for trace in short:
        ours = _ours(context, result, trace, 3 * rounds)
        _theirs(context, result, trace, ours, 1 if context.quick else 3)
    for source in short[:1] if context.quick else short:
        trace = traces.long(context, source, LONG)
        _ours(context, result, trace, rounds)
        trace.path.unlink()
    trace = traces.long(context, short[0], VERY_LONG)
    _ours(context, result, trace, 1)
    trace.path.unlink()
    result.notes.append(
        "of a process from its start to its end, in CPU time of one thread where it does not say "
        "'by the clock'; peers only read the trace into memory and store nothing"
    )
