# SPDX-License-Identifier: Apache-2.0
"""Tables of columns, and data frames made of them where pandas is installed.

`Table` is the result of every query of a run inside this package. It needs neither numpy
nor pandas; with pandas `to_frame` makes a data frame of it that uses the same memory.
"""

from __future__ import annotations

import math
from array import array
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from . import html, human

_UTC: Final = timezone.utc  # noqa: UP017 - Python 3.10 has no datetime.UTC
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=_UTC)
_ROWS_SHOWN: Final = 60
_CODES: Final = {1: "b", 2: "h", 4: "i"}


def numpy() -> Any:
    """The module, or None when it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def pandas() -> Any:
    """The module, or None when it is not installed."""
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return pandas


def from_ns(ns: int) -> datetime:
    """A moment in UTC; datetime has microseconds only."""
    return _EPOCH + timedelta(microseconds=ns // 1000)


def to_ns(t: Any) -> int:
    """Nanoseconds since the epoch of a datetime, a numpy or pandas time, ISO text, seconds as a
    float, or nanoseconds as an int."""
    if t is None:
        return 0
    if isinstance(t, bool):
        raise TypeError("a bool is not a time")
    if isinstance(t, int):
        return t
    if isinstance(t, float):
        return round(t * 1e9)
    if isinstance(t, str):
        t = datetime.fromisoformat(t.replace("Z", "+00:00"))
    if hasattr(t, "as_unit"):  # pandas.Timestamp, which is a datetime too
        return int(t.as_unit("ns").value)
    if isinstance(t, datetime):
        since = (t if t.tzinfo else t.replace(tzinfo=_UTC)) - _EPOCH
        return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000
    if hasattr(t, "astype"):  # numpy.datetime64
        return int(t.astype("datetime64[ns]").astype("int64"))
    raise TypeError(f"{type(t).__name__} is not a time")


class Column:
    """Values of one kind under each other. `kind`: time, float, int, bool, category, object.

    `data` is memory of numbers (a memoryview, ns for times, numbers of `words` for categories) or a
    list. An int that is `none`, a float that is NaN and a category below 0 are None.
    """

    __slots__ = ("kind", "data", "words", "none")

    def __init__(
        self, kind: str, data: Any, words: Sequence[str] = (), none: int | None = None
    ) -> None:
        self.kind = kind
        self.data = data
        self.words = words
        self.none = none

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, i: int) -> Any:
        v = self.data[i]
        return self._value(v.item() if hasattr(v, "item") else v)

    def __iter__(self) -> Iterator[Any]:
        return map(self._value, self.raw())

    def __repr__(self) -> str:
        head = ", ".join(repr(v) for v in self.head(6))
        return f"<{self.kind} column of {len(self)}: {head}{', ...' if len(self) > 6 else ''}>"

    def _value(self, v: Any) -> Any:
        if self.kind == "category":
            return self.words[v] if v >= 0 else None
        if self.kind == "time":
            return None if v == self.none else from_ns(v)
        if self.kind == "float":
            return None if v is None or v != v else v
        if self.kind == "bool":
            return bool(v)
        return None if self.none is not None and v == self.none else v

    def head(self, n: int) -> list[Any]:
        return [self[i] for i in range(min(n, len(self)))]

    def tolist(self) -> list[Any]:
        return list(self)

    def raw(self) -> Sequence[Any]:
        """The numbers as they are stored: ns for times, NaN and `none` for what is not there."""
        if isinstance(self.data, (memoryview, array)):
            return self.data.tolist()
        if hasattr(self.data, "tolist"):
            return list(self.data.tolist())
        return list(self.data)

    def numpy(self) -> Any:
        """As a numpy array that uses the same memory where it can; categories as their numbers."""
        np = numpy()
        if np is None:
            raise ImportError("numpy is not installed")
        if self.kind == "object":
            out = np.empty(len(self.data), dtype=object)
            out[:] = self.data
            return out
        a = np.asarray(self.data)
        if self.kind == "time":
            return a.view("M8[ns]") if a.dtype == np.int64 else a.astype("M8[ns]")
        return a.view(bool) if self.kind == "bool" and a.dtype == np.int8 else a

    def take(self, rows: Sequence[int]) -> Column:
        """Only these rows."""
        np = numpy()
        if np is not None and not isinstance(self.data, list):
            data: Any = np.asarray(self.data)[np.asarray(rows, dtype=np.int64)]
        elif isinstance(self.data, list):
            data = [self.data[i] for i in rows]
        else:
            data = array(_format(self.data), [self.data[i] for i in rows])
        return Column(self.kind, data, self.words, self.none)

    def frame_array(self) -> Any:
        """As a pandas array; the same memory where it can."""
        pd, np = pandas(), numpy()
        if self.kind == "time":
            values = np.asarray(self.data, dtype=np.int64)
            if self.none is not None and (values == self.none).any():
                values = np.where(values == self.none, np.iinfo(np.int64).min, values)
            return pd.array(values, dtype=pd.DatetimeTZDtype("ns", "UTC"), copy=False)
        if self.kind == "category":
            codes = np.asarray(self.data)
            return pd.Categorical.from_codes(
                codes, dtype=pd.CategoricalDtype(list(self.words)), validate=False
            )
        if self.kind == "int":
            values = np.asarray(self.data, dtype=np.int64)
            if self.none is None:
                return values
            return pd.arrays.IntegerArray(values, values == self.none)
        if self.kind == "float":
            return (
                np.asarray([math.nan if v is None else v for v in self.data], dtype=float)
                if (isinstance(self.data, list))
                else np.asarray(self.data)
            )
        if self.kind == "bool":
            return np.asarray(self.data).astype(bool)
        return pd.Series(self.data, dtype=object).array


def _format(data: Any) -> str:
    return str(data.typecode if isinstance(data, array) else data.format)


def view(memory: bytearray, code: str) -> memoryview:
    """Numbers of that format ("q", "d", ...) in the memory, nothing copied."""
    return memoryview(memory).cast("B").cast(code)  # type: ignore[call-overload, no-any-return]


def times(data: Any, none: int | None = None) -> Column:
    return Column("time", _numbers("q", data), none=none)


def floats(data: Any) -> Column:
    if isinstance(data, list):
        data = array("d", [math.nan if v is None else v for v in data])
    return Column("float", data)


def ints(data: Any, none: int | None = None) -> Column:
    return Column("int", _numbers("q", data), none=none)


def bools(data: Any) -> Column:
    return Column("bool", _numbers("b", data))


def _numbers(code: str, data: Any) -> Any:
    return array(code, data) if isinstance(data, (list, tuple)) else data


def codes(memory: bytearray, rows: int, words: Sequence[str]) -> Column:
    """Categories by numbers of one, two or four bytes."""
    size = len(memory) // rows if rows else 1
    return Column("category", view(memory, _CODES[size]), words)


def category(values: Iterable[str | None]) -> Column:
    """Categories of texts, in the order in which they come first."""
    known: dict[str, int] = {}
    numbers = array("i", [-1 if v is None else known.setdefault(v, len(known)) for v in values])
    return Column("category", numbers, list(known))


def gather(of_row: Sequence[str | None], rows: Any) -> Column:
    """Categories by way of a table: the text of each row of it, and which row each value has."""
    known: dict[str, int] = {}
    table = array("i", [-1 if v is None else known.setdefault(v, len(known)) for v in of_row])
    np = numpy()
    if np is not None:
        small = np.int8 if len(known) < 128 else np.int32
        return Column("category", np.asarray(table, dtype=small)[np.asarray(rows)], list(known))
    return Column("category", array("i", [table[r] for r in rows]), list(known))


def gather_ints(of_row: Sequence[int], rows: Any, none: int | None = None) -> Column:
    np = numpy()
    if np is not None:
        return Column("int", np.asarray(of_row, dtype=np.int64)[np.asarray(rows)], none=none)
    return Column("int", array("q", [of_row[r] for r in rows]), none=none)


class Table:
    """Named columns of equal length, with a small part of the interface of a data frame:
    `t["name"]`, `len(t)`, `for name in t`, `t.itertuples()`, `t.to_dict()`, `t.head()`."""

    def __init__(
        self, columns: Mapping[str, Column], attrs: Mapping[str, Any] | None = None
    ) -> None:
        self._columns = dict(columns)
        self.attrs: dict[str, Any] = dict(attrs or {})
        lengths = {len(c) for c in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        self._rows = lengths.pop() if lengths else 0

    @staticmethod
    def of_rows(
        rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], attrs: Any = None
    ) -> Table:
        """From dicts; `columns` says which, and their kinds. A key ending in "?" is an int that
        may be missing, and times are ns."""
        make: dict[str, Callable[[list[Any]], Column]] = {
            "time": lambda v: times([_NO_TIME if x is None else x for x in v], _NO_TIME),
            "float": floats,
            "int": lambda v: ints(v),
            "int?": lambda v: ints([_NO_INT if x is None else x for x in v], _NO_INT),
            "bool": bools,
            "category": category,
            "object": lambda v: Column("object", v),
        }
        return Table(
            {name: make[kind]([r.get(name) for r in rows]) for name, kind in columns.items()},
            attrs,
        )

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    @property
    def empty(self) -> bool:
        return self._rows == 0

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows, len(self._columns)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        """The names of the columns, as a data frame does; rows come from itertuples()."""
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column '{name}'; available: {', '.join(self._columns)}") from None

    def itertuples(self) -> Iterator[Any]:
        """Rows as named tuples."""
        row = namedtuple("Row", self.columns, rename=True)  # type: ignore[misc]
        return map(row._make, zip(*self._columns.values(), strict=True))

    def to_dict(self, orient: str = "list") -> Any:
        """orient: "list", {name: values}; "records", [{name: value}]."""
        if orient == "list":
            return {name: c.tolist() for name, c in self._columns.items()}
        if orient == "records":
            names = self.columns
            rows = zip(*self._columns.values(), strict=True)
            return [dict(zip(names, row, strict=True)) for row in rows]
        raise ValueError("orient must be 'list' or 'records'")

    def take(self, rows: Sequence[int]) -> Table:
        """Only these rows, in this order."""
        return Table({k: c.take(rows) for k, c in self._columns.items()}, self.attrs)

    def where(self, keep: Callable[[Any], bool]) -> Table:
        """The rows, as named tuples, for which `keep` is true."""
        return self.take([i for i, row in enumerate(self.itertuples()) if keep(row)])

    def head(self, n: int = 5) -> Table:
        return self.take(range(min(n, self._rows)))

    def tail(self, n: int = 5) -> Table:
        return self.take(range(max(self._rows - n, 0), self._rows))

    def with_columns(self, **columns: Column) -> Table:
        return Table({**self._columns, **columns}, self.attrs)

    def to_pandas(self) -> Any:
        """A data frame that uses the same memory where it can."""
        pd = pandas()
        if pd is None:
            raise ImportError("pandas is not installed")
        out = pd.DataFrame({k: c.frame_array() for k, c in self._columns.items()}, copy=False)
        out.attrs.update(self.attrs)
        return out

    def __repr__(self) -> str:
        names = ", ".join(f"{k} ({c.kind})" for k, c in self._columns.items())
        return f"<Table of {self._rows} rows: {names}>"

    def _repr_html_(self) -> str:
        head = self.head(_ROWS_SHOWN)
        cells = [[html.cell(v) for v in row] for row in zip(*head._columns.values(), strict=True)]
        more = f"{human.count(self._rows)} rows" + (
            f", first {_ROWS_SHOWN} shown" if self._rows > _ROWS_SHOWN else ""
        )
        return html.table(self.columns, cells, note=more)


_NO_TIME: Final = -(2**63)
_NO_INT: Final = -(2**63)


class Frames:
    """The type of results: "pandas", "table", or None for pandas when it is installed."""

    def __init__(self, kind: str | None) -> None:
        if kind not in (None, "pandas", "table"):
            raise ValueError("frames must be None, 'pandas' or 'table'")
        if kind == "pandas" and pandas() is None:
            raise ImportError("pandas is not installed")
        self._kind = kind

    def __call__(self, table: Table) -> Any:
        use = self._kind != "table" and pandas() is not None
        return table.to_pandas() if use else table
