# SPDX-License-Identifier: Apache-2.0
"""The report: one file with everything, the same numbers everywhere, and nobody else's markup."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parents[1] / "rules"
HOSTILE = "</title><script>alert(1)</script>\"'&\x07\x1b[31m"
LONG = "x" * 4096

# Issues with time lost, steps with evaluation, two nodes.
SCENE = """scene 1
node a cores=8 gpus=2
node b cores=8 gpus=1
a gpu.util gpu0  0s..700s 5 for 25.5s, 80 for 24.5s
a gpu.util gpu1  0s..700s 69
b gpu.util gpu0  0s..700s 90
a cpu.util total 0s..700s 95 for 25.5s, 40 for 24.5s
b cpu.util total 0s..700s 33
a mem.util node  0s..700s 21
rank 0 on a: steps 300 x 1s from 10s data=10% forward=30% backward=50%; eval 60 x 1s every 100 forward=95%
rank 1 on b: steps 300 x 1s from 10s data=10% forward=30% backward=50%; eval 60 x 1s every 100 forward=95%
"""  # noqa: E501


class Page(HTMLParser):
    """What stands on a page: texts by element, tables by caption, numbers with their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.path: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.numbers: list[tuple[float, str]] = []
        self.facts: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.words = ""
        self.rows: list[list[str]] = []
        self.caption = self.name = self.cell = ""
        self.value: float | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append((tag, named))
        if tag not in ("meta", "img", "link", "br", "rect", "line", "circle", "path"):
            self.path.append(tag)
        self.ids += [v for k, v in attrs if k == "id" and v]
        if tag == "table":
            self.rows = []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th", "dd", "dt", "caption"):
            self.cell = ""
            self.value = float(named["data-v"] or "nan") if "data-v" in named else None
        if tag == "span" and "badge" in (named.get("class") or ""):
            self.value = None  # what a badge is sorted by is no number of the run

    def handle_endtag(self, tag: str) -> None:
        if tag in self.path:
            while self.path.pop() != tag:
                pass
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell.strip())
        if tag in ("td", "th", "dd") and self.value is not None:
            self.numbers.append((self.value, self.cell.strip()))
        if tag == "caption":
            self.caption = self.cell
        if tag == "dt":
            self.name = self.cell
        if tag == "dd":
            self.facts.setdefault(self.name, self.cell)
        if tag == "table":
            self.tables[self.caption] = self.rows

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.path):
            self.cell += data
            self.words += data


@pytest.fixture(scope="module")
def made(footplate, tmp_path_factory) -> tuple[Path, str, dict]:
    """A run of two nodes, its page and its numbers."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "two.scene").write_text(SCENE)
    dirs = ["--dir", str(folder)]
    for words in (["import", str(folder / "two.scene")], ["report", "last", "--price", "3.6"]):
        done = subprocess.run(
            [footplate, *words, *dirs], capture_output=True, text=True, timeout=60, cwd=folder
        )
        assert done.returncode == 0, done.stderr
    page = Path(done.stdout.strip())
    assert page.name == "report.html" and page.parent.parent == folder
    told = json.loads((page.parent / "report.json").read_text())
    return page.parent, page.read_text(), told


def numbers_in(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for x in value.values():
            yield from numbers_in(x)
    elif isinstance(value, list):
        for x in value:
            yield from numbers_in(x)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


UNITS = {
    "%": 1,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "W": 1,
    "MHz": 1,
}


def reads_as(value: float, text: str) -> bool:
    """Whether the text is that number to the last digit it shows."""
    if text in ("-", "not told") or text.startswith("not "):
        return math.isnan(value)
    long = re.match(r"(\d+) (h|min) (\d\d) (min|s)$", text)
    if long:
        one = 3600 if long[2] == "h" else 60
        small = one // 60
        return int(value / one) == int(long[1]) and int(value % one / small) == int(long[3])
    plain = re.match(r"(-?[\d ]+(?:\.(\d+))?) ?(%|µs|ms|s|W|MHz|[KMGT]?i?B)?(/s)?(?: |$)", text)
    assert plain, text
    shown = float(plain[1].replace(" ", ""))
    scale = UNITS[plain[3] or "%"]
    half = 0.5 * 10 ** -len(plain[2] or "") * 1.0001
    return any(abs(v / scale - shown) <= half for v in (value, value * 100, value / 1000))


def test_every_number_shown_is_in_the_json_to_the_last_digit(made):
    _, text, told = made
    page, known = Page(text), set(numbers_in(told))
    assert len(page.numbers) > 100
    for value, shown in page.numbers:
        assert value in known, (value, shown)
        assert reads_as(value, shown), (value, shown)


def nothing_for(verdict):
    """A rule on training health, of a run that recorded nothing for it: reports leave it out."""
    skipped = verdict["state"] == "not_evaluated" and verdict["datapoints"] == 0
    return verdict.get("health") and skipped


def test_the_page_says_what_the_other_commands_say(made, run_fp):
    folder, text, told = made
    page = Page(text)
    stats = json.loads(run_fp("stats", folder, "--json").stdout)
    assert told["utilization"] == stats
    show = json.loads(run_fp("show", folder, "--json").stdout)
    assert {k: told["run"][k] for k in show if k != "path"} == {
        k: v for k, v in show.items() if k != "path"
    }
    check = json.loads(run_fp("check", folder, "--price", "3.6", "--json").stdout)
    by_name = {v["rule"]: v for v in told["rules"]}
    check = [v for v in check if not nothing_for(v)]
    assert all(by_name[v["rule"]] == v for v in check) and len(check) == len(told["rules"])
    plain = run_fp("show", folder).stdout
    for phase in ("initialization", "train", "eval"):
        line = next(x for x in plain.splitlines() if x.startswith(phase + " "))
        assert f"{told['phase_percents'][phase]:.1f} %" in line
    for row in page.tables["Resource utilization by node, whole job"][1:]:
        assert row[3].startswith("not measured") or row[-1] in plain


def test_start_and_end_are_the_days_they_were(made):
    _, text, told = made
    facts = Page(text).facts
    zone = facts["Start time"].split()[-1]  # only the first time has it
    for name, key in (("Start time", "job_start_ns"), ("Training loop start", "loop_start_ns")):
        seconds = told["run"][key] / 1e9
        time = f"{facts[name].removesuffix(zone).strip()} {zone}"
        shown = datetime.strptime(time, "%Y-%m-%d %H:%M:%S.%f %z")
        assert abs(shown.timestamp() - seconds) < 0.001


def test_every_line_of_the_table_has_its_unit_and_every_column_its_own_quantile(made):
    _, text, told = made
    rows = Page(text).tables["Resource utilization by node, whole job"]
    head, lines = rows[0], rows[1:]
    assert head[2:] == ["Unit", "Min", "Max", "p99", "p95", "p90", "p50"]
    assert len(lines) == 22 and all(line[2] for line in lines)
    gpu = next(x for x in told["utilization"] if x["node"] == "a" and x["metric"] == "gpu")
    line = next(x for x in lines if x[:2] == ["a", "GPU"])
    keys = ["min", "max", "p99", "p95", "p90", "p50"]
    assert line[3:] == [f"{gpu[k]:.1f} %" for k in keys]


def percent(text: str) -> float:
    return float(text.rsplit(" ", 2)[-2])


def test_percentages_of_phases_sum_to_a_hundred(made):
    _, text, told = made
    facts = Page(text).facts
    names = ("Initialization (%)", "Training loop (%)", "Finalization (%)")
    assert sum(percent(facts[n]) for n in names) == pytest.approx(100, abs=1e-9)
    shares = told["phase_percents"]
    assert sum(v for k, v in shares.items() if k != "loop") == pytest.approx(100, abs=1e-9)
    for chart in re.findall(r"<figure>.*?</figure>", text, re.S):
        found = re.findall(r"(\d+\.\d) %</text>", chart)
        if "<circle" in chart or 'class="edge' in chart:
            assert sum(map(float, found)) == pytest.approx(100, abs=1e-6)


def test_train_eval_and_others_are_all_of_the_time_of_the_job(made):
    _, _, told = made
    rule = next(v for v in told["rules"] if v["rule"] == "OverallFrameworkMetrics")
    pie = next(p for p in rule["plots"] if p["title"] == "Job time")
    assert sum(r["v"][0] for r in pie["rows"]) == pytest.approx(told["run"]["job_duration_s"])


GENERAL = "General metrics by total time"


def test_general_metrics_are_where_time_went_besides_the_passes_of_steps(made, run_fp):
    folder, text, told = made
    page = Page(text)
    (kind,) = told["general"]["kinds"]
    assert (kind["what"], kind["count"], kind["threads"]) == ("waiting for data", 600, 2)
    assert kind["total_s"] == pytest.approx(600 * 0.1) and kind["longest_s"] == pytest.approx(0.1)
    assert kind["share"] == pytest.approx(kind["total_s"] / kind["of_s"])
    assert 2 * told["run"]["loop_duration_s"] <= kind["of_s"] < 2.1 * told["run"]["job_duration_s"]
    share = f"{100 * kind['share']:.1f} %"
    row = ["waiting for data", share, "60.0 s", "600", "100 ms", "2"]
    assert page.tables[GENERAL][1:] == [row]
    assert "Time in general metrics" in page.words
    for form in ("text", "markdown"):
        out = run_fp("report", folder, "--format", form).stdout
        cells = [re.split(r" {2,}| \| ", line.strip("| ")) for line in out.splitlines()]
        assert row in cells
        assert "recording time of the processes" in out and "Time in general metrics" not in out


def test_a_run_that_told_nothing_else_says_so(run_fp, tmp_path):
    (tmp_path / "bare.scene").write_text("scene 1\nnode a cores=2\na cpu.util total 0s..20s 5\n")
    run_fp("import", tmp_path / "bare.scene", "--dir", tmp_path)
    for form in ("html", "text", "markdown"):
        words = run_fp("report", "last", "--dir", tmp_path, "--format", form, "-o", "-").stdout
        assert "None recorded (data wait" in " ".join(words.split())
        assert GENERAL not in words
    told = run_fp("report", "last", "--dir", tmp_path, "--format", "json").stdout
    assert json.loads(told)["general"] == {"kinds": [], "left_out": 0}


def test_rules_stand_by_what_they_cost_and_issues_have_a_section_each(made):
    _, text, told = made
    page = Page(text)
    rows = page.tables["Rules by time lost"][1:]
    assert [r[0] for r in rows] == [v["title"] for v in told["rules"]]
    costs = [v["lost_s"] if v["state"] == "issue" else None for v in told["rules"]]
    known = [c for c in costs if c is not None]
    assert known == sorted(known, reverse=True) and costs[: len(known)] == known and known
    issues = [v for v in told["rules"] if v["state"] == "issue"]
    for v in issues:
        assert f"{v['title']} ({v['rule']})" in page.words
        assert v["findings"][0]["message"].rstrip(".")[1:] in page.words
    for v in told["rules"]:
        assert v["description"] in page.words
    assert len([i for i in page.ids if re.fullmatch(r"rule-\d+", i)]) == len(issues)


def test_a_price_makes_costs(made):
    _, text, told = made
    hours = told["run"]["duration_s"] / 3600
    assert told["cost"] == pytest.approx(2 * 3.6 * hours)
    assert told["price_per_hour"] == pytest.approx(7.2)
    assert f"{told['cost']:.2f}" in Page(text).words


def test_the_page_is_alone_and_has_one_script(made):
    _, text, _ = made
    page = Page(text)
    assert not re.search(r"(?i)https?:|//[a-z0-9-]+\.[a-z]|@import|url\(", text)
    names = [tag for tag, _ in page.tags]
    assert names.count("script") == 1 and not {"link", "iframe", "img", "object"} & set(names)
    for _, attrs in page.tags:
        assert not [k for k in attrs if k.startswith("on") or k in ("src", "style")]
        assert (attrs.get("href") or "#").startswith("#")
    assert {a["href"][1:] for t, a in page.tags if t == "a" and a.get("href")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_what_was_not_measured_is_no_zero(made):
    _, text, _ = made
    rows = Page(text).tables["Resource utilization by node, whole job"]
    network = [r for r in rows if r[1] == "network in"]
    assert network and all(r[3].startswith("not measured: ") for r in network)


# ---- forms and places ----


@pytest.mark.parametrize(
    ("form", "begins"), [("html", "<!DOCTYPE html>"), ("json", "{"), ("markdown", "# two\n")]
)
def test_each_form_can_go_to_standard_output(made, run_fp, form, begins):
    done = run_fp("report", made[0], "--format", form, "-o", "-")
    assert done.returncode == 0 and done.stdout.startswith(begins)


def test_text_has_the_findings_and_no_markup(made, run_fp):
    told = made[2]
    text = run_fp("report", made[0], "--format", "text").stdout
    assert text.startswith("two\n===\n") and not re.search(r"<[a-z]|\x1b", text)
    for v in told["rules"]:
        assert v["rule"] in text
    assert "p99" in text and "network in" in text


def test_the_name_of_the_file_says_the_form(made, run_fp, tmp_path):
    begins_of = {"r.html": "<!DOCTYPE", "r.json": "{", "r.md": "# two", "r.txt": "two"}
    for name, begins in begins_of.items():
        done = run_fp("report", made[0], "-o", tmp_path / name)
        assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(begins)


def test_a_folder_that_is_not_there_is_an_error(made, run_fp, tmp_path):
    done = run_fp("report", made[0], "-o", tmp_path / "none" / "r.html")
    assert done.returncode == 1 and "none/r.html" in done.stderr and done.stdout == ""


def test_a_wrong_form_is_wrong_use(made, run_fp):
    done = run_fp("report", made[0], "--format", "pdf")
    assert done.returncode == 2 and "html" in done.stderr


# ---- odd runs ----


def trace_with(name: str) -> dict:
    where = {"pid": 1, "tid": 1, "ph": "X"}
    return {
        "traceEvents": [
            {"name": "ProfilerStep#1", "cat": "user_annotation", "ts": 0, "dur": 1000} | where,
            {"name": name, "cat": "cpu_op", "ts": 10, "dur": 800} | where,
            {"name": "aten::mm", "cat": "cpu_op", "ts": 20, "dur": 300} | where,
            {"name": "aten::mm", "cat": "cpu_op", "ts": 400, "dur": 300} | where,
        ]
    }


@pytest.mark.parametrize("name", [HOSTILE, LONG, "ü漢字\u202e", "%s%n{{}}${x}"])
def test_no_name_becomes_markup_or_breaks_the_page(run_fp, tmp_path, name):
    (tmp_path / "odd.json").write_text(json.dumps(trace_with(name)))
    assert run_fp("import", tmp_path / "odd.json", "--dir", tmp_path).returncode == 0
    done = run_fp("report", "last", "--dir", tmp_path)
    assert done.returncode == 0, done.stderr
    text = Path(done.stdout.strip()).read_text()
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert len(text) < 150_000
    rows = page.tables["Most expensive CPU operators"][1:]
    assert rows[0][0].startswith("aten::mm") and rows[1][0][:8] == name[:8]
    for form in ("markdown", "text"):
        out = run_fp("report", "last", "--dir", tmp_path, "--format", form).stdout
        assert "<script" not in out if form == "markdown" else "\x1b" not in out


def test_operators_are_ranked_by_self_time(run_fp, tmp_path):
    (tmp_path / "nested.json").write_text(json.dumps(trace_with("wrapper")))
    run_fp("import", tmp_path / "nested.json", "--dir", tmp_path)
    text = Path(run_fp("report", "last", "--dir", tmp_path).stdout.strip()).read_text()
    rows = {r[0]: r for r in Page(text).tables["Most expensive CPU operators"][1:]}
    assert rows["wrapper"][2:4] == ["200 µs", "800 µs"]
    assert rows["aten::mm"][2:5] == ["600 µs", "600 µs", "2"]


def test_a_run_that_goes_on_says_so_and_up_to_when(footplate, run_fp, tmp_path):
    command = [footplate, "run", "--dir", tmp_path, "--interval", "100ms", "--", "sleep", "60"]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            done = run_fp("report", "last", "--dir", tmp_path, "--format", "json")
            if done.returncode == 0:
                break
            time.sleep(0.1)
        told = json.loads(done.stdout)
        assert told["live"] is True and told["run"]["status"] == "running"
        page = Page(run_fp("report", "last", "--dir", tmp_path, "-o", "-").stdout)
        assert "This run is still running. Data up to" in page.words
        assert "Data up to" in page.facts and "End time" not in page.facts
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=30)


# ---- at the end of a run ----


def record(run_fp, folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE_")}
    keep = {"FOOTPLATE_NVML": "/nonexistent.so"}
    return run_fp("run", "--dir", folder, *words, "--", "true", env=clean | keep | env, cwd=folder)


def test_a_run_ends_with_a_report_of_the_same_verdicts(run_fp, tmp_path):
    done = record(run_fp, tmp_path, "--name", HOSTILE, "--label", f"k={LONG}")
    assert done.returncode == 0
    (page,) = tmp_path.glob("*/report.html")
    assert f"report: {page}" in done.stderr
    found = json.loads((page.parent / "findings.json").read_text())["rules"]
    told = {v["rule"]: v for v in json.loads((page.parent / "report.json").read_text())["rules"]}
    assert {v["rule"]: v for v in found if not nothing_for(v)} == told
    assert [tag for tag, _ in Page(page.read_text()).tags].count("script") == 1


TOKEN = "0123456789SECRETFORM0123456789"


def test_the_job_gets_its_secrets_and_nobody_who_reads_the_run_does(run_fp, tmp_path):
    script = 'printf "%s\\n" "$@" > got; : HF_TOKEN=SECRETLINE'
    secret = ["--api-key", "SECRETARG", "--db_password=SECRETEQ", "WANDB_API_KEY=SECRETENV"]
    secret += ["https://me:SECRETLOGIN@host/x", "Authorization: Bearer SECRETHEAD"]
    secret += [f"hf_{TOKEN}", f"--auth=ghp_{TOKEN}", "--auth", "Bearer SECRETBEARER"]
    secret += ["s3://b/k?X-Amz-Security-Token=SECRETSTS&X-Amz-Signature=SECRETSIGN"]
    secret += ["--max-tokens", "2048"]
    labels = ["--label", "password=SECRETLABEL", "--label", f"by=hf_{TOKEN}"]
    there = tmp_path / f"ghp_{TOKEN}"
    there.mkdir()
    words = [*labels, "--", "sh", "-c", script, "sh", *secret]
    done = run_fp("run", "--dir", tmp_path, *words, cwd=there)
    assert done.returncode == 0, done.stderr
    assert (there / "got").read_text().splitlines() == secret
    (run,) = tmp_path.glob("*/run.json")
    texts = {str(f): f.read_bytes() for f in run.parent.rglob("*") if f.is_file()}
    assert any(f.endswith("report.html") for f in texts)
    old = json.loads(run.read_text())
    assert "--api-key" in old["command"] and "2048" in old["command"]
    # As an older version has recorded it.
    old["command"] = ["sh", "-c", script, "sh", *secret]
    run.write_text(json.dumps(old))
    for words in (
        ["show"],
        ["show", "--json"],
        ["report", "-o", "-"],
        ["export", "--format", "jsonl", "-o", "-"],
    ):  # noqa: E501
        shown = run_fp(words[0], run.parent, *words[1:])
        assert shown.returncode == 0, shown.stderr
        texts[" ".join(words)] = (done.stderr + shown.stdout + shown.stderr).encode()
    for where, text in texts.items():
        assert not re.findall(rb"SECRET[A-Z]+", text), where
    assert b"--api-key" in texts["show"] and b"***" in texts["show"]


def test_a_run_can_be_told_not_to_write_a_report(run_fp, tmp_path):
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "footplate.yaml").write_text("report: off\n")
    for folder, words, env in (
        ("option", ["--no-report"], {}),
        ("variable", [], {"FOOTPLATE_NO_REPORT": "1"}),
        ("file", [], {}),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        done = record(run_fp, tmp_path / folder, *words, **env)
        assert done.returncode == 0 and "report:" not in done.stderr
        assert not list((tmp_path / folder).glob("*/report.*"))
        assert list((tmp_path / folder).glob("*/findings.json"))


# -- the training loop --

H200 = Path(__file__).resolve().parents[1] / "data" / "runs" / "h200"


@pytest.fixture(scope="module")
def h200(footplate, tmp_path_factory) -> tuple[str, dict]:
    """The page and the numbers of a run that was recorded on an H200."""
    page = tmp_path_factory.mktemp("h200") / "page.html"
    for file in (page, page.with_suffix(".json")):
        done = subprocess.run(
            [footplate, "report", str(H200), "-o", str(file)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
    return page.read_text(), json.loads(page.with_suffix(".json").read_text())


def test_the_training_loop_comes_before_the_whole_job(h200):
    text, told = h200
    page = Page(text)
    assert page.ids.index("loop") < page.ids.index("job") < page.ids.index("system")
    loop, job = (
        page.tables[f"Resource utilization by node, {x}"] for x in ("training loop", "whole job")
    )
    assert [r[:3] for r in loop] == [r[:3] for r in job]
    assert text.index("by node, training loop") < text.index("by node, whole job")
    assert {x["window"] for x in told["utilization_loop"]} == {"loop"}
    assert {x["window"] for x in told["utilization"]} == {"job"}


def test_what_the_gpus_achieved_is_on_the_page_and_in_the_json(h200):
    text, told = h200
    facts, gpu = Page(text).facts, told["run"]["gpu"]
    assert f"{gpu['tensor_active_pct']:.1f} %" in facts["Activity"]
    assert f"{gpu['power_w']:.0f} W" in facts["Power and energy"]
    assert f"{gpu['peak_memory_bytes'] / 2**20:.0f} MiB allocated" in facts["Memory"]
    assert facts["Compute"].startswith("not known: the tensor cores were hardly used")
    assert gpu["tflops"] is None and gpu["peak_tflops"] == 989


def test_every_number_of_a_gpu_run_is_in_its_json(h200):
    text, told = h200
    page, known = Page(text), set(numbers_in(told))
    for value, shown in page.numbers:
        assert value in known and reads_as(value, shown), (value, shown)


def test_a_chart_of_nothing_but_zeros_is_one_line(h200):
    text, told = h200
    net = next(c for c in told["charts"] if c["title"] == "Network")
    assert all(v == 0 for line in net["lines"] for v in line["max"])
    assert "Network over time (received, sent): constant at 0 B/s." in Page(text).words
    assert "<title>Network over time" not in text and "GPU power over time" in text


def test_parts_of_steps_say_that_they_are_the_launching_thread(h200, run_fp):
    text, _ = h200
    assert "training iterations, rank 0, host time" in text
    assert "time that the launching thread spent in each part" in Page(text).words
    plain = run_fp("report", H200, "--format", "text", "-o", "-").stdout
    assert "Training loop\n----" in plain
