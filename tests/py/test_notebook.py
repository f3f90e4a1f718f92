# SPDX-License-Identifier: Apache-2.0
"""`%load_ext footplate` and `%%footplate`, in IPython and in the example notebook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pykit import ROOT, plain_env
from talk import QUIET, need

NOTEBOOK = ROOT / "examples" / "notebooks" / "record.ipynb"

# Runs each text as a cell; prints what the last value of each looks like.
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
shell.run_line_magic("load_ext", "footplate")
out = []
for cell in json.loads(sys.argv[1]):
    done = shell.run_cell(cell, store_history=False)
    last = shell.user_ns.get("_")
    out.append({"ok": done.success, "type": type(last).__name__,
                "text": shell.display_formatter.format(last)[0] if done.success else {}})
print("RESULT" + json.dumps(out))
"""


@pytest.fixture
def env(package: Path, footplate: Path) -> dict[str, str]:
    more = {"PYTHONPATH": str(package), "PATH": f"{footplate.parent}:{os.environ['PATH']}"}
    return plain_env(more | QUIET)


def run_cells(env: dict[str, str], folder: Path, *cells: str) -> tuple[list[Any], str]:
    """What each was, and all that was printed."""
    need("IPython")
    done = subprocess.run(
        [sys.executable, "-c", SHELL, json.dumps(cells)],
        env=env | {"IPYTHONDIR": str(folder / "ipython")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed, _, result = done.stdout.partition("RESULT")
    return json.loads(result), printed + done.stderr


STEPS = """
import footplate, time
@footplate.step()
def one():
    time.sleep(0.001)
"""


def test_the_result_of_a_recorded_cell_is_its_recording_with_a_chart(env, tmp_path):
    cell = "%%footplate --name mine --interval=100ms\nfor i in range(30): one()\n"
    (_, recorded), _ = run_cells(env, tmp_path, STEPS, cell)
    assert recorded["type"] == "Recording"
    assert "mine: " in recorded["text"]["text/plain"]
    assert "30 steps" in recorded["text"]["text/plain"]
    assert (
        "<svg" in recorded["text"]["text/html"] and "<script" not in recorded["text"]["text/html"]
    )
    assert len(list((tmp_path / "footplate-runs").glob("mine-*"))) == 1


def test_a_cell_that_raises_fails_once_and_is_recorded(env, tmp_path):
    (failed,), printed = run_cells(env, tmp_path, "%%footplate\n1 / 0\n")
    assert not failed["ok"]
    assert printed.count("ZeroDivisionError: division by zero") == 1
    assert "_CellFailedError" not in printed
    assert len(list((tmp_path / "footplate-runs").glob("cell-*"))) == 1


def test_names_of_a_recorded_cell_are_those_of_the_notebook(env, tmp_path):
    cells = ("%%footplate\nx = 41\n", "y = x + 1\nassert y == 42")
    done, printed = run_cells(env, tmp_path, *cells)
    assert [d["ok"] for d in done] == [True, True], printed


def test_a_wrong_option_is_refused_and_the_cell_does_not_run(env, tmp_path):
    (refused,), printed = run_cells(env, tmp_path, "%%footplate --wrong\nprint('ran')\n")
    assert not refused["ok"] and "--interval TIME" in printed and "ran" not in printed


def test_a_cell_runs_without_a_recorder_when_none_can_start(env, tmp_path):
    (tmp_path / "footplate-runs").write_text("no folder")
    (done,), printed = run_cells(env, tmp_path, "%%footplate\nprint('it ran')\n")
    assert done["ok"] and "it ran" in printed and "not recorded" in printed


def outputs(notebook: Any) -> list[str]:
    return [
        "".join(out["data"]["text/plain"])
        for cell in notebook["cells"]
        for out in cell.get("outputs", ())
        if "text/plain" in out.get("data", {})
    ]


def test_the_notebook_shows_a_run_before_and_after_its_finding():
    before, after, compared = outputs(json.loads(NOTEBOOK.read_text()))
    assert "Data loading (critical)" in before and "num_workers" in before
    assert "Data loading (critical)" not in after
    assert "B is faster" in compared


def test_the_notebook_runs(env, tmp_path, monkeypatch):
    need("nbclient", "nbformat", "ipykernel", "IPython", "torch")
    import nbclient
    import nbformat

    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    before, after, _ = outputs(notebook)
    assert before.startswith("footplate: before: ") and "300 steps" in before
    assert after.startswith("footplate: after: ") and "300 steps" in after
