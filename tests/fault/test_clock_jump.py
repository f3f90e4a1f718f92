# SPDX-License-Identifier: Apache-2.0
"""The wall clock is set while a run is recorded. Only the recorder sees it: a library in front of
the C library shifts what it reads."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from faultkit import NS, Lab, compile_library

SHIM = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);
static long long begin_ms;

static long long ms_of(const struct timespec *t)
{
    return t->tv_sec * 1000LL + t->tv_nsec / 1000000;
}

/* Seconds by which the wall clock is wrong by now. */
static long shift(void)
{
    struct timespec now;
    const char *by = getenv("SHIM_SHIFT_S"), *after = getenv("SHIM_AFTER_MS");
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_MONOTONIC, &now);
    if (!begin_ms)
        begin_ms = ms_of(&now);
    return by && after && ms_of(&now) - begin_ms > atoll(after) ? atol(by) : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    const long by = shift();
    const int rc = real(id, t);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += by;
    return rc;
}

int gettimeofday(struct timeval *t, void *zone)
{
    struct timespec ts;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    t->tv_sec = ts.tv_sec;
    t->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (out)
        *out = ts.tv_sec;
    return ts.tv_sec;
}
"""
RUN_S, AFTER_S, HOUR = 3, 1.2, 3600


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(SHIM, tmp_path_factory.mktemp("shim") / "shim.so", "-ldl")


def record_with_jump(lab: Lab, shim: Path, by_s: int) -> int:
    """A run in which the wall clock jumps after AFTER_S; returns the true time of its start."""
    env = lab.env | {
        "LD_PRELOAD": str(shim),
        "SHIM_SHIFT_S": str(by_s),
        "SHIM_AFTER_MS": str(int(AFTER_S * 1000)),
    }
    start_ns = time.time_ns()
    job = ["sh", "-c", f"unset LD_PRELOAD; sleep {RUN_S}; exit 3"]
    done = lab.record("--interval", "100ms", "--", *job, env=env)
    assert done.returncode == 3, done.stderr
    return start_ns


@pytest.mark.parametrize("by_s", [HOUR, -HOUR, 1, -1], ids=["+1h", "-1h", "+1s", "-1s"])
def test_a_clock_jump_is_marked_and_time_never_runs_backwards(lab: Lab, shim: Path, by_s: int):
    start_ns = record_with_jump(lab, shim, by_s)
    (mark,) = lab.marks("clock-jump")
    assert mark["number"] / NS == pytest.approx(by_s, abs=0.1)
    assert ("forward" if by_s > 0 else "back") in mark["text"]
    shown = lab.show()
    late = sum(x["count"] for x in shown["losses"] if x["kind"] == "late")
    for metric in ("job.cpu", "cpu.util", "mem.used"):
        times = lab.series(metric)["t_ns"]
        assert times == sorted(set(times)), f"{metric} runs backwards"
        assert len(times) + late >= RUN_S * 10 - 4, f"{metric} lost samples"
        assert times[0] == pytest.approx(start_ns, abs=NS), "before the jump time is as it was"
    marks = [m["time_ns"] for m in shown["marks"]]
    assert marks == sorted(marks)
    took = RUN_S + max(by_s, 0)
    assert shown["duration_s"] == pytest.approx(took, abs=0.7), "forward is followed, back is not"
    assert shown["end_ns"] >= lab.series("job.cpu")["t_ns"][-1] - NS // 100
    assert shown["status"] == "failed"
    assert max(lab.series("job.cpu")["v"]) <= 100 * (os.cpu_count() or 1), "a rate took the jump"


def test_windows_and_points_survive_a_jump(lab: Lab, shim: Path):
    record_with_jump(lab, shim, HOUR)
    done = lab.fp("query", "last", "--metric", "cpu.util", "-e", "total", "-n", 20, "--json")
    assert done.returncode == 0
    (series,) = json.loads(done.stdout)
    assert 2 <= len(series["t_ns"]) <= 20
    assert series["t_ns"] == sorted(series["t_ns"])
    before = lab.query("cpu.util", "--entity", "total", "--to", "+30min")
    after = lab.query("cpu.util", "--entity", "total", "--from", "+30min")
    every = lab.series("cpu.util")["t_ns"]
    assert before[0]["t_ns"] + after[0]["t_ns"] == every
