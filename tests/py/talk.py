# SPDX-License-Identifier: Apache-2.0
"""Runs a script with the hooks in place; reads what they said as spans that lie in each other."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent / "scripts"
MODES = ("train", "eval", "predict")
TIMEOUT_S = 300

# Frameworks that say as little as they can by themselves, always the same, and only on the CPU.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
QUIET |= {"JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


def need(*modules: str) -> None:
    """Skips the test when a package is not installed; none of them is imported here."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@dataclass
class Span:
    """A span or a step, with what lies in it. Times in ns of CLOCK_MONOTONIC."""

    name: str
    begin: int
    end: int
    value: int
    mode: str
    inside: list[Span] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) / 1e9

    def names(self) -> Counter[str]:
        """How often each name lies in it, at any depth."""
        found: Counter[str] = Counter()
        for span in self.inside:
            found[span.name] += 1
            found += span.names()
        return found


class Talk:
    """What one thread said. Everything that began in it ended, in the right order, or we fail."""

    def __init__(self, events: list[dict]) -> None:
        self.events = events
        self.all: list[Span] = []
        self.voids: list[int] = []
        self._open: list[Span] = []
        for event in events:
            self._take(event)
        assert not self._open, f"never ended: {self._open}"

    def _take(self, e: dict) -> None:
        name = e["name"] or "step"
        if e["kind"] in ("span_begin", "step_begin"):
            mode = MODES[e["mode"]] if e["kind"] == "step_begin" else ""
            span = Span(name, e["t_ns"], 0, e["value"], mode)
            if self._open:
                self._open[-1].inside.append(span)
            self.all.append(span)
            self._open.append(span)
        elif e["kind"] in ("span_end", "step_end"):
            span = self._open.pop()
            assert span.name == name, f"{span} is ended by {e}"
            if e["kind"] == "step_end":
                assert (span.value, span.mode) == (e["value"], MODES[e["mode"]])
            span.end = e["t_ns"]
        elif name == "step.void":
            self.voids.append(e["t_ns"])

    def spans(self, name: str) -> list[Span]:
        return [s for s in self.all if s.name == name]

    def steps(self, mode: str | None = None) -> list[Span]:
        """Those that count."""
        said = [s for s in self.all if s.name == "step" and mode in (None, s.mode)]
        return [s for s in said if not any(s.begin <= t <= s.end for t in self.voids)]

    def counts(self, name: str) -> list[int]:
        return [e["value"] for e in self.events if e["kind"] == "count" and e["name"] == name]

    def modes(self) -> dict[str, int]:
        """How many steps of each mode count."""
        return {mode: len(self.steps(mode)) for mode in MODES}

    def between(self, begin: int, end: int) -> Talk:
        return Talk([e for e in self.events if begin <= e["t_ns"] <= end])


@dataclass
class Run:
    """A script that has ended, and what the hooks said in it."""

    status: int
    stdout: str
    stderr: str
    events: list[dict] = field(default_factory=list)
    details: list[dict] = field(default_factory=list)  # traces of detail windows

    @property
    def said(self) -> dict:
        """The script's own account: its last line."""
        assert self.status == 0, self.stderr
        return json.loads(self.stdout.splitlines()[-1])

    def talk(self) -> Talk:
        """Of the thread that told steps, or else said most."""
        steps = Counter((e["pid"], e["tid"]) for e in self.events if e["kind"] == "step_begin")
        threads = steps or Counter((e["pid"], e["tid"]) for e in self.events)
        assert threads, f"nothing was said\n{self.stderr}"
        assert len(steps) < 2, "steps were told by several threads"
        main = threads.most_common(1)[0][0]
        return Talk([e for e in self.events if (e["pid"], e["tid"]) == main])

    def losses(self) -> list[str]:
        return [e["name"] for e in self.events if e["name"].startswith("loss:")]


@dataclass
class Runner:
    """Runs scripts of tests/py/scripts, with hooks as `footplate run` sets them up, or without."""

    package: Path
    ring_dump: Path
    cwd: Path

    def plain(self, script: str, *words: str, env: Mapping[str, str] | None = None) -> Run:
        return self._run(script, words, dict(env or {}), self._fresh())

    def hooked(
        self,
        script: str,
        *words: str,
        env: Mapping[str, str] | None = None,
        config: dict | None = None,
    ) -> Run:
        """`config`: what the recorder asks for."""
        where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        ring = tempfile.mkdtemp(prefix="footplate-test-", dir=where)
        try:
            if config:
                whole = {"version": 1, "generation": 1, "job_start_ns": 0} | config
                Path(ring, "config.json").write_text(json.dumps(whole))
            ours = {
                "FOOTPLATE_RING": ring,
                "FOOTPLATE_CLOCK": "monotonic",
                "PYTHONPATH": str(self.package / "footplate" / "_bootstrap"),
            }
            run = self._run(script, words, dict(env or {}) | ours, self._fresh())
            dump = subprocess.run([self.ring_dump, ring], capture_output=True, text=True)
            assert (dump.returncode, dump.stderr) == (0, ""), dump.stderr
            run.events = [json.loads(line) for line in dump.stdout.splitlines()]
            traces = sorted(Path(ring).glob("detail-*.json"))
            run.details = [json.loads(trace.read_text()) for trace in traces]
            return run
        finally:
            shutil.rmtree(ring)

    def _fresh(self) -> Path:
        """Always of the same name, so that a script that says where it is says the same."""
        folder = self.cwd / "job"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _run(self, script: str, words: tuple[str, ...], env: dict[str, str], cwd: Path) -> Run:
        left_out = ("FOOTPLATE_", "PYTHONPATH", "TF_CONFIG", "KERAS_BACKEND")
        base = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        done = subprocess.run(
            [sys.executable, SCRIPTS / script, *words],
            env=base | QUIET | env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
        return Run(done.returncode, done.stdout, done.stderr)
