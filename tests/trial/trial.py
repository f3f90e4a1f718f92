#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs with planted problems, and healthy ones, and checks what Footplate says.

    trial.py                          everything: about 30 minutes on two cores
    trial.py --parts quiet,busy       without the healthy runs
    trial.py --only decode,gil        these cases in all parts
    trial.py --quick                  one run of a few cases

The parts: "quiet", each planted problem by itself; "busy", the same while as many Python programs
compute as there are cores; "healthy", programs with which nothing is wrong. A planted problem
counts if its cause is the first finding and the advice fits. On the busy machine the finding
"Shared machine" may come before it, and must be there unless the program hardly computes. A healthy
run counts if it has no finding of severity warning or above. The machine must have nothing else to
do.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cases import GOALS, HEALTHY, HEALTHY_TIMES, PLANTED, QUICK, Case

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PARTS = ("quiet", "busy", "healthy")
SHARED = "SharedMachine"
INTERVAL = "100ms"  # the programs last seconds, not hours
LIMIT_S = 180.0  # of one recording, beyond its loop

# Ends with the trial, however that ends.
BURN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for i in range(1000000): i * i
"""


@dataclass
class Result:
    part: str
    case: str
    expected: str
    found: list[str]  # rules with a finding, in the order of `check`
    severe: list[str]  # of them, those of severity warning or above
    lost_share: float | None  # of the expected finding
    message: str
    advice: str
    iteration_s: float | None
    wrong: str  # "": as it should be
    took_s: float


# ---- recording ----


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Programs that compute, each on any core, until the block is left. Each has a session of its
    own: the kernel shares the CPU among sessions (sched_autogroup), so that all of one session
    would have no more of it than the job."""
    jobs = [
        subprocess.Popen([sys.executable, "-c", BURN, str(os.getpid())], start_new_session=True)
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for job in jobs:
            job.kill()
        for job in jobs:
            job.wait()


@contextlib.contextmanager
def limited(percent: int) -> Iterator[list[str]]:
    """Words before a command that put it into a control group with that much CPU."""
    if not percent:
        yield []
        return
    v1 = Path("/sys/fs/cgroup/cpu")
    group = (v1 if v1.is_dir() else v1.parent) / f"footplate-trial-{os.getpid()}"
    group.mkdir()
    try:
        if group.parent == v1:
            (group / "cpu.cfs_quota_us").write_text(str(percent * 1000))
        else:
            (group / "cpu.max").write_text(f"{percent * 1000} 100000")
        yield ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
    finally:
        group.rmdir()


def may_limit() -> bool:
    """Whether this user may make control groups."""
    try:
        with limited(100):
            return True
    except OSError:
        return False


def record(
    case: Case, footplate: Path, folder: Path, knobs: dict[str, float] | None = None
) -> tuple[int, str, str]:
    """Status, stdout and stderr. Nothing of the job is left afterwards."""
    words = [f"--knob={name}={value:g}" for name, value in (case.knobs | (knobs or {})).items()]
    with limited(case.quota) as before:
        return finish(case, before + command(case, footplate, folder, words))


def command(case: Case, footplate: Path, folder: Path, words: list[str]) -> list[str]:
    return [
        *(str(footplate), "run", "--dir", str(folder), "--name", case.name),
        *("--interval", INTERVAL, "--no-report", "--"),
        *(sys.executable, str(HERE / case.file), case.program or case.name),
        *(f"--seconds={case.seconds:g}", *words),
    ]


def finish(case: Case, words: list[str]) -> tuple[int, str, str]:
    job = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = job.communicate(timeout=case.seconds + LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        out, err = job.communicate()
        err += f"\ntrial: did not end within {case.seconds + LIMIT_S:.0f} s"
    finally:
        if job.poll() is None:  # the trial was ended
            os.killpg(job.pid, signal.SIGKILL)
    return job.returncode, out, err


def verdicts(footplate: Path, folder: Path) -> list[dict[str, Any]]:
    (run,) = folder.glob("*/run.json")
    done = subprocess.run(
        [str(footplate), "check", str(run.parent), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return [rule for rule in json.loads(done.stdout) if rule["state"] == "issue"]


def iteration_of(out: str) -> float | None:
    lines = [line for line in out.splitlines() if line.startswith('{"steps"')]
    return json.loads(lines[-1])["iteration_s"] if lines else None


# ---- judging ----


def wrong_planted(case: Case, part: str, issues: list[dict[str, Any]]) -> str:
    found = [rule["rule"] for rule in issues]
    if part == "busy" and SHARED not in found and not case.unshared:
        return f"{SHARED} is not among the findings"
    causes = [name for name in found if name != SHARED] if case.rule != SHARED else found
    if part != "busy":
        causes = found
    if not causes or causes[0] != case.rule:
        return f"the first finding is {causes[0] if causes else 'missing'}"
    advice = advice_of(next(rule for rule in issues if rule["rule"] == case.rule))
    if not re.search(case.advice, advice):
        return f"the advice is: {advice}"
    return ""


def advice_of(rule: dict[str, Any]) -> str:
    return rule["findings"][0].get("advice") or rule["recommendation"]


def judge(case: Case, part: str, issues: list[dict[str, Any]]) -> str:
    if part != "healthy":
        return wrong_planted(case, part, issues)
    severe = [rule for rule in issues if rule["severity"] != "info"]
    return f"{severe[0]['rule']}: {severe[0]['findings'][0]['message']}" if severe else ""


def run_case(case: Case, part: str, args: argparse.Namespace) -> Result:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="footplate-trial-", dir=args.work) as name:
        folder = Path(name) / "runs"
        busy = len(os.sched_getaffinity(0)) if part == "busy" else 0
        with neighbours(max(case.others, busy)):
            status, out, err = record(case, args.footplate, folder)
        issues = verdicts(args.footplate, folder)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            for run in folder.glob("*/run.json"):
                run.parent.rename(args.keep / f"{part}-{run.parent.name}")
    wrong = judge(case, part, issues)
    if status != case.status:
        wrong = f"status {status}: {err.strip().splitlines()[-1] if err.strip() else ''}"
    of_case = next((r for r in issues if r["rule"] == case.rule), issues[0] if issues else None)
    return Result(
        part,
        case.name,
        case.rule,
        [rule["rule"] for rule in issues],
        [rule["rule"] for rule in issues if rule["severity"] != "info"],
        of_case["lost_share"] if of_case else None,
        of_case["findings"][0]["message"] if of_case else "",
        advice_of(of_case) if of_case else "",
        iteration_of(out),
        wrong,
        time.monotonic() - start,
    )


# ---- the whole ----


def plan(args: argparse.Namespace) -> list[tuple[str, Case]]:
    only = args.only.split(",") if args.only else list(QUICK) if args.quick else None
    known = {case.name for case in (*PLANTED, *HEALTHY)}
    for name in only or ():
        if name not in known:
            raise SystemExit(f"trial: no case {name!r}; there are {', '.join(sorted(known))}")
    times = 1 if args.quick else HEALTHY_TIMES
    parts = args.parts.split(",") if args.parts else ("quiet", "healthy") if args.quick else PARTS
    cases = [("quiet", case) for case in PLANTED if "quiet" in parts]
    cases += [("busy", case) for case in PLANTED if "busy" in parts]
    cases += [("healthy", case) for _ in range(times) for case in HEALTHY if "healthy" in parts]
    return [(part, case) for part, case in cases if only is None or case.name in only]


def missing(case: Case) -> str:
    """Why it cannot run here; "": it can."""
    modules = [name for name in ("torch", *case.needs) if importlib.util.find_spec(name) is None]
    if modules:
        return f"{modules[0]} is not installed"
    return "no right to make a control group" if case.quota and not may_limit() else ""


def show(result: Result) -> None:
    print(
        f"{result.part:8}{result.case:17}{'ok' if not result.wrong else 'WRONG':7}"
        f"{', '.join(result.found) or 'no finding':50}{result.took_s:5.0f} s"
        + (
            f"\n{'':25}expected {result.expected or 'none'}: {result.wrong}" if result.wrong else ""
        ),
        flush=True,
    )


def below_goals(results: list[Result], skipped: int) -> bool:
    """Goals are for all cases; of a subset every one must be right."""
    below = False
    for part in PARTS:
        of_part = [result for result in results if result.part == part]
        right = sum(not result.wrong for result in of_part)
        if not of_part:
            continue
        whole = part in GOALS and len(of_part) == len(PLANTED)
        goal = GOALS[part] if whole else len(of_part)
        print(f"{part}: {right} of {len(of_part)} right, goal {goal}")
        below |= right < goal
    if skipped:
        print(f"{skipped} SKIPPED")
    return below


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="cases, with commas between them")
    parser.add_argument("--parts", help=f"of {', '.join(PARTS)}, with commas (default: all)")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, once")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    parser.add_argument("--work", type=Path, help="folder for the runs meanwhile")
    parser.add_argument("--footplate", type=Path, default=ROOT / "build" / "footplate")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    start = time.monotonic()
    results, skipped = [], 0
    for part, case in plan(args):
        if missing(case):
            skipped += 1
            print(f"{part:8}{case.name:17}SKIPPED: {missing(case)}")
            continue
        results.append(run_case(case, part, args))
        show(results[-1])
        if args.json:
            args.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    below = below_goals(results, skipped)
    print(f"total time {time.monotonic() - start:.0f} s")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
