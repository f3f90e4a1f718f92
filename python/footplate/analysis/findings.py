# SPDX-License-Identifier: Apache-2.0
"""Findings of a run, as rows and as a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from . import html, human
from .frames import Frames, Table, from_ns
from .source import RunError, Source

if TYPE_CHECKING:
    from .run import Run

_COLUMNS: Final = {
    "rule": "category",
    "state": "category",
    "severity": "category",
    "node": "category",
    "entity": "category",
    "start": "time",
    "end": "time",
    "message": "object",
    "advice": "object",
    "lost_s": "float",
    "lost_gpu_s": "float",
    "lost_share": "float",
    "lost_cost": "float",
    "why": "object",
    "numbers": "object",
}

_ORDER: Final = {"critical": 0, "warning": 1, "info": 2}
_MORE: Final = 6  # findings of a rule that the page shows


def settings(params: Mapping[str, Any]) -> list[str]:
    """Rule={"param": v}, Rule_param=v and {"Rule.param": v} as "Rule.param=v"."""
    out = []
    for key, value in params.items():
        if isinstance(value, Mapping):
            out += [f"{key}.{name}={v}" for name, v in value.items()]
        elif "." in key:
            out.append(f"{key}={value}")
        elif "_" in key:
            rule, _, name = key.partition("_")
            out.append(f"{rule}.{name}={value}")
        else:
            raise TypeError(f"findings() got an unexpected keyword '{key}'")
    return out


def evaluate(
    source: Source,
    sets: list[str],
    machine: str | None,
    price: float | None,
    files: Sequence[str | os.PathLike[str]],
) -> list[dict[str, Any]]:
    """Verdicts of the built-in rules, then of those in files, which run in separate processes."""
    own = _names_in(files)
    builtin = [s for s in sets if s.partition(".")[0] not in own]
    verdicts = source.check(builtin, machine, price or 0.0)
    if files:
        verdicts += _hosted(
            source.name, [os.fspath(f) for f in files], [s for s in sets if s not in builtin]
        )
    return verdicts


def _names_in(files: Sequence[str | os.PathLike[str]]) -> set[str]:
    if not files:
        return set()
    answer = _ask_host([os.fspath(f) for f in files], "/nowhere", [])
    return {v["rule"] for v in answer["verdicts"]}


def _hosted(run: str, files: list[str], sets: list[str]) -> list[dict[str, Any]]:
    if run.startswith("http"):
        raise RunError("rule files need the folder of the run, not a server")
    answer = _ask_host(files, run, sets)
    if "error" in answer:
        raise RunError(answer["error"])
    return list(answer["verdicts"])


# As `-m footplate.rules_host`, but nothing is imported from the current folder.
_HOST = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from footplate.rules_host import main; sys.exit(main())"
)


def _ask_host(files: list[str], run: str, sets: list[str]) -> dict[str, Any]:
    words = [sys.executable, "-c", _HOST, run, *files]
    for s in sets:
        words += ["--set", s]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        raise RunError(done.stderr.strip() or "the rule files printed no result") from None


def only(verdicts: list[dict[str, Any]], rules: Iterable[str] | None) -> list[dict[str, Any]]:
    if rules is None:
        return verdicts
    there = {v["rule"] for v in verdicts}
    wanted = list(rules)
    for r in wanted:
        if r not in there:
            raise RunError(f"no rule '{r}'; available: {', '.join(sorted(there))}")
    return [v for v in verdicts if v["rule"] in wanted]


def rows_of(verdicts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for v in verdicts:
        issue = v["state"] == "issue"
        of_rule = {k: v.get(k) for k in ("rule", "state", "lost_share", "lost_cost")}
        of_rule |= {"why": v.get("why") or None, "severity": v["severity"] if issue else None}
        for f in v["findings"]:
            row = of_rule | {k: f.get(k) for k in ("node", "entity", "message", "advice")}
            row |= {"start": f.get("start_ns"), "end": f.get("end_ns"), "numbers": f["numbers"]}
            rows.append(row | {"lost_s": f.get("lost_s"), "lost_gpu_s": f.get("lost_gpu_s")})
        if not v["findings"]:
            rows.append(of_rule | {"numbers": {}})
    return rows


class FindingsTable(Table):
    """Rows of findings, shown as a page in notebooks. `verdicts`: the complete verdicts."""

    verdicts: list[dict[str, Any]]

    def _repr_html_(self) -> str:
        return findings_html(self.verdicts)


def frame(verdicts: list[dict[str, Any]], frames: Frames) -> Any:
    table = Table.of_rows(rows_of(verdicts), _COLUMNS)
    data = frames(table)
    if isinstance(data, Table):
        out = FindingsTable({n: table[n] for n in table.columns})
        out.verdicts = verdicts
        return out
    return _frame_class()(data, verdicts)


def _frame_class() -> Any:
    import pandas  # type: ignore[import-untyped, unused-ignore]

    class FindingsFrame(pandas.DataFrame):  # type: ignore[misc, unused-ignore]
        """A data frame of findings that is shown as a page; parts of it are plain frames."""

        _metadata = ["verdicts"]

        def __init__(self, data: Any = None, verdicts: Any = None, **more: Any) -> None:
            super().__init__(data, **more)
            object.__setattr__(self, "verdicts", verdicts)

        @property
        def _constructor(self) -> Any:
            return pandas.DataFrame

        def _repr_html_(self) -> str:
            return findings_html(self.verdicts)

    return FindingsFrame


# ---- pages ----


def _size(v: Mapping[str, Any]) -> str:
    words = []
    if v.get("lost_s") is not None:
        words.append(f"{human.value(v['lost_s'], 's')} lost")
    if v.get("lost_share") is not None:
        words.append(f"{human.share(v['lost_share'])} of the time")
    if v.get("lost_cost") is not None:
        words.append(f"at a cost of {human.price(v['lost_cost'], v.get('currency'))}")
    return ", ".join(words)


def issue_html(v: Mapping[str, Any]) -> str:
    title = html.text(v.get("title") or v["rule"])
    out = [f"<div style='margin:8px 0'>{html.badge(v['severity'])} <b>{title}</b>"]
    out.append(f" <span class='fp-note'>{html.text(v['rule'])} {html.text(_size(v))}</span><ul>")
    for f in v["findings"][:_MORE]:
        where = " ".join(w for w in (f["node"], f["entity"]) if w)
        label = f"<i>{html.text(where)}</i>: " if where else ""
        out.append(f"<li>{label}{html.text(f['message'])}")
        if f.get("advice"):
            out.append(f"<br><span class='fp-note'>What to do: {html.text(f['advice'])}</span>")
        out.append("</li>")
    more = len(v["findings"]) - _MORE
    out.append(f"<li class='fp-note'>and {more} more</li>" if more > 0 else "")
    return "".join([*out, "</ul></div>"])


def _title(v: Mapping[str, Any]) -> str:
    return str(v.get("title") or v["rule"])


def issues_of(verdicts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that are issues, the severest first."""
    issues = [v for v in verdicts if v["state"] == "issue"]
    issues.sort(key=lambda v: (_ORDER.get(v["severity"], 3), -(v.get("lost_s") or 0)))
    return issues


def findings_html(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Issues, the severest first; then the rules that passed or were skipped."""
    issues = issues_of(verdicts)
    passed = [_title(v) for v in verdicts if v["state"] == "clear" and not v.get("summary")]
    skipped: dict[str, list[str]] = {}  # by reason
    for v in verdicts:
        if v["state"] == "not_evaluated":
            skipped.setdefault(v["why"], []).append(_title(v))
    plural = "" if len(issues) == 1 else "s"
    left = sum(map(len, skipped.values()))
    head = f"{len(issues)} issue{plural} · {len(passed)} passed · {left} skipped"
    out = [html.head(head), *map(issue_html, issues)]
    if passed:
        out.append(f"<div class='fp-note'>Passed: {html.text(', '.join(passed))}</div>")
    for why, titles in skipped.items():
        words = f"Skipped ({why}): {', '.join(titles)}"
        out.append(f"<div class='fp-note'>{html.text(words)}</div>")
    return "<div style='font:14px system-ui,sans-serif'>" + "".join(out) + "</div>"


def run_html(run: Run) -> str:
    """Summary of a run: status, phases, utilization of its nodes."""
    info = run.info
    start = html.when(from_ns(info["start_ns"]))
    facts = [
        ("command", " ".join(info["command"])),
        ("started", start),
        ("duration", human.value(info["duration_s"], "s")),
        ("nodes", ", ".join(_node_words(n) for n in info["nodes"])),
    ]
    if info.get("cost") is not None:
        facts.append(("cost", human.price(info["cost"], info.get("currency"))))
    loop = info.get("loop_duration_s")
    if loop is not None:
        phases = [
            f"{p} {human.value(info[p + '_s'], 's')} ({human.value(info[p + '_pct'], '%')})"
            for p in ("initialization", "train", "eval", "finalization")
            if info.get(p + "_s") and info.get(p + "_pct") is not None
        ]
        facts.append(("phases", ", ".join(phases)))
    rows = [[(html.text(k), True), (html.text(v), True)] for k, v in facts]
    return (
        html.head(f"{info['id']}: {info['status']}")
        + html.table(["", ""], rows)
        + _use_html(run._source.stats(None, 0, 0, False))
    )


def _node_words(n: Mapping[str, Any]) -> str:
    known = [(n.get("cores"), "core"), (n.get("gpus"), "GPU")]
    words = ", ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in known if count)
    return f"{n['id']} ({words})" if words else n["id"]


def _use_html(lines: Sequence[Mapping[str, Any]]) -> str:
    names = ("min", "p50", "p95", "max")
    rows = []
    for line in lines:
        key = [(html.text(line["node"]), True), (html.text(line["metric"]), True)]
        why = "; ".join(loss["why"] for loss in line.get("losses") or [])
        if line["count"]:
            cells = [(human.value(line[n], line["unit"] or ""), False) for n in names]
            rows.append([*key, *cells, (html.text(line["unit"] or ""), True)])
        else:
            blank = [html.cell(None)] * len(names)
            rows.append([*key, *blank, (f"not measured: {html.text(why)}", True)])
    return html.table(["node", "resource", *names, "unit"], rows)
