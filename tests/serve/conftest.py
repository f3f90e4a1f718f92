# SPDX-License-Identifier: Apache-2.0
"""Runs to be served, and a server that most tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from servekit import Server, import_scene, serving

SCENES = Path(__file__).resolve().parent.parent / "rules"
KEPT = ("batch_size", "cpu_bottleneck", "io_bottleneck")  # each has CPU and GPU metrics


@pytest.fixture(scope="session")
def kept_runs(footplate: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three runs; read only."""
    folder = tmp_path_factory.mktemp("kept")
    for i, name in enumerate(KEPT):
        import_scene(footplate, SCENES / name / "fires.scene", folder / f"run-{i}")
    return folder


@pytest.fixture(scope="session")
def server(footplate: Path, kept_runs: Path) -> Iterator[Server]:
    """A server of kept_runs, for tests that leave it as it is."""
    with serving(footplate, kept_runs) as s:
        yield s


@pytest.fixture
def own_runs(footplate: Path, tmp_runs: Path) -> Path:
    """A folder with two runs that the test may break."""
    for name in ("one", "two"):
        import_scene(footplate, SCENES / KEPT[0] / "fires.scene", tmp_runs / name)
    return tmp_runs
