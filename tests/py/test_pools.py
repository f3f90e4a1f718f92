# SPDX-License-Identifier: Apache-2.0
"""Processes of pools: each task is a span of the process that performs it."""

from __future__ import annotations

import pytest
from talk import Runner


@pytest.fixture(scope="module", params=["fork", "spawn", "forkserver"])
def pools(request, package, ring_dump, tmp_path_factory):
    runner = Runner(package, ring_dump, tmp_path_factory.mktemp("pools"))
    run = runner.hooked("pools.py", request.param)
    assert run.status == 0, run.stderr
    assert run.said == {"doubled": [0, 2, 4, 8, 10, "mine", 12, 14]}
    assert run.losses() == []
    return run


def test_every_task_of_a_pool_is_a_span_of_its_worker(pools):
    tasks = [e for e in pools.events if e["name"] == "worker.task"]
    assert sum(e["kind"] == "span_begin" for e in tasks) == 8
    assert sum(e["kind"] == "span_end" for e in tasks) == 8


def test_the_wait_for_the_next_result_of_imap_is_a_wait_for_data(pools):
    waits = [e["kind"] for e in pools.events if e["name"] == "data"]
    assert waits == ["span_begin", "span_end"] * 4  # the last finds that there are no more
