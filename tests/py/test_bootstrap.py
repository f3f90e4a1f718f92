# SPDX-License-Identifier: Apache-2.0
"""Python starts below `footplate run` as it starts alone: same output, same state, same errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipapp
from pathlib import Path

import pytest

# All of a program's surroundings that may be compared, without what is documented to differ.
SURROUNDINGS = """
import os, sys
own = lambda name: name.partition(".")[0] == "footplate"
print(sys.argv, sys.path, sys.flags, sys.warnoptions, sys.prefix)
print([type(f).__name__ for f in sys.meta_path if not own(type(f).__module__)])
print(sorted(m for m in sys.modules if not own(m) and m != "encodings.ascii"))
print(sorted((k, v) for k, v in os.environ.items()
             if k not in ("FOOTPLATE_RING", "PYTHONPATH", "LC_CTYPE", "PYTEST_CURRENT_TEST")))
print([h.__name__ for h in sys.path_hooks], sys.excepthook is sys.__excepthook__)
print(sys.gettrace(), sys.getprofile())
try:
    import threading; print(threading.enumerate().__len__())
    import signal; print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGCHLD))
    print(sorted(os.listdir("/proc/self/fd")), __name__, __file__)
except NameError:
    pass
"""


def same(hooked, plain, *args, env=None, **more):
    """Runs it both ways; gives what came out when that is the same."""
    with_us = hooked(*args, env=env, **more)
    without = plain(*args, env=env, **more)
    assert with_us.stdout == without.stdout
    # A Python that cannot start names the extensions that it has loaded: the one trace there is.
    told = re.sub(r"\nExtension modules: footplate._core \(total: 1\)\n", "", with_us.stderr)
    assert told == without.stderr
    assert with_us.returncode == without.returncode
    return with_us


@pytest.mark.parametrize("options", [[], ["-O"], ["-s"], ["-W", "error"], ["-X", "dev"], ["-bb"]])
def test_a_script_finds_the_same_surroundings(hooked, plain, ring, tmp_path, options):
    script = tmp_path / "script.py"
    script.write_text(SURROUNDINGS)
    done = same(hooked, plain, *options, script, "argument")
    assert done.returncode == 0 and "argument" in done.stdout
    assert ring.names() == ["hooks.loaded"]


def test_code_a_module_and_standard_input_find_the_same(hooked, plain, ring, tmp_path):
    (tmp_path / "module.py").write_text(SURROUNDINGS)
    same(hooked, plain, "-c", SURROUNDINGS)
    same(hooked, plain, "-m", "module", cwd=tmp_path)
    same(hooked, plain, "-", input=SURROUNDINGS, stdin=None)
    same(hooked, plain, "-i", "-q", input="1 + 1\n1 / 0\n", stdin=None)
    assert ring.names("mark") == ["hooks.loaded"] * 4


def test_an_archive_finds_the_same(hooked, plain, ring, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(SURROUNDINGS)
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    same(hooked, plain, tmp_path / "app.pyz")
    assert ring.names() == ["hooks.loaded"]


@pytest.mark.parametrize("option", ["-I", "-E"])
def test_an_isolated_python_is_left_alone(hooked, plain, ring, option):
    same(hooked, plain, option, "-c", SURROUNDINGS)
    assert ring.events() == []


def test_a_python_without_site_is_not_hooked(hooked, plain, ring):
    """Nobody takes our folder off its path; there is nothing in it but one module."""
    code = SURROUNDINGS.replace(
        "sys.path,", f"[p for p in sys.path if p != {str(ring.bootstrap)!r}],"
    )
    same(hooked, plain, "-S", "-c", code)
    assert ring.events() == []


def test_every_python_here_is_left_as_it_is(pythons, hooked, plain, ring):
    """Also those that are too old for the hooks."""
    said = 0
    for version, python in pythons.items():
        same(hooked, plain, "-c", SURROUNDINGS, python=python)
        new = tuple(map(int, version.split("."))) >= (3, 10)
        said += new
        assert len(ring.events()) == said, version
        assert (ring.folder / f"old-python-{version}").exists() == (not new), version


def test_the_off_switch_leaves_python_alone(hooked, plain, ring):
    code = SURROUNDINGS + "print([m for m in sys.modules if own(m)])"
    done = same(hooked, plain, "-c", code, env={"FOOTPLATE_DISABLE": "1"})
    assert done.stdout.endswith("[]\n")
    assert ring.events() == []


def test_without_a_recorder_nothing_is_loaded(plain, ring):
    code = "import sys; print([m for m in sys.modules if 'footplate' in m], sys.path)"
    done = plain("-c", code, env={"PYTHONPATH": str(ring.bootstrap)})
    assert done.stdout == plain("-c", code).stdout and done.stderr == ""


def test_a_recorder_that_is_gone_is_not_missed(plain, ring):
    env = {"PYTHONPATH": str(ring.bootstrap), "FOOTPLATE_RING": "/nonexistent/folder"}
    done = plain("-c", "import footplate; footplate.mark('x'); print('fine')", env=env)
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_a_virtual_environment_stays_one(hooked, plain, ring, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=60
    )
    python = str(tmp_path / "venv" / "bin" / "python")
    done = same(hooked, plain, "-c", SURROUNDINGS, python=python)
    assert str(tmp_path / "venv") in done.stdout
    assert ring.names() == ["hooks.loaded"]


SITES = {
    "prints": "print('mine')\n",
    "changes the path": "import sys; sys.path.insert(0, '/somewhere'); sys.path.append('/else')\n",
    "raises": "raise ValueError('theirs')\n",
    "raises an import error": "import no_such_module\n",
    "raises an import error of that name": "raise ImportError('x', name='sitecustomize')\n",
    "exits": "raise SystemExit(7)\n",
    "has a syntax error": "def broken(:\n",
    "installs a finder": (
        "import sys\nclass F:\n    def find_spec(self, *a): return None\n"
        "sys.meta_path.insert(0, F())\n"
    ),
    "chains as we do": (
        "import sys, os\nhere = os.path.dirname(__file__)\n"
        "sys.path.remove(here)\ndel sys.modules['sitecustomize']\n"
        "try:\n    import sitecustomize\nexcept ImportError:\n    pass\nprint('chained')\n"
    ),
    "starts a program": (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-S', '-c', 'print(1)'], capture_output=True))\n"
    ),
    "looks at itself": (
        "import sys; print(__file__, __name__, __spec__.name, sys.modules[__name__].__file__)\n"
    ),
}
WHERE = "import footplate, footplate._core as c; print(footplate.__file__, c.__file__)"
SEE = "\nimport sitecustomize; print(sitecustomize.__file__, sys.modules['sitecustomize'])"


@pytest.mark.parametrize("what", SITES)
def test_the_sitecustomize_that_we_stand_before_runs_as_ever(hooked, plain, ring, tmp_path, what):
    (tmp_path / "sitecustomize.py").write_text(SITES[what])
    env = {"PYTHONPATH": str(tmp_path)}
    same(hooked, plain, "-c", SURROUNDINGS, env=env)
    same(hooked, plain, "-c", "import sys" + SEE, env=env)
    assert ring.names("mark") == ["hooks.loaded"] * 2


def test_sitecustomize_and_usercustomize_of_an_environment_run(hooked, plain, ring, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=60
    )
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "sitecustomize.py").write_text("print('site')")
    (packages / "usercustomize.py").write_text("print('user')")
    (packages / "a.pth").write_text("import sys; print('pth')\n")
    python = str(tmp_path / "venv" / "bin" / "python")
    done = same(hooked, plain, "-c", "import sys" + SEE, python=python)
    said = done.stdout.split("\n")
    assert said[:2] == ["pth", "pth"]
    # Debian's Python has one of its own, which is found first with and without us.
    own = Path(sysconfig.get_path("stdlib")) / "sitecustomize.py"
    assert (said[2] == "site") != own.exists()


def test_two_bootstraps_on_the_path_are_one(hooked, plain, ring, tmp_path):
    again = tmp_path / "other" / "footplate"
    shutil.copytree(ring.bootstrap.parent, again)
    env = {"PYTHONPATH": f"{ring.bootstrap}:{again / '_bootstrap'}:{ring.bootstrap}"}
    with_us, without = hooked("-c", SURROUNDINGS, env=env), plain("-c", SURROUNDINGS)
    assert (with_us.stdout, with_us.stderr) == (without.stdout, "")
    assert ring.names() == ["hooks.loaded"]
    assert hooked("-c", WHERE, env=env).stdout.count(str(ring.bootstrap.parent)) == 2


def test_the_folder_may_be_named_in_a_roundabout_way(hooked, plain, ring):
    """As the program does that finds it from where it is itself."""
    ring.bootstrap = ring.bootstrap / ".." / ".." / "footplate" / "_bootstrap"
    same(hooked, plain, "-c", SURROUNDINGS)
    assert ring.names() == ["hooks.loaded"]


BREAK = {
    "an empty package": {"__init__.py": "", "_start.py": ""},
    "an exception": {"_start.py": "raise RuntimeError('ours')"},
    "an exception in start": {"_start.py": "def start(): raise RuntimeError('ours')"},
    "a syntax error": {"__init__.py": "def broken(:"},
    "a warning": {"_start.py": "import warnings; warnings.warn('ours')\ndef start(): pass"},
    "no version": {"_version.py": "1/0"},
    "a recursion": {"_start.py": "def start(): start()"},
}


@pytest.mark.parametrize("what", BREAK)
def test_a_broken_package_is_not_noticed(hooked, plain, ring, tmp_path, what):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "footplate")
    for name, text in BREAK[what].items():
        (tmp_path / "footplate" / name).write_text(text)
    ring.bootstrap = tmp_path / "footplate" / "_bootstrap"
    same(hooked, plain, "-W", "ignore", "-c", SURROUNDINGS)
    left = hooked(
        "-W", "ignore", "-c", "import sys; print([m for m in sys.modules if 'foot' in m])"
    )
    assert left.stdout == "[]\n" or what == "a warning"


def test_a_package_that_was_not_built_says_so(hooked, plain, ring, tmp_path):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "footplate")
    (tmp_path / "footplate" / "_version.py").unlink()
    ring.bootstrap = tmp_path / "footplate" / "_bootstrap"
    same(hooked, plain, "-c", SURROUNDINGS)
    assert ring.losses() == ["hooks: footplate was not built: it has no _version.py"]


def test_a_source_folder_of_ours_on_the_path_is_not_called_another_program(hooked, ring, tmp_path):
    (tmp_path / "footplate").mkdir()
    (tmp_path / "footplate" / "__init__.py").touch()
    (tmp_path / "footplate" / "_version.py.in").touch()
    hooked("-c", "pass", env={"PYTHONPATH": str(tmp_path)})
    assert ring.losses() == ["hooks: footplate was not built: it has no _version.py"]


def test_hooks_that_fail_at_their_start_say_what_happened(hooked, plain, ring, tmp_path):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "footplate")
    (tmp_path / "footplate" / "_start.py").write_text("import nowhere_to_be_found")
    ring.bootstrap = tmp_path / "footplate" / "_bootstrap"
    same(hooked, plain, "-c", SURROUNDINGS)
    assert ring.losses() == ["hooks: not loaded: No module named 'nowhere_to_be_found'"]


@pytest.mark.parametrize("damage", [b"", b"not a library", b"\x7fELF\x02\x01\x01"])
def test_a_broken_extension_is_not_noticed(hooked, plain, ring, tmp_path, damage):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "footplate")
    core = tmp_path / "footplate" / "_core.abi3.so"
    core.unlink()
    core.write_bytes(damage)
    ring.bootstrap = tmp_path / "footplate" / "_bootstrap"
    same(hooked, plain, "-c", SURROUNDINGS)


@pytest.mark.parametrize("kind", ["module", "package", "installed"])
def test_a_program_keeps_its_own_module_of_our_name(hooked, plain, ring, tmp_path, kind):
    script = tmp_path / "script.py"
    script.write_text("import footplate; print(footplate.__file__, footplate.MINE)")
    env = {}
    if kind == "package":
        (tmp_path / "footplate").mkdir()
        (tmp_path / "footplate" / "__init__.py").write_text("MINE = 1")
    elif kind == "module":
        (tmp_path / "footplate.py").write_text("MINE = 2")
    else:
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "footplate.py").write_text("MINE = 3")
        env = {"PYTHONPATH": str(tmp_path / "lib")}
    done = same(hooked, plain, script, env=env)
    assert str(tmp_path) in done.stdout
    assert ring.losses() == ["hooks: the program has another 'footplate'"]


def test_a_folder_that_happens_to_have_our_name_is_no_module(hooked, ring, tmp_path):
    (tmp_path / "footplate").mkdir()
    done = hooked("-c", "import footplate; print(footplate.enabled())", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_an_installed_package_of_our_version_is_the_one_used(hooked, ring, tmp_path):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "footplate")
    done = hooked("-c", WHERE, env={"PYTHONPATH": str(tmp_path)})
    assert (done.stdout.count(str(tmp_path)), done.stderr) == (2, "")
    assert ring.names() == ["hooks.loaded"]


def test_a_folder_of_our_name_does_not_hide_an_installed_package(hooked, ring, tmp_path):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "lib" / "footplate")
    (tmp_path / "footplate").mkdir()
    done = hooked("-c", WHERE, env={"PYTHONPATH": str(tmp_path / "lib")}, cwd=tmp_path)
    assert (done.stdout.count(str(tmp_path / "lib")), done.stderr) == (2, "")


def test_of_two_versions_the_recorders_own_is_used(hooked, ring, tmp_path):
    shutil.copytree(ring.bootstrap.parent, tmp_path / "footplate")
    (tmp_path / "footplate" / "_version.py").write_text('VERSION = "0.0.1"\n')
    done = hooked("-c", WHERE, env={"PYTHONPATH": str(tmp_path)})
    assert (done.stdout.count(str(ring.bootstrap.parent)), done.stderr) == (2, "")
    assert ring.names() == ["hooks.loaded"]


@pytest.mark.parametrize(
    ("env", "facts"),
    [
        ({}, {}),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, 1)),
        ({"RANK": "0"}, (0, None, None)),
        ({"RANK": "", "SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_LOCALID": "2"}, (5, 6, 2)),
        ({"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "5", "SLURM_LOCALID": "2"}, (1, 2, None)),
        ({"RANK": "-1", "OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_SIZE": "9"}, (4, 9, None)),
        ({"RANK": "$RANK"}, {}),
        ({"RANK": "²", "PMI_RANK": "2", "PMI_SIZE": "3"}, (2, 3, None)),
        ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": "1"}, (1, 2, 1)),
        ({"JOB_COMPLETION_INDEX": "7"}, (7, None, None)),
        ({"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-2"}, (1, 2, None)),
        ({"SM_HOSTS": "not json", "SM_CURRENT_HOST": "algo-2"}, {}),
        ({"RANK": "9" * 30, "WORLD_SIZE": "2"}, {}),
    ],
)
def test_the_launchers_ranks_are_told(hooked, ring, env, facts):
    assert hooked("-c", "pass", env=env).stderr == ""
    names = ("process.rank", "process.world_size", "process.local_rank")
    wanted = {n: v for n, v in zip(names, facts, strict=True) if v is not None} if facts else {}
    assert {e["name"]: e["value"] for e in ring.events() if e["kind"] == "count"} == wanted
    assert ring.names("mark")[0] == "hooks.loaded"


MULTI = """
import multiprocessing as mp, os, sys
def work(q):
    import footplate
    footplate.mark("worker"); q.put((os.getpid(), sys.path[1:]))
if __name__ == "__main__":
    c = mp.get_context(sys.argv[1]); q = c.Queue()
    ps = [c.Process(target=work, args=(q,)) for _ in range(2)]
    [p.start() for p in ps]; got = [q.get(timeout=60) for _ in ps]; [p.join() for p in ps]
    assert all(path == sys.path[1:] for _, path in got), got
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_are_hooked(hooked, ring, tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(MULTI)
    done = hooked(script, method)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    workers = [e["pid"] for e in ring.events() if e["name"] == "worker"]
    assert len(set(workers)) == 2


def test_children_and_replaced_programs_are_hooked(hooked, ring):
    done = hooked(
        "-c",
        "import subprocess, sys, os\n"
        "subprocess.run([sys.executable, '-c', 'import footplate; footplate.mark(\"child\")'])\n"
        "os.execv(sys.executable, ['python', '-c', 'import footplate; footplate.mark(\"new\")'])",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    names = ring.names("mark")
    assert names.count("hooks.loaded") == 3 and {"child", "new"} <= set(names)


def test_a_child_in_an_environment_of_its_own_is_left_alone(hooked, ring):
    done = hooked(
        "-c",
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'import sys; print(sys.path)'], env={},"
        " capture_output=True).returncode)",
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
    assert ring.names() == ["hooks.loaded"]


def test_nothing_but_our_own_is_imported(hooked, plain):
    code = "import sys; print(sorted(sys.modules))"
    new = set(eval(hooked("-c", code).stdout)) - set(eval(plain("-c", code).stdout))
    assert new and all(name.partition(".")[0] == "footplate" for name in new)


def test_the_start_is_quick(hooked, plain):
    """At most 30 ms are allowed; a machine that is busy slows both down."""
    script = "import time; print(time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID))"

    def best(run) -> float:
        return min(float(run("-c", script).stdout) for _ in range(7))

    assert best(hooked) - best(plain) < 0.03


def test_a_folder_without_rights_is_no_obstacle(hooked, plain, ring, tmp_path):
    (tmp_path / "here").mkdir()
    os.chdir(tmp_path)
    code = "import os; print(os.getcwd())"
    try:
        gone = tmp_path / "here"
        with_us = hooked("-c", code, cwd=gone, preexec_fn=lambda: os.rmdir(gone))
        gone.mkdir()
        without = plain("-c", code, cwd=gone, preexec_fn=lambda: os.rmdir(gone))
    finally:
        os.chdir("/")
    assert (with_us.stdout, with_us.stderr) == (without.stdout, without.stderr)
