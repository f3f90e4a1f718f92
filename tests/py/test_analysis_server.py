# SPDX-License-Identifier: Apache-2.0
"""A run that is read from `footplate serve` is the run that is read from its folder."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from analysis_kit import Runs, opened, records
from pykit import plain_env

TOKEN = "a-token-of-these-tests-123456"


@pytest.fixture(scope="module")
def address(runs: Runs) -> Iterator[str]:
    command = [runs.program, "serve", runs.folder, "--port", "0"]
    with subprocess.Popen(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=plain_env({"FOOTPLATE_TOKEN": TOKEN}),
    ) as server:
        assert server.stdout is not None
        said = ""
        for line in server.stdout:
            said += line
            found = re.search(r"http://[\w.:\[\]]+", line)
            if found:
                yield found[0]
                break
        else:
            pytest.fail(f"the server did not say where it listens: {said}")
        server.terminate()


def served(address: str, name: str, frames: str):
    import footplate

    return footplate.open(f"{address}/{name}", frames=frames, token=TOKEN)


@pytest.mark.parametrize("name", ["recorded", "sagemaker", "kineto"])
def test_small_answers_are_the_same(runs, address, frames, name):
    there, here = served(address, name, frames), opened(runs, name, frames)
    own = ("path", "version")  # the server's mean something else
    assert {k: there.info[k] for k in here.info if k not in own} == {
        k: v for k, v in here.info.items() if k not in own
    }
    assert there._series() == here._series()
    for what in ("steps", "ranks", "ops", "breakdown", "stats", "job_statistics"):
        assert records(getattr(there, what)()) == records(getattr(here, what)()), what


def test_samples_and_points_are_the_same(runs, address, frames):
    there, here = served(address, "sagemaker", frames), opened(runs, "sagemaker", frames)
    for metric in ("cpu.util", "gpu.", "mem.util"):
        assert records(there.system_metrics(metric)) == records(here.system_metrics(metric))
    few = {"metric": "cpu.util", "node": "algo-2", "points": 7}
    assert records(there.system_metrics(**few)) == records(here.system_metrics(**few))
    cut = {"metric": "gpu.util", "steps": (3, 9)}
    assert records(there.system_metrics(**cut)) == records(here.system_metrics(**cut))


def test_findings_are_those_of_the_server(runs, address, frames):
    there, here = served(address, "cpu", frames).findings(), opened(runs, "cpu", frames).findings()
    for a, b in zip(there.verdicts, here.verdicts, strict=True):
        assert {k: a[k] for k in b} == b
    import footplate

    with pytest.raises(footplate.RunError, match="open the folder"):
        served(address, "cpu", frames).findings(CPUBottleneck_threshold=1)


def test_spans_are_the_same(runs, address, frames):
    def spans(run):
        rows = records(run.framework_events("forward"))
        return sorted((r["start"], r["duration_s"], r["node"], r["step"]) for r in rows)

    here = spans(opened(runs, "sagemaker", frames))
    assert here and spans(served(address, "sagemaker", frames)) == here


def test_charts_work_from_there_too(address, frames):
    run = served(address, "sagemaker", frames)
    assert "<image" in run.plot.heatmap().svg
    assert run.plot.step_timeline().svg.count("<circle") == 80
    assert "<svg" in run.plot.timeline("gpu.util")._repr_html_()


def test_a_server_refuses_in_sentences(address, frames, monkeypatch):
    import footplate

    with pytest.raises(footplate.RunError, match="no run 'nothing'"):
        served(address, "nothing", frames)
    monkeypatch.delenv("FOOTPLATE_TOKEN", raising=False)
    with pytest.raises(footplate.RunError, match="FOOTPLATE_TOKEN"):
        footplate.open(f"{address}/cpu")
    monkeypatch.setenv("FOOTPLATE_TOKEN", TOKEN)
    assert footplate.open(f"{address}/cpu", frames=frames).nodes == ["a"]
    with pytest.raises(footplate.RunError, match="cannot reach"):
        footplate.open("http://127.0.0.1:9/x", token=TOKEN)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("http://h:1", ("http://h:1", "")),
        ("http://h:1/run-x", ("http://h:1", "run-x")),
        ("http://h:1/#/run/a%20b/overview?node=n", ("http://h:1", "a b")),
        ("https://h/api/v1/runs/r", ("https://h", "r")),
    ],
)
def test_addresses_are_understood(runs, text, place):
    from footplate.analysis.server import place_of

    assert place_of(text) == place


def test_what_is_too_much_is_asked_for_in_intervals(runs):
    from footplate.analysis import server

    asked = []

    def fetch(a: int, b: int) -> list[list[int]]:
        asked.append((a, b))
        if b - a > 10:
            raise server._TooMuch("ask for fewer points")
        return [list(range(a, b))]

    assert server._intervals(fetch, 0, 100) == [list(range(100))]
    assert len(asked) > 10
