#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the advice help? Each planted problem of the trial that has a knob is recorded, the knob is
turned as the advice says, and the program runs again. Promised is the share of an iteration that
the finding lost, or that the advice expects to save; the goal is to gain half of that at least.

    bench/advice.py [--only decode,remote] [--json FILE]

About 10 minutes on two cores; the machine must have nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "trial"))

from cases import PLANTED, Case  # noqa: E402
from trial import HERE, LIMIT_S, advice_of, iteration_of, missing, record, verdicts  # noqa: E402

GOAL = 0.5  # of what was promised


def cure_of(case: Case, advice: str) -> dict[str, float] | None:
    """The knobs as the advice says; None: it does not say it."""
    knobs = {}
    for name, value in case.cure.items():
        if isinstance(value, str):
            found = re.search(value, advice)
            if found is None:
                return None
            value = float(found[1])
        knobs[name] = value
    return knobs


def run_plain(case: Case, knobs: dict[str, float]) -> float | None:
    """Seconds for an iteration, without Footplate."""
    words = [f"--knob={name}={value:g}" for name, value in (case.knobs | knobs).items()]
    done = subprocess.run(
        [sys.executable, str(HERE / case.file), case.program or case.name]
        + [f"--seconds={case.seconds:g}", *words],
        capture_output=True,
        text=True,
        timeout=case.seconds + LIMIT_S,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    return iteration_of(done.stdout)


def promise_of(rule: dict[str, Any]) -> float:
    numbers = rule["findings"][0]["numbers"]
    if "expected_step" in numbers:
        return float(1 - numbers["expected_step"] / numbers["step"])
    return float(rule["lost_share"] or 0)


def try_case(case: Case, footplate: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case.name, "rule": case.rule}
    with tempfile.TemporaryDirectory(prefix="footplate-advice-") as name:
        record(case, footplate, Path(name) / "runs")
        issues = verdicts(footplate, Path(name) / "runs")
    rule = next((rule for rule in issues if rule["rule"] == case.rule), None)
    if rule is None:
        return row | {"wrong": "it was not found"}
    advice = advice_of(rule)
    knobs = cure_of(case, advice)
    if knobs is None:
        return row | {"wrong": f"the advice has no value: {advice}"}
    before, after = run_plain(case, {}), run_plain(case, knobs)
    if before is None or after is None:
        return row | {"wrong": "the program failed"}
    promised, gained = promise_of(rule), 1 - after / before
    wrong = "" if gained >= GOAL * promised else "less than half of the promise"
    return row | {
        "knobs": knobs,
        "before_s": before,
        "after_s": after,
        "promised": promised,
        "gained": gained,
        "advice": advice,
        "wrong": wrong,
    }


def show(row: dict[str, Any]) -> None:
    if "gained" not in row:
        print(f"{row['case']:17}{row['rule']:24}{row['wrong']}", flush=True)
        return
    knobs = ", ".join(f"{name}={value:g}" for name, value in row["knobs"].items())
    print(
        f"{row['case']:17}{row['rule']:24}{knobs:16}{row['before_s'] * 1e3:9.2f} ms"
        f"{row['after_s'] * 1e3:9.2f} ms{row['promised']:8.0%}{row['gained']:8.0%}  "
        f"{row['wrong'] or 'ok'}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="cases, with commas between them")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--footplate", type=Path, default=ROOT / "build" / "footplate")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else None
    rows = []
    print(
        f"{'CASE':17}{'RULE':24}{'KNOB':16}{'BEFORE':>12}{'AFTER':>12}{'PROMISED':>8}{'GAINED':>8}"
    )
    for case in PLANTED:
        if (only is not None and case.name not in only) or not case.cure:
            continue
        if missing(case):
            print(f"{case.name:17}SKIPPED: {missing(case)}")
            continue
        rows.append(try_case(case, args.footplate))
        show(rows[-1])
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1))
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
