# SPDX-License-Identifier: Apache-2.0
"""Wrong use: one clear sentence on stderr, nothing on stdout, exit status 2 (1 for what failed)."""

from __future__ import annotations

import os

import pytest

WRONG_USE = [
    (["frobnicate"], "unknown command 'frobnicate'; run 'footplate help' for a list"),
    (["shwo"], "unknown command 'shwo' (did you mean 'show'?)"),
    (["help", "shwo"], "unknown command 'shwo' (did you mean 'show'?)"),
    (["--frob"], "unknown option --frob; see 'footplate help'"),
    (["show"], "show: missing argument RUN; see 'footplate help show'"),
    (["show", "a", "b"], "show: unexpected argument 'b'; see 'footplate help show'"),
    (["ls", "a"], "ls: unexpected argument 'a'; see 'footplate help ls'"),
    (["show", "a", "--jsno"], "show: unknown option --jsno (did you mean --json?)"),
    (["show", "a", "-z"], "show: unknown option -z"),
    (["show", "a", "--json=yes"], "show: --json takes no value"),
    (["show", "a", "--dir"], "show: --dir needs a value: --dir DIR"),
    (["show", "a", "--dir", "--json"], "show: --dir needs a value: --dir DIR"),
    (["show", "a", "--dir="], "show: --dir: the value is empty"),
    (["show", "a", "--dir=x", "--dir=y"], "show: --dir is given twice ('x' and 'y')"),
    (
        ["query", "a", "-m", "cpu.util", "--points", "-3"],
        "query: --points: '-3' is not a number from 1 to 1000000",
    ),
    (
        ["query", "a", "-m", "cpu.util", "--points=many"],
        "query: --points: 'many' is not a number from 1 to 1000000",
    ),
    (["query", "a"], "query: --metric is required; 'footplate metrics' lists all metrics"),
    (["stats", "a", "--json", "--csv"], "--json and --csv cannot be combined"),
    (["query", "a", "-m", "x", "--json", "--csv"], "--json and --csv cannot be combined"),
    (["metrics", "--markdown", "--csv"], "--markdown cannot be combined with --json or --csv"),
    (
        ["export", "a", "--format", "xml"],
        "export: --format: 'xml' is not one of: csv, jsonl, chrome, sagemaker, tensorboard",
    ),
    (["completion"], "completion: missing argument SHELL; see 'footplate help completion'"),
    (["completion", "tcsh"], "completion: 'tcsh' is not one of: bash, zsh, fish"),
    (["run"], "run: missing argument COMMAND; see 'footplate help run'"),
    (["run", "--"], "run: missing argument COMMAND; see 'footplate help run'"),
    (["set", "a"], "set: missing argument SETTING; see 'footplate help set'"),
    (["set", "a", "interval"], "'interval' needs a value: write key=value"),
]


@pytest.mark.parametrize("words, sentence", WRONG_USE, ids=lambda x: " ".join(x) or "-")
def test_wrong_use_gets_one_sentence_and_status_2(run_fp, tmp_path, words, sentence):
    done = run_fp(*words, cwd=tmp_path)
    assert done.stderr == f"footplate: {sentence}\n"
    assert done.stdout == ""
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == [], "nothing may be left behind"


READERS = [["show"], ["stats"], ["query", "-m", "cpu.util"], ["export"]]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_run_that_does_not_exist_is_named(run_fp, runs, words):
    done = run_fp(*words, "nowhere", "--dir", runs)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("footplate: ")
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_the_last_of_no_runs_is_explained(run_fp, tmp_runs, words):
    done = run_fp(*words, "last", "--dir", tmp_runs)
    assert done.returncode == 1 and done.stdout == ""
    assert str(tmp_runs) in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_folder_that_is_no_run_is_said_to_be_none(run_fp, tmp_path, words):
    done = run_fp(*words, tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("footplate: ")


def test_a_run_folder_that_may_not_be_read_says_so(run_fp, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    done = run_fp("show", closed)
    assert done.returncode == 1 and "Permission denied" in done.stderr


def test_control_characters_in_arguments_do_not_reach_the_terminal(run_fp, tmp_path):
    done = run_fp("show", "\033[2Jx", cwd=tmp_path)
    assert done.returncode == 1
    assert "\033" not in done.stderr


def test_an_empty_folder_of_runs_is_an_empty_list(run_fp, tmp_runs):
    text = run_fp("ls", "--dir", tmp_runs)
    assert text.returncode == 0 and text.stdout == ""
    assert text.stderr == f"no runs in '{tmp_runs}'\n"
    assert run_fp("ls", "--dir", tmp_runs, "--json").stdout.split() == ["[]"]
    assert run_fp("ls", "--dir", tmp_runs / "missing", "--json").stdout.split() == ["[]"]
