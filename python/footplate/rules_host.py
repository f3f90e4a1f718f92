# SPDX-License-Identifier: Apache-2.0
"""Evaluates the rules of files: `python3 -m footplate.rules_host RUN FILE...`.

Prints one JSON document: {"verdicts": [...]}, or {"error": ...} when the request is wrong.
The rules run in a child process, one after the other, so that one that hangs, crashes or exits
takes only its own answer with it: the next ones are evaluated by another child. What rules print
goes to stderr.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import select
import signal
import sys
import time
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from footplate.rules import SEVERITIES, Finding, NotEvaluated, Rule, Run

MODULE = "footplate_rules"  # name of the module of the user's file
ANSWER_MOST = 16 << 20  # bytes of one child


class Wrong(Exception):  # noqa: N818
    """The request names something that does not exist."""


# ---- in the child ----


def load(path: str) -> list[type[Rule]]:
    """The rules of the file, in its order."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    loader = SourceFileLoader(MODULE, path)
    spec = spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[MODULE] = module
    loader.exec_module(module)
    rules = [
        v
        for v in vars(module).values()
        if inspect.isclass(v) and issubclass(v, Rule) and v.__module__ == MODULE and v.name
    ]
    names = [r.name for r in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"rule '{name}' is defined more than once")
    return rules


def values_of(rule: type[Rule], sets: list[str]) -> dict[str, float]:
    values = {}
    for text in sets:
        name, _, value = text.partition("=")
        owner, _, param = name.partition(".")
        if owner != rule.name:
            continue
        if param not in rule.params:
            there = ", ".join(rule.params) or "none"
            raise Wrong(f"{owner} has no parameter '{param}'; it has: {there}")
        p = rule.params[param]
        try:
            values[param] = float(value)
        except ValueError:
            raise Wrong(f"{name}: '{value}' is not a number") from None
        if not p.lo <= values[param] <= p.hi:
            raise Wrong(f"{name}: {value} is out of range ({p.lo:g} to {p.hi:g})")
    return values


def missing(rule: Rule, run: Run) -> str | None:
    for need in rule.needs:
        if need == "steps":
            if not run.steps()["steps"]:
                return "no training steps were detected"
            continue
        try:
            if not run.series(need, points=1):
                return f"{need} was not recorded"
        except NotEvaluated as e:
            return str(e)
    return None


def number(v: Any, what: str) -> float | None:
    if v is None:
        return None
    if isinstance(v, bool) or not isinstance(v, (int, float)):
        raise TypeError(f"{what} is {type(v).__name__}, not a number")
    return float(v) if math.isfinite(v) else None


def text(v: Any, what: str) -> str:
    if not isinstance(v, str):
        raise TypeError(f"{what} is {type(v).__name__}, not a string")
    return v


def finding_json(f: Any) -> dict[str, Any]:
    if not isinstance(f, Finding):
        raise TypeError(f"check returned {type(f).__name__}, not a Finding")
    numbers = {text(k, "a number's name"): number(v, k) for k, (v, _) in f.numbers.items()}
    return {
        "message": text(f.message, "message"),
        "node": text(f.node, "node"),
        "entity": text(f.entity, "entity"),
        "ranges": [[int(a), int(b)] for a, b in f.ranges],
        "advice": None if f.advice is None else text(f.advice, "advice"),
        "numbers": numbers,
        "units": {k: text(u, "a unit") for k, (_, u) in f.numbers.items()},
        "lost_s": number(f.lost_s, "lost_s"),
        "lost_gpu_s": number(f.lost_gpu_s, "lost_gpu_s"),
    }


def head(rule: type[Rule]) -> dict[str, Any]:
    return {
        "rule": str(rule.name),
        "title": str(rule.title),
        "description": str(rule.description),
        "recommendation": str(rule.recommendation),
        "severity": rule.severity if rule.severity in SEVERITIES else "warning",
        "params": {k: float(p.default) for k, p in rule.params.items()},
    }


def verdict(kind: type[Rule], run: Run, values: dict[str, float]) -> dict[str, Any]:
    """Never raises but for what ends the process."""
    result: dict[str, Any] = {"state": "not_evaluated", "why": "", "findings": []}
    try:
        if kind.severity not in SEVERITIES:
            raise ValueError(
                f"severity '{kind.severity}' is not valid; use {', '.join(SEVERITIES)}"
            )
        rule = kind(values)
        result["params"] = {k: number(v, k) for k, v in rule.p.items()}
        why = missing(rule, run)
        if why is not None:
            result["why"] = why
            return result
        result["findings"] = [finding_json(f) for f in rule.check(run) or []]
        result["why"] = text(rule.why, "why")
        result["state"] = "issue" if result["findings"] else "clear"
    except NotEvaluated as e:
        result.update(why=str(e), findings=[])
    except (Exception, SystemExit) as e:
        result.update(why=f"raised {type(e).__name__}: {e}", findings=[])
    return result


def work(args: argparse.Namespace, file: str, first: int, out: int) -> None:
    """One line for the list of rules, then one for each from `first` on."""

    def write(line: dict[str, Any]) -> None:
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(out, data) :]

    try:
        rules = load(file)
        values = [values_of(r, args.set) for r in rules]
    except Wrong as e:
        write({"error": str(e)})
        return
    except (Exception, SystemExit) as e:
        write({"failed": f"raised {type(e).__name__}: {e}"})
        return
    chosen = [
        (r, v) for r, v in zip(rules, values, strict=True) if not args.only or r.name in args.only
    ]
    write({"rules": [head(r) for r, _ in chosen], "there": [r.name for r in rules]})
    run = Run(args.run)
    for rule, v in chosen[first:]:
        write({"verdict": verdict(rule, run, v)})


# ---- in the host ----


class Child:
    """A process that evaluates rules from a given one on, and prints them line by line."""

    def __init__(self, args: argparse.Namespace, file: str, first: int) -> None:
        self._from, out = os.pipe()
        self._rest = b""
        self._read = 0
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._from)
            try:
                work(args, file, first, out)
            finally:
                with suppress(Exception):
                    sys.stdout.flush()
                os._exit(0)
        os.close(out)

    def line(self, limit_s: float) -> tuple[dict[str, Any] | None, str]:
        """The next one; None, and why, when there is none."""
        end = time.monotonic() + limit_s
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                return None, f"took longer than {limit_s:g} s"
            got = os.read(self._from, 1 << 16)
            self._rest += got
            self._read += len(got)
            if not got:
                return None, self._ended()
            if self._read > ANSWER_MOST:
                return None, f"printed more than {ANSWER_MOST >> 20} MiB"
        one, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(one)
        except ValueError:
            return None, "printed something that is not JSON"
        return (answer, "") if isinstance(answer, dict) else (None, "printed something unexpected")

    def _ended(self) -> str:
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        if os.WIFSIGNALED(status):
            return f"its process was killed by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"its process ended with status {os.WEXITSTATUS(status)}"

    def close(self) -> None:
        os.close(self._from)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def not_evaluated(of: dict[str, Any], why: str) -> dict[str, Any]:
    return of | {"state": "not_evaluated", "why": why, "findings": []}


def evaluate(args: argparse.Namespace, file: str) -> dict[str, Any]:
    """Its verdicts, and the names of all rules in it; None: they are not known."""
    verdicts: list[dict[str, Any]] = []
    whole: dict[str, Any] = {"rule": os.path.basename(file), "title": "custom rules"}
    whole |= {"description": "", "recommendation": "", "severity": "warning", "params": {}}
    while True:
        child = Child(args, file, len(verdicts))
        try:
            answer, why = child.line(args.limit)
            if answer is None or "failed" in answer:
                why = answer["failed"] if answer else why
                return {"verdicts": [*verdicts, not_evaluated(whole, why)], "there": None}
            if "error" in answer:
                return answer
            rules = answer["rules"]
            if not answer["there"]:
                why = "there is no rule in this file"
                return {"verdicts": [not_evaluated(whole, why)], "there": []}
            while len(verdicts) < len(rules):
                one, why = child.line(args.limit)
                of = rules[len(verdicts)]
                if one is None or not isinstance(one.get("verdict"), dict):
                    verdicts.append(not_evaluated(of, why))
                    break
                verdicts.append(of | one["verdict"])
            if len(verdicts) == len(rules):
                return {"verdicts": verdicts, "there": answer["there"]}
        finally:
            child.close()


def evaluate_all(args: argparse.Namespace) -> dict[str, Any]:
    verdicts: list[dict[str, Any]] = []
    there: list[str] | None = []
    for file in args.files:
        answer = evaluate(args, file)
        if "error" in answer:
            return answer
        verdicts += answer["verdicts"]
        there = None if there is None or answer["there"] is None else there + answer["there"]
    for owner in [s.partition(".")[0] for s in args.set]:
        if there is not None and owner not in there:
            return {"error": f"no rule '{owner}'; the rule files have {', '.join(there)}"}
    return {"verdicts": verdicts}


def main() -> int:
    parser = argparse.ArgumentParser(prog="footplate.rules_host", description=__doc__)
    parser.add_argument("run")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="RULE.PARAM=VALUE")
    parser.add_argument("--only", action="append", default=[], metavar="RULE")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each rule")
    args = parser.parse_args()
    answer = os.dup(1)
    os.set_inheritable(answer, False)
    os.dup2(2, 1)  # rules may print what they like
    data = json.dumps(evaluate_all(args)).encode() + b"\n"
    with os.fdopen(answer, "wb") as to:
        to.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
