# SPDX-License-Identifier: Apache-2.0
"""Runs a script with the hooks in place; reads what they said as spans that lie in each other."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pykit import SCRIPTS, losses_of, new_ring, plain_env, run_python

MODES = ("train", "eval", "predict")

# Frameworks that say as little as they can by themselves, always the same, and only on the CPU.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
QUIET |= {"JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


def need(*modules: str) -> None:
    """Skips the test when a package is not installed; none of them is imported here."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def torch_version() -> tuple[int, int]:
    """Of the PyTorch that the tests run with."""
    first, second = importlib.metadata.version("torch").split(".")[:2]
    return int(first), int(second)


def need_torch(first: int, second: int, what: str) -> None:
    """Skips the test when torch is older than that."""
    if torch_version() < (first, second):
        have = importlib.metadata.version("torch")
        pytest.skip(f"{what} is looked at with torch {first}.{second} and later; here is {have}")


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
        return losses_of(self.events)


@dataclass
class Runner:
    """Runs scripts of tests/py/scripts, with hooks as `footplate run` sets them up, or without."""

    package: Path
    ring_dump: Path
    cwd: Path

    def plain(self, script: str, *words: str, env: Mapping[str, str] | None = None) -> Run:
        return self._run(script, words, plain_env(QUIET | dict(env or {})))

    def hooked(
        self,
        script: str,
        *words: str,
        env: Mapping[str, str] | None = None,
        config: dict | None = None,
    ) -> Run:
        """`config`: what the recorder asks for."""
        with new_ring(self.package, self.ring_dump) as ring:
            if config:
                ring.ask(**config)
            more = QUIET | {"FOOTPLATE_CLOCK": "monotonic"} | dict(env or {})
            run = self._run(script, words, ring.env(more))
            run.events = ring.events()
            run.details = [json.loads(trace.read_text()) for trace in ring.files("detail")]
            return run

    def _run(self, script: str, words: tuple[str, ...], env: dict[str, str]) -> Run:
        """In a folder always of the same name: a script that says where it is says the same."""
        folder = self.cwd / "job"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        done = run_python(SCRIPTS / script, *words, whole_env=env, cwd=folder)
        return Run(done.returncode, done.stdout, done.stderr)
