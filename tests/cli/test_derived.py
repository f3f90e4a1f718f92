# SPDX-License-Identifier: Apache-2.0
"""Operators and breakdown of a long run are kept beside it: every command says the same with what
is kept as without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

STEPS, OPS_A_STEP = 60, 1100  # four events each: more than 250 000, from which on answers are kept
STEP_US = 4 * OPS_A_STEP
KEPT = ["breakdown.fpd", "modules.fpd", "ops.fpd"]
QUESTIONS = [
    ("ops", "--json"),
    ("ops", "--csv"),
    ("ops",),
    ("ops", "--by", "module", "--json"),
    ("ops", "--rank", "0", "--json"),
    ("breakdown", "--json"),
    ("breakdown", "--csv"),
    ("breakdown",),
    ("breakdown", "--rank", "0", "--json"),
]


def span(cat: str, name: str, pid: int, begin: int, dur: int, args: str = "{}") -> str:
    return (
        f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{pid},"ts":{begin},'
        f'"dur":{dur},"args":{args}}}'
    )


def events(rank: int) -> list[str]:
    host = 70 + rank
    out = []
    for i in range(STEPS):
        begin = 1000 + i * STEP_US
        out.append(span("user_annotation", f"ProfilerStep#{i}", host, begin, STEP_US))
        out.append(span("user_annotation", "nn.Module: Net_0", host, begin, STEP_US // 2))
        for k in range(OPS_A_STEP):
            at, link = begin + 4 * k, i * OPS_A_STEP + k + 1
            tied = f'{{"correlation":{link},"device":0,"stream":7}}'
            out.append(span("cpu_op", f"aten::op{k % 17}", host, at, 3))
            out.append(span("cuda_runtime", "cudaLaunchKernel", host, at, 1, tied))
            out.append(span("kernel", f"void gemm<{k % 5}>(int)", 0, at + 5, 2 + k % 2, tied))
            memory = (
                f'{{"Device Type":1,"Device Id":0,"Bytes":{64 * (k % 7)},"Total Allocated":{k}}}'
            )
            out.append(
                f'{{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":{host},'
                f'"tid":{host},"ts":{at},"args":{memory}}}'
            )
    return out


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "t.json"
    head = '{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":2},"traceEvents":['
    path.write_text(head + ",\n".join(events(0)) + "]}")
    return path


@pytest.fixture
def run(run_fp, trace, tmp_path) -> Path:
    assert run_fp("import", trace, "-o", tmp_path / "run").returncode == 0
    return tmp_path / "run"


def kept(run: Path) -> list[str]:
    return sorted(p.name for p in (run / "derived").iterdir()) if (run / "derived").exists() else []


def answers(run_fp, run: Path) -> list[tuple[int, str, str]]:
    out = []
    for command, *options in QUESTIONS:
        done = run_fp(command, run, *options)
        out.append((done.returncode, done.stdout, done.stderr))
    return out


def worked_out(run_fp, run: Path) -> list[tuple[int, str, str]]:
    """Each question with nothing kept."""
    out = []
    for command, *options in QUESTIONS:
        shutil.rmtree(run / "derived", ignore_errors=True)
        done = run_fp(command, run, *options)
        out.append((done.returncode, done.stdout, done.stderr))
    shutil.rmtree(run / "derived", ignore_errors=True)
    return out


def test_every_answer_is_the_same_kept_or_worked_out(run_fp, run):
    fresh = worked_out(run_fp, run)
    assert all(code == 0 and text for code, text, _ in fresh)
    assert json.loads(fresh[5][1])["memory"], "curves of memory are part of what is compared"
    assert answers(run_fp, run) == fresh and kept(run) == KEPT
    assert answers(run_fp, run) == fresh and kept(run) == KEPT


def test_report_and_comparison_are_the_same_kept_or_worked_out(run_fp, run):
    def told() -> list[str]:
        return [
            run_fp("compare", run, run, "--json").stdout,
            run_fp("report", run, "--format", "text", "-o", "-").stdout.split("Made by")[0],
        ]

    fresh = told()
    assert kept(run) == ["breakdown.fpd", "ops.fpd"] and all(fresh)
    assert told() == fresh


def test_a_copy_of_a_run_is_answered_from_what_was_copied_with_it(run_fp, run, tmp_path):
    first = answers(run_fp, run)
    shutil.copytree(run, tmp_path / "copy")
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "copy" / "derived").iterdir()}
    assert answers(run_fp, tmp_path / "copy") == first
    after = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "copy" / "derived").iterdir()}
    assert after == before, "nothing was worked out and written again"


def test_a_merged_run_has_answers_of_its_own(run_fp, run, trace, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(trace.read_text().replace('"rank":0', '"rank":1').replace("aten::", "rank1::"))
    assert run_fp("import", other, "-o", tmp_path / "second").returncode == 0
    for one in (run, tmp_path / "second"):
        answers(run_fp, one)
    done = run_fp("merge", run, tmp_path / "second", "-o", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    both = tmp_path / "both"
    assert kept(both) == []
    fresh = worked_out(run_fp, both)
    names = {row["name"] for row in json.loads(fresh[0][1])}
    assert {"aten::op1", "rank1::op1"} <= names
    assert answers(run_fp, both) == fresh and answers(run_fp, both) == fresh
