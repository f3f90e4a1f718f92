# SPDX-License-Identifier: Apache-2.0
"""Recorded runs, read in C. Times are nanoseconds since the epoch, 0: open. Arrays are bytearrays
that numpy.frombuffer and memoryview.cast use as they are."""

class Error(Exception):
    """args: what is wrong, and one word: sys, format, limit, usage, not_found, busy, version."""

Key = tuple[str, str, str, str]
"""node, metric, entity, unit"""

def find(dir: str | None, name: str, /) -> str:
    """The folder of a run: a folder, the start of a name or id in `dir`, or "last"."""

def runs(dir: str | None, /) -> list[str]:
    """The folders of all runs in `dir`, newest first."""

def compare(
    a: list[str],
    b: list[str],
    price_a: float,
    price_b: float,
    confidence: float,
    first: int,
    last: int,
    /,
) -> bytes:
    """Folders of runs on each side; prices 0: as the runs say; steps -1: all."""

def human_value(v: float, unit: str, /) -> str:
    """12.3 %, 1.50 GiB, 684 ms; NaN is "-"."""

def human_duration(seconds: float, /) -> str: ...
def human_price(v: float, currency: str | None, /) -> str:
    """6.16 USD; without a currency: 6.16; NaN is "-"."""

def human_count(n: int, /) -> str: ...

Panel = tuple[str, str, str, tuple[object, ...]]
"""kind, title, unit of the values, data. The data of each kind:
histogram: edges, [(label, counts)]
bars: [(label, value, colour)]
boxes: end of the axis (0: as the values need), [(label, p5, p25, p50, p75, p95)]
line: label, times, values, minima or None, maxima or None, first and last time, end of the axis
dots: first and last time, end of the axis, kinds, [(kind, time, value, hint)]
lanes: seconds, rows, kinds, [(row, kind, from, to, hint)]
heat: seconds, rows, address of a picture
note: nothing
Times are seconds since the start; a colour is the number of one of the eight, as is a kind."""

def chart(label: str, columns: int, panels: list[Panel], /) -> str:
    """SVG that needs nothing else: panels in so many columns, row by row."""

class Run:
    def __new__(cls, path: str, /) -> Run: ...
    def close(self) -> None: ...
    def series(self) -> list[Key]: ...
    def samples(
        self, node: str | None, metric: str | None, entity: str | None, start: int, end: int, /
    ) -> tuple[
        list[int],
        tuple[list[str], list[str], list[str], list[str]],
        tuple[bytearray, bytearray, bytearray, bytearray, bytearray, bytearray],
    ]:
        """How many samples each series has; the texts of nodes, metrics, entities, units; arrays:
        time (int64), value (float64), then the numbers of the four texts: int8 when there are
        fewer than 128 of them, else int16. Series by series."""

    def points(
        self,
        node: str | None,
        metric: str | None,
        entity: str | None,
        start: int,
        end: int,
        points: int,
        /,
    ) -> tuple[list[tuple[str, str, str, str, int]], bytearray, bytearray, bytearray, bytearray]:
        """Series with their numbers of points; time, mean, min, max."""

    def sweeps(
        self, node: str, series: list[tuple[str, str]], /
    ) -> tuple[bytearray, list[bytearray]]:
        """Time of each sweep, and for each (metric, entity) its values as float32, NaN: none."""

    def events(
        self, start: int, end: int, detail: bool, /
    ) -> tuple[
        list[tuple[str, int, int, int, int, str, str, bool, int]],
        list[str],
        list[str],
        list[str],
        list[str],
        list[str],
        tuple[bytearray, ...],
    ]:
        """Tracks (node, rank, pid, worker, session, process, thread, detail, 0 thread or 1
        device; -1: not known), names, arguments, kinds, categories, modes; arrays: start,
        duration (int64 ns), value (float64), name, track, arguments (int32, -1: none), kind,
        category, mode, end (int8)."""

    def steps(
        self,
    ) -> tuple[list[tuple[str, int, int, int]], list[str], list[str], bytes, tuple[bytearray, ...]]:
        """Ranks (node, rank, pid, session), modes, parts of a step, JSON of the rest; arrays:
        rank's row, step, start, duration (ns), samples (-1: not known; int64), mode, cut (int8),
        then seconds of each part (float64, NaN: not seen)."""

    def show(self) -> bytes: ...
    def stats(self, node: str | None, start: int, end: int, all: bool, /) -> bytes: ...
    def saved(self) -> list[tuple[str, str, int]]:
        """Files of saved tensors: node, file, bytes; by step and rank."""

    def saved_read(self, node: str, file: str, /) -> bytes: ...
    def health(self) -> bytes: ...
    def health_scalar(self, name: str, rank: int, mode: int, points: int, /) -> bytes: ...
    def health_tensors(
        self, statistic: str, match: str | None, rank: int, columns: int, /
    ) -> bytes: ...
    def ops(self, rank: int | None, by_module: bool, /) -> bytes: ...
    def breakdown(self, rank: int | None, /) -> bytes: ...
    def check(self, settings: list[str], machine: str | None, price: float, /) -> bytes: ...
