# SPDX-License-Identifier: Apache-2.0
"""`footplate compare` on imported scenes and a recorded run: verdict, gates, formats, words."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def made(footplate, tmp_path_factory):
    """Runs with steps of a spread of 3 %, imported from a trace; each name is made once."""
    folder = tmp_path_factory.mktemp("compared")

    def make(name: str, seed: int = 1, count: int = 200, ms: float = 40.0) -> str:
        path = folder / name
        if path.exists():
            return str(path)
        rng = random.Random(seed)
        at, events = 1000, []

        def span(what: str, us: int) -> None:
            nonlocal at
            events.append(
                {"ph": "X", "name": what, "cat": "user_annotation", "ts": at, "dur": us}
                | {"pid": 1, "tid": 1}
            )
            at += us

        for k in range(count):
            start = at
            work = round(1000 * ms * (1 + 0.03 * rng.gauss(0, 1)))
            span("enumerate(DataLoader)#__next__", 5000)
            span("forward", work)
            events.append(
                {"ph": "X", "name": f"ProfilerStep#{k}", "cat": "user_annotation", "ts": start}
                | {"dur": at - start, "pid": 1, "tid": 1}
            )
        trace = folder / f"{name}.json"
        trace.write_text(json.dumps({"traceEvents": events}))
        done = subprocess.run(
            [footplate, "import", str(trace), "-o", str(path)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return str(path)

    return make


@pytest.fixture
def compare(run_fp):
    def call(*words: str, code: int = 0) -> str:
        done = run_fp("compare", *words, env=os.environ)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code in (0, 3) else done.stderr

    return call


def as_json(compare, *words: str) -> dict:
    return json.loads(compare(*words, "--json"))


def test_what_became_slower_is_said_first(compare, made):
    text = compare(made("a", 1), made("slow", 2, ms=60.0))
    assert text.startswith("B is slower\n")
    told = as_json(compare, made("a"), made("slow"))
    assert told["verdict"] == "slower"
    assert told["step_time"]["ci_low"] > 0.2 and not told["may_be_noise"]
    assert told["step_time"]["diff_share"] == pytest.approx(20 / 45, abs=0.01)
    assert told["step_time"]["of"] == "iteration"
    assert told["step_time"]["warmup_a"] == 20 and told["step_time"]["a"]["count"] == 180


def test_two_runs_of_the_same_job_show_no_difference(compare, made):
    told = as_json(compare, made("a", 1), made("again", 3))
    assert told["verdict"] == "no_difference" and not told["may_be_noise"]
    assert "would be detected" in told["sentence"]
    assert 0.15 <= told["step_time"]["detectable_share"] < 0.25


def test_what_may_be_noise_between_runs_is_said_with_one_run_a_side(compare, made):
    told = as_json(compare, made("a", 1), made("bit", 2, ms=44.0))
    assert told["verdict"] == "no_difference" and told["may_be_noise"]
    assert told["sentence"].startswith("Possibly noise: an iteration takes 8.")
    step = told["step_time"]
    assert step["ci_low"] < 0 < 0.05 < step["steps_ci_low"]
    spread = step["run_spread"]
    assert spread["source"] == "default" and spread["reach_share"] == pytest.approx(0.15, abs=1e-3)
    assert compare(made("a"), made("bit")).startswith("Possibly noise\n")


def test_runs_of_the_same_name_show_how_much_runs_differ(compare, made, tmp_path):
    """A folder of runs with three more of the code of A, which differ by less than 1 %."""
    for i in range(4):
        shutil.copytree(made(f"same{i}", 30 + i), tmp_path / f"a{i}")
        facts = json.loads((tmp_path / f"a{i}" / "run.json").read_text())
        (tmp_path / f"a{i}" / "run.json").write_text(
            json.dumps(facts | {"name": "job", "command": []})
        )
    told = as_json(compare, str(tmp_path / "a0"), made("bit", 2, ms=44.0))
    spread = told["step_time"]["run_spread"]
    assert spread["source"] == "runs" and spread["runs"] == 4
    assert told["verdict"] == "slower" and "estimated from 4 runs" in told["why"]


def test_parts_say_by_which_clock_they_were_measured(compare, made):
    told = as_json(compare, made("a", 1), made("slow", 2, ms=60.0))
    assert {p["clock"] for p in told["parts"]} == {"host"} and told["gpu_parts"] == []
    assert "Iteration breakdown: host time\n" in compare(made("a"), made("slow"))


def test_a_run_with_itself_shows_no_difference(compare, made):
    told = as_json(compare, made("a", 1), made("a", 1))
    assert told["verdict"] == "no_difference" and told["same_run"]
    assert told["step_time"]["diff_share"] == 0
    assert not told["findings"]["appeared"] and not told["findings"]["went"]


def test_without_steps_the_rest_is_compared(compare, made, runs):
    (demo,) = runs.glob("demo-*")
    told = as_json(compare, str(demo), made("a", 1))
    assert told["verdict"] == "not_comparable"
    assert "A has no training steps" in told["sentence"]
    assert told["step_time"]["diff_share"] is None
    assert [p["phase"] for p in told["phases"]][-1] == "total"
    assert any(loss["what"] == "steps" and loss["side"] == "a" for loss in told["losses"])


def test_a_single_step_is_too_few(compare, made):
    told = as_json(compare, made("single", 5, count=1), made("a", 1))
    assert told["verdict"] == "not_comparable"
    assert "at least 10 common steps" in told["sentence"]


def test_the_gate_closes_when_b_is_surely_slower(compare, made):
    a = ",".join(made(f"a{i}", 10 + i) for i in range(3))
    slow = ",".join(made(f"bit{i}", 20 + i, ms=44) for i in range(3))
    compare(a, slow, "--fail-on", "slower:2%", code=3)
    compare(a, slow, "--fail-on", "slower:2", code=3)
    compare(a, slow, "--fail-on", "slower:20%")
    compare(slow, a, "--fail-on", "slower:2%")
    compare(slow, a, "--fail-on", "faster", code=3)


def test_the_gate_takes_three_runs_a_side_or_the_word_that_one_is_enough(compare, made):
    a, bit, slow = made("a", 1), made("bit", 2, ms=44.0), made("slow", 2, ms=60.0)
    said = compare(a, slow, "--fail-on", "slower:2%", code=2)
    assert "needs at least 3 runs per group" in said and "--single-run" in said
    two = f"{made('a0', 10)},{made('a1', 11)}"
    assert "the smaller group has 2" in compare(two, two, "--fail-on", "cost:2%", code=2)
    compare(a, slow, "--fail-on", "slower:2%", "--single-run", code=3)
    compare(a, bit, "--fail-on", "slower:2%", "--single-run")  # may be noise between runs
    compare(a, made("again", 3), "--fail-on", "slower:0%", "--single-run")


def test_a_gate_says_whether_it_is_met_and_why(run_fp, made):
    words = ("compare", made("a", 1), made("slow", 2, ms=60.0), "--fail-on", "slower:2%")
    words += ("--single-run", "--fail-on", "faster", "--fail-on", "slower:30.5%")
    done = run_fp(*words, "--price", "1", "--fail-on", "cost:1%", env=os.environ)
    assert done.returncode == 3
    slower, faster, far, cost = done.stderr.splitlines()
    found = re.fullmatch(
        r"footplate: --fail-on slower:2%: met: B is (.*) % slower \(at least (.*) %\)", slower
    )
    assert found and 40 < float(found[1]) < 50 and 20 < float(found[2]) < 30
    assert faster == slower.replace("slower:2%: met", "faster:0%: not met")
    assert far == slower.replace("slower:2%: met", "slower:30.5%: not met")
    assert re.fullmatch(r"footplate: --fail-on cost:1%: met: B costs [\d.]+ % more", cost)


def test_a_gate_that_is_not_met_says_what_was_found(run_fp, made):
    def told(b: str) -> str:
        words = ("compare", made("a", 1), b, "--fail-on", "slower:5%", "--single-run")
        done = run_fp(*words, env=os.environ)
        assert done.returncode == 0
        return done.stderr

    before = "footplate: --fail-on slower:5%: not met: "
    assert told(made("again", 3)) == before + "no measurable difference\n"
    assert told(made("bit", 2, ms=44.0)) == before + "possibly noise\n"


def test_a_change_without_a_verdict_is_told_in_words_and_not_with_a_sign(compare, made):
    for b in (made("again", 3), made("again2", 4)):
        for words in ((made("a", 1), b), (b, made("a", 1))):
            said = as_json(compare, *words)["sentence"]
            change, rest = said.split(", but runs of the same code can differ this much ")
            words_only = r"No measurable difference: B took [\d.]+ % (longer|less time)"
            assert re.fullmatch(words_only, change), said
            assert re.match(r"\(95 % confidence interval -[\d.]+ % to \+[\d.]+ %\)\. ", rest), said


def inverse(share: float) -> float:
    return 1 / (1 + share) - 1


@pytest.mark.parametrize(
    ("name", "seed", "ms"),
    [("slow", 2, 60.0), ("bit", 2, 44.0), ("again", 3, 40.0), ("q", 4, 25.0)],
)
def test_swapped_runs_give_the_opposite_verdict_and_the_inverse_bounds(
    compare, made, name, seed, ms
):
    a, b = made("a", 1), made(name, seed, ms=ms)
    there, back = as_json(compare, a, b), as_json(compare, b, a)
    opposite = {"faster": "slower", "slower": "faster"}
    assert back["verdict"] == opposite.get(there["verdict"], there["verdict"])
    assert back["may_be_noise"] == there["may_be_noise"]
    x, y = there["step_time"], back["step_time"]
    for low, high in (("ci_low", "ci_high"), ("steps_ci_low", "steps_ci_high")):
        assert inverse(x[low]) == pytest.approx(y[high], abs=1e-6)
        assert inverse(x[high]) == pytest.approx(y[low], abs=1e-6)
    for p, q in zip(there["parts"], back["parts"], strict=True):
        assert q["verdict"] == opposite.get(p["verdict"], p["verdict"])


def with_facts(run: str, to, commit: str, command: list[str], machine: str) -> str:
    shutil.copytree(run, to)
    facts = json.loads((to / "run.json").read_text())
    facts |= {"command": command, "git_commit": commit}
    (to / "run.json").write_text(json.dumps(facts))
    for path in to.glob("node-*/node.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"machine_type": machine}))
    return str(to)


def test_what_differs_between_the_runs_is_told_in_one_line(compare, made, tmp_path):
    words = ["python", "train.py", "--workers"]
    a = with_facts(made("a", 1), tmp_path / "x", "abc1234ff", [*words, "2"], "p4d.24xlarge")
    b = with_facts(made("again", 3), tmp_path / "y", "def5678ff", [*words, "6"], "p5.48xlarge")
    line = "Differences: command; commit abc1234 -> def5678; "
    line += "machine type p4d.24xlarge -> p5.48xlarge"
    assert line in " ".join(compare(a, b).split())
    told = as_json(compare, a, b)["differences"]
    assert told == [
        {"what": "command", "a": "python train.py --workers 2", "b": "python train.py --workers 6"},
        {"what": "commit", "a": "abc1234ff", "b": "def5678ff"},
        {"what": "machine type", "a": "p4d.24xlarge", "b": "p5.48xlarge"},
    ]
    assert as_json(compare, a, a)["differences"] == []
    assert "Differences" not in compare(a, a)


def test_runs_of_a_group_that_differ_wildly_make_no_promises(compare, made):
    group = f"{made('a', 1)},{made('crawls', 2, ms=400.0)}"
    told = as_json(compare, group, made("again", 3))
    assert told["verdict"] == "no_difference"
    assert "to detect a difference" in told["sentence"]
    assert "over +10000 %" in " ".join(compare(group, made("again", 3)).split())


def test_a_gate_that_cannot_be_judged_does_not_pass(compare, made):
    said = compare(
        made("single", 5, count=1), made("a", 1), "--fail-on", "slower:2%", "--single-run", code=1
    )
    assert "could not be evaluated" in said
    said = compare(made("a", 1), made("again", 3), "--fail-on", "cost:5%", "--single-run", code=1)
    assert "the machine price is not known" in said


def test_the_gate_for_cost_looks_at_the_prices(compare, made):
    a, again = made("a", 1), made("again", 3)
    compare(
        a, again, "--price", "1", "--price", "2", "--fail-on", "cost:50%", "--single-run", code=3
    )
    compare(a, again, "--price", "2", "--price", "1", "--fail-on", "cost:50%", "--single-run")


def test_one_price_counts_for_both(compare, made):
    told = as_json(compare, made("a", 1), made("again", 3), "--price", "3600")
    assert told["a"]["price_per_hour"] == told["b"]["price_per_hour"] == 3600
    assert told["cost"]["a"] == pytest.approx(told["a"]["duration_s"], rel=0.01)


def test_groups_are_given_with_commas_or_one_by_one(compare, made):
    a, b = [made(f"a{i}", 10 + i) for i in range(3)], [made(f"b{i}", 20 + i, ms=46) for i in (0, 1)]
    told = as_json(compare, ",".join(a), ",".join(b))
    assert len(told["a"]["runs"]) == 3 and len(told["b"]["runs"]) == 2
    assert told["verdict"] == "slower" and not told["step_time"]["step_by_step"]
    words = [w for run in a for w in ("--a", run)] + [w for run in b for w in ("--b", run)]
    assert as_json(compare, *words) == told


def test_chosen_steps_are_compared(compare, made):
    told = as_json(compare, made("a", 1), made("again", 3), "--steps", "50:99")
    assert told["step_time"]["a"]["count"] == 50 and told["step_time"]["warmup_a"] == 0


def test_more_confidence_makes_wider_bounds(compare, made):
    def width(confidence: str) -> float:
        step = as_json(compare, made("a"), made("again"), "--confidence", confidence)["step_time"]
        return step["ci_high"] - step["ci_low"]

    assert width("99%") > 1.2 * width("90%")


def test_numbers_are_the_same_in_text_json_html_and_markdown(compare, made, tmp_path):
    a, slow, page = made("a", 1), made("slow", 2, ms=60.0), tmp_path / "compare.html"
    text = compare(a, slow, "--html", str(page))
    html, markdown = page.read_text(), compare(a, slow, "--format", "markdown")
    step = as_json(compare, a, slow)["step_time"]
    for mean in (step["a"]["mean_s"], step["b"]["mean_s"]):
        shown = f"{mean * 1e3:.1f} ms"
        assert shown in text and shown in html and shown in markdown
    change = f"+{step['diff_share'] * 100:.1f} %"
    assert change in text and change in html and change in markdown


def test_the_page_stands_alone(compare, made, tmp_path):
    page = tmp_path / "compare.html"
    compare(made("a", 1), made("slow", 2, ms=60.0), "--html", str(page))
    html = page.read_text()
    assert not re.search(r"https?://(?!www\.w3\.org/)", html)
    assert "<h1" in html and "<svg" in html and len(html) < 1_000_000


def test_a_name_with_markup_stays_text(footplate, compare, made, tmp_path):
    evil = '<script>alert(1)</script>"\x1b[31m'
    done = subprocess.run(
        [footplate, "run", "--no-hooks", "--name", "evil", "--dir", str(tmp_path), "--", "true"],
        capture_output=True,
        text=True,
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
    )
    assert done.returncode == 0, done.stderr
    (run,) = tmp_path.glob("evil-*")
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"name": evil}))
    page = tmp_path / "compare.html"
    text = compare(str(run), made("a", 1), "--html", str(page))
    assert "\x1b" not in text
    assert "<script>alert" not in page.read_text()


def test_plain_text_has_no_colour(compare, made):
    assert "\x1b" not in compare(made("a", 1), made("slow", 2, ms=60.0))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "needs two runs"),
        (("a",), "needs two runs"),
        (("a", "b", "--a", "c"), "needs two runs"),
        (("a", "b", "--fail-on", "quicker:2%"), "not a valid condition"),
        (("a", "b", "--fail-on", "slower:much"), "is not a percentage"),
        (("a", "b", "--confidence", "10%"), "not between 50% and 99.9%"),
        (("a", "b", "--price", "1", "--price", "2", "--price", "3"), "once (for both groups)"),
        (("a", "b", "--price", "free"), "free"),
        (("a", "b", "--steps", "9:1"), "not a range of steps"),
        (("a", "b", "--json", "--format", "markdown"), "cannot be combined"),
    ],
)
def test_what_makes_no_sense_is_refused(compare, words, said):
    assert said in compare(*words, code=2)


def test_a_run_that_is_not_there_is_named(compare, made, runs):
    assert "nowhere" in compare(made("a", 1), "nowhere", "--dir", str(runs), code=1)
