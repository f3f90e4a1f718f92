#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of this folder under Footplate and compares its numbers with theirs.

    trial.py --short --out DIR        every program for 20 s, sampled every 100 ms
    trial.py --long --out DIR         four of them for 120 s at the default interval
    trial.py --only item,fp32 --seconds 10 --interval 100ms --out DIR

The programs run one after the other, each ended before the next begins. DIR gets the table, the
same as JSON, and runs-1.tar, ..., which hold one NAME.tar.xz for each program: its run, its
truth.json, and what Footplate printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The name of a program's run, and its file.
PROGRAMS = {
    "healthy": "healthy.py",
    "loader": "loader.py",
    "tiny": "tiny.py",
    "item": "item.py",
    "leak": "leak.py",
    "fp32": "fp32.py",
    "checkpoint": "checkpoint.py",
    "evaluate": "evaluate.py",
    "graph": "graph.py",
    "compile": "compile.py",
    "hf": "hf.py",
    "lightning": "lightning_fit.py",
    "accelerate": "accelerate_loop.py",
    "jax": "jax_loop.py",
}
LONG = ("healthy", "item", "fp32", "checkpoint")
SEVERE = ("warning", "critical")

START_S = 30.0  # that a program may need besides its loop: imports, the model, its end
LARGEST_PART = 15_000_000  # bytes of a runs-N.tar
LARGEST_FILE = 8_000_000  # of a run; larger ones (operators of a detail window) stay behind
PHASES = ("forward", "backward", "optimizer")
# Dense bf16 peak in TFLOP/s, by the name that PyTorch gives the device.
PEAKS = {"H200": 989.0, "H100 80GB HBM3": 989.0, "A100": 312.0, "L4": 121.0}


@dataclass
class Trial:
    """One program under Footplate."""

    name: str
    seconds: float
    interval: str
    folder: Path
    failed: str = ""
    truth: dict[str, Any] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)  # by command: check, steps, show, ...
    row: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> Path:
        return self.folder / "run"


# ---- running ----


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="all: 20 s at 100 ms")
    parser.add_argument("--long", action="store_true", help=f"{', '.join(LONG)}: 120 s at 500 ms")
    parser.add_argument("--only", help="programs, with commas between them")
    parser.add_argument("--seconds", type=float, help="length of each loop")
    parser.add_argument("--interval", help="between two samples")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--workers", type=int, help="of the loaders (default: the program's)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--work", type=Path, help="folder for the runs (default: OUT/work)")
    parser.add_argument("--footplate", type=Path, default=ROOT / "build" / "footplate")
    parser.add_argument("--timeout", type=float, help="seconds for one program; default: by loop")
    parser.add_argument("--budget-s", type=float, default=560.0, help="seconds for everything")
    return parser.parse_args()


def plan(args: argparse.Namespace) -> list[Trial]:
    only = args.only.split(",") if args.only else None
    unknown = [name for name in only or () if name not in PROGRAMS]
    if unknown:
        raise SystemExit(f"no program {unknown[0]!r}; there are {', '.join(PROGRAMS)}")
    sets = []
    if args.long:
        sets.append((LONG, args.seconds or 120.0, args.interval or "500ms"))
    if args.short or not args.long:
        sets.append((tuple(PROGRAMS), args.seconds or 20.0, args.interval or "100ms"))
    work = args.work or args.out / "work"
    return [
        Trial(name, seconds, interval, work / f"{name}-{interval}")
        for names, seconds, interval in sets
        for name in names
        if only is None or name in only
    ]


def command(trial: Trial, args: argparse.Namespace) -> list[str]:
    program = [
        sys.executable,
        str(HERE / PROGRAMS[trial.name]),
        f"--seconds={trial.seconds}",
        f"--device={args.device}",
        f"--truth={trial.folder / 'truth.json'}",
        f"--timed-share={0.1 if trial.name == 'tiny' else 0.3}",
    ]
    if args.workers is not None and trial.name != "jax":
        program.append(f"--workers={args.workers}")
    recorder = [str(args.footplate), "run", "--name", trial.name, "--interval", trial.interval]
    return [*recorder, "--dir", str(trial.folder / "runs"), "--", *program]


def record(trial: Trial, args: argparse.Namespace) -> None:
    """Runs the program to its end; what went wrong is in trial.failed."""
    trial.folder.mkdir(parents=True, exist_ok=True)
    limit = args.timeout or trial.seconds + START_S + 60
    with open(trial.folder / "output.txt", "wb") as output:
        job = subprocess.Popen(
            command(trial, args),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = job.wait(limit)
            if status != 0:
                trial.failed = f"ended with status {status}"
        except subprocess.TimeoutExpired:
            trial.failed = f"did not end within {limit:.0f} s"
        stop(job)
    runs = [path for path in (trial.folder / "runs").glob("*") if (path / "run.json").exists()]
    if len(runs) == 1:
        runs[0].rename(trial.run)
    elif not trial.failed:
        trial.failed = f"{len(runs)} runs were recorded"


def stop(job: subprocess.Popen[bytes]) -> None:
    """Nothing of the job is left when the next one begins."""
    for what, wait_s in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        if not group_lives(job.pid):
            break
        if job.poll() is None or what == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, what)
        until = time.monotonic() + wait_s
        while group_lives(job.pid) and time.monotonic() < until:
            job.poll()
            time.sleep(0.1)


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def ask(trial: Trial, args: argparse.Namespace) -> None:
    """What Footplate says of the run."""
    asked = {
        "check": ["check", "--json"],
        "steps": ["steps", "--json"],
        "show": ["show", "--json"],
        "own": ["query", "--metric", "self.cpu", "--json"],
    }
    for name, words in asked.items():
        done = footplate(args, [words[0], str(trial.run), *words[1:]])
        (trial.folder / f"{name}.json").write_text(done.stdout)
        if done.returncode != 0:
            trial.said[name] = None
            print(f"  {words[0]}: {done.stderr.strip()}")
        else:
            trial.said[name] = json.loads(done.stdout)
    done = footplate(args, ["check", str(trial.run)])
    (trial.folder / "check.txt").write_text(done.stdout)
    done = footplate(
        args, ["export", str(trial.run), "--format", "jsonl", "--what", "events", "-o", "-"]
    )
    trial.said["gpu_spans"] = gpu_spans(done.stdout)


def footplate(args: argparse.Namespace, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(args.footplate), *words], capture_output=True, text=True, check=False, timeout=120
    )


def gpu_spans(lines: str) -> list[tuple[str, int, float]]:
    """Phases on the GPU as the run has them: name, begin, milliseconds."""
    devices: set[int] = set()
    spans = []
    for line in lines.splitlines():
        event = json.loads(line)
        if event["type"] == "track" and event["on"] == "device":
            devices.add(event["track"])
        elif event["type"] == "event" and event["track"] in devices and event["name"] in PHASES:
            spans.append((event["name"], event["time_ns"], event["duration_ns"] / 1e6))
    return spans


# ---- comparing ----


def first_finding(check: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The issue that a user reads first."""
    issues = [rule for rule in check if rule["state"] == "issue"]
    return issues[0] if issues else None


def off_pct(shown: float | None, true: float | None) -> float | None:
    if shown is None or not true:
        return None
    return 100 * (shown - true) / true


def training(steps: dict[str, Any] | None) -> dict[str, Any]:
    ranks = [rank for rank in (steps or {}).get("ranks", []) if rank["mode"] == "train"]
    return ranks[0] if ranks else {}


def phase_errors(trial: Trial) -> dict[str, tuple[float, int]]:
    """Per phase: error in percent over the steps that both have timed, and how many those are."""
    truth = trial.truth
    errors = {}
    for phase in PHASES:
        ours = [s for s in truth["gpu_spans"] if s["phase"] == phase]
        ours = [s for s in ours if s["step"] >= truth["steady_first_step"]]
        theirs = [s for s in trial.said["gpu_spans"] if s[0] == phase]
        near_ns = min(5e6, 0.25e6 * truth["iteration_ms_p50"])
        pairs = []
        for span in ours:
            nearest = min(theirs, key=lambda s: abs(s[1] - span["begin_ns"]), default=None)
            if nearest is not None and abs(nearest[1] - span["begin_ns"]) < near_ns:
                pairs.append((nearest[2], span["ms"]))
        if pairs:
            shown, true = (statistics.fmean(column) for column in zip(*pairs, strict=True))
            errors[phase] = (off_pct(shown, true) or 0.0, len(pairs))
    return errors


def own_cpu(trial: Trial) -> float | None:
    """Percent of a core that Footplate used in the loop: the median, without its start."""
    begins = trial.truth["begins_ns"]
    for series in trial.said.get("own") or []:
        inside = [
            v
            for t, v in zip(series["t_ns"], series["v"], strict=True)
            if v is not None and begins[0] <= t <= begins[-1]
        ]
        if inside:
            return statistics.fmean(inside)
    return None


def share_error(trial: Trial) -> tuple[float | None, float | None]:
    """The true share of peak over the loop in percent, and by how many points Footplate is off."""
    truth = trial.truth
    name = str(truth.get("gpu") or "")
    peak = next((value for key, value in PEAKS.items() if key in name), None)
    if not peak or not truth.get("tflops_loop"):
        return None, None
    true = 100 * truth["tflops_loop"] / peak
    shown = ((trial.said.get("show") or {}).get("gpu") or {}).get("mfu_pct")
    return true, None if shown is None else shown - true


def compare(trial: Trial) -> None:
    truth, check = trial.truth, trial.said.get("check") or []
    rank = training(trial.said.get("steps"))
    first = first_finding(check)
    severe = [
        rule["rule"] for rule in check if rule["state"] == "issue" and rule["severity"] in SEVERE
    ]
    throughput = rank.get("throughput") or {}
    show = trial.said.get("show") or {}
    peak = (show.get("gpu") or {}).get("peak_memory_bytes")
    share, points = share_error(trial)
    right = not severe if truth["healthy"] else bool(first and first["rule"] == truth["cause"])
    trial.row = {
        "right": right,
        "expected": truth["cause"] or "none",
        "first": f"{first['rule']} ({first['severity']})" if first else "none",
        "severe": severe,
        "steps": (rank.get("count"), truth["steps"]),
        "iteration_pct": off_pct(
            1e3 * rank["iteration_s"]["mean"] if rank.get("iteration_s") else None,
            truth["iteration_ms_mean_steady"],
        ),
        "iteration_p50_pct": off_pct(
            1e3 * rank["iteration_s"]["p50"] if rank.get("iteration_s") else None,
            truth["iteration_ms_p50"],
        ),
        "steady_pct": off_pct(throughput.get("steady"), truth["throughput_steady"]),
        "overall_pct": off_pct(throughput.get("overall"), truth["throughput_overall"]),
        "phases_pct": phase_errors(trial),
        "peak_equal": None if peak is None else peak == truth["peak_bytes"],
        "peak_bytes": (peak, truth["peak_bytes"]),
        "share_pct": share,
        "share_points": points,
        "own_cpu_pct": own_cpu(trial),
        "own_cpu_whole_pct": off_own(show),
    }


def off_own(show: dict[str, Any]) -> float | None:
    """Footplate's CPU time over the whole run, its start and end included."""
    used, length = (show.get("self") or {}).get("cpu_s"), show.get("duration_s")
    return 100 * used / length if used is not None and length else None


COLUMNS = (
    ("program", 18),
    ("ok", 3),
    ("first finding", 30),
    ("expected", 18),
    ("steps", 11),
    ("iter", 7),
    ("p50", 7),
    ("steady", 7),
    ("overall", 8),
    ("fwd/bwd/opt (n)", 22),
    ("peak", 5),
    ("MFU+-", 12),
    ("own CPU", 7),
)


def number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:+.{digits}f}"


def line_of(trial: Trial) -> str:
    if not trial.row:
        return f"{trial.folder.name:<18} {trial.failed}"
    row = trial.row
    phases = "/".join(
        number(row["phases_pct"][p][0]) if p in row["phases_pct"] else "-" for p in PHASES
    )
    timed = max((n for _, n in row["phases_pct"].values()), default=0)
    peak = {None: "-", True: "=", False: "NO"}[row["peak_equal"]]
    share = "-" if row["share_pct"] is None else f"{row['share_pct']:.1f}"
    cells = (
        trial.folder.name,
        "ok" if row["right"] else "NO",
        row["first"],
        row["expected"],
        f"{row['steps'][0]}/{row['steps'][1]}",
        number(row["iteration_pct"]),
        number(row["iteration_p50_pct"]),
        number(row["steady_pct"]),
        number(row["overall_pct"]),
        f"{phases} ({timed})",
        peak,
        f"{share} {number(row['share_points'])}",
        "-" if row["own_cpu_pct"] is None else f"{row['own_cpu_pct']:.2f}",
    )
    text = " ".join(f"{cell:<{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
    note = f"  [{trial.failed}]" if trial.failed else ""
    also = [name for name in row["severe"] if not row["first"].startswith(f"{name} ")]
    return text.rstrip() + (f"  also: {', '.join(also)}" if also else "") + note


HEAD = " ".join(f"{name:<{width}}" for name, width in COLUMNS).rstrip()


# ---- what is carried home ----


def small_files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock" and path.stat().st_size <= LARGEST_FILE
    ]


def packed(trial: Trial) -> bytes:
    """The folder of a trial, as NAME.tar.xz."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=6) as tar:
        for path in small_files(trial.folder):
            tar.add(path, arcname=str(path.relative_to(trial.folder)), recursive=False)
    return buffer.getvalue()


def pack(trials: list[Trial], out: Path) -> None:
    """runs-1.tar, runs-2.tar, ...: each below LARGEST_PART."""
    parts: list[list[tuple[str, bytes]]] = [[]]
    for trial in trials:
        data = packed(trial)
        if len(data) > LARGEST_PART:
            print(f"{trial.folder.name}: {len(data)} bytes are too many, left out")
            continue
        if sum(len(d) for _, d in parts[-1]) + len(data) > LARGEST_PART:
            parts.append([])
        parts[-1].append((f"{trial.folder.name}.tar.xz", data))
    for i, part in enumerate(parts, 1):
        with tarfile.open(out / f"runs-{i}.tar", "w") as tar:
            for name, data in part:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def one(trial: Trial, args: argparse.Namespace) -> None:
    record(trial, args)
    truth = trial.folder / "truth.json"
    if truth.exists():
        trial.truth = json.loads(truth.read_text())
    if trial.failed:
        tail = (trial.folder / "output.txt").read_text(errors="replace").splitlines()[-15:]
        print(f"{trial.folder.name}: {trial.failed}", *tail, sep="\n  | ", flush=True)
    if trial.run.exists() and trial.truth:
        ask(trial, args)
        compare(trial)


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    done: list[Trial] = []
    print(HEAD, flush=True)
    for trial in plan(args):
        left_s = args.budget_s - (time.monotonic() - began)
        if left_s < trial.seconds + START_S:
            trial.failed = f"skipped: {left_s:.0f} s of the budget are left"
            print(line_of(trial), flush=True)
            continue
        try:
            one(trial, args)
        except Exception as error:  # the others still run
            trial.failed = f"could not be compared: {error!r}"
        done.append(trial)
        print(line_of(trial), flush=True)
    lines = [HEAD, *map(line_of, done)]
    (args.out / "trial.txt").write_text("\n".join(lines) + "\n")
    rows = {t.folder.name: t.row | {"failed": t.failed} for t in done}
    (args.out / "trial.json").write_text(json.dumps(rows, indent=1))
    pack(done, args.out)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
