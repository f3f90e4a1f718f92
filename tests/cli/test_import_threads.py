# SPDX-License-Identifier: Apache-2.0
"""A long gzip trace is inflated by a second thread where there is a core for it: what is stored,
and what is said of a damaged one, is the same as with one thread."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

EVENTS = 25_000
HEADER = 64  # bytes of a file that are its own: it has a random id
LEAST_BYTES = 4 << 20  # compressed, from which on there is a second thread


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    rng = random.Random(5)
    path = tmp_path_factory.mktemp("trace") / "t.json.gz"
    with gzip.open(path, "wt", compresslevel=1) as to:
        to.write('{"schemaVersion": 1, "traceEvents": [')
        for i in range(EVENTS):
            to.write(
                f'{{"ph":"X","cat":"cpu_op","name":"op{rng.randrange(900)}","pid":1,"tid":1,'
                f'"ts":{1_661_203_462_000_000 + 50 * i}.{rng.randrange(1000):03},'
                f'"dur":{rng.randrange(50_000)}.{rng.randrange(1000):03},'
                f'"args":{{"Call stack":"{rng.randbytes(250).hex()}"}}}},'
            )
        to.write('{"ph":"i","name":"end","pid":1,"tid":1,"ts":1661203462000000}]}')
    assert path.stat().st_size > LEAST_BYTES * 3 // 2
    return path


def on_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def on_all_cores() -> None:
    pass


WAYS: list[Callable[[], None]] = [on_one_core, on_all_cores]

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="there is one core only, so one thread does it all"
)


def test_what_is_stored_is_the_same_with_one_thread_and_with_two(run_fp, trace, tmp_path):
    stored = []
    for number, way in enumerate(WAYS):
        run = tmp_path / f"run{number}"
        done = run_fp("import", trace, "-o", run, preexec_fn=way)
        assert done.returncode == 0, done.stderr
        assert f"{EVENTS + 1} events" in done.stdout.replace("\u202f", "").replace(",", "")
        stored.append((run / "node-trace" / "events.fp").read_bytes()[HEADER:])
    assert stored[0] == stored[1]


@pytest.mark.parametrize("harm", ["cut", "damaged"])
def test_a_broken_file_is_refused_the_same_with_one_thread_and_with_two(
    run_fp, trace, tmp_path, harm
):
    whole = bytearray(trace.read_bytes())
    path = tmp_path / "broken.json.gz"
    if harm == "cut":
        whole = whole[: len(whole) * 2 // 3]
    else:
        whole[-6] ^= 0x10  # the checksum at the end
    path.write_bytes(whole)
    said = []
    for way in WAYS:
        done = run_fp("import", path, "-o", tmp_path / "run", preexec_fn=way)
        said.append((done.returncode, done.stdout, done.stderr))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.json.gz"]
    assert said[0] == said[1] and said[0][0] == 1 and "gzip data" in said[0][2]
