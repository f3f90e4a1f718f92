# SPDX-License-Identifier: Apache-2.0
"""Own CPU on a machine with GPUs, by a stand-in of NVIDIA's library whose calls use as much CPU
time as the real ones did on an H200. The start is left out; each turn contains one reading of the
energy counter, which comes every 30 s."""

from __future__ import annotations

import contextlib
import os
import pathlib
import statistics
import subprocess
import time
from collections.abc import Iterator

import procs
from harness import ROOT, Context, Line, Result

SETTLE_S = 3.0
TURN_S = 30  # as long as the slowest cadence
WORKERS = 8  # processes of the job beside the first one, as a loader has them
LIMIT = {1: 0.4, 8: 1.0}  # percent of a core at 500 ms

# Microseconds of CPU time a call, one H200, driver 580.159, calls in this order every 500 ms: means
# of 45 rounds, the thread's CPU clock. What the first round costs on top is part of the start.
# PcieThroughput sleeps 20 ms of its 21; it is asked only where GPM is missing.
COST_US = {
    "Init": 15300,
    "UtilizationRates": 23,
    "MemoryInfo_v2": 73,
    "PowerUsage": 5,
    "EnforcedPowerLimit": 2,
    "PowerManagementDefaultLimit": 17,
    "ClockInfo.1": 4,
    "ClockInfo.2": 1,
    "TemperatureV.0": 3,
    "CurrentClocksEventReasons": 5,
    "GpmSampleGet": 191,
    "GpmMetricsGet": 12,
    "TotalEnergyConsumption": 4100,
    "FieldValue.82": 6,
    "FieldValue.138.all": 30,
    "FieldValue.139.all": 8,
    "ComputeRunningProcesses": 105,
    "RegisterEvents": 1300,
    "XidEvent": 5,
}

ANSWERS = """\
series {g} UtilizationRates 97,40*3 99,41*2 100,42*5 98,40
series {g} MemoryInfo_v2 150754820096,644939776,120000000000,30109880320
series {g} PowerUsage 612000 633000*2 598000 645000 700000
series {g} EnforcedPowerLimit 700000
series {g} PowerManagementDefaultLimit 700000
series {g} ClockInfo.1 1980*4 1965*3 1950*5 1980
series {g} ClockInfo.2 3201
series {g} TemperatureV.0 61*4 62*6 63
series {g} CurrentClocksEventReasons 4
series {g} TotalEnergyConsumption 1000000 1600000 20600000 39600000 58600000
series {g} FieldValue.82 1,70
series {g} FieldValue.138.all 3,1000 3,900000 3,1800000 3,2700000
series {g} FieldValue.139.all 3,1000 3,900000 3,1800000 3,2700000
series {g} ComputeRunningProcesses 4242,30000000000
series {g} RegisterEvents -
series {g} XidEvent !10
series {g} GpmQueryDeviceSupport 1
series {g} GpmSampleGet -
series {g} GpmMetricsGet -
series {g} GpmMetric.2 92.1 93.5 91.8 94.2
series {g} GpmMetric.3 31.2 30.4 30.9
series {g} GpmMetric.5 60.5 61.2 59.9
series {g} GpmMetric.10 30.1 31.4 29.8
series {g} GpmMetric.20 120.5
series {g} GpmMetric.21 410.2
"""


def play_text(gpus: int) -> str:
    lines = ["driver 580.159", f"gpus {gpus}", "error 10 Timeout"]
    lines += [f"cost {name} {us}" for name, us in COST_US.items()]
    for gpu in range(gpus):
        lines += [f"gpu {gpu} name NVIDIA H200", f"gpu {gpu} uuid GPU-{gpu}"]
        lines.append(ANSWERS.format(g=gpu))
    return "\n".join(lines) + "\n"


def build_standin(folder: pathlib.Path) -> pathlib.Path:
    source = ROOT / "tests" / "standin"
    library = folder / "libnvidia-ml-standin.so"
    command = ["cc", "-O2", "-std=gnu17", "-shared", "-fPIC", "-pthread", f"-I{ROOT / 'src'}"]
    files = [str(source / "nvml_standin.c"), str(source / "play.c")]
    subprocess.run([*command, "-o", str(library), *files], check=True)
    return library


@contextlib.contextmanager
def stand_in(library: pathlib.Path, gpus: int) -> Iterator[None]:
    """What recorders started meanwhile take for the driver; without GPUs, none at all."""
    play = library.with_name(f"{gpus}.play")
    play.write_text(play_text(gpus))
    names = {"FOOTPLATE_NVML": str(library) if gpus else "/nonexistent/nvml.so"}
    names["FOOTPLATE_NVML_PLAY"] = str(play)
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def one_turn(context: Context, interval: str) -> tuple[list[float], dict[str, float]]:
    """Percent of a core in each second, and of each thread over all of them."""
    job = ["sh", "-c", f"for i in $(seq {WORKERS}); do sleep 86400 & done; wait"]
    with procs.recorder(context, interval, job) as (process, _):
        time.sleep(SETTLE_S)
        before = procs.thread_seconds(process.pid)
        shares = procs.cpu_by_window(process.pid, TURN_S)
        after = procs.thread_seconds(process.pid)
    threads = {name: 100 * (s - before.get(name, 0.0)) / TURN_S for name, s in after.items()}
    return [100 * share for share in shares], threads


def run(context: Context, result: Result) -> None:
    library = build_standin(context.scratch)
    for interval in ("500ms",) if context.quick else ("500ms", "100ms"):
        for gpus in (0, 1, 8):
            with stand_in(library, gpus):
                shares, threads = one_turn(context, interval)
            mean, limit = statistics.fmean(shares), LIMIT.get(gpus) if interval == "500ms" else None
            result.lines.append(
                Line(
                    f"{gpus or 'no'} GPU{'' if gpus == 1 else 's'}, every {interval}, mean",
                    mean,
                    "%",
                    f"at most {limit} %" if limit else "",
                    mean <= limit if limit else None,
                )
            )
            split = sorted(threads.items(), key=lambda item: -item[1])
            middle = statistics.median(shares)
            result.notes.append(
                f"{gpus} GPUs, {interval}: median second {middle:.2f} %; by thread "
                + ", ".join(f"{name} {share:.3f}" for name, share in split if share >= 0.002)
            )
            result.detail[f"{gpus} GPUs, {interval}"] = {"each_second": shares, "threads": threads}
    result.notes.append(
        f"{TURN_S} s each, begun {SETTLE_S:g} s after the start; a job of {WORKERS + 1} processes "
        "that sleep"
    )
