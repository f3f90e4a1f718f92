# SPDX-License-Identifier: Apache-2.0
"""A million lines of SageMaker's system metrics to a stored run, against pandas on the file."""

from __future__ import annotations

import json
import pathlib
import random
import resource
import shutil
import subprocess
import time

from harness import Context, Line, Result, spread

GOAL_PER_S = 5e6
CORES, GPUS, PERIOD_S = 32, 4, 0.5
START_S = 1_700_000_000
READINGS = {
    "cpu": ("CPUUtilization", "I/OWaitPercentage"),
    "gpu": ("GPUUtilization", "GPUMemoryUtilization"),
}


def sweep(at_s: float, rng: random.Random) -> list[str]:
    """One reading of every device, in an order of its own, as the agent writes them."""
    devices = [("cpu", n, d) for n in range(CORES) for d in READINGS["cpu"]]
    devices += [("gpu", n, d) for n in range(GPUS) for d in READINGS["gpu"]]
    rng.shuffle(devices)
    return [
        f'{{"Type":"{kind}","Name":"{kind}{n}","Dimension":"{what}",'
        f'"Value":{rng.random() * 100:.2f},"NodeId":"algo-1","Timestamp":{at_s:.7f}}}\n'
        for kind, n, what in devices
    ]


def make(path: pathlib.Path, records: int) -> int:
    rng = random.Random(4)
    done = 0
    with path.open("w") as out:
        while done < records:
            lines = sweep(START_S + done / (2 * CORES + 2 * GPUS) * PERIOD_S, rng)
            out.writelines(lines)
            done += len(lines)
    return done


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def import_s(context: Context, path: pathlib.Path, records: int) -> tuple[float, float]:
    """Seconds of the clock and of a CPU."""
    run = context.scratch / "sagemaker-run"
    shutil.rmtree(run, ignore_errors=True)
    began, cpu = time.perf_counter(), children_cpu_s()
    command = [context.footplate, "import", "--json", str(path), "-o", str(run)]
    done = subprocess.run(command, check=True, capture_output=True)
    took, cpu = time.perf_counter() - began, children_cpu_s() - cpu
    kept = json.loads(done.stdout)["counts"]["readings"]
    if kept != records:
        raise RuntimeError(f"{kept} readings of {records} were kept")
    return took, cpu


PANDAS = """
import sys, time, pandas
began, cpu = time.perf_counter(), time.process_time()
frame = pandas.read_json(sys.argv[1], lines=True)
print(time.perf_counter() - began, time.process_time() - cpu, len(frame))
"""


def pandas_s(context: Context, path: pathlib.Path, records: int) -> tuple[float, float]:
    command = [context.python, "-c", PANDAS, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    took, cpu, kept = done.stdout.split()
    if int(kept) != records:
        raise RuntimeError(f"pandas read {kept} of {records} records")
    return float(took), float(cpu)


def run(context: Context, result: Result) -> None:
    path = context.scratch / f"{START_S}.algo-1.json"
    records = make(path, 200_000 if context.quick else 1_000_000)
    ours = [import_s(context, path, records) for _ in range(3 if context.quick else 9)]
    theirs = [pandas_s(context, path, records) for _ in range(1 if context.quick else 3)]
    for which, what in enumerate(("", ", CPU time only")):
        mine = spread([pair[which] for pair in ours])
        pandas = spread([pair[which] for pair in theirs])
        per_s = records / mine.median
        result.lines.append(
            Line(
                f"{records} records, {path.stat().st_size >> 20} MiB, to a stored run{what}",
                per_s / 1e6,
                "M/s",
                "at least 5 M/s",
                per_s >= GOAL_PER_S,
                "pandas.read_json(lines=True)",
                records / pandas.median / 1e6,
                pandas.median / mine.median,
                f"{mine.low * 1e3:.0f} to {mine.high * 1e3:.0f} ms{what}",
            )
        )
    result.notes.append(
        "ours is the whole command, from its start to the run on the disk; pandas only reads into "
        "memory, and its start is not counted"
    )
    result.detail = {"ours_s": ours, "pandas_s": theirs, "records": records}
    path.unlink()
