# SPDX-License-Identifier: Apache-2.0
"""Each check of tools/ passes a good tree and refuses a bad one, naming the place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
CHECKS = [
    "check_layers",
    "check_links",
    "check_sizes",
    "check_spdx",
    "check_storage",
    "check_words",
]
SPDX = "SPDX-License-Identifier: Apache-2.0"

GOOD = {
    "README.md": "See `src/base/err.h`, [the plan](docs/plan.md) and `make test`.\n",
    "docs/plan.md": "Back to [the start](../README.md#top). A rule is `src/rules/rule_<name>.c`.\n",
    "src/LAYERS": "# who may include whom\nbase:\nstore: base\nrules: base\ncmd: *\n",
    "src/base/err.h": f"/* {SPDX} */\n",
    "src/base/err.c": f'/* {SPDX} */\n#include "err.h"\n\n#include <stdio.h>\n',
    "src/store/block.c": f'/* {SPDX} */\n#include "base/err.h"\n',
    "src/rules/rule_idle.c": f'/* {SPDX} */\n#include "base/err.h"\n',
    "src/cmd/main.c": f'/* {SPDX} */\n#include "store/block.c"\n',
    "scripts/go": f"#!/bin/sh\n# {SPDX}\n",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return plant(tmp_path, GOOD)


def check(name: str, root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / f"{name}.py"), "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def refused(name: str, root: Path, sentence: str) -> None:
    done = check(name, root)
    assert sentence in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def c_function(lines: int) -> str:
    return "static int long_one(int a,\n    int b)\n{\n" + "    a++;\n" * (lines - 2) + "}\n"


@pytest.mark.parametrize("name", CHECKS)
def test_a_good_tree_passes(name: str, tree: Path) -> None:
    done = check(name, tree)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [*CHECKS, "sources"])
def test_help_says_what_it_is_for(name: str) -> None:
    command = [sys.executable, str(TOOLS / f"{name}.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "--root" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            "src/rules/rule_bad.c",
            '#include "base/err.h"\n#include "store/block.h"\n',
            "src/rules/rule_bad.c:2: rules/ may not include store/",
        ),
        ("src/rules/rule_bad.c", "#include <store/block.h>\n", "may not include store/"),
        ("src/store/sly.c", '#include "../rules/rule.h"\n', "as a path from src/"),
        ("src/store/sly.c", '#include "nowhere/x.h"\n', "no folder src/nowhere/"),
        ("src/store/sly.c", '#include "err.h"\n', "err.h is not in src/store/"),
        ("src/extra/new.c", "", "src/extra/: not in src/LAYERS"),
        ("src/store/deep/new.c", "", "one folder deep"),
        ("src/store/err.c", "", "src/store/err.c: same name as src/base/err.c"),
        ("src/LAYERS", "base: cmd\nstore: base\nrules:\ncmd: store\n", "circle through base"),
        ("src/LAYERS", "base:\nstore: bass\nrules: base\ncmd: *\n", "granted bass"),
        (
            "src/LAYERS",
            "base:\nstore: base\nrules: base store\ncmd: *\n",
            "src/LAYERS: rules is granted store and does not include it",
        ),
    ],
)
def test_layers_refuses(tree: Path, file: str, text: str, sentence: str) -> None:
    refused("check_layers", plant(tree, {file: text}), sentence)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('path_join(path, e, "%s/run.json", run);', '"%s/run.json" is a name in a run'),
        ('path_join(path, e, "%s/node-%s/%s", run, id, file);', "is a name in a run"),
        ('run_path(path, run, "findings.json", e);', "is a name in a run"),
        ('snprintf(name, n, "metrics-%u.fp", k);', "is a name in a run"),
        ('snprintf(name, n, "%s/derived/%s", run, file);', "is a name in a run"),
        ("const int fd = open(path, O_RDONLY);", "open() on a file"),
        ('FILE *f = fopen(path, "r");', "fopen() on a file"),
        ("DIR *d = opendir(run);", "opendir() on a file"),
        ("if (flock(fd, LOCK_SH) == 0)", "flock() on a file"),
        ("return rename(from, to);", "rename() on a file"),
        ("rc = fmap_open(&map, path, e);", "fmap_open() on a file"),
    ],
)
def test_only_the_storage_reaches_into_a_run(tree: Path, line: str, sentence: str) -> None:
    text = f"static void f(void)\n{{\n    {line}\n}}\n"
    refused("check_storage", plant(tree, {"src/rules/bad.c": text}), sentence)
    (tree / "src/rules/bad.c").unlink()
    assert check("check_storage", plant(tree, {"src/run/fine.c": text})).returncode == 0


def test_writers_are_opened_by_the_storage_and_the_recorder(tree: Path) -> None:
    text = "int f(void)\n{\n    TRY(writer_open_session(&w, folder, 1, name, e));\n}\n"
    excepted = {"src/STORAGE": "rules/bad.c: its own file\n"}
    bad = text + 'int g(void)\n{\n    return open("/dev/null", 0);\n}\n'
    plant(tree, {**excepted, "src/rules/bad.c": bad, "src/agent/fine.c": text})
    refused("check_storage", tree, "src/rules/bad.c:3: writer_open_session: writers of a run")
    (tree / "src/rules/bad.c").write_text(bad.replace("writer_open_session", "store_window"))
    assert check("check_storage", tree).returncode == 0


def test_a_name_that_run_names_defines_is_refused_elsewhere(tree: Path) -> None:
    names = '#define RUN_PIECES "pieces.bin"\n#define RUN_START "part-"\n#define RUN_STEM "node"\n'
    plant(tree, {"src/run/run_names.h": names})
    for name in ("pieces.bin", "%s/pieces.bin", "part-%u"):
        text = f'static void f(void)\n{{\n    say("{name}");\n}}\n'
        sentence = f'"{name}" is a name in a run'
        refused("check_storage", plant(tree, {"src/rules/bad.c": text}), sentence)
    plant(tree, {"src/rules/bad.c": 'static void f(void)\n{\n    say("node");\n}\n'})
    assert check("check_storage", tree).returncode == 0


def test_what_is_no_file_of_a_run_is_allowed(tree: Path) -> None:
    text = (
        "/* open(path) in a comment, and run.json */\n"
        "static void open(struct doc *d)\n{\n"
        '    say("see report.json for all.");\n'
        "    probe->open(state);\n"
        '    jw_str(j, "node", "derived");\n}\n'
    )
    assert check("check_storage", plant(tree, {"src/rules/fine.c": text})).returncode == 0


def test_an_exception_that_is_not_needed_any_more_is_refused(tree: Path) -> None:
    plant(tree, {"src/STORAGE": "# why\nrules/tty.c: the terminal\n"})
    refused("check_storage", tree, "src/STORAGE: rules/tty.c needs no exception any more")
    plant(tree, {"src/rules/tty.c": 'void f(void)\n{\n    open("/dev/tty", 0);\n}\n'})
    assert check("check_storage", tree).returncode == 0


def test_layers_refuses_a_call_into_a_folder_that_the_file_does_not_name(tree: Path) -> None:
    header = "int err_set(int code);\n"
    caller = "static int store_fail(void)\n{\n    return err_set(1);\n}\n"
    plant(tree, {"src/base/err.h": header, "src/store/sly.c": caller})
    refused("check_layers", tree, "src/store/sly.c: calls err_set() but includes nothing of base/")
    plant(tree, {"src/store/store.h": '#include "base/err.h"\n'})
    plant(tree, {"src/store/sly.c": '#include "store/store.h"\n' + caller})
    assert check("check_layers", tree).returncode == 0


def test_sizes_refuses_a_struct_tag_that_exists_twice(tree: Path) -> None:
    plant(tree, {"src/base/a.c": "struct thing {\n};\n", "src/store/b.h": "struct thing {\n};\n"})
    refused("check_sizes", tree, "src/store/b.h: the tag thing also exists in src/base/a.c")


def test_sizes_refuses_a_src_of_more_than_600_files(tree: Path) -> None:
    files = len([path for path in (tree / "src").rglob("*") if path.suffix in (".c", ".h", ".def")])
    plant(tree, {f"src/base/file_{n}.c": "" for n in range(600 - files)})
    assert check("check_sizes", tree).returncode == 0
    refused(
        "check_sizes",
        plant(tree, {"src/base/last.def": ""}),
        "src: it has 601 files; the limit is 600",
    )


def c_functions(*names: str) -> str:
    return "".join(f"static int {name}(void)\n{{\n    return 1;\n}}\n\n" for name in names)


def test_sizes_refuses_functions_that_share_their_name(tree: Path) -> None:
    plant(tree, {"src/base/a.c": c_functions("take", *(f"base_do_{n}" for n in range(38)))})
    assert check("check_sizes", plant(tree, {"src/store/b.c": c_functions("take")})).returncode == 0
    plant(tree, {"src/rules/c.c": c_functions("take")})
    sentence = "src: 7.3% of the functions share their name with another one; the limit is 5%: take"
    refused("check_sizes", tree, sentence)
    plant(tree, {"src/rules/c.c": "__attribute__((noinline)) static int a_b(void)\n{\n}\n"})
    assert check("check_sizes", tree).returncode == 0


def test_sizes_counts_lines_per_folder(tree: Path) -> None:
    text = "/* one\n * two */\nint a;\n\nint b; /* not alone */\nassert(a);\n"
    done = check("check_sizes", plant(tree, {"src/rules/rule_idle.c": text}))
    assert ["rules", "1", "3", "2", "1"] in [line.split() for line in done.stdout.splitlines()]


def test_layers_lets_system_and_public_headers_pass(tree: Path) -> None:
    text = '#include <sys/stat.h>\n#include "footplate/emit.h"\n'
    assert check("check_layers", plant(tree, {"src/store/fine.c": text})).returncode == 0


def test_sizes_refuses_a_long_function(tree: Path) -> None:
    plant(tree, {"src/base/long.c": c_function(81)})
    refused("check_sizes", tree, "src/base/long.c:3: long_one has 81 lines; the limit is 80")


def test_sizes_refuses_a_long_python_function(tree: Path) -> None:
    plant(tree, {"tools/long.py": "def long_one():\n" + "    pass\n" * 80})
    refused("check_sizes", tree, "tools/long.py:1: long_one has 81 lines")


def test_sizes_notes_a_function_that_is_getting_long(tree: Path) -> None:
    done = check("check_sizes", plant(tree, {"src/base/longish.c": c_function(51)}))
    assert "note: src/base/longish.c:3: long_one has 51 lines" in done.stdout
    assert done.returncode == 0


def test_sizes_refuses_a_long_file(tree: Path) -> None:
    plant(tree, {"src/base/long.c": "int x;\n" * 901})
    refused("check_sizes", tree, "src/base/long.c: the file has 901 lines; the limit is 900")


def test_sizes_does_not_count_tables(tree: Path) -> None:
    table = "static const int table[] = {\n" + "    1,\n" * 2000 + "};\n"
    plant(tree, {"src/base/table.c": table, "src/base/rows.def": "ROW(1)\n" * 2000})
    assert check("check_sizes", tree).returncode == 0


@pytest.mark.parametrize(
    "file", ["src/base/bare.c", "src/base/bare.def", "tools/bare.py", "src/CMakeLists.txt"]
)
def test_spdx_refuses_a_source_without_a_licence(tree: Path, file: str) -> None:
    refused("check_spdx", plant(tree, {file: "\n\n\n"}), f"{file}: no line with SPDX")


def test_spdx_refuses_a_script_without_a_licence(tree: Path) -> None:
    refused("check_spdx", plant(tree, {"scripts/bare": "#!/bin/sh\n"}), "scripts/bare: no line")


def test_spdx_wants_the_line_near_the_top(tree: Path) -> None:
    plant(tree, {"src/base/late.c": "\n" * 50 + f"/* {SPDX} */\n"})
    refused("check_spdx", tree, "src/base/late.c: no line")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("one\nsee `src/base/gone.h`\n", "docs/new.md:2: there is no `src/base/gone.h`"),
        ("run `scripts/gone.sh STEP`\n", "there is no `scripts/gone.sh`"),
        ("like `src/gone/rule_<name>.c`\n", "there is no `src/gone/rule_<name>.c`"),
        ("[a](gone.md)\n", "the link to gone.md leads nowhere"),
        ("[a](gone.md#part)\n", "the link to gone.md leads nowhere"),
    ],
)
def test_links_refuses(tree: Path, text: str, sentence: str) -> None:
    refused("check_links", plant(tree, {"docs/new.md": text}), sentence)


@pytest.mark.parametrize(
    "text",
    [
        "```\nsrc/base/gone.h and [a](gone.md)\n```\n",
        "[a](https://example.org/gone.md) and [b](#here)\n",
        "`build/footplate`, `footplate-runs/x`, `/proc/stat` and `a/b`\n",
        "`src/base/*.c` and `tests` and src/base/gone.h without backticks\n",
    ],
)
def test_links_lets_pass(tree: Path, text: str) -> None:
    assert check("check_links", plant(tree, {"docs/new.md": text})).returncode == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "/* one\n * see gone.h */\n",
            "src/base/new.c:2: the comment names gone.h, which does not",
        ),
        ("// base/gone.def\n", "src/base/new.c:1: the comment names base/gone.def"),
        ("int a; /* store/err.h */\n", "the comment names store/err.h"),
        ("int a = 1 / 2; /* gone.c: what */\n", "the comment names gone.c"),
    ],
)
def test_links_refuses_a_comment_that_names_a_file_that_does_not_exist(
    tree: Path, text: str, sentence: str
) -> None:
    refused("check_links", plant(tree, {"src/base/new.c": text}), sentence)


@pytest.mark.parametrize(
    "text",
    [
        "/* new.c - see err.h, base/err.h and src/base/err.h */\n",
        '#include <linux/gone.h>\n/* linux/gone.h has it */\nconst char *s = "see gone.c";\n',
        "const char a = '\"'; /* rule_*.c, rule_<name>.c, /usr/include/gone.h */\n",
        'int n = sizeof "/* gone.c */";\n',
    ],
)
def test_links_lets_pass_comments(tree: Path, text: str) -> None:
    done = check("check_links", plant(tree, {"src/base/new.c": text}))
    assert done.returncode == 0, done.stdout


def test_what_was_built_is_not_looked_at(tree: Path) -> None:
    plant(tree, {f"{folder}/x.c": "int x;\n" * 2000 for folder in ("build", ".venv", "tests/data")})
    assert check("check_sizes", tree).returncode == 0
    assert check("check_spdx", tree).returncode == 0


def words(root: Path, *places: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "check_words.py"), "--root", str(root), *places]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("src/cmd/a.c", 'puts("x");\nputs("the job told "\n     "nothing");\n', 'a.c:2: "told"'),
        ("src/cmd/a.c", "err(\"'%s' is no percentage\", s);\n", '"is no"'),
        ("src/cmd/a.def", 'ROW("the run goes\\non")\n', '"goes on"'),
        ("src/cmd/a.h", '#define HELP "this is " \\\n    "behind it"\n', '"behind"'),
        ("src/cmd/a.c", 'puts("Nobody has it");\n', '"Nobody"'),
        ("src/cmd/a.c", 'puts("12 s in all");\n', '"in all"'),
        ("src/cmd/a.c", "/* one\n * was told so */\n", 'a.c:2: "told" in a comment'),
        ("src/cmd/a.h", "int a; // the piles\n", 'a.h:1: "piles" in a comment'),
        ("src/cmd/a.c", "/* as the file says */\n", 'a.c:1: "says" in a comment'),
        ("src/cmd/a.c", "/* What nobody needs. */\n", '"nobody" in a comment'),
        ("src/cmd/a.h", "/* one\n * is looked\n * at */\n", 'a.h:2: "looked at" in a comment'),
        ("src/cmd/a.def", "X(a) // for it stands b\n", '"stands" in a comment'),
        ("src/cmd/a.c", "/* The server is asked. */\n", '"asked" in a comment'),
        ("src/cmd/a.c", "/* Pieces of it. */\n", '"Pieces" in a comment'),
        ("src/cmd/a.c", "/* JS_NULL: go on. */\n", '"go on" in a comment'),
        ("src/cmd/a.h", "/* what is mended */\n", '"mended" in a comment'),
        ("web/src/a.tsx", "// told\nconst a = <p>it stands there</p>;\n", 'a.tsx:2: "stands"'),
        ("web/src/a.ts", "const a = `for ${x.told} told`;\n", '"told"'),
        (
            "python/footplate/a.py",
            'x = 1\nraise ValueError(f"{x} is no time")\n',
            'a.py:2: "is no"',
        ),
        ("docs/a.md", "# A\n\nFirst line\nand the file lives\nthere.\n", 'a.md:4: "lives"'),
    ],
)
def test_words_refuses(tree: Path, file: str, text: str, found: str) -> None:
    done = words(plant(tree, {file: text}), file)
    assert done.returncode == 1 and done.stdout.count("\n") == 1, done.stdout + done.stderr
    assert found in done.stdout


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/cmd/a.c", '/* the job lives, retold */\nputs("all fine"); // it lives\n'),
        ("src/cmd/a.c", "/* asks are set; a state that holds; look_at(); standing */\n"),
        ("src/cmd/a.c", 'static_assert(N == 1, "one bit is no less than it counts");\n'),
        ("src/cmd/a.c", 'jw_str("told", x);\nputs("there is no GPU");\nputs("is no longer up");\n'),
        ("src/cmd/a.c", 'puts("is not a percentage");\nputs("the standard deviation");\n'),
        ("src/cmd/a.c", 'puts("a name behind a\\nproxy");\n'),
        ("python/footplate/a.py", '"""Told by nobody."""\n# nobody\nx = {"told": 1}\n'),
        ("web/src/a.ts", "/* told */ const a = `${x.told} and more`;\n"),
    ],
)
def test_words_lets_pass(tree: Path, file: str, text: str) -> None:
    plant(tree, {file: text, "tools/words_allowed.txt": "# right\nbehind a proxy\n"})
    done = words(tree, file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_words_of_this_tree_has_no_allowed_phrase_that_is_a_banned_word_alone() -> None:
    lines = (TOOLS / "words_allowed.txt").read_text().splitlines()
    assert all(" " in line for line in lines if line.strip())


def test_every_folder_of_src_says_where_it_is_tested() -> None:
    root = TOOLS.parent
    table = (root / "tests" / "README.md").read_text().partition("## Where a folder of src")[2]
    named = {name for row in table.splitlines() for name in row.partition("` |")[0].split("`")}
    assert {path.name for path in (root / "src").iterdir() if path.is_dir()} <= named
