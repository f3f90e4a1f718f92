# SPDX-License-Identifier: Apache-2.0
"""The exception that ended the program: its type and where it was raised. Never its message, which
may hold data of the user."""

from .. import _core
from . import _waits

MOST_TYPE, MOST_FILE = 24, 18  # characters; a name has 62 bytes
MOST_FRAMES = 10_000


def _place(error: BaseException) -> str:
    """The innermost FILE:LINE that is the program's own; else the innermost one."""
    own = last = ""
    frame = error.__traceback__
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        path = frame.tb_frame.f_code.co_filename
        last = f"{path.rpartition('/')[2][-MOST_FILE:]}:{frame.tb_lineno}"
        if _waits.is_own(path):
            own = f"{_waits.describe(path)[-MOST_FILE:]}:{frame.tb_lineno}"
        frame = frame.tb_next
    return own or last


def emit(error: BaseException) -> None:
    _waits.find_roots()
    kind = type(error).__name__.replace(" ", "_")[:MOST_TYPE]
    _core.count(_core.intern(f"exception.ns {kind} {_place(error)}"), _core.now_ns())
