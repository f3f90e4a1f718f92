# SPDX-License-Identifier: Apache-2.0
"""A recorder that a running process starts for itself: footplate.start() and footplate.stop().

The program `footplate attach` records in the background. It is not a child of this process: a
program that waits for its children does not see it. A socket joins the two: the recorder sends the
folder of the run and that of its events, stop() sends a byte, and the recorder's end closes it.
When the process ends first, the recorder notices and ends by itself.

Nothing here raises. If the recorder cannot be started, there is one warning.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final

from . import _core, _safe, _start
from .__main__ import find_program

if TYPE_CHECKING:
    from .analysis import Run

GREETING_S: Final = 20.0  # until the recorder has begun
ENDING_S: Final = 60.0  # until it has written the run and evaluated the rules

NO_PROGRAM: Final = (
    "the program 'footplate' was not found; install it in this environment or add it to PATH"
)


class Recording:
    """One recording of this process. `path` is the folder of its run, for footplate.open(); `error`
    is the reason why nothing is recorded, else "". A recording that failed is False."""

    def __init__(self, path: str = "", error: str = "") -> None:
        self.path = path
        self.error = error
        self.messages: list[str] = []  # what the recorder printed, after stop()
        self._link: socket.socket | None = None
        self._stderr: IO[bytes] | None = None
        self._environment: dict[str, str | None] = {}
        self._pid = os.getpid()

    def stop(self) -> Recording:
        """Ends it and waits for the run; does nothing when it has ended."""
        with _lock:
            _stop(self)
        return self

    def open(self) -> Run:
        """The run, as footplate.open() gives it."""
        from .analysis import RunError, open

        if self.error:
            raise RunError(f"nothing was recorded: {self.error}")
        return open(self.path)

    def __fspath__(self) -> str:
        return self.path

    def __bool__(self) -> bool:
        return not self.error

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def _repr_html_(self) -> str | None:
        """What was found, for notebooks."""
        if self.error or self._link is not None:
            return None
        from .analysis import cell

        with self.open() as run:
            return cell.as_html(run)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same for IPython in a terminal."""
        if self.error or self._link is not None:
            printer.text(repr(self))
            return
        from .analysis import cell

        with self.open() as run:
            printer.text(cell.as_text(run))

    def __repr__(self) -> str:
        if self.error:
            return f"<footplate.Recording: nothing was recorded: {self.error}>"
        state = "running" if self._link is not None else "ended"
        return f"<footplate.Recording {self.path} {state}>"


class _State:
    current: Recording | None = None


_lock = threading.RLock()


class _NotStartedError(Exception):
    """Its text is the reason, for people."""


# ---- starting ----


def start(options: Sequence[str]) -> Recording:
    """`options`: of `footplate attach`."""
    with _lock:
        running = _running()
        if running is not None:
            _warn(f"already recording to {running.path}; call footplate.stop() first")
            return running
        try:
            return _start_recorder(options)
        except (_NotStartedError, OSError, ValueError, subprocess.SubprocessError) as error:
            why = str(error) or type(error).__name__
            _warn(f"this process is not recorded: {why}")
            return Recording(error=why)


def options_of(
    name: str | None,
    dir: str | os.PathLike[str] | None,
    interval: str | float | None,
    labels: Mapping[str, object] | None,
    more: Sequence[str],
) -> list[str]:
    """The arguments of start() as options."""
    out = []
    if name is not None:
        out.append(f"--name={name}")
    if dir is not None:
        out.append(f"--dir={os.fspath(dir)}")
    if isinstance(interval, str):
        out.append(f"--interval={interval}")
    elif interval is not None:
        out.append(f"--interval={round(interval * 1000)}ms")
    out += [f"--label={key}={value}" for key, value in (labels or {}).items()]
    return [*out, *more]


def _running() -> Recording | None:
    now = _State.current
    if now is not None and now._pid != os.getpid():  # the parent's: this is a child of fork
        now = _State.current = None
    return now


def _start_recorder(options: Sequence[str]) -> Recording:
    if _core.enabled():
        raise _NotStartedError("it is already recorded by 'footplate run'")
    if os.environ.get("FOOTPLATE_DISABLE", "0") not in ("", "0"):
        raise _NotStartedError("FOOTPLATE_DISABLE is set")
    program = find_program()
    if program is None:
        raise _NotStartedError(NO_PROGRAM)
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - open until stop()
    link, theirs = socket.socketpair()
    try:
        with theirs:
            _spawn(program, theirs, stderr, options)
        path, events = _greeting(link, stderr)
        out = Recording(os.path.abspath(path))
        out._link, out._stderr = link, stderr
        _emit_into(out, events)
    except BaseException:
        link.close()
        stderr.close()
        raise
    if _State.current is None:
        atexit.register(_at_exit)
    _State.current = out
    return out


def _at_exit() -> None:
    """The recorder sees the end of the process by itself."""
    now = _State.current
    atexit.unregister(_at_exit)
    if now is not None and now._link is not None and now._stderr is not None:
        now._link.close()
        now._stderr.close()


def _spawn(program: str, link: socket.socket, stderr: IO[bytes], options: Sequence[str]) -> None:
    """The process that is started here only starts the recorder, and ends."""
    words = [program, "attach", "--quiet", f"--pid={os.getpid()}", f"--link-fd={link.fileno()}"]
    done = subprocess.run(
        [*words, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        pass_fds=[link.fileno()],
        timeout=GREETING_S,
        check=False,
    )
    if done.returncode != 0:
        raise _NotStartedError(_first_line(stderr) or f"{program} failed")


def _lines(stderr: IO[bytes]) -> list[str]:
    stderr.seek(0)
    lines = stderr.read().decode("utf-8", "replace").splitlines()
    return [line.removeprefix("footplate: ") for line in lines]


def _first_line(stderr: IO[bytes]) -> str:
    return next(iter(_lines(stderr)), "")


def _greeting(link: socket.socket, stderr: IO[bytes]) -> list[str]:
    """The folders of the run and of its events."""
    text = b""
    link.settimeout(GREETING_S)
    try:
        while text.count(b"\n") < 2:
            more = link.recv(65536)
            if not more:
                raise _NotStartedError(_first_line(stderr) or "the recorder ended at once")
            text += more
    except TimeoutError:
        link.sendall(b"\n")  # it is not wanted any more
        raise _NotStartedError(f"the recorder did not begin within {GREETING_S:.0f} s") from None
    return os.fsdecode(text).split("\n")[:2]


def _emit_into(recording: Recording, events: str) -> None:
    """Events of this process, and of the processes that it starts from now on."""
    if not events:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    bootstrap = os.path.join(here, "_bootstrap")
    path = os.environ.get("PYTHONPATH")
    _set(recording, "PYTHONPATH", os.pathsep.join(filter(None, [bootstrap, path])))
    _set(recording, "FOOTPLATE_RING", events)
    if _core.open_ring(events):
        _start.start()


def _set(recording: Recording, name: str, value: str) -> None:
    recording._environment[name] = os.environ.get(name)
    os.environ[name] = value


def _warn(text: str) -> None:
    """A program that makes errors out of warnings continues all the same."""
    try:
        warnings.warn(f"footplate: {text}", RuntimeWarning, stacklevel=4)
    except RuntimeWarning:
        print(f"footplate: {text}", file=sys.stderr)


# ---- stopping ----


def stop() -> Recording | None:
    """None: nothing is being recorded."""
    with _lock:
        now = _running()
        if now is not None:
            _stop(now)
        return now


def _stop(recording: Recording) -> None:
    link = recording._link
    if link is None or recording._pid != os.getpid():
        return
    recording._link = None
    _State.current = None
    atexit.unregister(_at_exit)
    with _safe.guard("stop"):
        _start.finish()
    _core.close_ring()
    for name, value in recording._environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    with link:
        _wait_for_end(link)
    if recording._stderr is not None:
        recording.messages = _lines(recording._stderr)
        recording._stderr.close()


def _wait_for_end(link: socket.socket) -> None:
    try:
        link.settimeout(ENDING_S)
        link.sendall(b"\n")
        while link.recv(4096):
            pass
    except OSError:  # it ended before, or takes too long: what is written is a run
        pass


__all__: list[str] = ["Recording", "options_of", "start", "stop"]
