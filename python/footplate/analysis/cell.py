# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of a recording that has just ended: the first finding with its advice, and
two charts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import findings, html, human

if TYPE_CHECKING:
    from .run import Run


def _issues(run: Run) -> list[Mapping[str, Any]]:
    """The severest first."""
    verdicts = findings.evaluate(run._source, [], None, None, [])
    return findings.issues_of(verdicts)


def _measured(run: Run) -> str:
    """What the cell did: its time and its steps."""
    words = [human.value(run.duration_s, "s")]
    steps = run._steps()
    seconds = [s for s in steps["iteration_s"] if s is not None]
    if len(steps):
        words.append(f"{human.count(len(steps))} steps")
    if seconds:
        words.append(f"{human.value(sorted(seconds)[len(seconds) // 2], 's')} each (median)")
    return ", ".join(words)


def _no_steps(run: Run) -> str:
    """Why no rule of the training loop could be evaluated, and what to do; "" when there are
    steps."""
    if len(run._steps()):
        return ""
    return next((str(v["why"]) for v in run.info["losses"] if v["what"] == "steps"), "")


def _first(issue: Mapping[str, Any]) -> tuple[str, str]:
    """Its message and its advice."""
    f = issue["findings"][0] if issue["findings"] else {}
    advice = f.get("advice") or issue.get("recommendation") or ""
    return str(f.get("message") or ""), str(advice)


def as_text(run: Run) -> str:
    issues = _issues(run)
    lines = [f"footplate: {run.name}: {_measured(run)}"]
    for issue in issues[:1]:
        message, advice = _first(issue)
        lines.append(f"  {issue.get('title') or issue['rule']} ({issue['severity']}): {message}")
        if advice:
            lines.append(f"  What to do: {advice}")
    if len(issues) > 1:
        lines.append(f"  {len(issues) - 1} more: footplate.open().findings()")
    if not issues:
        lines.append("  " + (_no_steps(run) or "No issue was found."))
    return "\n".join([*lines, f"  {_path(run)}"])


def as_html(run: Run) -> str:
    issues = _issues(run)
    out = [html.STYLE, html.head(f"{run.name}: {_measured(run)}")]
    out += map(findings.issue_html, issues[:1])
    if len(issues) > 1:
        rest = ", ".join(str(v.get("title") or v["rule"]) for v in issues[1:])
        out.append(_note(f"And: {rest}. footplate.open().findings() has all."))
    if not issues:
        out.append(_note(_no_steps(run) or "No issue was found."))
    if len(run._steps()):
        out.append(run.plot.step_parts()._repr_html_())
    out.append(run.plot.timeline(r"^(cpu|gpu)\.util$", r"^(total|gpu\d+)$")._repr_html_())
    out.append(_note(_path(run)))
    return "<div style='font:14px system-ui,sans-serif'>" + "".join(out) + "</div>"


def _path(run: Run) -> str:
    """As short as it can be from here."""
    return min(run.path, os.path.relpath(run.path), key=len)


def _note(words: str) -> str:
    return f"<div class='fp-note'>{html.text(words)}</div>"
