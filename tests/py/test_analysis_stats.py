# SPDX-License-Identifier: Apache-2.0
"""Statistics of footplate.analysis, worked out a second time from what the runs were made of."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from analysis_kit import SM_START_S, opened, records

NS = 10**9


def quantile(values: list[float], q: float) -> float:
    v = sorted(values)
    at = q * (len(v) - 1)
    i = int(at)
    return v[i] + (at - i) * (v[min(i + 1, len(v) - 1)] - v[i])


def by(rows: list[dict[str, Any]], key: str) -> dict[Any, dict[str, Any]]:
    return {r[key]: r for r in rows}


@pytest.mark.parametrize("name", ["recorded", "sagemaker", "kineto", "data"])
def test_the_parts_of_a_job_add_up_to_it(runs, frames, name):
    run = opened(runs, name, frames)
    parts = by(records(run.job_statistics()), "part")
    whole = parts.pop("job")
    loop = parts.pop("training_loop")
    assert whole["share_pct"] == pytest.approx(100)
    assert sum(p["duration_s"] for p in parts.values()) == pytest.approx(whole["duration_s"])
    assert sum(p["share_pct"] for p in parts.values()) == pytest.approx(100)
    assert loop["duration_s"] == pytest.approx((loop["end"] - loop["start"]) / 1e9)
    said = runs.said("show", name)
    assert parts["initialization"]["share_pct"] == pytest.approx(said["initialization_pct"])


def test_a_job_without_steps_has_no_loop_and_says_so(runs, frames):
    rows = by(records(opened(runs, "cpu", frames).job_statistics()), "part")
    assert rows["training_loop"]["duration_s"] is None
    assert rows["train"]["duration_s"] in (None, 0)


def test_phases_tile_the_job(runs, frames):
    run = opened(runs, "recorded", frames)
    rows = records(run.phase_intervals())
    assert rows[0]["start"] == run.info["job_start_ns"]
    assert rows[-1]["end"] == run.info["job_end_ns"]
    assert all(a["end"] == b["start"] for a, b in zip(rows, rows[1:], strict=False))


def test_step_intervals_have_names_for_what_lies_between(runs, frames):
    run = opened(runs, "recorded", frames)
    rows = records(run.step_intervals())
    names = [r["phase"] for r in rows]
    assert names == ["before train", "train", "between train and eval", "eval", "after eval"]
    assert all(a["end"] == b["start"] for a, b in zip(rows, rows[1:], strict=False))
    one = records(run.step_intervals("eval"))
    assert [r["phase"] for r in one].count("eval") == 3
    assert "between eval and eval" in [r["phase"] for r in one]
    with pytest.raises(ValueError, match="train, eval, predict"):
        run.step_intervals("training")


def test_step_statistics_by_phase_take_all_ranks_together(runs, frames):
    run = opened(runs, "sagemaker", frames)
    spans: dict[int, list[tuple[int, int]]] = {}
    for s in records(run.steps()):
        spans.setdefault(s["step"], []).append((s["start"], s["end"]))
    took = [(max(b for _, b in v) - min(a for a, _ in v)) / 1e9 for v in spans.values()]
    (row,) = records(run.step_statistics("phase"))
    assert (row["phase"], row["count"]) == ("train", 40)
    assert row["duration_mean_s"] == pytest.approx(statistics.fmean(took))
    assert row["duration_p95_s"] == pytest.approx(quantile(took, 0.95))
    assert (row["duration_min_s"], row["duration_max_s"]) == (min(took), max(took))


def test_step_statistics_by_metric_and_process(runs, frames):
    run = opened(runs, "sagemaker", frames)
    metrics = by(records(run.step_statistics("metric")), "metric")
    assert metrics["forward"]["duration_p50_s"] == pytest.approx(0.08)
    processes = records(run.step_statistics("process"))
    assert [r["process"] for r in processes] == ["algo-1 rank 0", "algo-2 rank 1"]
    with pytest.raises(ValueError, match="phase"):
        run.step_statistics("lane")


def test_events_know_their_step_and_those_outside_have_none(runs, frames):
    run = opened(runs, "sagemaker", frames)
    events = records(run.framework_events("forward"))
    assert [e["step"] for e in events if e["node"] == "algo-1"] == list(range(40))
    fetches = records(run.framework_events("data"))
    assert len(fetches) == 80
    chosen = records(run.framework_events("forward", steps=(3, 5), rank=1))
    assert [e["step"] for e in chosen] == [3, 4, 5]
    assert records(run.framework_events(regex="^forw", category="phase", node="algo-2")) == [
        e for e in events if e["node"] == "algo-2"
    ]
    assert records(run.framework_events("no such event")) == []


def test_system_metrics_of_steps_lie_in_their_time(runs, frames):
    run = opened(runs, "sagemaker", frames)
    steps = [s for s in records(run.steps()) if 10 <= s["step"] <= 12]
    lo, hi = min(s["start"] for s in steps), max(s["end"] for s in steps)
    all_of_it = records(run.system_metrics("gpu.util"))
    cut = records(run.system_metrics("gpu.util", steps=(10, 12)))
    assert cut and cut == [r for r in all_of_it if lo <= r["time"] < hi]


def test_utilization_keeps_metrics_apart(runs, frames):
    run = opened(runs, "sagemaker", frames)
    rows = records(run.utilization_stats("cpu"))
    assert {r["metric"] for r in rows} == {"cpu.util", "cpu.iowait"}
    (row,) = (r for r in rows if r["metric"] == "cpu.util" and r["node"] == "algo-2")
    values = [10 * c + i for c in range(4) for i in range(40)]
    assert row["count"] == len(values) and row["unit"] == "%"
    assert row["mean"] == pytest.approx(statistics.fmean(values))
    assert row["p99"] == pytest.approx(quantile(values, 0.99))
    assert (row["min"], row["max"]) == (0, 69)
    with pytest.raises(ValueError, match="network"):
        run.utilization_stats("disk")


def test_utilization_by_phase_splits_all_samples(runs, frames):
    run = opened(runs, "sagemaker", frames)
    phases = {p["phase"]: [] for p in records(run.phase_intervals())}
    for s in records(run.system_metrics("gpu.util", node="algo-1")):
        for p in records(run.phase_intervals()):
            if p["start"] <= s["time"] < p["end"]:
                phases[p["phase"]].append(s["value"])
    rows = [r for r in records(run.utilization_stats("gpu", by="phase")) if r["node"] == "algo-1"]
    assert {r["phase"] for r in rows} == set(phases)
    for r in rows:
        mine = phases[r["phase"]]
        assert r["count"] == len(mine)
        assert r["p50"] == (pytest.approx(quantile(mine, 0.5)) if mine else None)
    some = records(run.utilization_stats("gpu", phases=["train"]))
    assert [r["count"] for r in some] == [len(phases["train"])] * 2


def test_device_usage_counts_every_sample_once(runs, frames):
    run = opened(runs, "sagemaker", frames)
    rows = [r for r in records(run.device_usage("gpu")) if r["node"] == "algo-1"]
    (row,) = rows
    values = [(7 * i) % 101 for i in range(40)]
    high = sum(90 <= v <= 100 for v in values)
    middle = sum(10 <= v < 90 for v in values)
    assert (row["90-100"], row["10-90"], row["0-10"]) == (high, middle, 40 - high - middle)
    assert row["count"] == 40 and row["entity"] == "gpu0"
    assert row["90-100 share"] == high / 40
    own = records(run.device_usage(("cpu", "gpu"), ranges=[(0, 50)]))
    assert {r["entity"] for r in own} >= {"cpu0", "cpu3", "gpu0"}


def test_activity_is_cut_at_both_ends(runs, frames):
    run = opened(runs, "sagemaker", frames)
    start = SM_START_S * NS + 2_070_000_000
    rows = records(run.activity(start + 40_000_000, start + 120_000_000))
    mine = {r["name"]: r for r in rows if r["node"] == "algo-1"}
    assert mine["forward"]["total_s"] == pytest.approx(0.04)
    assert mine["Step:ModeKeys.TRAIN"]["total_s"] == pytest.approx(0.06)
    assert mine["forward"]["share"] == pytest.approx(0.5)
    assert "data" not in mine


def test_activity_at_counts_moments_and_not_durations(runs, frames):
    run = opened(runs, "sagemaker", frames)
    start = SM_START_S * NS + 2_070_000_000
    moments = [start + ms * 1_000_000 for ms in (10, 60, 90, 140)]
    rows = records(run.activity_at(moments))
    mine = {r["name"]: r for r in rows if r["node"] == "algo-2"}
    assert (mine["forward"]["hits"], mine["forward"]["share"]) == (2, 0.5)
    assert mine["Step:ModeKeys.TRAIN"]["hits"] == 3
    assert mine["data"]["hits"] == 1


# ---- loading ----


def test_loaders_of_a_timeline(runs, frames):
    loader = opened(runs, "sagemaker", frames).loader()
    for row in records(loader.initialization()):
        assert (row["num_workers"], row["pin_memory"], row["count"]) == (2, 1, 1)
        assert row["median_s"] == pytest.approx(0.05)
    workers = records(loader.workers())
    assert sum(r["count"] for r in workers) == 4
    for row in records(loader.getnext()):
        assert (row["count"], row["outliers"]) == (40, 1)
        assert row["median_s"] == pytest.approx(0.02) and row["max_s"] == pytest.approx(0.06)
    for row in records(loader.getnext(outliers=True)):
        assert row["times_median"] == pytest.approx(3)
        assert row["start"] == pytest.approx(SM_START_S * NS + 8_000_000_000, abs=1000)
    assert len(records(loader.getnext(outliers=True, factor=4))) == 0
    for row in records(loader.batch_time()):
        assert (row["count"], row["outliers"]) == (39, 0)
        assert row["median_s"] == pytest.approx(0.2)


def test_loaders_that_hooks_saw(runs, frames):
    (row,) = records(opened(runs, "recorded", frames).loader().initialization())
    assert (row["num_workers"], row["pin_memory"], row["prefetch_factor"]) == (4, 0, None)
    assert row["count"] == 1 and row["median_s"] >= 0.01
    loader = opened(runs, "data", frames).loader()
    assert len(records(loader.fetch())) == 2
    (waits,) = records(loader.getnext())
    assert waits["count"] == 600 and waits["median_s"] == pytest.approx(0.205)


def test_a_slow_fetch_is_an_outlier(runs, frames):
    found = records(opened(runs, "recorded", frames).loader().getnext(outliers=True))
    assert 20 in [r["step"] for r in found]


# ---- Python profiles ----


def test_functions_of_a_profile(runs, frames):
    profiles = opened(runs, "profile", frames).profiles()
    listed = records(profiles.list())
    assert [(r["profiler"], r["phase"], r["start_step"], r["end_step"]) for r in listed] == [
        ("cprofile", None, 9, 11),
        ("cprofile", "forward", 9, 11),
    ]
    assert [r["functions"] for r in listed] == [2, 1]
    rows = records(profiles.stats())
    assert [(r["function"], r["self_s"]) for r in rows] == [
        ("<built-in method add>", 0.5),
        ("forward (me/model.py:31)", 0.25),
    ]
    longest = records(profiles.stats(sort="total_s", top=1))
    assert (longest[0]["total_s"], longest[0]["calls"], longest[0]["primitive_calls"]) == (
        1.5,
        4,
        2,
    )
    assert records(profiles.stats(sort="calls"))[0]["calls"] == 70
    assert [r["self_s"] for r in records(profiles.stats(phase="forward"))] == [0.125]
    assert list(profiles.by_phase()) == ["forward"]
    assert len(records(profiles.stats(steps=(11, 20)))) == 2
    assert records(profiles.stats(steps=(12, 20))) == []
    with pytest.raises(ValueError, match="self_s"):
        profiles.stats(sort="ncalls")


def test_profiles_by_time_and_phase_of_the_job(runs, frames):
    profiles = opened(runs, "sagemaker", frames).profiles()
    assert {r["profiler"] for r in records(profiles.list())} == {"pyinstrument"}
    early, loop = (records(f) for f in list(profiles.by_job_phase().values())[:2])
    assert {r["function"].split()[0]: r["self_s"] for r in early} == pytest.approx(
        {"main": 0.5, "work": 0.3}
    )
    assert {r["function"].split()[0]: r["self_s"] for r in loop} == pytest.approx(
        {"main": 0.0, "work": 0.6}, abs=0.11
    )
    assert records(profiles.stats(job_phase="finalization")) == []
    start = SM_START_S * NS
    cut = records(profiles.stats(start=start + 2 * NS, end=start + 4 * NS))
    assert cut == loop
    both = records(profiles.stats())
    assert max(r["self_s"] for r in both) == pytest.approx(0.9)


def test_profiles_between_phases(runs, frames):
    profiles = opened(runs, "sagemaker", frames).profiles()
    assert [(r["start_mode"], r["end_mode"]) for r in records(profiles.list())] == [
        ("initialization", "initialization"),
        ("train", "train"),
    ]
    assert len(records(profiles.stats(modes=("train", "train")))) == 2
    assert records(profiles.stats(modes=("train", "eval"))) == []


def test_files_of_cprofile(runs, frames, tmp_path):
    import cProfile

    from footplate.analysis import read_cprofile

    def work() -> int:
        return sum(sorted(range(100)))

    start = SM_START_S * 1_000_000
    for name in (
        f"prestepzero-*-start-{start}.0_train-0-stepstart-{start + 900}.5",
        f"train-3-stepstart-{start + 1000}.5_train-3-stepend-{start + 2000}.0",
        f"train-4-stepstart-{start + 3000}.5_eval-0-stepstart-{start + 4000}.0",
    ):
        folder = tmp_path / "framework" / "pytorch" / "cprofile" / "27-algo-1" / name
        folder.mkdir(parents=True)
        profile = cProfile.Profile()
        profile.runcall(work)
        profile.dump_stats(folder / "python_stats")
    (tmp_path / "framework" / "python_stats").write_text("not in a folder of a window")
    profiles = read_cprofile(tmp_path, frames=frames)
    listed = records(profiles.list())
    assert [(r["node"], r["pid"], r["job_phase"], r["start_step"]) for r in listed] == [
        ("algo-1", 27, "initialization", None),
        ("algo-1", 27, "training_loop", 3),
        ("algo-1", 27, "training_loop", 4),
    ]
    assert listed[1]["start"] == (start + 1000) * 1000

    def calls(**which) -> int:
        rows = records(profiles.stats(sort="calls", top=None, **which))
        return sum(r["calls"] for r in rows if r["function"] == "work")

    assert calls() == 3
    assert calls(steps=(3, 3)) == 1
    assert calls(modes=("train", "eval")) == 1
    assert calls(job_phase="initialization") == 1
    assert calls(start=start * 1000, end=(start + 950) * 1000) == 1
