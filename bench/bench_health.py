# SPDX-License-Identifier: Apache-2.0
"""The first pictures of a training with a million steps and 200 tensors, sampled every 50 steps.

TensorBoard shows an export of a training that is a tenth as long: from its start until its server
answers with the last step of the loss."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.request

from harness import Context, Line, Result

GOAL_S = 0.5
TENSORBOARD_MOST_S = 400


def last_step(port: int) -> int:
    """Of the loss that TensorBoard has read so far; -1: none."""
    url = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?tag=loss&run=."
    with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(url, timeout=60) as got:
        return max((int(row[1]) for row in json.load(got)), default=-1)
    return -1


def tensorboard(context: Context, folder: pathlib.Path, steps: int) -> float | None:
    """Seconds until it has read an export of the run; None: it did not."""
    logs = folder.with_name("logs")
    export = ["export", str(folder), "--format", "tensorboard", "-o", str(logs)]
    subprocess.run([context.footplate, *export], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [context.python, "-m", "tensorboard.main", "--logdir", str(logs)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    begin = time.monotonic()
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    try:
        while time.monotonic() < begin + TENSORBOARD_MOST_S and server.poll() is None:
            if last_step(port) == steps - 1:
                return time.monotonic() - begin
            time.sleep(0.1)
        return None
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(logs)


def run(context: Context, result: Result) -> None:
    steps, repeats = (100_000, 3) if context.quick else (1_000_000, 5)
    folder = context.scratch / "health"
    tool = context.tool("bench_health")

    def ask(*args: str) -> dict[str, float]:
        done = subprocess.run([tool, *args], check=True, capture_output=True)
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    made = ask("make", str(folder), str(steps), "200")
    took = ask("ask", str(folder), str(repeats))
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    shutil.rmtree(folder)
    ask("make", str(folder), str(steps // 10), "200")
    peer = tensorboard(context, folder, steps // 10)
    shutil.rmtree(folder)
    what = {"index_s": "list of scalars", "loss_s": "loss curve", "heat_map_s": "heat map"}
    for key, name in what.items():
        result.lines.append(
            Line(
                f"{name}, {steps:,} steps x 200 tensors",
                took[key],
                "s",
                "at most 0.5 s",
                took[key] <= GOAL_S,
                "TensorBoard, a tenth of the steps",
                peer,
                peer / took[key] if peer else None,
                note=f"best of {repeats}, the run opened anew each time",
            )
        )
    per_value = size / made["values"]
    result.lines.append(
        Line("stored", per_value, "B/value", peer="a double", peer_value=8.0, ratio=8 / per_value)
    )
    result.detail = {"made": made, "took": took, "bytes": size}
