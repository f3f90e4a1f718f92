# SPDX-License-Identifier: Apache-2.0
"""What docs/analysis.md promises exists, and the example notebook runs."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest
from analysis_kit import opened
from pykit import ROOT

NOTEBOOK = ROOT / "examples" / "notebooks" / "analysis.ipynb"

# The functions of the SMDebug client.
CLIENT = {
    "PandasFrame": (
        "get_all_system_metrics get_all_framework_metrics get_framework_metrics_by_step "
        "get_framework_metrics_by_timesteps get_framework_metrics_by_begin_and_end_timesteps "
        "get_all_dataloader_metrics"
    ),
    "PandasFrameAnalysis": (
        "get_job_statistics get_step_statistics get_training_phase_intervals "
        "get_utilization_stats get_device_usage_stats"
    ),
    "PT_dataloader_analysis": (
        "analyze_dataloaderIter_initialization analyze_dataloaderWorkers "
        "analyze_dataloader_getnext analyze_batchtime plot_the_window"
    ),
    "PythonProfileAnalysis": (
        "list_profile_stats fetch_profile_stats_by_step fetch_profile_stats_by_time "
        "fetch_profile_stats_between_modes fetch_pre_step_zero_profile_stats "
        "fetch_post_hook_close_profile_stats fetch_profile_stats_by_training_phase "
        "fetch_profile_stats_by_job_phase"
    ),
    "TimelineCharts": "find_time_annotations plot_detailed_profiler_data",
}
ALONE = (
    "PandasFrame MetricsHistogram StepHistogram StepTimelineChart TimelineCharts Heatmap "
    "update_data cProfileAnalysis PyinstrumentAnalysis S3NumpySystemMetricsReader"
)


def replacements() -> dict[str, str]:
    text = (ROOT / "docs" / "analysis.md").read_text()
    table = text.partition("| SMDebug function | ours |")[2]
    return dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", table, re.MULTILINE))


def test_every_function_of_the_client_has_its_counterpart():
    wanted = set(ALONE.split())
    wanted |= {f"{c}.{f}" for c, functions in CLIENT.items() for f in functions.split()}
    assert set(replacements()) == wanted


@pytest.mark.parametrize("ours", sorted(set(replacements().values())))
def test_every_counterpart_exists(runs, ours):
    import footplate

    head, *names = ours.split(".")
    at: Any = footplate if head == "footplate" else opened(runs, "recorded", "table")
    for name in names:
        at = getattr(at, name)
        if name in ("loader", "profiles") and name != names[-1]:
            at = at()
    assert callable(at)


def test_every_call_that_the_page_names_exists(runs):
    run = opened(runs, "recorded", "table")
    text = (ROOT / "docs" / "analysis.md").read_text()
    for name in set(re.findall(r"`run\.([a-z_]+)\(", text)):
        assert callable(getattr(run, name)), name
    for name in set(re.findall(r"`\.([a-z_]+)\(", text)):
        places = (run.plot, run.loader(), run.profiles(), run.plot.box(), run.steps())
        assert any(hasattr(p, name) for p in places), name


def shown(value: Any) -> str:
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """As a notebook does it: the value of the last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


def test_the_example_notebook_runs(runs, frames, monkeypatch, tmp_path):
    (tmp_path / "recorded").symlink_to(runs.path("recorded"))
    monkeypatch.setenv("FOOTPLATE_DIR", str(tmp_path))
    names: dict[str, Any] = {}
    pages = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            value = run_cell("".join(cell["source"]), names)
            pages.append(shown(value) if value is not None else "")
    assert all(p.startswith("<") for p in pages if p), "something is shown as plain text"
    assert len(pages) >= 20 and "difference" in pages[-1]


def test_the_notebook_is_kept_without_what_it_showed():
    notebook = json.loads(NOTEBOOK.read_text())
    assert notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
