# SPDX-License-Identifier: Apache-2.0
"""The page in a headless browser: the first page, zooming the Nodes tab of a day, a heatmap, how
late a living run's sample is on the screen. ECharts draws the same data in the same run."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import zoom_server
from harness import BENCH, ROOT, Context, Line, Result, Skipped

ECHARTS = "echarts@6.0.0"
WEB = ROOT / "web"
GOAL_FRAME_MS, GOAL_SERVER_MS, GOAL_HEAT_MS = 100.0, 10.0, 50.0
GOAL_FIRST_BYTES, GOAL_FIRST_MS, GOAL_LIVE_MS = 120_000, 1000.0, 2000.0
GOAL_TIMES = 5.0
LIVE_SECONDS = 12


def bundle(source: pathlib.Path, to: pathlib.Path, modules: pathlib.Path) -> str:
    """A script for a bare page; packages are looked for in `modules`."""
    esbuild = WEB / "node_modules" / ".bin" / "esbuild"
    if not esbuild.exists():
        raise Skipped("the page's packages are not installed: make build")
    command = [str(esbuild), str(source), "--bundle", "--format=iife", "--minify"]
    command += [f"--outfile={to}", "--log-level=warning"]
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "NODE_PATH": str(modules)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise Skipped(f"esbuild: {done.stderr.strip()[-300:]}")
    return str(to)


def peer_modules(context: Context) -> pathlib.Path:
    """ECharts is installed for the bench alone, outside of the project's packages."""
    folder = context.scratch / "echarts"
    modules = folder / "node_modules"
    if not (modules / "echarts").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), ECHARTS]
        if subprocess.run(command, capture_output=True, cwd=folder).returncode:
            raise Skipped(f"npm could not install {ECHARTS}")
    return modules


@contextlib.contextmanager
def serving(context: Context, folder: pathlib.Path) -> Iterator[str]:
    """The dashboard over a folder of runs; gives its address."""
    command = [context.footplate, "serve", "--port", "0", "--dir", str(folder)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True) as server:
        try:
            assert server.stdout is not None
            said = []
            for line in server.stdout:
                said.append(line.strip())
                if found := re.search(r"https?://\S+", line):
                    break
            else:
                raise Skipped(f"the server said no address: {' '.join(said)}")
            yield found.group().rstrip("/") + "/"
        finally:
            server.terminate()


@contextlib.contextmanager
def job(context: Context, folder: pathlib.Path) -> Iterator[str]:
    """A job that is recorded every 500 ms for a while; gives the name of its run."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [context.footplate, "run", "--dir", str(folder), "--name", "live"]
    command += ["--interval", "500ms", "--", "sleep", str(4 * LIVE_SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            end = time.monotonic() + 10
            while not (runs := [p.name for p in folder.iterdir()]):
                if time.monotonic() > end:
                    raise Skipped("the live run did not begin")
                time.sleep(0.1)
            yield runs[0]
        finally:
            run.terminate()


def drive(context: Context, ask: dict[str, Any]) -> dict[str, Any]:
    path = context.scratch / "zoom-ask.json"
    path.write_text(json.dumps(ask))
    command = ["node", str(BENCH / "zoom_drive.mjs"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise Skipped(f"the browser: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def against(what: str, ours: list[float], peer: list[float], goal: float) -> Line:
    own, theirs = statistics.median(ours), statistics.median(peer)
    ratio = theirs / own
    return Line(
        what,
        own,
        "ms",
        goal=f"at most {goal:g} ms, {GOAL_TIMES:g} x faster",
        met=own <= goal and ratio >= GOAL_TIMES,
        peer="ECharts",
        peer_value=theirs,
        ratio=ratio,
    )


def alone(what: str, value: float, unit: str, goal: float) -> Line:
    return Line(what, value, unit, goal=f"at most {goal:g} {unit}", met=value <= goal)


KINDS = (("CPU", "cpu_ms"), ("clock", "clock_ms"))
OVER = (("median window", statistics.median), ("99th percentile", zoom_server.p99), ("worst", max))


def server_lines(costs: list[zoom_server.Cost]) -> list[Line]:
    """What each request of a zoom costs the server, alone, over all windows."""
    lines = []
    for what in zoom_server.WHAT:
        mine = [c for c in costs if c.what == what]
        worst = max(mine, key=lambda c: c.cpu_ms)
        for kind, field in KINDS:
            times = [getattr(c, field) for c in mine]
            for name, of in OVER:
                title = f"server {kind}, {what}, {name}"
                lines.append(alone(title, of(times), "ms", GOAL_SERVER_MS))
        where = f"{what}: the worst of {len(mine)} windows is one of {worst.window.hours:.3g} h"
        lines[-1] = dataclasses.replace(lines[-1], note=where)
        lines.append(alone(f"largest {what}", float(max(c.sent for c in mine)), "B", 1_000_000))
    return lines


def seen_lines(answers: list[dict[str, Any]]) -> list[Line]:
    """Until the first byte, as the browser sees it: four at once, on the cores that draw."""
    return [
        Line(
            f"{what} of a zoomed window, until its first byte",
            statistics.median(a["ms"] for a in answers if a["what"] == what),
            "ms",
        )
        for what in sorted({a["what"] for a in answers})
    ]


def run(context: Context, result: Result) -> None:
    for program in ("node", "npm", "chromium"):
        if not shutil.which(program):
            raise Skipped(f"there is no {program}")
    modules = peer_modules(context)
    hours = 6 if context.quick else 24
    days, live = context.scratch / "zoom-runs", context.scratch / "zoom-live"
    days.mkdir(parents=True, exist_ok=True)
    steps = hours * 36_000
    command = [context.tool("bench_rules"), "day", str(days / "day"), str(hours), str(steps)]
    if not (days / "day").exists():
        subprocess.run(command, check=True, capture_output=True)
    with (
        serving(context, days) as address,
        serving(context, live) as at,
        job(context, live) as name,
    ):
        got = drive(
            context,
            {
                "parts": ["first", "live", "tab", "eight", "heat"],
                "web": str(WEB),
                "chromium": shutil.which("chromium"),
                "ours": bundle(
                    BENCH / "zoom_ours.ts", context.scratch / "ours.js", WEB / "node_modules"
                ),
                "peer": bundle(BENCH / "zoom_peer.mjs", context.scratch / "peer.js", modules),
                "rounds": 12 if context.quick else 48,
                "tabRounds": 24 if context.quick else 48,
                "address": address,
                "run": "day",
                "live": {"address": at, "run": name, "seconds": LIVE_SECONDS},
            },
        )
    costs = zoom_server.measure([context.footplate], days, 24 if context.quick else 60)[0]
    result.lines += [
        alone("first page, all it loads", float(got["first"]["bytes"]), "B", GOAL_FIRST_BYTES),
        alone(
            "first page, until it can be used",
            statistics.median(got["first"]["times"]),
            "ms",
            GOAL_FIRST_MS,
        ),
        against(
            f"zoom of the Nodes tab, {hours} h, to the drawn frame",
            got["tab"]["ours"],
            got["tab"]["peer"],
            GOAL_FRAME_MS,
        ),
        *server_lines(costs),
        *seen_lines(got["tab"]["answers"]),
        against(
            "8 synced charts of 8 x 5000 points, zoom",
            got["eight"]["ours"],
            got["eight"]["peer"],
            GOAL_FRAME_MS,
        ),
        against(
            "heatmap of 128 x 1500, new cells",
            got["heat"]["ours"],
            got["heat"]["peer"],
            GOAL_HEAT_MS,
        ),
    ]
    if got["live"]:
        result.lines.append(
            alone("live, from the sample to the screen", max(got["live"]), "ms", GOAL_LIVE_MS)
        )
    result.notes.append(
        "a frame counts as drawn when a pixel of every canvas was read back after it"
    )
    result.detail = got
