#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [NAME...] [--quick] [--hour] [--json DIR]: measures Footplate against peers and floors.

Each bench measures both in one run and says whether the goal is met. Benches are measurements, not
tests: a goal that is not met does not make this fail. docs/overhead.md says how each is done.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

import bench_capture
import bench_compare
import bench_events
import bench_fast
import bench_frames
import bench_gpu_cost
import bench_health
import bench_hooks
import bench_hub
import bench_import
import bench_memory
import bench_ops
import bench_pyevents
import bench_readings
import bench_remote
import bench_report
import bench_rules
import bench_sagemaker
import bench_sample
import bench_serve
import bench_size
import bench_stats
import bench_timeline
import bench_training
import bench_windows
import bench_write
import bench_zoom
import peers
from harness import BENCH, ROOT, Bench, Context, Result, Skipped, keep, machine, show

BENCHES = [
    Bench(
        "sample",
        "CPU time of a full sample at 100 ms",
        bench_sample.run,
        ["psutil", "node-exporter"],
    ),
    Bench("events", "one event from C, and a million a second", bench_events.run, ["lttng"]),
    Bench("fast", "sampling every 10 ms", bench_fast.run),
    Bench(
        "gpu_cost", "own CPU with 1 and 8 GPUs that take as long as real ones", bench_gpu_cost.run
    ),
    Bench("readings", "readings of threads and of other programs", bench_readings.run),
    Bench("memory", "resident memory of the recorder", bench_memory.run),
    Bench("serve", "the dashboard's server", bench_serve.run, ["wrk", "nginx"]),
    Bench("hub", "a hub with a thousand nodes, and what sending costs", bench_hub.run),
    Bench("size", "stored bytes per sample", bench_size.run, ["victoria-metrics"]),
    Bench("write", "the write path", bench_write.run),
    Bench("windows", "windows at 1800 points", bench_windows.run, ["victoria-metrics"]),
    Bench("stats", "statistics of a day", bench_stats.run, ["numpy"]),
    Bench("pyevents", "events from Python", bench_pyevents.run, ["torch", "numpy"]),
    Bench(
        "training",
        "a training step with and without recording",
        bench_training.run,
        ["torch", "numpy"],
    ),
    Bench(
        "sagemaker",
        "a million lines of SageMaker's system metrics",
        bench_sagemaker.run,
        ["pandas"],
    ),
    Bench(
        "hooks",
        "what hooks add to a training step",
        bench_hooks.run,
        ["torch", "numpy"],
    ),
    Bench("health", "the first pictures of a long training", bench_health.run, ["tensorboard"]),
    Bench(
        "capture",
        "what the capture of training health adds to a training step",
        bench_capture.run,
    ),
    Bench("rules", "all rules, afterwards and while a run lives", bench_rules.run, ["pandas"]),
    Bench("report", "the report of a day", bench_report.run, ["pandas"]),
    Bench("frames", "every sample of a day into a pandas frame", bench_frames.run, ["pandas"]),
    Bench("compare", "two runs against each other", bench_compare.run, ["numpy"]),
    Bench("import", "a gzip trace to a stored run", bench_import.run),
    Bench("remote", "runs on object storage", bench_remote.run),
    Bench("ops", "operators and breakdown of a stored run", bench_ops.run, ["pandas"]),
    Bench("zoom", "the dashboard in a browser", bench_zoom.run),
    Bench("timeline", "a hundred thousand slices of the timeline", bench_timeline.run),
]


def arguments() -> argparse.Namespace:
    about = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=about[0].partition(": ")[2], epilog=about[2])
    parser.add_argument("name", nargs="*", help="benches to run; all when none is named")
    parser.add_argument("--list", action="store_true", help="name the benches and end")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--hour", action="store_true", help="watch the memory for an hour")
    parser.add_argument("--json", type=pathlib.Path, default=BENCH / "out", metavar="DIR")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "bench-venv")
    asked = parser.parse_args()
    known = [bench.name for bench in BENCHES]
    for name in asked.name:
        if name not in known:
            parser.error(f"no bench '{name}'; there are {', '.join(known)}")
    return asked


def build(folder: pathlib.Path) -> None:
    """What is measured, as users get it."""
    if not (folder / "build.ninja").exists():
        command = ["cmake", "--preset", "release", "-S", str(ROOT), "-B", str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    targets = [
        "footplate",
        "bench_store",
        "bench_rules",
        "bench_health",
        "bench_ring",
        "bench_talk",
        "miniagent",
        "fp_emit_shared",
        "footplate_python",
    ]
    subprocess.run(
        ["cmake", "--build", str(folder), "--target", *targets],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def run_one(bench: Bench, context: Context, out: pathlib.Path) -> bool:
    result = Result(bench.name, bench.title)
    try:
        for name in bench.needs:
            peers.ensure(name, context.venv)
        bench.run(context, result)
    except Skipped as why:
        print(f"\n== {bench.name}: SKIPPED: {why}")
        return True
    except (subprocess.CalledProcessError, OSError, RuntimeError) as why:
        print(f"\n== {bench.name}: FAILED: {why}")
        return False
    show(result)
    keep(result, out, context)
    return True


def main() -> int:
    asked = arguments()
    if asked.list:
        for bench in BENCHES:
            print(f"{bench.name:10} {bench.title}")
        return 0
    build(asked.build)
    about = machine()
    print(f"{about['cores']} x {about['cpu']}, Linux {about['kernel']}, load {about['load_1min']}")
    with tempfile.TemporaryDirectory(prefix="footplate-bench-", dir="/var/tmp") as scratch:
        context = Context(asked.quick, asked.hour, asked.build, asked.venv, pathlib.Path(scratch))
        wanted = [b for b in BENCHES if not asked.name or b.name in asked.name]
        done = [run_one(bench, context, asked.json) for bench in wanted]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
