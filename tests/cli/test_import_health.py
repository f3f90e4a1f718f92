# SPDX-License-Identifier: Apache-2.0
"""Training health of other tools: trials of smdebug, event files of TensorBoard, both ways."""

from __future__ import annotations

import json
import math
import re
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import event_files as ef  # noqa: E402

WALL = 1_700_000_000.0


@pytest.fixture
def imported(run_fp, tmp_path):
    """Imports a path; the run's folder and what the command said of it."""

    def call(path: Path, name: str = "run") -> tuple[Path, dict]:
        done = run_fp("import", "--json", path, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        return tmp_path / name, json.loads(done.stdout)

    return call


@pytest.fixture
def values(run_fp):
    """All health values of a run: (statistic, name, mode, step) -> value; and the events."""

    def call(run: Path, rank: int | None = None) -> dict:
        done = run_fp("export", run, "--format", "jsonl", "-o", "-")
        assert done.returncode == 0, done.stderr
        tracks, out = {}, {}
        for line in done.stdout.splitlines():
            row = json.loads(line)
            if row["type"] == "track":
                tracks[row["track"]] = row
            elif row["type"] == "event" and tracks[row["track"]]["on"] == "health":
                track = tracks[row["track"]]
                if rank is not None and track["rank"] != rank:
                    continue
                key = (track["name"], row["name"], row.get("mode", "train"), row["link"] - 1)
                if track["name"].endswith(".exponents"):
                    key += (row["value"] >> 48,)
                    row["value"] &= (1 << 48) - 1
                out.setdefault(key, []).append(row)
        return out

    return call


def number(found: dict, *key) -> float:
    (row,) = found[key]
    return row["value"]


# ---- smdebug ----


def small_trial(folder: Path, workers: int = 2) -> Path:
    for rank in range(workers):
        worker = f"worker_{rank}"
        ef.smdebug_collections(folder, worker, losses=["MSELoss_output_0"])
        for step, mode, mode_step in ((0, "TRAIN", 0), (10, "TRAIN", 10), (11, "EVAL", 0)):
            tensors = {
                "smdebug/reductions/l2/Net_fc.weight": ef.tensor("f", [99.0], ()),
                "Net_fc.weight": ef.tensor("f", [3.0, 0.0, -4.0, 0.0], (2, 2)),
                "gradient/Net_fc.weight": ef.tensor("d", [0.5, math.nan], (2, 1)),
                "fc_output_0": ef.tensor("f", [1.0, 3.0], (1, 2)),
                "relu_input_0": ef.tensor("f", [1.0, 3.0], (1, 2)),
                "relu_input_1": ef.tensor("q", [7, -9], (2,)),
                "MSELoss_output_0": ef.tensor("f", [2.5 + rank - step / 100], ()),
                "smdebug/reductions/l1/Net_big.weight": ef.tensor("f", [12.5], ()),
                "smdebug/reductions/std/Net_big.weight": ef.tensor("f", [0.5], ()),
                "scalar/accuracy": ef.tensor("f", [0.75], ()),
                "hyperparameters/name": ef.field(8, "tree"),
            }
            ef.smdebug_step(folder, worker, step, mode, mode_step, tensors, WALL + step)
    (folder / "training_job_end.ts").touch()
    return folder


def test_a_trial_of_smdebug_becomes_losses_and_statistics_of_each_rank(imported, values, tmp_path):
    run, said = imported(small_trial(tmp_path / "debug-output"))
    for rank in (0, 1):
        found = values(run, rank)
        assert number(found, "scalar", "loss", "train", 0) == 2.5 + rank
        assert number(found, "scalar", "loss", "train", 10) == pytest.approx(2.4 + rank, rel=1e-6)
        assert number(found, "scalar", "loss", "eval", 0) == pytest.approx(2.39 + rank, rel=1e-6)
        assert number(found, "scalar", "accuracy", "train", 0) == 0.75
    of = ("Net_fc.weight", "train", 10)
    assert number(found, "weight.l2", *of) == 5.0  # of the tensor, not the stored 99
    assert number(found, "weight.l1", *of) == 7.0
    assert number(found, "weight.min", *of) == -4.0
    assert number(found, "weight.max", *of) == 3.0
    assert number(found, "weight.mean", *of) == -0.25
    assert number(found, "weight.zeros", *of) == 0.5
    assert number(found, "parameter.dims", *of) == 2
    assert found[("weight.max", *of)][0]["args"] == "shape=2,2"
    words = sum(struct.unpack("<4I", struct.pack("<4f", 3.0, 0.0, -4.0, 0.0)))
    assert number(found, "weight.sum", *of) == words
    assert number(found, "gradient.l2", *of) == 0.5
    assert number(found, "gradient.nonfinite", *of) == 1
    assert number(found, "output.mean", "fc", "train", 10) == 2.0
    assert number(found, "output.std", "fc", "train", 10) == 1.0
    assert number(found, "input.std", "relu", "train", 10) == 1.0
    assert number(found, "input.min", "relu:1", "train", 10) == -9.0
    # What is stored alone is taken where it means the same: a standard deviation of n - 1 does not.
    assert number(found, "weight.l1", "Net_big.weight", "train", 10) == 12.5
    assert not any(key[1] == "Net_big.weight" and key[0] != "weight.l1" for key in found)
    assert said["counts"]["not-numbers"] == 6
    # One sample is one moment: that of the first record.
    times = {row["time_ns"] for key, rows in found.items() if key[3] == 10 for row in rows}
    assert times == {int((WALL + 10) * 1e9)}


def test_an_index_without_its_event_file_is_reported(imported, run_fp, tmp_path):
    trial = small_trial(tmp_path / "trial", workers=1)
    (trial / "events" / "000000000010" / "000000000010_worker_0.tfevents").unlink()
    run, _ = imported(trial)
    shown = run_fp("show", run, "--json")
    assert "event file is missing" in shown.stdout


def test_a_trial_that_smdebug_itself_wrote_has_all_its_numbers(imported, values, foreign):
    run, _ = imported(foreign("smdebug_trial"))
    found = values(run)
    expected = json.loads(foreign("smdebug_trial_expected.json").read_text())
    steps = {0: ("train", 0), 2: ("train", 2), 4: ("train", 4), 5: ("eval", 0), 7: ("eval", 2)}
    assert set(steps) == set(expected["steps"])
    seen = 0
    for tensor, by_step in expected["tensors"].items():
        port = re.fullmatch(r"(.*)_(input|output)_(\d+)", tensor)
        if tensor == "CrossEntropyLoss_output_0":
            for step, want in by_step.items():
                assert number(found, "scalar", "loss", *steps[int(step)]) == want["mean"]
                seen += 1
            continue
        if port:
            subject, name = port[2], port[1] + ("" if port[3] == "0" else f":{port[3]}")
        else:
            subject = "gradient" if tensor.startswith("gradient/") else "weight"
            name = tensor.removeprefix("gradient/")
        for step, want in by_step.items():
            of = (name, *steps[int(step)])
            assert number(found, f"{subject}.min", *of) == want["min"]
            assert number(found, f"{subject}.max", *of) == want["max"]
            mean = number(found, f"{subject}.mean", *of)
            assert mean == pytest.approx(want["mean"], rel=1e-5, abs=1e-8), (tensor, step)
            shape = ",".join(map(str, want["shape"]))
            assert found[(f"{subject}.max", *of)][0]["args"] == f"shape={shape}"
            seen += 1
    assert seen == sum(len(v) for v in expected["tensors"].values()) > 80


# ---- TensorBoard ----


def event_file(folder: Path, *records: bytes, number: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events.out.tfevents.{int(WALL) + number}.host.with.dots.77.0"
    path.write_bytes(ef.version(WALL) + b"".join(records))
    return path


def scalar(tag: str, step: int, v: float) -> bytes:
    return ef.record(ef.event(WALL + step, step, ef.simple(tag, v)))


def test_a_file_that_summary_writer_wrote_has_all_its_numbers(imported, values, tmp_path):
    seed = ROOT / "tests" / "fuzz" / "corpus" / "tensorboard" / "summary_writer"
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    path.write_bytes(seed.read_bytes()[2:])
    run, said = imported(path)
    found = values(run)
    for s in range(3):
        loss = struct.unpack("<f", struct.pack("<f", 2.5 / (s + 1)))[0]
        assert number(found, "scalar", "loss", "train", s) == loss
        assert number(found, "scalar", "loss", "eval", s) == 3.0 - 0.5 * s
        assert number(found, "scalar", "lr", "train", s) == 0.125 * (s + 1)
    of = ("fc.weight", "train", 2)
    assert number(found, "gradient.min", *of) == -3.0
    assert number(found, "gradient.max", *of) == 1.5
    assert number(found, "gradient.l2", *of) == pytest.approx(11.25**0.5)
    assert number(found, "gradient.mean", *of) == -0.375
    assert number(found, "weight.max", *of) == 9.0
    assert number(found, "weight.min", *of) == -0.75
    bins = {k[4]: number(found, *k) for k in found if k[0] == "gradient.exponents"}
    assert bins == {0: 2, 127: 1, 128: 1}
    assert found[("scalar", "loss", "train", 0)][0]["args"] == "tag=Loss/train"
    assert number(found, "scalar", "metrics/accuracy", "train", 2) == 0.5
    assert str(number(found, "scalar", "metrics/accuracy", "train", 1)).lower() == "nan"
    assert said["counts"]["not-numbers"] == 1


def test_folders_are_parts_of_names_and_say_what_is_evaluation(imported, values, tmp_path):
    logs = tmp_path / "logs"
    event_file(logs / "train", scalar("epoch_loss", 1, 2.0), scalar("box_loss", 1, 0.5))
    event_file(logs / "validation", scalar("epoch_loss", 1, 3.0))
    run, _ = imported(logs)
    found = values(run)
    assert number(found, "scalar", "loss", "train", 1) == 2.0
    assert number(found, "scalar", "loss", "eval", 1) == 3.0
    assert number(found, "scalar", "train/box_loss", "train", 1) == 0.5


def test_scalars_and_histograms_of_tensorflow_2_are_tensors(imported, values, tmp_path):
    listed = ef.field(1, 1) + ef.field(2, b"") + ef.field(5, struct.pack("<f", 0.25))
    v = ef.field(1, "train/loss") + ef.field(8, listed) + ef.plugins(scalars="")
    rows = ef.tensor("d", [1.0, 2.0, 5.0, 2.0, 4.0, 7.0], (2, 3))
    h = ef.field(1, "dense/kernel") + ef.field(8, rows) + ef.plugins(histograms="")
    path = event_file(tmp_path, ef.record(ef.event(WALL, 3, v)), ef.record(ef.event(WALL, 3, h)))
    run, _ = imported(path)
    found = values(run)
    assert number(found, "scalar", "loss", "train", 3) == 0.25
    assert number(found, "weight.min", "dense/kernel", "train", 3) == 1.0
    assert number(found, "weight.max", "dense/kernel", "train", 3) == 4.0
    assert number(found, "weight.exponents", "dense/kernel", "train", 3, 127) == 5
    assert number(found, "weight.exponents", "dense/kernel", "train", 3, 128) == 7


def test_a_torn_end_is_normal_and_a_wrong_checksum_costs_one_record(imported, values, tmp_path):
    torn = scalar("loss", 3, 1.0)[:-7]
    wrong = bytearray(scalar("loss", 1, 5.0))
    wrong[-6] ^= 1
    path = event_file(tmp_path, scalar("loss", 0, 2.0), bytes(wrong), scalar("loss", 2, 1.5), torn)
    run, said = imported(path)
    found = values(run)
    assert {k[3]: number(found, *k) for k in found} == {0: 2.0, 2: 1.5}
    assert said["counts"]["checksums"] == 1
    assert not any(said["faults"].values())


def test_steps_that_go_back_are_a_restart_and_both_parts_stay(imported, values, run_fp, tmp_path):
    logs = tmp_path / "logs"
    event_file(logs, *(scalar("train/loss", s, 1.0 + s) for s in range(5)))
    event_file(logs, *(scalar("train/loss", s, 9.0 + s) for s in range(2, 6)), number=100)
    run, said = imported(logs)
    found = values(run)
    assert [row["value"] for row in found[("scalar", "loss", "train", 3)]] == [4.0, 12.0]
    assert said["counts"]["restarts"] == 1
    exported = run_fp("export", run, "--format", "jsonl", "-o", "-").stdout
    assert "continues from step 2 after step 4" in exported


def test_what_is_no_event_file_is_refused(run_fp, tmp_path):
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    path.write_bytes(b"\x18" + bytes(40))
    done = run_fp("import", path, "-o", tmp_path / "run")
    assert done.returncode == 1 and not (tmp_path / "run").exists()


# ---- back to TensorBoard ----


def test_an_export_for_tensorboard_imports_as_what_it_was(imported, values, run_fp, tmp_path):
    run, _ = imported(small_trial(tmp_path / "debug-output"))
    done = run_fp("export", run, "--format", "tensorboard", "-o", tmp_path / "logs")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == ["rank0", "rank1"]
    again, _ = imported(tmp_path / "logs", "again")
    for rank in (0, 1):
        before, after = values(run, rank), values(again, rank)
        kept = {k for k in before if k[0] != "weight.sum"}  # no float holds a sum of words
        assert set(after) == kept
        for key in kept:
            assert number(after, *key) == pytest.approx(number(before, *key), rel=1e-7)


def test_tensorboard_itself_reads_the_export(imported, run_fp, tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is not installed",
    )
    seed = ROOT / "tests" / "fuzz" / "corpus" / "tensorboard" / "summary_writer"
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    path.write_bytes(seed.read_bytes()[2:])
    run, _ = imported(path)
    assert run_fp("export", run, "-f", "tensorboard", "-o", tmp_path / "out").returncode == 0
    read = accumulator.EventAccumulator(str(tmp_path / "out"), size_guidance={"histograms": 0})
    read.Reload()
    assert [e.value for e in read.Scalars("eval/loss")] == [3.0, 2.5, 2.0]
    assert [e.step for e in read.Scalars("gradient.l2/fc.weight")] == [2]
    histogram = read.Histograms("gradient.exponents/fc.weight")[0].histogram_value
    assert (histogram.min, histogram.max, histogram.num) == (-127.0, 2.0, 4.0)


def test_a_run_without_health_is_not_exported_for_tensorboard(run_fp, runs, tmp_path):
    done = run_fp("export", "last", "--dir", runs, "-f", "tensorboard", "-o", tmp_path / "out")
    assert done.returncode == 1 and "no training health" in done.stderr
    assert not (tmp_path / "out").exists()
