# SPDX-License-Identifier: Apache-2.0
"""Charts and pages of footplate.analysis: whole, small, harmless, and true to the data."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from analysis_kit import Runs, opened, records

CHARTS = (
    "utilization_histogram",
    "step_histogram",
    "step_timeline",
    "step_parts",
    "timeline",
    "heatmap",
    "box",
    "lanes",
)
SVG = "{http://www.w3.org/2000/svg}"


def shapes(chart, tag: str) -> list[ET.Element]:
    return list(ET.fromstring(chart.svg).iter(SVG + tag))


def tips(chart, tag: str) -> list[str]:
    return [e.findtext(SVG + "title") or "" for e in shapes(chart, tag)]


@pytest.mark.parametrize("name", Runs.NAMES)
@pytest.mark.parametrize("what", CHARTS)
def test_every_chart_of_every_run_is_whole_and_needs_nothing_else(runs, frames, name, what):
    chart = getattr(opened(runs, name, frames).plot, what)()
    root = ET.fromstring(chart.svg)
    assert root.get("role") == "img" and root.get("aria-label")
    assert not list(root.iter(SVG + "script"))
    addresses = re.findall(r"https?://[^\"' ]+|href=\"(?!data:)[^\"]*", chart.svg)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}
    assert "nan" not in " ".join(e.get("d", "") for e in root.iter(SVG + "path"))
    assert len(chart.svg) < 400_000
    assert chart.svg in chart._repr_html_()


def test_a_utilization_histogram_counts_every_sample(runs, frames):
    run = opened(runs, "sagemaker", frames)
    chart = run.plot.utilization_histogram(r"gpu\.util", "gpu0")
    counts = [int(re.search(r": (\d+)$", t)[1]) for t in tips(chart, "rect")]
    assert sum(counts) == 80  # of both nodes; 98 to 100 % too
    texts = [t.text for t in shapes(chart, "text")]
    assert "algo-1 gpu.util gpu0" in texts and "algo-2 gpu.util gpu0" in texts
    cpu = run.plot.utilization_histogram(["^cpu.util$"], ["cpu0", "cpu1$"])
    assert len([t for t in shapes(cpu, "text") if (t.text or "").startswith("algo")]) == 4


def test_a_step_histogram_says_how_many_are_longer(runs, frames):
    chart = opened(runs, "recorded", frames).plot.step_histogram("data")
    shown = sum(int(t.rpartition(": ")[2]) for t in tips(chart, "rect"))
    texts = [t.text for t in shapes(chart, "text")]
    rows = records(opened(runs, "recorded", frames).steps(mode="train"))
    steady = sum(not r["warmup"] and not r["disturbed"] for r in rows)
    assert 20 <= steady <= 30
    assert "data (host)" in texts
    assert f"{steady}, {steady - shown} longer" in texts  # the slow one at least


def test_iterations_are_what_the_charts_of_step_times_show(runs, frames):
    run = opened(runs, "recorded", frames)
    rows = records(run.steps(rank=0, mode="train"))
    tip = next(t for t in tips(run.plot.step_timeline(), "circle") if "train step 12 " in t)
    from footplate.analysis import human

    assert human.value(rows[12]["iteration_s"], "s") in tip
    warm = [t for t in tips(run.plot.step_timeline(), "circle") if t.endswith(", warm-up")]
    assert len(warm) == sum(r["warmup"] for r in records(run.steps()))
    texts = [t.text for t in shapes(run.plot.step_histogram("iteration"), "text")]
    assert "iteration" in texts


class Timed:
    """A run whose ranks say what `footplate steps` says of a job on a GPU."""

    info = {"nodes": [{"id": "n1", "gpus": 1}], "start_ns": 0}

    def __init__(self, gpu: dict[str, float] | None) -> None:
        self.ranks = [
            {"node": "n1", "rank": 0, "pid": 7, "mode": "train", "count": 250}
            | {"gpu_timed_steps": 35 if gpu else 0, "gpu_parts_s": gpu}
            | {"iteration_s": {"mean": 0.03}, "host_parts_s": {"forward": 0.006, "between": 0.024}}
            | {"sync": [{"where": "train.py:31", "call": "item", "count": 9, "seconds": 0.2}]}
        ]

    def _parts(self):
        from footplate.analysis import stats

        return stats.part_table(self.ranks, True)


def test_parts_show_gpu_time_first_and_say_which_clock_it_is():
    from footplate.analysis.plots import Plots

    gpu = {"forward": 0.008, "backward": 0.018, "data": None}
    titles = [t.text for t in shapes(Plots(Timed(gpu)).step_parts(), "text")]
    clocks = [t for t in titles if t and "time" in t]
    assert clocks[0].startswith("GPU time, 35 of 250 steps timed: train iterations of rank 0")
    assert clocks[1].startswith("host time: ") and len(clocks) == 2
    bars = [t for t in titles if t and re.match(r"forward|backward|between", t)]
    assert bars == ["forward, 26.7 %", "backward, 60.0 %", "forward, 20.0 %", "between, 80.0 %"]
    assert {"8 ms", "18 ms", "6 ms", "24 ms"} <= set(titles)
    (alone,) = [
        t.text for t in shapes(Plots(Timed(None)).step_parts(), "text") if "time" in (t.text or "")
    ]
    assert alone.startswith("host time (launch): ")


def test_parts_and_places_are_tables():
    from footplate.analysis import stats

    gpu = {"forward": 0.008, "backward": 0.018, "data": None}
    rows = stats.part_table(Timed(gpu).ranks, True).to_dict("records")
    assert [(r["clock"], r["part"]) for r in rows] == [
        ("gpu", "forward"), ("gpu", "backward"), ("host", "forward"), ("host", "between"),
    ]  # fmt: skip
    assert rows[1]["share"] == pytest.approx(0.6)
    (place,) = stats.sync_table(Timed(gpu).ranks * 2).to_dict("records")
    assert (place["where"], place["call"], place["count"]) == ("train.py:31", "item", 9)


def test_a_step_timeline_has_a_dot_for_each_of_the_last_steps(runs, frames):
    run = opened(runs, "sagemaker", frames)
    assert len(shapes(run.plot.step_timeline(), "circle")) == 80
    some = tips(run.plot.step_timeline(last=5, rank=1), "circle")
    assert len(some) == 5 and all(re.match(r"train step 3\d of rank 1: ", t) for t in some)


def test_curves_show_the_last_points(runs, frames):
    run = opened(runs, "sagemaker", frames)
    chart = run.plot.timeline("gpu.util", "gpu0", last=7)
    lines = [p.get("d") for p in shapes(chart, "path") if p.get("class") == "line l0"]
    assert [d.count("M") + d.count("L") for d in lines] == [7, 7]


def test_a_heatmap_has_a_pixel_for_each_device_and_column(runs, frames):
    from footplate.analysis import svg

    run = opened(runs, "sagemaker", frames)
    (image,) = shapes(run.plot.heatmap("cpu.util", columns=40), "image")
    import base64
    import struct

    data = base64.b64decode(image.get("href").partition(",")[2])
    assert struct.unpack(">II", data[16:24]) == (
        40,
        10,
    )  # two nodes, four cores and the whole of each
    assert svg.viridis(0) == (68, 1, 84) and svg.viridis(1) == (253, 231, 37)


def test_box_plots_have_the_quantiles_of_stats(runs, frames):
    run = opened(runs, "sagemaker", frames)
    tip = next(t for t in tips(run.plot.box("mem.util", "total"), "g") if t)
    assert "mem.util total: p5 12.1 %, p25 12.1 %, median 12.1 %" in tip


def test_what_is_not_there_is_said_in_the_picture(runs, frames):
    chart = opened(runs, "cpu", frames).plot.step_histogram()
    assert "no steps" in chart.svg
    assert "no matching series" in opened(runs, "cpu", frames).plot.heatmap("nothing").svg


def test_a_chart_can_be_saved(runs, frames, tmp_path):
    chart = opened(runs, "cpu", frames).plot.box()
    chart.save(str(tmp_path / "box.html"))
    page = (tmp_path / "box.html").read_text()
    assert page.startswith("<!doctype html>") and chart.svg in page


# ---- pages ----


class Strict(HTMLParser):
    """Tags that open are closed, in order; no script."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag != "script" and not any(k.startswith("on") for k, _ in attrs)
        if tag not in ("br", "meta"):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def check_html(text: str) -> None:
    parser = Strict()
    parser.feed(text)
    parser.close()
    assert not parser.stack


@pytest.mark.parametrize("name", Runs.NAMES)
def test_pages_of_runs_and_findings_are_whole(runs, frames, name):
    run = opened(runs, name, frames)
    check_html(run._repr_html_())
    found = run.findings()
    check_html(found._repr_html_())
    for v in found.verdicts:
        for f in v["findings"]:
            assert f["message"].partition("<")[0] in found._repr_html_()
    check_html(opened(runs, name, "table").steps()._repr_html_())


HOSTILE = "<script>alert('x')</script>\"&\x01" + "y" * 500


def test_hostile_names_do_no_harm(runs, frames):
    from footplate.analysis import findings, html, svg

    check_html(html.table(["a", HOSTILE], [[html.cell(HOSTILE), html.cell(1.5)]], HOSTILE))
    verdict = {
        "rule": HOSTILE,
        "title": HOSTILE,
        "state": "issue",
        "severity": "critical",
        "why": HOSTILE,
        "findings": [{"node": HOSTILE, "entity": HOSTILE, "message": HOSTILE, "advice": HOSTILE}],
    }
    check_html(findings.findings_html([verdict, verdict | {"state": "not_evaluated"}]))
    data = {
        "note": (),
        "histogram": ([0.0, 1.0], [(HOSTILE, [1])]),
        "bars": ([(HOSTILE, 1.0, 0)],),
        "boxes": (0.0, [(HOSTILE, 1.0, 2.0, 3.0, 4.0, 5.0)]),
        "line": (HOSTILE, [0.0, 1.0], [1.0, 2.0], None, None, 0.0, 1.0, 0.0),
        "dots": (0.0, 1.0, 1.0, [HOSTILE], [(0, 0.5, 0.5, HOSTILE)]),
        "lanes": (1.0, [HOSTILE], [HOSTILE], [(0, 0, 0.0, 1.0, HOSTILE)]),
        "heat": (1.0, [HOSTILE], HOSTILE),
    }
    panels = [(kind, HOSTILE, HOSTILE, rows) for kind, rows in data.items()]
    root = ET.fromstring(svg.chart(HOSTILE, panels).svg)
    assert not list(root.iter(SVG + "script"))
    texts = ["".join(t.itertext()) for t in shapes(svg.chart("", panels), "text")]
    assert sum("<script>" in t for t in texts) >= 8


def test_a_chart_has_a_rule_for_every_class_and_none_for_others_pictures(runs, frames):
    run = opened(runs, "sagemaker", frames)
    for what in CHARTS:
        svg = getattr(run.plot, what)().svg
        style = re.search(r"<style>(.*?)</style>", svg, re.S)[1]
        selectors = re.findall(r"([^{}]+)\{[^{}]*\}", style)
        assert all(s.strip().startswith(".fp-chart") for s in selectors)
        ruled = set(re.findall(r"\.([a-z]\w*)", " ".join(selectors)))
        used = {c for names in re.findall(r'class="([^"]*)"', svg) for c in names.split()}
        assert used - ruled <= {"part", "lines", "tick", "fp-chart"}  # for the report's script


def test_a_panel_that_cannot_be_drawn_is_an_exception():
    from footplate.analysis.svg import chart

    with pytest.raises(ValueError, match="no chart 'pyramid'"):
        chart("x", [("pyramid", "", "", ())])
    with pytest.raises(ValueError, match="one edge more"):
        chart("x", [("histogram", "", "", ([0.0, 1.0], [("a", [1, 2])]))])
    with pytest.raises(ValueError, match="different lengths"):
        chart("x", [("line", "", "", ("a", [0.0], [1.0, 2.0], None, None, 0.0, 1.0, 0.0))])
    with pytest.raises(TypeError):
        chart("x", [("bars", "", "", ([("a", "b", 0)],))])


def test_tables_work_as_the_little_of_a_frame_that_they_are(runs):
    table = opened(runs, "recorded", "table").steps()
    assert list(table) == table.columns and "step" in table and len(table) == 33
    rows = list(table.itertuples())
    assert [r.step for r in rows][:30] == list(range(30))
    assert table.to_dict()["step"] == [r.step for r in rows]
    assert records(table.head(2))[1]["step"] == 1 and len(table.tail(3)) == 3
    assert len(table.where(lambda r: r.mode == "eval")) == 3
    assert table["step"][4] == 4 and table.shape == (33, len(table.columns))
    with pytest.raises(KeyError, match="available: node"):
        table["no such column"]
