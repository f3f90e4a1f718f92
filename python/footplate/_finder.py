# SPDX-License-Identifier: Apache-2.0
"""Installs hooks once the modules they are for have been executed.

A finder in front of the others that only reacts to the names in hooks.HOOKS: it has the others find
the module and puts an `exec_module` of ours into that one loader, which takes itself out again
before it calls the loader's own. So modules, specs and loaders are those that Python would have
made, and nothing of ours is left in them.
"""

import sys
from _thread import get_ident

from . import _safe
from .hooks import HOOKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

# Python leaves frames of this file out of tracebacks that go through an import.
_IMPORT_FRAME = "<frozen importlib._bootstrap>"


def install_hooks(name: str, module: "ModuleType") -> None:
    """Installs what HOOKS has for the module. A hook that fails leaves the others alone."""
    for hook in HOOKS.get(name, ()):
        with _safe.guard(f"hook {hook}"):
            full = f"{__package__}.hooks.{hook}"
            __import__(full)
            sys.modules[full].install(module)


class _ExecModule:
    """What a loader's exec_module is until its module is executed."""

    __slots__ = ("loader", "name")

    def __init__(self, loader: "Any", name: str) -> None:
        self.loader = loader
        self.name = name

    def __call__(self, module: "ModuleType") -> None:
        loader = self.loader
        if vars(loader).get("exec_module") is self:
            del loader.exec_module
        loader.exec_module(module)
        after_exec(self.name, module)

    def __reduce__(self) -> "tuple[Any, ...]":
        """Copies and pickles of the loader have the loader's own."""
        return getattr, (self.loader, "exec_module")


_ExecModule.__call__.__code__ = _ExecModule.__call__.__code__.replace(co_filename=_IMPORT_FRAME)


def after_exec(name: str, module: "ModuleType") -> None:
    """Called with what was executed; it may have put something else in its place."""
    with _safe.guard(f"import {name}"):
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name == name:  # a loader may be shared, as that of a zip file is
            install_hooks(name, sys.modules.get(name, module))


class Finder:
    """The finder; its place is in front, once."""

    def __init__(self) -> None:
        self._busy: set[tuple[int, str]] = set()

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Never finds what the others do not, and lets their exceptions through."""
        if name not in HOOKS:
            return None
        key = (get_ident(), name)
        if key in self._busy:  # another finder asks all finders
            return None
        self._busy.add(key)
        try:
            for finder in list(sys.meta_path):
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find else None
                if spec is not None:
                    _wrap(spec.loader, name)
                    return spec  # type: ignore[no-any-return]
        except BaseException as error:
            if error.__traceback__:  # without this frame; `raise` adds none
                error.__traceback__ = error.__traceback__.tb_next
            raise
        finally:
            self._busy.discard(key)
        return None


Finder.find_spec.__code__ = Finder.find_spec.__code__.replace(co_filename=_IMPORT_FRAME)


def _wrap(loader: "Any", name: str) -> None:
    with _safe.guard(f"import {name}"):
        if type(loader).__name__ == "LazyLoader":  # executes when the module is first touched
            loader = loader.loader
        if loader is not None and not isinstance(loader, type):  # no namespace, one per module
            loader.exec_module = _ExecModule(loader, name)


def install() -> None:
    """Puts the finder in front and hooks what has been imported before."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, Finder())
    for name in HOOKS:
        module = sys.modules.get(name)
        if module is not None and not _is_loading(module):
            install_hooks(name, module)


def _is_loading(module: "ModuleType") -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
