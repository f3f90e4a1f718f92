# SPDX-License-Identifier: Apache-2.0
"""Python runs this when it starts below `footplate run`, which puts this folder on PYTHONPATH.

Starts the hooks, takes its folder off sys.path, and calls the sitecustomize that it precedes, if
there is one. Nothing here may be seen by the program: no output, no exception, also not in a Python
that is too old for the rest, for which it keeps to what Python 2 understands.
"""

import sys

_HERE = __file__.rpartition("/")[0]
_NOT_BUILT = "footplate was not built: it has no _version.py"
_MOST = 62  # bytes that a recorder takes


def _leave_path():
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    sys.path_importer_cache.pop(_HERE, None)


def _version_of(folder):
    try:
        with open(folder + "/_version.py", "rb") as file:
            return file.read()
    except (IOError, OSError):  # noqa: UP024 - two things in Python 2
        return None


def _script_folder():
    """What Python is about to put in front of sys.path."""
    if getattr(sys.flags, "safe_path", False):
        return None
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    if script in ("", "-", "-c", "-m"):
        return _os.getcwd()
    return _os.path.dirname(_os.path.realpath(script))


def _find_installed():
    """Where `import footplate` would look; None when it would find nothing."""
    folder = _script_folder()
    spec = _external.PathFinder.find_spec("footplate", [folder]) if folder else None
    if spec is None or spec.loader is None:
        for finder in sys.meta_path:
            spec = finder.find_spec("footplate", None)
            if spec is not None:
                break
    return spec


def _load_from(folder, name, file):
    spec = _external.spec_from_file_location(name, folder + "/" + file)
    module = _frozen.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _forget():
    for name in list(sys.modules):
        if name == "footplate" or name.startswith("footplate."):
            del sys.modules[name]


def _what_happened(error):
    return ("not loaded: %s" % (str(error) or type(error).__name__))[:_MOST]


def _report(folder, why):
    core = _load_from(folder, "footplate._core", "_core.abi3.so")
    core.loss(core.intern("hooks"), core.intern(why))
    _forget()


def _start():
    folder = _HERE.rpartition("/")[0]
    spec = _find_installed()
    found = spec.origin.rpartition("/")[0] if spec and spec.origin else None
    version = found and _version_of(found)
    if found and not version:
        ours = _os.path.exists(found + "/_version.py.in")
        _report(folder, _NOT_BUILT if ours else "the program has another 'footplate'")
        return
    if not _version_of(folder):
        _report(folder, _NOT_BUILT)
        return
    if found and version == _version_of(folder):
        folder = found
    _load_from(folder, "footplate", "__init__.py")
    import footplate._start

    footplate._start.start()


def _wanted():
    get = _os.environ.get
    return (
        get("FOOTPLATE_RING")
        and get("FOOTPLATE_DISABLE", "0") in ("", "0")
        and "footplate._start" not in sys.modules
    )


def _too_old():
    return sys.version_info < (3, 10) or sys.implementation.name != "cpython"


def _leave_note():
    """A file that reports to the recorder which Python this is: its library cannot be loaded
    here."""
    name = getattr(getattr(sys, "implementation", None), "name", "cpython")
    name = "python" if name == "cpython" else name[:16]
    version = ".".join(map(str, sys.version_info[:2]))
    note = _os.path.join(_os.environ["FOOTPLATE_RING"], "-".join(("old", name, version)))
    if not _os.path.exists(note):
        open(note, "w").close()


_this = sys.modules[__name__]  # kept, or Python 2 would empty it below
try:
    _leave_path()
    import os as _os

    if not _wanted():
        pass
    elif _too_old():
        _leave_note()
    else:
        import _frozen_importlib as _frozen
        import _frozen_importlib_external as _external

        try:
            _start()
        except Exception as _error:
            _forget()
            _report(_HERE.rpartition("/")[0], _what_happened(_error))
except Exception:
    pass
if __name__ == "sitecustomize":
    # What this raises, also that there is none, is for Python to see, without this frame.
    del sys.modules[__name__]
    try:
        import sitecustomize  # noqa: F401
    except BaseException as _error:
        if getattr(_error, "__traceback__", None):
            _error.__traceback__ = _error.__traceback__.tb_next
        raise
