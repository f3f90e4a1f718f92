# SPDX-License-Identifier: Apache-2.0
"""Waits for the GPU, for every framework: gates that measure them (_core.SyncGate), and the names
of the places where they happen."""

import atexit
import os
import sys

from .. import _core, _safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Kinds of waits, as in python/core/core_sync.c.
TENSOR, MASK, TO, CUDA, ALWAYS = range(5)

# Parts of the paths of files that are not the program's: frameworks, Footplate, and what
# torch.compile has written.
LIBRARIES = (
    "/torch/",
    "/jax/",
    "/jaxlib/",
    "/footplate/",
    "torchinductor_",
)


PACKAGES = ("/site-packages/", "/dist-packages/")


class _State:
    ready = False
    pid = 0
    roots: "list[str]" = []  # of the program: the script's folder, the working directory


def _describe(path: str) -> str:
    """The name of a file in messages: its path below the program's own folders or site-packages.
    "": it is a library's."""
    if path.startswith("<"):  # frozen, or of exec
        return "" if path.startswith("<frozen") else path
    packages = next((name for name in PACKAGES if name in path), "")
    for root in _State.roots:  # which may hold a virtual environment
        if path.startswith(root) and not (packages and packages in path[len(root) - 1 :]):
            return path[len(root) :]
    if any(part in path for part in LIBRARIES):
        return ""
    return path.rpartition(packages)[2] if packages else "/".join(path.split("/")[-2:])


def describe(path: str) -> str:
    with _safe.guard("sync place"):
        return _describe(path)
    return ""


def is_own(path: str) -> bool:
    """Whether a file is the program's, not a library's or Python's."""
    packages = any(name in path for name in PACKAGES)
    return bool(describe(path)) and not packages and not path.startswith(sys.base_prefix + "/lib/")


def find_roots() -> None:
    """Before describe() is called; can be called again."""
    _State.roots = _State.roots or _find_roots()


def _find_roots() -> "list[str]":
    script = getattr(sys.modules.get("__main__"), "__file__", None)  # gone when Python ends
    script = script or next(iter(sys.argv), None)
    folders = [os.path.dirname(os.path.abspath(script))] if script else []
    folders.append(os.getcwd())
    found = [folder.rstrip("/") + "/" for folder in folders]
    return [root for root in found if root != "/" and not any(p in root for p in LIBRARIES)]


def _forked() -> None:
    _core.SyncGate.reset()


def _at_exit() -> None:
    """The last second's."""
    if os.getpid() == _State.pid:
        _core.pulse()


def ready() -> None:
    """Before the first gate is made; can be called again."""
    if not _State.ready:
        _State.ready = True
        _State.pid = os.getpid()
        find_roots()
        _core.SyncGate.setup(describe)
        os.register_at_fork(after_in_child=_forked)
        atexit.register(_safe.guard("sync exit")(_at_exit))


def is_gate(function: object) -> bool:
    return type(function) is _core.SyncGate


def put(owner: "Any", attr: str, op: str, kind: int, hidden: bool = False) -> bool:
    """Puts a gate in the place of owner.attr, unless that is not there or has one. The attribute of
    a class may be that of a base class: the gate goes on the class itself."""
    with _safe.guard(f"sync {attr}"):
        function = vars(owner).get(attr)
        if function is None:
            function = getattr(owner, attr, None)
        if function is None or is_gate(function) or not callable(function):
            return False
        setattr(owner, attr, _core.SyncGate(function, op, kind, hidden))
        return True
    return False
