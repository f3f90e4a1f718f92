# SPDX-License-Identifier: Apache-2.0
"""Runs for the tests of footplate.analysis, each made a different way, and the program's own words
about them to compare with."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pykit import ROOT, plain_env

SM_START_S = 1_700_000_000

# A loop as people write it, without any framework.
SCRIPT = """
import time, footplate
with footplate.span("loader.start"):
    time.sleep(0.01)
footplate.counter("loader.num_workers", 4)
footplate.counter("loader.pin_memory", 0)
for i in range(30):
    with footplate.step():
        with footplate.span("data"):
            time.sleep(0.02 if i == 20 else 0.002)
        with footplate.span("forward"):
            time.sleep(0.004)
    footplate.counter("loss", 1 / (i + 1))
with footplate.eval():
    for i in range(3):
        with footplate.step():
            time.sleep(0.01)
time.sleep(0.4)
"""


def _kineto() -> dict[str, Any]:
    """Two steps on one thread; each launches two kernels."""
    base = 1_700_000_000_000_000
    rows: list[dict[str, Any]] = []
    cpu = {"ph": "X", "pid": 77, "tid": 77}
    for s in range(2):
        at = base + 10_000 * s
        rows.append(
            cpu | {"cat": "user_annotation", "name": f"ProfilerStep#{s}", "ts": at, "dur": 9000}
        )
        for k in range(2):
            link = 10 * s + k + 1
            op = at + 1000 + 3000 * k
            rows.append(cpu | {"cat": "cpu_op", "name": "aten::mm", "ts": op, "dur": 800})
            launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": op + 100, "dur": 50}
            rows.append(cpu | launch | {"args": {"correlation": link}})
            kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7}
            rows.append(
                kernel
                | {
                    "ts": op + 500,
                    "dur": 1500,
                    "args": {"correlation": link, "device": 0, "stream": 7},
                }
            )
    return {
        "schemaVersion": 1,
        "traceEvents": rows,
        "deviceProperties": [{"id": 0}],
        "distributedInfo": {"rank": 0},
    }


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _system(node: str) -> str:
    out = []
    for i in range(40):
        at = SM_START_S + 0.25 + i / 2
        kinds = [("cpu", f"cpu{c}", "CPUUtilization", 10 * c + i) for c in range(4)]
        kinds += [("cpu", "cpu0", "I/OWaitPercentage", 1)]
        kinds += [("gpu", "gpu0", "GPUUtilization", (7 * i) % 101)]
        kinds += [("memory", "MemoryUsedPercent", "", 12.07)]
        for kind, name, what, value in kinds:
            row = {"Type": kind, "Name": name, "Dimension": what, "Value": value}
            out.append(json.dumps(row | {"NodeId": node, "Timestamp": at}))
    return "\n".join(out) + "\n"


def _timeline(pid: int) -> str:
    lanes = [
        "",
        "Step:ModeKeys.TRAIN",
        "Forward",
        "DataLoaderIterInitialize",
        "DataLoaderIter",
        "DataLoaderWorker",
    ]
    head = {"name": "process_name", "ph": "M"}
    first = {"start_time_since_epoch_in_micros": SM_START_S * 1_000_000}
    rows: list[dict[str, Any]] = [head | {"pid": 0, "args": first}]
    rows += [head | {"pid": n, "args": {"name": name}} for n, name in enumerate(lanes) if name]
    start = {"num_workers": 2, "pin_memory": True, "pid": pid}
    rows.append(
        {
            "ph": "X",
            "name": "_MultiProcessingDataLoaderIter.__init__",
            "pid": 3,
            "ts": 1_000_000,
            "dur": 50_000,
            "args": start,
        }
    )
    for w in range(2):
        args = {"worker_id": w, "pid": pid + 1 + w}
        rows.append(
            {
                "ph": "X",
                "name": "DataLoaderWorker",
                "pid": 5,
                "ts": 1_050_000,
                "dur": 9_000_000 + 1000 * w,
                "args": args,
            }
        )
    for i in range(40):
        at = 2_000_000 + 200_000 * i
        event = {"ph": "X", "args": {"pid": pid, "step_num": str(i)}}
        rows.append(
            event
            | {
                "name": "_MultiProcessingDataLoaderIter::GetNext",
                "pid": 4,
                "ts": at,
                "dur": 60_000 if i == 30 else 20_000,
            }
        )
        rows.append(event | {"name": lanes[1], "pid": 1, "ts": at + 70_000, "dur": 100_000})
        rows.append(event | {"name": "ResNet", "pid": 2, "ts": at + 70_000, "dur": 80_000})
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


def _frame(name: str, seconds: float, *children: dict[str, Any]) -> dict[str, Any]:
    return {
        "function": name,
        "file_path": f"/job/{name}.py",
        "line_no": 3,
        "time": seconds,
        "children": list(children),
    }


def _sagemaker(root: Path) -> None:
    for n in (1, 2):
        _put(
            root / f"system/incremental/2023111422/{SM_START_S}.algo-{n}.json", _system(f"algo-{n}")
        )
        end = (SM_START_S + 12) * 1_000_000
        name = f"framework/pevents/2023111422/{end}_{n - 1}-algo-{n}_pythontimeline.json"
        _put(root / name, _timeline(900 * n))
    start = SM_START_S * 1_000_000
    for i, (first, last) in enumerate(((100_000, 900_000), (3_000_000, 3_500_000))):
        stats = f"train-{i}-stepstart-{start + first}.0_train-{i}-stepend-{start + last}.0"
        tree = _frame("main", (last - first) / 1e6, _frame("work", 0.3 * (i + 1)))
        told = {
            "start_time": (start + first) / 1e6,
            "duration": (last - first) / 1e6,
            "root_frame": tree,
        }
        _put(
            root / f"framework/pytorch/pyinstrument/0-algo-1/{stats}/python_stats.json",
            json.dumps(told),
        )


_FORWARD = {"file": "/home/me/model.py", "line": 31, "name": "forward", "calls": 4}
_ADD = {"file": "~", "line": 0, "name": "<built-in method add>", "calls": 70}
_PART = {"file": "a.py", "line": 2, "name": "g", "calls": 1, "self_s": 0.125, "total_s": 0.125}

PROFILE = {
    "version": 1,
    "profiler": "cprofile",
    "timer": "total_time",
    "pid": 12,
    "rank": 0,
    "start_step": 9,
    "end_step": 11,
    "start_ns": 1_700_000_000_000_000_000,
    "end_ns": 1_700_000_002_000_000_000,
    "functions": [
        _FORWARD | {"primitive_calls": 2, "self_s": 0.25, "total_s": 1.5},
        _ADD | {"self_s": 0.5, "total_s": 0.5},
    ],
    "phases": {"forward": [_PART]},
}


class Runs:
    """Made once for a file of tests."""

    NAMES = ("recorded", "cpu", "data", "two_nodes", "kineto", "sagemaker", "profile")

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self._record()
        scenes = {
            "cpu": "cpu_bottleneck/fires",
            "data": "dataloader/fires",
            "two_nodes": "cpu_bottleneck/one_bad_node",
        }
        for name, scene in scenes.items():
            self._import(name, ROOT / f"tests/rules/{scene}.scene")
        trace = folder / "trace.json.gz"
        trace.write_bytes(gzip.compress(json.dumps(_kineto()).encode()))
        self._import("kineto", trace)
        _sagemaker(folder / "profiler-output")
        self._import("sagemaker", folder / "profiler-output")
        _put(folder / "profile.json", json.dumps(PROFILE))
        self._import("profile", folder / "profile.json")

    def _call(self, *words: str | Path) -> str:
        command = [str(self.program), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=plain_env())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _record(self) -> None:
        script = self.folder / "loop.py"
        script.write_text(SCRIPT)
        words = [
            "run",
            "--quiet",
            "--name",
            "recorded",
            "--interval",
            "100ms",
            "--dir",
            self.folder / "made",
        ]
        self._call(*words, "--", sys.executable, script)
        (made,) = (self.folder / "made").iterdir()
        made.rename(self.folder / "recorded")

    def _import(self, name: str, path: Path) -> None:
        self._call("import", path, "-o", self.folder / name)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def said(self, command: str, name: str, *words: str) -> Any:
        """What the program prints with --json."""
        return json.loads(self._call(command, self.path(name), *words, "--json"))


@pytest.fixture(scope="session")
def runs(footplate: Path, api: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs of all kinds; footplate.analysis can be imported from now on."""
    return Runs(footplate, tmp_path_factory.mktemp("analysis"))


def opened(runs: Runs, name: str, frames: str) -> Any:
    import footplate

    return footplate.open(runs.path(name), frames=frames)


@pytest.fixture(params=["pandas", "table", "bare"])
def frames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With pandas, with our own tables, and as if neither pandas nor numpy were installed."""
    if request.param == "pandas":
        pytest.importorskip("pandas")
    if request.param == "bare":
        monkeypatch.setitem(sys.modules, "pandas", None)
        monkeypatch.setitem(sys.modules, "numpy", None)
    return "pandas" if request.param == "pandas" else "table"


def records(frame: Any) -> list[dict[str, Any]]:
    """Rows of a data frame or a table as plain values: None for what is missing, ns for times."""
    if not hasattr(frame, "to_pandas"):
        import pandas

        rows = []
        for row in frame.to_dict("records"):
            plain = {}
            for k, v in row.items():
                if isinstance(v, (dict, list)):
                    plain[k] = v
                elif v is None or v is pandas.NaT or pandas.isna(v):
                    plain[k] = None
                else:
                    plain[k] = v.value if isinstance(v, pandas.Timestamp) else v
            rows.append(plain)
        return rows
    times = [n for n in frame.columns if frame[n].kind == "time"]
    rows = frame.to_dict("records")
    for name in times:
        none = frame[name].none
        for row, ns in zip(rows, frame[name].raw(), strict=True):
            row[name] = None if ns == none else ns
    return rows
