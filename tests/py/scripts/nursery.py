# SPDX-License-Identifier: Apache-2.0
"""nursery.py MODULE...: imports the modules once, then runs scripts in forks of itself.

An import of torch takes longer than most of what is tested with it. Each line of input is a JSON
object: args (a script or -c and a code, then its arguments), env, cwd, stdout, stderr; each line of
output the status with which that child has ended. A child starts as Python does: with its own
environment, path and sitecustomize, so that hooks come when it starts, into modules that are there.
It ends as Python does, too, but for freeing the memory object by object, which takes a second.
"""

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import types
from pathlib import Path

LIMIT_S = 240  # for a child
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def next_child() -> "dict | None":
    """Comes back in a child, with what it shall do, and in the parent when there is no more."""
    for line in sys.stdin:
        ask = json.loads(line)
        pid = os.fork()
        if pid == 0:
            return ask
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def point(fd: int, path: str, flags: int) -> None:
    new = os.open(path, flags, 0o600)
    os.dup2(new, fd)
    os.close(new)


def become(ask: dict) -> "tuple[types.CodeType, dict]":
    """This process is now a Python that was started with that; gives its program."""
    signal.alarm(LIMIT_S)
    point(0, os.devnull, os.O_RDONLY)
    point(1, ask["stdout"], WRITE)
    point(2, ask["stderr"], WRITE)
    os.environ.clear()
    os.environ.update(ask["env"])
    os.chdir(ask["cwd"])
    is_code = ask["args"][0] == "-c"
    name = "<string>" if is_code else ask["args"][0]
    text = ask["args"][1] if is_code else Path(name).read_text()
    sys.argv = ["-c", *ask["args"][2:]] if is_code else ask["args"]
    sys.path[0] = "" if is_code else os.path.dirname(name)
    sys.path[1:1] = [entry for entry in os.environ.get("PYTHONPATH", "").split(":") if entry]
    importlib.invalidate_caches()
    sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if not is_code:
        main.__file__ = name
    return compile(text, name, "exec"), main.__dict__


def run(program: types.CodeType, scope: dict) -> int:
    """The status with which Python would end."""
    try:
        exec(program, scope)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def leave(status: int) -> None:
    """The end of Python, as far as anybody sees it."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


for module in sys.argv[1:]:
    importlib.import_module(module)
todo = next_child()
leave(0 if todo is None else run(*become(todo)))
