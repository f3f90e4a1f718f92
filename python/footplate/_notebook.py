# SPDX-License-Identifier: Apache-2.0
"""`%load_ext footplate` and the cell magic `%%footplate`: records what a cell does and shows what
was found. The recorder runs beside the kernel while the cell runs."""

from __future__ import annotations

import shlex
from typing import Any, Final

import footplate

OPTIONS: Final = ("name", "dir", "interval")
USAGE: Final = """%%footplate [--name NAME] [--dir DIR] [--interval TIME]

Records the machine and the steps of this cell. The result is the recording: its finding, charts,
and `path` for footplate.open()."""


class _CellFailedError(Exception):
    """The cell raised, and IPython has shown it: nothing more is shown, but the cell has failed."""

    def _render_traceback_(self) -> list[str]:
        return []


def _usage_error() -> Exception:
    from importlib import import_module  # IPython is no dependency

    return import_module("IPython.core.error").UsageError(USAGE)  # type: ignore[no-any-return]


def _parse(line: str) -> dict[str, str]:
    """--name N, --name=N, ..., as keywords of footplate.start()."""
    words, out = shlex.split(line), {}
    while words:
        name, equals, value = words.pop(0).removeprefix("--").partition("=")
        if name not in OPTIONS or not (equals or words):
            raise _usage_error()
        out[name] = value if equals else words.pop(0)
    return out


def load(shell: Any) -> None:
    """Registers the magic. Functions that are decorated from now on are recorded, too, when a
    recording begins later."""
    footplate._expect_recordings()

    def magic(line: str, cell: str) -> Any:
        options = {"name": "cell"} | _parse(line)
        recording = footplate.start(**options)  # type: ignore[arg-type]
        try:
            result = shell.run_cell(cell, store_history=False)
        finally:
            if recording:
                recording.stop()
        if not result.success:
            if recording:
                _show(recording)
            raise _CellFailedError
        return recording if recording else None

    magic.__doc__ = USAGE
    shell.register_magic_function(magic, "cell", "footplate")


def _show(recording: Any) -> None:
    from importlib import import_module

    import_module("IPython.display").display(recording)
