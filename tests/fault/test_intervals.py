# SPDX-License-Identifier: Apache-2.0
"""Any interval from 10 ms to 60 s gives about the samples it promises."""

from __future__ import annotations

import pytest
from faultkit import NS, Lab, assert_sentence

RUN_S = 6
INTERVALS = {"10ms": 10, "100ms": 100, "200ms": 200, "500ms": 500, "1s": 1000, "5s": 5000}


def test_every_interval_gives_about_the_right_number_of_samples(lab: Lab):
    recordings = {
        text: lab.start("--name", f"i{text}", "--interval", text, "--", "sleep", RUN_S)
        for text in INTERVALS
    }
    assert [r.end() for r in recordings.values()] == [0] * len(INTERVALS)
    for text, ms in INTERVALS.items():
        shown = lab.show(f"i{text}")
        assert shown["interval_ms"] == ms
        late = sum(x["count"] for x in shown["losses"] if x["kind"] == "late")
        times = lab.series("job.cpu", f"i{text}")["t_ns"]
        expected = RUN_S * 1000 / ms
        # The first reading only starts the count, and one more comes at the end.
        assert expected - 3 <= len(times) + late <= expected + 3, (text, len(times), late)
        assert late <= expected / 2, "more than half of the points were missed"
        gaps = sorted(b - a for a, b in zip(times, times[1:], strict=False))
        if len(gaps) > 8:
            middle = gaps[len(gaps) // 2] / 1e6
            assert middle == pytest.approx(ms, rel=0.1), text


@pytest.mark.parametrize("text", ["10ms", "60s", "60000ms", "1min", "0.5s"])
def test_intervals_at_the_edges_are_taken(lab: Lab, text: str):
    assert lab.record("--interval", text, "--", "true").returncode == 0
    ms = {"10ms": 10, "0.5s": 500}.get(text, 60_000)
    assert lab.show()["interval_ms"] == ms


@pytest.mark.parametrize("text", ["5ms", "9.9ms", "61s", "2min", "0", "-1s", "fast", "", "1e99s"])
def test_intervals_outside_are_refused_and_nothing_is_started(lab: Lab, text: str):
    done = lab.record("--interval", text, "--", "touch", "ran")
    assert_sentence(done, 2, "--interval")
    assert not (lab.folder / "ran").exists()
    assert lab.run_folders() == []


BUSY = ["timeout", "2", "sh", "-c", "while :; do :; done"]


def test_a_run_shorter_than_its_interval_still_says_how_busy_the_machine_was(lab: Lab):
    assert lab.record("--interval", "60s", "--", *BUSY).returncode == 124
    assert lab.show()["duration_s"] == pytest.approx(2, abs=0.7)
    (used,) = lab.series("cpu.util")["v"]
    assert used > 20
    assert len(lab.series("mem.used")["v"]) == 2


def test_a_run_shorter_than_its_interval_does_not_say_that_its_job_used_nothing(lab: Lab):
    assert lab.record("--interval", "60s", "--", *BUSY).returncode == 124
    for series in lab.query("job.cpu"):  # none at all would be right too: not measured
        assert max(series["v"]) > 20


def test_times_of_samples_lie_within_the_run_and_grow(lab: Lab):
    assert lab.record("--interval", "10ms", "--", "sleep", "1").returncode == 0
    shown = lab.show()
    for series in lab.query("cpu.") + lab.query("job."):
        times = series["t_ns"]
        assert times == sorted(set(times))
        assert times[0] >= shown["start_ns"] - NS // 100
        assert times[-1] <= shown["end_ns"] + NS // 100
