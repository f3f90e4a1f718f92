# SPDX-License-Identifier: Apache-2.0
"""A run at a server (`footplate serve`), queried over HTTP. Answers of the server are bounded, so
long ones are fetched interval by interval.

What a server does not return: samples sweep by sweep, marks and counters among the events, and
their arguments. Rules are evaluated there, with their default parameters.
"""

from __future__ import annotations

import json
import math
import os
import ssl
import time
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import Request, urlopen

from . import saved
from .frames import Column, Table, bools, category, floats, ints, times
from .source import Ask, Key, RunError, events_table, key_columns, steps_table

TOKEN: Final = "FOOTPLATE_TOKEN"
_API: Final = "/api/v1"
_HERE: Final = ("127.0.0.1", "localhost", "::1")
_PATIENCE_S: Final = 120.0
_REQUESTS_MOST: Final = 4000  # for one request
_PIXELS: Final = 10000  # the most that the server draws on
_STEPS_MOST: Final = 2000  # of each rank in one answer
_POINTS_MOST: Final = 10000  # of a scalar in one answer


class _TooMuch(Exception):
    """The request was too large for the server."""


def _column(name: str, values: list[Any], about: dict[str, Any]) -> Column:
    types = about.get("type", "boolean" if values and isinstance(values[0], bool) else "number")
    if name == "mode":  # every mode is a category, also one that no step has
        modes = ["train", "eval", "predict"]
        return Column("category", array("b", [modes.index(v) for v in values]), modes)
    if "string" in types:
        return category(values)
    if "boolean" in types:
        return bools([int(v) for v in values])
    if "integer" in types:
        return ints([-1 if v is None else v for v in values], -1 if "null" in types else None)
    return floats(values)


def _token_of_environment() -> str | None:
    """Of FOOTPLATE_TOKEN_FILE, else FOOTPLATE_TOKEN, as the commands take it."""
    file = os.environ.get(f"{TOKEN}_FILE")
    if not file:
        return os.environ.get(TOKEN)
    try:
        with open(file, encoding="ascii") as f:
            return f.read().split()[0]
    except (OSError, ValueError, IndexError) as e:
        raise RunError(f"cannot read the token in '{file}': {e}") from None


class Client:
    """One server."""

    def __init__(self, base: str, token: str | None) -> None:
        self.base = base
        self._token = token if token is not None else _token_of_environment()
        if self._token and base.startswith("http://") and urlsplit(base).hostname not in _HERE:
            raise RunError(f"{base}: a token is sent to other machines over https:// only")

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a path below /api/v1; waits while the server works it out."""
        given = {k: v for k, v in params.items() if v is not None}
        address = f"{self.base}{_API}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")
        end = time.monotonic() + _PATIENCE_S
        while True:
            status, body = self._once(address)
            if status != 202:
                return body
            if time.monotonic() > end:
                raise RunError(f"{self.base} did not answer in {_PATIENCE_S:g} s")
            time.sleep(0.2)

    def _trusted(self) -> ssl.SSLContext | None:
        """The certificates of FOOTPLATE_CA; None: those of the system."""
        ca = os.environ.get("FOOTPLATE_CA") or os.environ.get("FOOTPLATE_TO_CA")
        if not ca or not self.base.startswith("https://"):
            return None
        return ssl.create_default_context(cafile=ca)

    def file(self, path: str) -> bytes:
        """The bytes of a file below /api/v1."""
        return self._once(f"{self.base}{_API}{path}", read=lambda answer: answer.read())[1]  # type: ignore[no-any-return]

    def _once(self, address: str, read: Callable[[Any], Any] = json.load) -> tuple[int, Any]:
        accept = "application/json" if read is json.load else "*/*"
        request = Request(address, headers={"Accept": accept})
        if self._token:  # not for the address that a redirect names
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with urlopen(request, timeout=_PATIENCE_S, context=self._trusted()) as answer:
                return answer.status, read(answer)
        except HTTPError as e:
            raise _failure(e) from None
        except (URLError, OSError, ValueError) as e:
            reason = getattr(e, "reason", e)
            raise RunError(f"cannot reach {self.base}: {reason}") from None


def _failure(e: HTTPError) -> Exception:
    try:
        answer = str(json.load(e)["error"])
    except (ValueError, KeyError, TypeError):
        answer = f"status {e.code}"
    if e.code == 413 or (e.code == 400 and "fewer" in answer):
        return _TooMuch(answer)
    if e.code == 401:
        answer += f"; set {TOKEN} or pass token="
    return RunError(answer)


def place_of(address: str) -> tuple[str, str]:
    """The server of an address, and the name of the run in it; "": the newest."""
    parts = urlsplit(address)
    path = parts.path.removeprefix(_API).strip("/")
    fragment = parts.fragment.partition("?")[0].strip("/")
    words = [w for w in (fragment or path).split("/") if w]
    if words and words[0] in ("run", "runs"):
        words = words[1:]
    return f"{parts.scheme}://{parts.netloc}", unquote(words[0]) if words else ""


def open_source(address: str, token: str | None) -> Server:
    base, name = place_of(address)
    client = Client(base, token)
    there = client.get("/runs")
    if not there:
        raise RunError(f"{base} has no runs")
    if name in ("", "last"):
        return Server(client, there[0]["run"])
    exact = [r["run"] for r in there if r["run"] == name]
    found = exact or [r["run"] for r in there if r["run"].startswith(name)]
    if not found:
        raise RunError(f"{base} has no run '{name}'")
    if len(found) > 1:
        raise RunError(f"'{name}' is ambiguous: {', '.join(found[:5])}")
    return Server(client, found[0])


def compare_there(sides: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Two runs of one server."""
    if any(len(s) != 1 for s in sides):
        raise RunError("a server compares exactly two runs; open their folders to compare groups")
    a, b = (s[0]._source for s in sides)
    if not isinstance(b, Server) or a.client.base != b.client.base:
        raise RunError("both runs must be on the same server")
    return a.client.get("/compare", a=a.run, b=b.run)  # type: ignore[no-any-return]


class Server:
    """One run of a server; see source.Source."""

    def __init__(self, client: Client, run: str) -> None:
        self.client, self.run = client, run
        self.name = f"{client.base}/#/run/{quote(run)}"
        self._about: dict[str, Any] | None = None

    def _get(self, what: str = "", **params: Any) -> Any:
        return self.client.get(f"/runs/{quote(self.run)}{what}", **params)

    def refresh(self) -> None:
        self._about = None

    def close(self) -> None:
        pass

    def show(self) -> dict[str, Any]:
        if self._about is None:
            self._about = self._get()
        return self._about

    def series(self) -> list[Key]:
        return [
            Key(m["node"], m["metric"], entity, m["unit"])
            for m in self.show()["metrics"]
            for entity in m["entities"]
        ]

    # ---- samples ----

    def _keys(self, ask: Ask) -> list[Key]:
        metric = ask.metric or ""
        return [
            k
            for k in self.series()
            if (ask.node is None or k.node == ask.node)
            and (ask.entity is None or k.entity == ask.entity)
            and (k.metric.startswith(metric) if metric.endswith(".") else metric in ("", k.metric))
        ]

    def _read(self, ask: Ask, points: int | None) -> tuple[list[Key], list[list[Any]]]:
        """For each series its t_ns, v, min, max."""
        start = ask.start or self.show()["start_ns"] - 10**9
        end = ask.end or self.show()["end_ns"] + 10**9
        keys = self._keys(ask)
        columns = []
        for k in keys:
            of = {"node": k.node, "metric": k.metric, "entity": k.entity, "points": points}

            def fetch(a: int, b: int, of: dict[str, Any] = of) -> list[Any]:
                answer = self._get("/series", **of, **{"from": a, "to": b})
                return [answer[0][c] for c in ("t_ns", "v", "min", "max")] if answer else [[]] * 4

            columns.append(_intervals(fetch, start, end))
        return keys, columns

    def _table(self, ask: Ask, points: int | None, names: Sequence[str]) -> Table:
        keys, columns = self._read(ask, points)
        joined = [[x for one in columns for x in one[i]] for i in range(4)]
        numbers = {n: floats(joined[i + 1]) for i, n in enumerate(names)}
        return Table(
            {
                "time": times(joined[0]),
                **key_columns(keys, [len(one[0]) for one in columns]),
                **numbers,
            }
        )

    def samples(self, ask: Ask) -> Table:
        return self._table(ask, None, ("value",))

    def points(self, ask: Ask, points: int) -> Table:
        return self._table(ask, points, ("value", "min", "max"))

    def sweeps(self, node: str, series: Sequence[tuple[str, str]]) -> tuple[Any, list[Any]]:
        raise RunError("form='wide' needs the folder of the run, not a server")

    # ---- events and steps ----

    def steps(self) -> Table:
        start, end = self.show()["start_ns"] - 10**9, self.show()["end_ns"] + 10**9
        first: dict[str, Any] = {}

        def fetch(a: int, b: int) -> list[Any]:
            answer = self._get("/steps", last=_STEPS_MOST, **{"from": a, "to": b})
            first.setdefault("answer", answer)
            counts = Counter(map(_rank, answer["steps"]))
            if max(counts.values(), default=0) >= _STEPS_MOST:
                raise _TooMuch("too many steps for one request")
            return [answer["steps"]]

        rows = _intervals(fetch, start, end)[0]
        answer = first["answer"]
        order = {r: i for i, r in enumerate(dict.fromkeys(_rank(r) for r in answer["ranks"]))}
        rows.sort(key=lambda s: order.get(_rank(s), len(order)))  # within a rank by time
        pids = {_rank(r): (r["pid"], r["session"]) for r in answer["ranks"]}
        for r in rows:  # an older server has them in the list of ranks only
            pid, session = pids.get(_rank(r), (0, 0))
            r.setdefault("pid", pid)
            r.setdefault("session", session)
        return steps_table(self._columns("Step", rows), answer)

    def _columns(self, schema: str, rows: list[dict[str, Any]]) -> dict[str, Column]:
        """Rows of JSON as columns, with the types that the server describes."""
        about = self.client.get("/openapi.json")["components"]["schemas"][schema]["properties"]
        columns = {}
        for name in dict.fromkeys(key for r in rows for key in r) if rows else about:
            values: list[Any] = [r.get(name) for r in rows]  # a step without a loss has no such key
            if about.get(name, {}).get("type") != "object":
                columns[name] = _column(name, values, about.get(name, {}))
            for key in values[0] if values and isinstance(values[0], dict) else ():
                columns[f"{key}_s"] = floats([v[key] for v in values])
        return columns

    def events(self, start: int, end: int, detail: bool) -> Table:
        """Spans alone. Intervals in which some were merged are requested again in halves."""
        lo = start or self.show()["start_ns"]
        hi = end or self.show()["end_ns"] + 1
        found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        left = [(lo, hi)]
        for _ in range(_REQUESTS_MOST):
            if not left:
                break
            a, b = left.pop()
            answer = self._get("/timeline", px=_PIXELS, detail=int(detail), **{"from": a, "to": b})
            slices = answer["slices"]
            if (answer["cut"] or any(slices["merged"])) and b - a > _PIXELS:
                left += [(a, (a + b) // 2), ((a + b) // 2, b)]
            else:
                _keep_slices(found, answer)
        if left:
            raise RunError("too many events for one request; choose a shorter time range")
        return _events_of(list(found.values()))

    # ---- small answers ----

    def stats(self, node: str | None, start: int, end: int, all: bool) -> list[dict[str, Any]]:
        window = {"from": start or None, "to": end or None}
        return self._get("/stats", node=node, all=int(all) or None, **window)  # type: ignore[no-any-return]

    def saved(self) -> list[tuple[str, str]]:
        found = self.client.get(f"/files/{quote(self.run)}")
        return [
            (node["node"], file["name"])
            for node in found["nodes"]
            for file in node["files"]
            if saved.parse(file["name"]) is not None
        ]

    def saved_read(self, node: str, file: str) -> bytes:
        return self.client.file(f"/files/{quote(self.run)}/node-{quote(node)}/{quote(file)}")

    def health(self) -> dict[str, Any]:
        return self._get("/health")  # type: ignore[no-any-return]

    def health_scalar(self, name: str, rank: int, mode: str, points: int) -> dict[str, Any]:
        most = min(points or _POINTS_MOST, _POINTS_MOST)
        return self._get("/health/scalars", name=name, rank=rank, mode=mode, points=most)[0]  # type: ignore[no-any-return]

    def health_tensors(
        self, statistic: str, match: str | None, rank: int | None, columns: int
    ) -> dict[str, Any]:
        return self._get(  # type: ignore[no-any-return]
            "/health/tensors", statistic=statistic, match=match, rank=rank, columns=columns or None
        )

    def ops(self, rank: int | None, by_module: bool) -> list[dict[str, Any]]:
        return self._get("/ops", rank=rank, by="module" if by_module else "name")  # type: ignore[no-any-return]

    def breakdown(self, rank: int | None) -> dict[str, Any]:
        return self._get("/breakdown", rank=rank)  # type: ignore[no-any-return]

    def check(self, settings: list[str], machine: str | None, price: float) -> list[dict[str, Any]]:
        if settings or machine or price:
            raise RunError(
                "a server uses the default rules; open the folder of the run to change them"
            )
        return self._get("/findings")  # type: ignore[no-any-return]


def _rank(row: dict[str, Any]) -> tuple[Any, Any]:
    return row["node"], row["rank"]


def _intervals(fetch: Callable[[int, int], list[Any]], start: int, end: int) -> list[Any]:
    """Lists of fetch(start, end) one after the other; an interval that is too much is halved."""
    left, out = [(start, end)], None
    for _ in range(_REQUESTS_MOST):
        if not left:
            break
        a, b = left.pop()
        try:
            got = fetch(a, b)
        except _TooMuch as e:
            if b - a < 2:
                raise RunError(str(e)) from None
            left += [((a + b) // 2, b), (a, (a + b) // 2)]
            continue
        out = got if out is None else [x + y for x, y in zip(out, got, strict=True)]
    if left or out is None:
        raise RunError("too much data for one request; choose a shorter time range")
    return out


def _keep_slices(found: dict[tuple[Any, ...], tuple[Any, ...]], answer: dict[str, Any]) -> None:
    """Those that lie across a border come twice."""
    names = ("lane", "row", "start", "dur", "name", "category")
    for lane, row, start, dur, name, cat in zip(*(answer["slices"][n] for n in names), strict=True):
        of = answer["lanes"][lane]
        if of["kind"] == "phases":  # of the job, not of a process
            continue
        at = answer["from_ns"] + start
        who = (of["node"], of["rank"], of["pid"], of["thread"] or of["title"], of["kind"])
        words = (answer["names"][name], answer["categories"][cat])
        key = (*who, row, at, *words)
        found[key] = (at, dur, *words, *who)


def _events_of(rows: list[tuple[Any, ...]]) -> Table:
    rows.sort(key=lambda r: (r[0], -r[1]))
    names, categories = category(r[2] for r in rows), category(r[3] for r in rows)
    tracks: dict[tuple[Any, ...], int] = {}
    at = [tracks.setdefault(r[4:], len(tracks)) for r in rows]
    kinds = ["span", "step"]
    listed = [
        (node, -1 if rank is None else rank, pid or 0, -1, 1, "", thread, False, kind == "gpu")
        for node, rank, pid, thread, kind in tracks
    ]
    none = array("i", [-1] * len(rows))
    data = {
        "start": array("q", [r[0] for r in rows]),
        "duration": array("q", [r[1] for r in rows]),
        "value": array("d", [math.nan] * len(rows)),
        "name": names.data,
        "track": array("i", at),
        "args": none,
        "kind": array("b", [int(r[8] == "steps") for r in rows]),
        "category": categories.data,
        "mode": none,
    }
    words: dict[str, Sequence[str]] = {
        "name": names.words,
        "category": categories.words,
        "kind": kinds,
        "mode": ["train", "eval", "predict"],
        "args": [],
    }
    return events_table(listed, words, data)


__all__ = ["Client", "Server", "compare_there", "open_source", "place_of"]
