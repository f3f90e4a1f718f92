# SPDX-License-Identifier: Apache-2.0
"""Recorded runs in Python: data frames, statistics, findings and charts.

    import footplate

    run = footplate.open("last")
    run.system_metrics("gpu.util")
    run.findings()
    run.plot.heatmap()

Needs nothing but this package; with pandas answers are data frames. docs/analysis.md has it all.
"""

from .comparison import Comparison, compare
from .frames import Column, Table
from .profiles import read_cprofile
from .run import Run, open, runs
from .source import RunError

__all__ = [
    "Column",
    "Comparison",
    "Run",
    "RunError",
    "Table",
    "compare",
    "open",
    "read_cprofile",
    "runs",
]
