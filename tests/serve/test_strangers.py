# SPDX-License-Identifier: Apache-2.0
"""Runs made by other users: the server shows what it can and keeps serving all others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from servekit import serving


def node_of(run: Path) -> Path:
    (node,) = run.glob("node-*")
    return node


def as_running(run: Path) -> None:
    path = node_of(run) / "node.json"
    text = path.read_text()
    for word in ("finished", "failed", "stopped"):
        text = text.replace(f'"status": "{word}"', '"status": "running"')
    path.write_text(text)


@pytest.mark.parametrize("name", ["lock", "metrics.fp", "metrics.tail", "../findings.json"])
def test_a_fifo_in_one_run_does_not_stop_the_server(
    footplate: Path, own_runs: Path, name: str
) -> None:
    with serving(footplate, own_runs) as s:
        as_running(own_runs / "one")
        path = node_of(own_runs / "one") / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        assert {r["name"] for r in s.api("/runs")} >= {"two"} or len(s.api("/runs")) == 2
        s.ask("/api/v1/runs/one")
        s.ask("/api/v1/runs/one/findings")
        assert s.ask("/api/v1/runs/two").status == 200
        assert s.api("/status")["connections"] >= 1


def test_a_file_that_claims_terabytes_does_not_end_the_server(
    footplate: Path, own_runs: Path
) -> None:
    metrics = node_of(own_runs / "one") / "metrics.fp"
    try:
        os.truncate(metrics, 15 << 40)
    except OSError:
        os.truncate(metrics, 64 << 30)
    with serving(footplate, own_runs) as s:
        before = s.memory()
        assert s.ask("/api/v1/runs/one").status == 200
        assert s.ask("/api/v1/runs/one/stats").status in (200, 409)
        assert s.ask("/api/v1/runs/two").status == 200
        assert s.memory() < before + (256 << 20)


def test_links_in_a_run_show_nothing_from_elsewhere(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    node = node_of(own_runs / "one")
    node.rename(private)
    node.symlink_to(private)
    with serving(footplate, own_runs) as s:
        assert b"cpu." not in s.ask("/api/v1/runs/one/metrics").body
        assert s.api("/runs/one")["nodes"] == []
