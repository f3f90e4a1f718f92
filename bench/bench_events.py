# SPDX-License-Identifier: Apache-2.0
"""What one event costs a C program, against LTTng-UST; and a flood of them through a recorder."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness import BENCH, Context, Line, Result, Skipped

GOAL_TSC_NS = 12.0
GOAL_MONOTONIC_NS = 25.0
GOAL_LTTNG = 8.0
GOAL_CORE_PERCENT = 40.0
PROCESSES, RATE = 4, 250_000  # a million a second


def _run(command: list[str], env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise Skipped(f"{' '.join(command)}: {done.stderr.strip()[-200:]}")
    return done.stdout


@contextmanager
def _session(home: pathlib.Path) -> Iterator[dict[str, str]]:
    """An LTTng daemon of our own, with a session that takes the peer's events."""
    env = os.environ | {"LTTNG_HOME": str(home)}
    daemon = subprocess.Popen(
        ["lttng-sessiond"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(50):
            if subprocess.run(["lttng", "list"], env=env, capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        _run(["lttng", "create", "peer", f"--output={home / 'trace'}"], env)
        _run(["lttng", "enable-channel", "-u", "--subbuf-size=1M", "--num-subbuf=8", "ch"], env)
        _run(["lttng", "enable-event", "-u", "-c", "ch", "footplate_peer:event"], env)
        _run(["lttng", "start"], env)
        yield env
        _run(["lttng", "destroy"], env)
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=20)


def _lttng(context: Context) -> dict[str, float]:
    if not shutil.which("lttng-sessiond"):
        raise Skipped("lttng-sessiond is not installed")
    program = context.scratch / "lttng_peer"
    source = str(BENCH / "lttng_peer.c")
    gcc = ["gcc", "-O2", f"-I{BENCH}", source, "-o", str(program), "-llttng-ust", "-ldl"]
    _run(gcc)
    home = context.scratch / "lttng"
    home.mkdir()
    with _session(home) as env:
        return json.loads(_run([str(program)], env))


def _own_lines(ours: dict[str, Any]) -> list[Line]:
    near, mono = ours["event_ns_tsc_near"], ours["event_ns_monotonic_near"]
    far, far_mono = ours["event_ns_tsc"], ours["event_ns_monotonic"]
    read = "the same while another core reads the ring every millisecond"
    return [
        Line(
            "one event, counter of the CPU",
            *(near, "ns", "at most 12 ns", near <= GOAL_TSC_NS),
            *("the counter alone", ours["tsc_ns"], near / ours["tsc_ns"]),
        ),
        Line(read, far["p50"], "ns", note=f"median burst; best {far['best']:.1f}"),
        Line(
            "one event, clock_gettime",
            *(mono, "ns", "at most 25 ns", mono <= GOAL_MONOTONIC_NS),
            *("clock_gettime alone", ours["monotonic_ns"], mono / ours["monotonic_ns"]),
        ),
        Line(read, far_mono["p50"], "ns", note=f"median burst; best {far_mono['best']:.1f}"),
        Line("the call when nobody records", ours["disabled_ns"], "ns"),
    ]


def _cost(context: Context, result: Result) -> None:
    ours = json.loads(_run([context.tool("bench_ring")]))
    result.lines += _own_lines(ours)
    lttng: dict[str, float] | None = None
    try:
        lttng = _lttng(context)
    except Skipped as why:
        result.notes.append(f"LTTng: SKIPPED, {why}")
    if lttng:
        far = ours["event_ns_tsc"]["p50"]
        ratio = lttng["p50"] / far
        result.lines.append(
            Line(
                "one event",
                *(far, "ns", "at least 8 x below", ratio >= GOAL_LTTNG),
                *("LTTng-UST", lttng["p50"], ratio),
                f"LTTng's best burst {lttng['best']:.1f} ns",
            )
        )
    result.detail |= {"ring": ours, "lttng": lttng}


def _flood(context: Context, result: Result) -> None:
    seconds = 10 if context.quick else 60
    runs = context.scratch / "flood"
    talk = [context.tool("bench_talk"), str(PROCESSES), str(RATE), str(seconds)]
    said = int(_run([context.footplate, "run", "--quiet", "--dir", str(runs), "--", *talk]))
    show = json.loads(_run([context.footplate, "show", "--dir", str(runs), "--json", "last"]))
    share = 100 * show["self"]["cpu_s"] / show["duration_s"]
    lost = show["self"]["events_dropped"]
    size = sum(f.stat().st_size for f in runs.rglob("events*.fp"))
    result.lines += [
        Line(
            f"{PROCESSES} processes, {PROCESSES * RATE / 1e6:g} M events/s, {seconds} s: lost",
            lost,
            "events",
            "none",
            lost == 0,
            note=f"of {said}",
        ),
        Line(
            "recorder, share of one core",
            share,
            "%",
            "below 40 %",
            share < GOAL_CORE_PERCENT,
        ),
        Line("stored, per span (two events)", size / (said / 2), "B"),
    ]


def run(context: Context, result: Result) -> None:
    _cost(context, result)
    _flood(context, result)
