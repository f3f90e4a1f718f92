# SPDX-License-Identifier: Apache-2.0
"""What keeps hooks harmless: nothing of ours raises, prints, or is in the way of what it wraps.

Loaded into every Python process of a job, so it imports nothing that Python has not loaded itself.
"""

import os
import stat

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

_reported: "dict[tuple[int, str], str]" = {}
# Losses of what is only tried once in a process: a further recording of it lacks the same.
_LASTING = ("hook ", "import ", "patch ", "finder")

# Called when a recording ends before its process does, and when a further one begins.
on_finish: "list[Callable[[], None]]" = []
on_begin_again: "list[Callable[[], None]]" = []
_MOST_SETTINGS = 1 << 20  # bytes


class Refusal(Exception):  # noqa: N818 - nothing has gone wrong
    """Raised where something cannot be recorded; its text is the reason, for people."""


def _one_line(why: object) -> str:
    try:
        text = str(why)
        if isinstance(why, BaseException) and not isinstance(why, Refusal):
            text = f"{type(why).__name__}: {text}" if text else type(why).__name__
        return " ".join(text.split())
    except Exception:
        return type(why).__name__


def report_loss(what: str, why: object) -> None:
    """Reports a loss to the recorder, once per process and `what`: what is missing, and why."""
    try:
        key = (os.getpid(), what)
        if key not in _reported:
            _reported[key] = _one_line(why)
            texts = [t.encode("utf-8", "replace").decode() for t in (what, _reported[key])]
            _core.loss(*map(_core.intern, texts))
    except Exception:
        pass


def begin_again() -> None:
    """Another recording of this process begins; its recorder has received nothing yet."""
    lasting = {what: why for (_, what), why in _reported.items() if what.startswith(_LASTING)}
    _reported.clear()
    for what, why in lasting.items():
        report_loss(what, why)
    for call in on_begin_again:
        with guard("begin again"):
            call()


def need_any(module: "Any", names: "Iterable[str]") -> None:
    """Raises when the module has none of these: the guard around a hook then reports that it does
    not support this version."""
    if not any(name in vars(module) for name in names):
        raise LookupError(f"this version of {module.__name__} is not supported")


class guard:  # noqa: N801 - used as a decorator and in `with`
    """Around our own code: swallows every Exception of it and reports the loss.

    As a decorator the function then returns None. KeyboardInterrupt and SystemExit are the user's
    and pass.
    """

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> "guard":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        where: "TracebackType | None",
    ) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        report_loss(self.what, error)
        return True

    def __call__(self, function: "Callable[..., Any]") -> "Callable[..., Any]":
        what = self.what

        def guarded(*args: "Any", **kwargs: "Any") -> "Any":
            try:
                return function(*args, **kwargs)
            except Exception as error:
                report_loss(what, error)

        return keep_looks(guarded, function)


def keep_looks(wrapper: "Any", original: "Any") -> "Any":
    """functools.wraps, which would import more than all of ours."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        try:  # noqa: SIM105 - contextlib is not loaded
            setattr(wrapper, name, getattr(original, name))
        except (AttributeError, TypeError):
            pass
    try:  # noqa: SIM105
        wrapper.__dict__.update(original.__dict__)
    except AttributeError:
        pass
    wrapper.__wrapped__ = original
    return wrapper


def around(
    original: "Callable[..., Any]",
    before: "Callable[[tuple[Any, ...], dict[str, Any] | None], Any] | None",
    after: "Callable[[Any, tuple[Any, ...], Any, bool], Any] | None" = None,
    what: str = "hook",
) -> "Callable[..., Any]":
    """The original, with ours before and after it: token = before(args, kwargs), then the original,
    once, with what it was given, then after(token, args, result, ok).

    `ok` is False, and the result None, when the original raised; its exception passes unchanged.
    What before and after raise is swallowed and reported as a loss; when before failed, after is
    not called. The wrapper is in C: it has no frame, so tracebacks, the line that a warning names
    and inspect.stack() are what they are without it. It binds as a method does, and has the looks,
    signature and pickle of the original.
    """
    return _core.Around(original, before, after, lambda error: report_loss(what, error))


def is_patched(function: object) -> bool:
    """Whether patch put it there."""
    function = getattr(function, "__func__", function)
    try:
        return "_footplate_original" in vars(function)
    except TypeError:
        return False


def patch(
    owner: "Any", attr: str, make: "Callable[[Callable[..., Any]], Callable[..., Any]]"
) -> bool:
    """Replaces owner.attr, a function of a module or class, by make(original), with the looks of
    the original. Never raises: what does not work is reported as a loss. True when it is patched
    now; what is patched already stays as it is.

    A Python function that make returns has to call the original exactly once and let its exceptions
    through; `around` does so automatically.
    """
    what = f"patch {getattr(owner, '__name__', owner)}.{attr}"
    try:
        raw = vars(owner)[attr] if attr in vars(owner) else getattr(owner, attr)
        if is_patched(raw):
            return True
        kind = type(raw) if isinstance(raw, staticmethod | classmethod) else None
        original = raw.__func__ if kind else raw
        wrapper = make(original)
        if wrapper is original:
            return False
        if getattr(wrapper, "__wrapped__", None) is not original:
            keep_looks(wrapper, original)
        wrapper._footplate_original = original  # type: ignore[attr-defined]
        setattr(owner, attr, kind(wrapper) if kind else wrapper)
        return True
    except Exception as error:
        report_loss(what, error)
        return False


def ring_folder() -> str:
    """The recorder's folder for this process, or an empty text. It must belong to this user or
    root: when a recorder has ended, other users can make a folder of the same name."""
    path = os.environ.get("FOOTPLATE_RING", "")
    try:
        st = os.lstat(path)
    except (OSError, ValueError):
        return ""
    trusted = st.st_uid in (os.geteuid(), 0) and not st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return path if stat.S_ISDIR(st.st_mode) and trusted else ""


def read_settings() -> "str | None":
    """The text of the recorder's config.json; None when there is none."""
    folder = ring_folder()
    if not folder:
        return None
    try:
        path = os.path.join(folder, "config.json")
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with open(fd, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("config.json is not a regular file")
        return file.read(_MOST_SETTINGS)
