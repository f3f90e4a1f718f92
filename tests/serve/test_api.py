# SPDX-License-Identifier: Apache-2.0
"""Every answer of the server against what the command of the same name prints with --json."""

from __future__ import annotations

import base64
import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCENES = ["dataloader/one_bad_node", "eval_heavy/fires", "gpu_throttling/fires"]
PATIENCE_S = 60


@dataclass
class Api:
    """A server that runs, the runs that it follows, and the program that made them."""

    url: str
    program: Path
    folder: Path

    def ask(self, path: str, **params: object) -> tuple[int, Any]:
        """Status and decoded body; what is being worked out is waited for."""
        query = urllib.parse.urlencode(params, doseq=True)
        url = f"{self.url}/api/v1{path}" + (f"?{query}" if query else "")
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                    status, text = answer.status, answer.read()
            except urllib.error.HTTPError as e:
                status, text = e.code, e.read()
            if status != 202 or time.monotonic() > end:
                return status, json.loads(text)
            time.sleep(0.05)

    def get(self, path: str, **params: object) -> Any:
        """The answer, which must be a 200."""
        status, body = self.ask(path, **params)
        assert status == 200, body
        return body

    def cli(self, *args: str) -> Any:
        """What the command prints with --json."""
        command = [self.program, *args, "--json", "--dir", self.folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return json.loads(done.stdout)


@contextmanager
def serving(footplate: Path, folder: Path, *options: str) -> Iterator[str]:
    """The address of a server of these runs."""
    server = subprocess.Popen(
        [footplate, "serve", folder, "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert server.stdout
        words = server.stdout.readline().split()
        yield next(w for w in words if w.startswith("http")).rstrip("/")
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="module")
def api(footplate: Path, train: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server over imported scenes, an imported trace and a recorded run."""
    folder = tmp_path_factory.mktemp("runs")
    for scene in SCENES:
        path = ROOT / "tests/rules" / f"{scene}.scene"
        subprocess.run([footplate, "import", path, "--dir", folder], check=True, timeout=120,
                       capture_output=True)  # fmt: skip
    subprocess.run(
        [footplate, "run", "--dir", folder, "--interval", "100ms", "--", train, "--seconds", "1"],
        check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    with serving(footplate, folder) as url:
        yield Api(url, footplate, folder)


@pytest.fixture(scope="module")
def names(api: Api) -> list[str]:
    """The names of all runs."""
    return [run["run"] for run in api.get("/runs")]


def test_the_list_has_what_ls_prints(api: Api) -> None:
    listed = api.get("/runs")
    printed = api.cli("ls")
    assert len(listed) == len(SCENES) + 1
    assert [r["id"] for r in listed] == [r["id"] for r in printed]
    for mine, theirs in zip(listed, printed, strict=True):
        assert {k: mine[k] for k in theirs} == theirs
        assert mine["live"] is False
        assert mine["folder"] == str(api.folder)


def test_a_run_has_what_show_prints_and_what_was_measured(api: Api, names: list[str]) -> None:
    for name in names:
        shown = api.get(f"/runs/{name}")
        printed = api.cli("show", name)
        assert {k: shown[k] for k in printed} == printed
        assert shown["run"] == name
        why = shown["control"]["why"]
        assert shown["control"] == {"allowed": False, "edit": True, "why": why, "within_s": None}
        assert "finished" in why
        entities = {(m["node"], m["metric"]): m["entities"] for m in shown["metrics"]}
        stats = api.cli("stats", name, "--all")
        for line in stats:
            assert line["entity"] in entities[line["node"], line["metric"]]


@pytest.mark.parametrize(
    ("path", "params", "command"),
    [
        ("stats", {}, ["stats"]),
        ("stats", {"all": 1}, ["stats", "--all"]),
        ("steps", {"last": 5}, ["steps", "--last", "5"]),
        ("steps", {}, ["steps", "--last", "30"]),
        ("steps", {"mode": "eval", "last": 3}, ["steps", "--mode", "eval", "--last", "3"]),
        ("steps", {"rank": 0, "last": 3}, ["steps", "--rank", "0", "--last", "3"]),
        ("ops", {}, ["ops"]),
        ("ops", {"by": "module", "device": "cpu"}, ["ops", "--by", "module", "--device", "cpu"]),
        ("breakdown", {}, ["breakdown"]),
        ("findings", {}, ["check"]),
    ],
)  # fmt: skip
def test_answers_are_those_of_the_commands(
    api: Api, names: list[str], path: str, params: dict[str, object], command: list[str]
) -> None:
    for name in names:
        answer = api.get(f"/runs/{name}/{path}", **params)
        assert answer == api.cli(command[0], name, *command[1:])


def test_readings_are_those_of_query(api: Api, names: list[str]) -> None:
    for points in ["7", "1000"]:
        asked = ["--metric", "cpu.", "--points", points]
        answer = api.get(f"/runs/{names[0]}/series", metric="cpu.", points=points)
        assert answer == api.cli("query", names[0], *asked)
        assert answer
    both = api.get(f"/runs/{names[0]}/series", metric=["cpu.util", "mem.used"], points=5)
    assert {s["metric"] for s in both} == {"cpu.util", "mem.used"}


def test_rules_and_comparison_are_those_of_the_commands(api: Api, names: list[str]) -> None:
    assert api.get("/rules") == json.loads(
        subprocess.run([api.program, "rules", "--json"], capture_output=True, check=True).stdout
    )
    compared = api.get("/compare", a=names[0], b=names[1])
    assert compared == api.cli("compare", names[0], names[1])


def test_groups_of_runs_are_compared_as_the_command_does(api: Api, names: list[str]) -> None:
    compared = api.get("/compare", a=f"{names[0]},{names[1]}", b=names[1])
    words = ["--a", names[0], "--a", names[1], "--b", names[1]]
    assert compared == api.cli("compare", *words)
    assert [r["run"] for r in compared["a"]["runs"]] == names[:2]
    many = ",".join([names[0]] * 65)
    status, told = api.ask("/compare", a=many, b=names[1])
    assert status == 400 and "at most 64 runs" in told["error"], told
    status, told = api.ask("/compare", a=f"{names[0]},nosuch", b=names[1])
    assert status == 404 and "no run 'nosuch'" in told["error"], told


def samples(api: Api, name: str, metric: str, entity: str) -> list[tuple[int, float]]:
    """Every stored sample."""
    (series,) = api.get(f"/runs/{name}/series", metric=metric, entity=entity)
    return list(zip(series["t_ns"], series["v"], strict=True))


def test_a_grid_has_the_mean_and_the_ends_of_the_samples_in_each_column(
    api: Api, names: list[str]
) -> None:
    name = names[0]  # the recorded one
    grid = api.get(f"/runs/{name}/grid", metric="cpu.util:total", points=10)
    (series,) = grid["series"]
    assert grid["n"] == 10 == len(series["v"])
    taken = samples(api, name, "cpu.util", "total")
    for i in range(grid["n"]):
        begin = grid["from_ns"] + i * grid["step_ns"]
        inside = [v for t, v in taken if begin <= t < begin + grid["step_ns"]]
        if not inside:
            assert series["v"][i] is None
            continue
        assert series["v"][i] == pytest.approx(sum(inside) / len(inside), rel=1e-3, abs=1e-3)
        assert series["min"][i] == pytest.approx(min(inside), rel=1e-3)
        assert series["max"][i] == pytest.approx(max(inside), rel=1e-3)


def test_a_mean_stands_for_all_entities_of_a_metric(api: Api, names: list[str]) -> None:
    for name in names:
        grid = api.get(f"/runs/{name}/grid", metric=["gpu.util:*mean*", "cpu.util:*mean*"])
        assert {s["entity"] for s in grid["series"]} <= {"*mean*"}
        assert len({(s["node"], s["metric"]) for s in grid["series"]}) == len(grid["series"])


def test_a_heatmap_has_a_byte_for_every_cell(api: Api, names: list[str]) -> None:
    for name in names:
        heat = api.get(f"/runs/{name}/heatmap", columns=50)
        cells = base64.b64decode(heat["cells"])
        assert len(cells) == 50 * len(heat["rows"])
        assert all(c <= 200 or c == 255 for c in cells)
        assert all(r["entity"] != "total" for r in heat["rows"])
        if not heat["rows"]:
            continue
        row = heat["rows"][0]
        grid = api.get(
            f"/runs/{name}/grid",
            metric=f"{row['metric']}:{row['entity']}",
            node=row["node"],
            points=50,
        )
        for cell, mean in zip(cells, grid["series"][0]["v"], strict=False):
            assert cell == 255 if mean is None else abs(cell / 2 - mean) <= 0.3


def test_statistics_of_the_loop_are_those_of_the_command(api: Api, names: list[str]) -> None:
    loops = 0
    for name in names:
        job, loop = api.get(f"/runs/{name}/stats"), api.get(f"/runs/{name}/stats", loop=1)
        assert {row["window"] for row in job} == {"job"}
        trains = any(r["mode"] == "train" for r in api.get(f"/runs/{name}/steps")["ranks"])
        assert loop == (api.cli("stats", name, "--window", "loop") if trains else [])
        loops += trains
    assert loops > 1


def test_histograms_count_what_the_tables_count(api: Api, names: list[str]) -> None:
    for name in names:
        histograms = api.get(f"/runs/{name}/histograms")
        counts = {
            (s["node"], s["metric"], s["entity"]): s["count"]
            for s in api.get(f"/runs/{name}/stats", all=1)
        }
        for device in histograms["devices"]:
            assert len(device["bins"]) == 101
            assert sum(device["bins"]) == device["count"]
            assert counts[device["node"], device["metric"], device["entity"]] == device["count"]
        ranks = {(r["rank"], r["mode"]): r for r in api.get(f"/runs/{name}/steps")["ranks"]}
        assert {(s["rank"], s["mode"]) for s in histograms["steps"]} == {
            k for k, r in ranks.items() if r["count"]
        }
        for steps in histograms["steps"]:
            rank = ranks[steps["rank"], steps["mode"]]
            assert sum(steps["counts"]) == steps["count"] == rank["iterations"]
            assert len(steps["edges_s"]) == len(steps["counts"]) + 1
            assert {o["step"] for o in steps["outliers"]} >= {*rank["outliers"][:200]}


def test_the_timeline_has_every_step_and_the_same_spans_as_the_table(
    api: Api, names: list[str]
) -> None:
    name = names[0]
    shown = api.get(f"/runs/{name}")
    timeline = api.get(f"/runs/{name}/timeline", px=10000)
    slices = timeline["slices"]
    assert len({len(v) for v in slices.values()}) == 1
    kinds = [lane["kind"] for lane in timeline["lanes"]]
    assert kinds[:2] == ["phases", "steps"]
    assert "events" in kinds
    steps = api.get(f"/runs/{name}/steps", last=2000)["steps"]
    drawn = [
        (timeline["from_ns"] + start, dur)
        for lane, start, dur, merged in zip(
            slices["lane"], slices["start"], slices["dur"], slices["merged"], strict=True
        )
        if lane == 1 and not merged
    ]
    assert drawn
    known = {s["start_ns"]: round(s["duration_s"] * 1e9) for s in steps}
    for start, dur in drawn:
        assert known[start] == dur
    events = api.get(f"/runs/{name}/events", to=shown["end_ns"])
    printed = api.cli("events", name)
    totals = {e["name"]: e for e in printed if e["kind"] == "span"}
    assert events
    for event in events:
        if event["name"] in totals:
            assert event["count"] == totals[event["name"]]["count"]
            assert event["total_s"] == pytest.approx(totals[event["name"]]["total_s"], rel=1e-6)
    found = api.get(f"/runs/{name}/search", q="FORWARD", limit=3)
    assert found["count"] == sum(e["count"] for n, e in totals.items() if "forward" in n)
    assert len(found["matches"]) == 3


def test_an_interval_has_only_what_lies_in_it(api: Api, names: list[str]) -> None:
    name = names[0]
    steps = api.get(f"/runs/{name}/steps", last=3)["steps"]
    begin, end = steps[0]["start_ns"], steps[2]["start_ns"]
    seconds = (end - begin) / 1e9
    events = api.get(f"/runs/{name}/events", **{"from": begin, "to": end})
    assert events
    for event in events:
        assert event["total_s"] <= seconds * 1.0001
        assert event["share"] == pytest.approx(event["total_s"] / seconds)


def test_reports_are_documents_to_look_at_or_to_save(api: Api, names: list[str]) -> None:
    url = f"{api.url}/api/v1/runs/{names[1]}/report.html"
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["Content-Disposition"] is None
        assert answer.read().startswith(b"<!DOCTYPE html>")
    with urllib.request.urlopen(f"{url}?download=1", timeout=PATIENCE_S) as answer:
        assert f"{names[1]}-report.html" in answer.headers["Content-Disposition"]
    assert api.get(f"/runs/{names[1]}/report.json")["run"]["id"] == names[1]


@pytest.mark.parametrize(
    ("path", "params", "status", "word"),
    [
        ("steps", {"mode": "sideways"}, 400, "sideways"),
        ("steps", {"rank": 99}, 404, "rank 99"),
        ("steps", {"nonsense": 1}, 400, "nonsense"),
        ("series", {"metric": "no.such"}, 404, "no.such"),
        ("series", {}, 400, "metric"),
        ("grid", {"from": 5, "to": 4}, 400, "window"),
        ("grid", {"points": 0}, 400, "points"),
        ("ops", {"by": "colour"}, 400, "colour"),
        ("stats", {"node": "nobody"}, 404, "nobody"),
        ("search", {}, 400, "q"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    api: Api, names: list[str], path: str, params: dict[str, object], status: int, word: str
) -> None:
    got, body = api.ask(f"/runs/{names[0]}/{path}", **params)
    assert got == status, body
    assert word in body["error"]


def test_a_run_that_has_ended_cannot_be_changed(api: Api, names: list[str]) -> None:
    for body, status in [('{"set": "stop"}', 409), ('{"set": "fly"}', 400), ("[]", 400)]:
        request = urllib.request.Request(
            f"{api.url}/api/v1/runs/{names[0]}/control",
            data=body.encode(),
            headers={"Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=PATIENCE_S)
        assert refused.value.code == status
        assert json.loads(refused.value.read())["error"]
