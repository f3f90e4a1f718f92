# SPDX-License-Identifier: Apache-2.0
"""The finder: hooks follow their module, and imports are what they are without it."""

from __future__ import annotations

import importlib.util
import zipfile

import pytest
from pykit import losses_of

# Adds hooks for modules of a test; they say which module they were given.
TABLE = """
import sys, types
from footplate import _core, hooks, _finder
def hook(name):
    def install(module):
        _core.mark(_core.intern(name + ":" + module.__name__ + ":" + str(hasattr(module, "DONE"))))
        if name == "bad": raise RuntimeError("bad hook")
    module = types.ModuleType("footplate.hooks." + name)
    module.install = install
    sys.modules[module.__name__] = module
for name in ("good", "bad", "other"): hook(name)
hooks.HOOKS.update({"target": ("bad", "good"), "target.sub": ("other",), "loop_a": ("good",),
                    "missing": ("good",), "failing": ("good",), "early": ("good",)})
"""

TARGET = '"""doc"""\nimport sys\nLINE = 1\ndef f(): return 1\nDONE = True\n'


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "__init__.py").write_text(TARGET)
    (tmp_path / "target" / "sub.py").write_text("from . import f\nDONE = f()\n")
    (tmp_path / "loop_a.py").write_text("import loop_b\nDONE = True\n")
    (tmp_path / "loop_b.py").write_text("import loop_a\nSEEN = hasattr(loop_a, 'DONE')\n")
    (tmp_path / "failing.py").write_text("def inner():\n    1 / 0\ninner()\n")
    (tmp_path / "early.py").write_text("DONE = True\n")
    return tmp_path


@pytest.fixture
def names(told, tree):
    def run(code):
        events = told(TABLE + f"sys.path.insert(0, {str(tree)!r})\n" + code)
        return [e["name"] for e in events]

    return run


def test_hooks_are_installed_after_their_module(names):
    assert names("import target.sub, json") == [
        "bad:target:True",
        "hook bad",
        "good:target:True",
        "other:target.sub:True",
    ]


def test_an_import_again_installs_nothing(names):
    assert names("import early\nimport early\n__import__('early')") == ["good:early:True"]


def test_a_reload_installs_again(names):
    assert (
        names("import early, importlib\nassert importlib.reload(early) is early")
        == ["good:early:True"] * 2
    )


def test_what_was_imported_before_us_is_hooked_at_once(told, tree):
    code = (
        f"import sys; sys.path.insert(0, {str(tree)!r})\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != 'Finder']\n"
        "import early\n" + TABLE + "_finder.install(); _finder.install()\n"
        "assert [type(f).__name__ for f in sys.meta_path].count('Finder') == 1"
    )
    assert [e["name"] for e in told(code)] == ["good:early:True"]


def test_circular_imports_see_what_they_saw(names):
    assert names("import loop_a, loop_b; assert loop_b.SEEN is False") == ["good:loop_a:True"]
    assert names("import loop_b; assert loop_b.SEEN is True") == ["good:loop_a:True"] * 2


def test_looking_for_a_module_does_not_import_it(names):
    assert (
        names(
            "import importlib.util\nassert importlib.util.find_spec('early').name == 'early'\n"
            "assert importlib.util.find_spec('missing') is None\nassert 'early' not in sys.modules"
        )
        == []
    )


def test_a_module_that_is_looked_for_first_is_hooked_once(names):
    code = "import importlib.util\nfor _ in range(3): importlib.util.find_spec('early')\n"
    assert names(code + "import early") == ["good:early:True"]


def test_a_module_made_by_hand_from_its_spec_is_hooked(names):
    assert names(
        "import importlib.util as u\ns = u.find_spec('early'); m = u.module_from_spec(s)\n"
        "s.loader.exec_module(m); assert m.DONE"
    ) == ["good:early:True"]


def test_a_lazy_module_is_hooked_when_it_is_touched(names):
    lazy = (
        "import importlib.util as u\ns = u.find_spec('early')\n"
        "s.loader = u.LazyLoader(s.loader); m = u.module_from_spec(s)\n"
        "sys.modules['early'] = m; s.loader.exec_module(m)\n"
    )
    assert names(lazy + "_core.mark(_core.intern('before')); assert m.DONE") == [
        "before",
        "good:early:True",
    ]


def test_a_finder_that_makes_modules_lazy_is_followed(names):
    lazy = (
        "import importlib.util as u, importlib.machinery as mach\n"
        "class Lazy:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        s = mach.PathFinder.find_spec(name, path)\n"
        "        if s and name == 'early': s.loader = u.LazyLoader(s.loader)\n"
        "        return s\n"
        "sys.meta_path.insert(0, Lazy()) if sys.argv[-1] == 'front' else "
        "sys.meta_path.insert(1, Lazy())\n"
        "import early\n_core.mark(_core.intern('before')); assert early.DONE"
    )
    assert names(lazy) == ["before", "good:early:True"]


def test_a_finder_that_asks_all_others_ends(names):
    """As the import hooks of other tools do."""
    code = (
        "import importlib.util\n"
        "class Asks:\n    busy = False\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if self.busy: return None\n"
        "        self.busy = True\n"
        "        try: return importlib.util.find_spec(name)\n"
        "        finally: self.busy = False\n"
        "sys.meta_path.insert({at}, Asks())\nimport early"
    )
    assert names(code.format(at=0)) == ["good:early:True"]
    assert names(code.format(at=1)) == ["good:early:True"] * 2


def test_a_second_finder_of_ours_is_no_endless_loop(names):
    """As two installations in one process would have it."""
    assert names("sys.meta_path.insert(0, _finder.Finder())\nimport early") == ["good:early:True"]


def test_loader_and_spec_are_left_as_python_made_them(names):
    names(
        "import importlib.machinery as mach, early, target, pickle, copy, inspect\n"
        "for m in (early, target):\n"
        "    l = m.__loader__\n"
        "    assert type(l) is mach.SourceFileLoader and l is m.__spec__.loader\n"
        "    assert sorted(vars(l)) == ['name', 'path'], vars(l)\n"
        "    assert pickle.loads(pickle.dumps(l)) == l and copy.deepcopy(l) == l\n"
        "    assert inspect.getsource(m) == open(m.__file__).read()\n"
        "assert early.__spec__ == mach.PathFinder.find_spec('early')"
    )


def test_a_loader_that_has_not_run_can_be_copied_and_pickled(names):
    assert names(
        "import importlib.util, pickle, copy\n"
        "l = importlib.util.find_spec('early').loader\n"
        "for other in (pickle.loads(pickle.dumps(l)), copy.copy(l), copy.deepcopy(l)):\n"
        "    assert type(other) is type(l) and other.path == l.path\n"
        "    m = type(sys)('early'); other.exec_module(m); assert m.DONE"
    ) in (["good:early:True"], [])


def test_modules_in_a_zip_file_are_hooked(told, tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as z:
        z.writestr("early.py", "DONE = True\n")
        z.writestr("plain.py", "DONE = True\n")
    code = (
        TABLE + f"sys.path.insert(0, {str(tmp_path / 'all.zip')!r})\n"
        "import importlib.util\nimportlib.util.find_spec('early')\n"
        "import plain, early\nassert early.DONE and plain.DONE\n"
        "assert 'exec_module' not in vars(early.__loader__)"
    )
    assert [e["name"] for e in told(code)] == ["good:early:True"]


def test_a_module_that_puts_another_in_its_place_is_hooked_there(told, tree):
    (tree / "early.py").write_text(
        "import sys, types\nm = types.ModuleType('early'); m.DONE = m.OTHER = True\n"
        "sys.modules[__name__] = m\n"
    )
    code = TABLE + f"sys.path.insert(0, {str(tree)!r})\nimport early; assert early.OTHER"
    assert [e["name"] for e in told(code)] == ["good:early:True"]


ERRORS = {
    "a module that is not there": "import missing",
    "a module that fails": "import failing",
    "one that fails, from a function": "def user():\n    import failing\nuser()",
    "a name that is not in it": "from early import nothing_like_this",
    "a submodule that is not there": "import target.missing",
    "a finder that fails": (
        "class Bad:\n    def find_spec(self, *a): raise RuntimeError('theirs')\n"
        "sys.meta_path.insert({at}, Bad())\nimport early"
    ),
    "a warning in the module": "import warns",
    "the stack seen by a module": "import looks",
}


@pytest.mark.parametrize("what", ERRORS)
def test_errors_of_imports_read_as_without_us(hooked, plain, tree, package, what):
    (tree / "looks.py").write_text(
        "import sys\nf = sys._getframe()\nwhile f:\n"
        "    n = f.f_code.co_filename\n    print(n) if 'importlib' not in n else None\n"
        "    f = f.f_back\n"
    )
    (tree / "warns.py").write_text("import warnings; warnings.warn('to you', stacklevel=2)\n")
    table = TABLE.replace('"early"', '"looks": ("good",), "warns": ("good",), "early"')
    (tree / "table.py").write_text(table)
    seen = []
    for run, head, at in ((hooked, "import sys, table\n", 1), (plain, "import sys, types\n", 0)):
        script = tree / "script.py"
        script.write_text(head + ERRORS[what].replace("{at}", str(at)))
        done = run(script)
        seen.append((done.returncode, done.stdout, done.stderr.replace("insert(1", "insert(0")))
    assert seen[0] == seen[1]
    assert seen[0][1] or seen[0][2]


def test_a_failed_import_can_be_tried_again(told, tree):
    (tree / "early.py").write_text("import os\nif 'GO' not in os.environ: 1/0\nDONE = True\n")
    code = (
        TABLE + f"import os; sys.path.insert(0, {str(tree)!r})\n"
        "try: import early\nexcept ZeroDivisionError: pass\n"
        "assert 'early' not in sys.modules\nos.environ['GO'] = '1'\nimport early"
    )
    assert [e["name"] for e in told(code)] == ["good:early:True"]


def test_two_threads_that_import_get_one_module(names):
    assert (
        names(
            "import threading\ngot = []\n"
            "def go():\n    import target.sub; got.append(target.sub)\n"
            "ts = [threading.Thread(target=go) for _ in range(8)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]\n"
            "assert len(got) == 8 and len(set(map(id, got))) == 1"
        ).count("other:target.sub:True")
        == 1
    )


def test_a_hook_that_cannot_be_imported_is_a_loss(told, tree):
    code = (
        TABLE + f"sys.path.insert(0, {str(tree)!r})\n"
        "hooks.HOOKS['early'] = ('not_written', 'good')\nimport early"
    )
    events = told(code)
    assert losses_of(events)[0].startswith("hook not_written: ModuleNotFoundError")
    assert [e["name"] for e in events] == ["hook not_written", "good:early:True"]


def test_a_namespace_is_left_alone(told, tmp_path):
    (tmp_path / "early").mkdir()
    code = TABLE + f"sys.path.insert(0, {str(tmp_path)!r})\nimport early; print"
    assert [e["name"] for e in told(code)] in ([], ["good:early:False"])


# Makes an empty module of the name of each that is hooked, and imports it.
BARE = """
import importlib, pathlib, sys
from footplate import hooks
for name in hooks.HOOKS:
    folder = pathlib.Path(*name.split("."))
    for package in (folder, *folder.parents[:-1]):
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
sys.path.insert(0, "")
importlib.invalidate_caches()
for name in hooks.HOOKS:
    assert importlib.import_module(name).__name__ == name
"""


def all_hooks(package):
    """The names of the hook modules that are listed, without importing any."""
    path = package / "footplate" / "hooks" / "__init__.py"
    spec = importlib.util.spec_from_file_location("hooks_table", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name for names in module.HOOKS.values() for name in names}


def test_frameworks_that_lack_all_that_is_hooked_are_left_alone_and_told(told, package, tmp_path):
    lost = {e["name"] for e in told(BARE, cwd=tmp_path) if e["kind"] == "loss"}
    assert lost >= {f"hook {name}" for name in all_hooks(package)}


def test_every_hook_that_is_listed_is_there(package):
    for name in all_hooks(package):
        assert (package / "footplate" / "hooks" / f"{name}.py").exists(), name
