# SPDX-License-Identifier: Apache-2.0
"""A check of Chrome traces against the documented trace event format."""

from __future__ import annotations

import json
from collections import defaultdict

# Members that events of a phase must have, beside ph, pid and ts.
NEEDS = {
    "X": {"name", "cat", "tid", "dur"},
    "i": {"name", "tid", "s"},
    "C": {"name", "args"},
    "M": {"name", "args"},
    "s": {"name", "cat", "tid", "id"},
    "f": {"name", "cat", "tid", "id", "bp"},
}
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


def strict(text: str) -> dict:
    """The JSON, with nothing in it that only some parsers take."""

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    def once(pairs):
        assert len({k for k, _ in pairs}) == len(pairs), f"a key twice in {pairs[:3]}"
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def check_event(e: dict) -> None:
    assert e["ph"] in NEEDS, e
    assert NEEDS[e["ph"]] <= set(e), e
    assert type(e["pid"]) is int and type(e.get("tid", 0)) is int, e
    assert isinstance(e.get("args", {}), dict), e
    if e["ph"] == "M":
        key, kind = METADATA[e["name"]]
        assert type(e["args"][key]) is kind, e
        return
    assert type(e["ts"]) in (int, float) and e["ts"] >= 0, e
    if e["ph"] == "X":
        assert type(e["dur"]) in (int, float) and e["dur"] >= 0, e
    if e["ph"] == "i":
        assert e["s"] in ("t", "p", "g"), e
    if e["ph"] == "C":
        assert e["args"] and all(type(v) in (int, float) for v in e["args"].values()), e
    if e["ph"] in ("s", "f"):
        assert type(e["id"]) is int and e["id"] < 2**53, e


def check_nesting(events: list[dict]) -> None:
    """Spans of a thread lie in each other or apart."""
    threads = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            begin = round(e["ts"] * 1000)
            threads[e["pid"], e["tid"]].append((begin, -round(e["dur"] * 1000), e["name"]))
    for spans in threads.values():
        ends: list[int] = []
        for begin, minus_dur, name in sorted(spans):
            while ends and ends[-1] <= begin:
                ends.pop()
            assert not ends or begin - minus_dur <= ends[-1], name
            ends.append(begin - minus_dur)


def check_counters(events: list[dict]) -> None:
    last: dict[tuple, float] = {}
    for e in events:
        if e["ph"] == "C":
            key = (e["pid"], e["name"], e.get("session", 1))
            assert last.get(key, 0) <= e["ts"], e
            last[key] = e["ts"]


def check_arrows(events: list[dict]) -> None:
    begins = [e["id"] for e in events if e["ph"] == "s"]
    ends = [e["id"] for e in events if e["ph"] == "f"]
    assert len(set(begins)) == len(begins)
    assert set(begins) == set(ends)
    spans = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    assert all((e["pid"], e["tid"], e["ts"]) in spans for e in events if e["ph"] in "sf")


def check_trace(text: str) -> dict:
    trace = strict(text)
    events = trace["traceEvents"]
    assert type(trace["baseTimeNanoseconds"]) is int and trace["displayTimeUnit"] in ("ms", "ns")
    for e in events:
        check_event(e)
    check_nesting(events)
    check_counters(events)
    check_arrows(events)
    named = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert named == {e["pid"] for e in events if e["ph"] != "M"} | named
    return trace
