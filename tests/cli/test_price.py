# SPDX-License-Identifier: Apache-2.0
"""Machines and prices: told to a run, kept with it, and what `check` makes of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "rules" / "example"
TABLE = "machine,cores,memory_gib,price_per_hour\nmine,4,16,7.2\n"


@pytest.fixture
def fp_in(footplate, tmp_path):
    """Runs a command in a folder of its own, which is also its home."""

    def call(*words, **env) -> subprocess.CompletedProcess:
        base = {k: v for k, v in os.environ.items() if not k.startswith(("FOOTPLATE", "XDG"))}
        home = {"HOME": str(tmp_path), "FOOTPLATE_NVML": "/nonexistent.so"}
        return subprocess.run(
            [footplate, *map(str, words)],
            cwd=tmp_path,
            env=base | home | env,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return call


def shown(fp_in) -> dict:
    return json.loads(fp_in("show", "last", "--json").stdout)


def test_a_run_carries_its_price_and_shows_what_it_cost(fp_in):
    assert fp_in("run", "--price", "3600", "--", "sleep", "0.2").returncode == 0
    told = shown(fp_in)
    assert told["price_per_hour"] == 3600 and told["machine"] is None
    assert told["nodes"][0]["price_per_hour"] == 3600
    assert told["cost"] == pytest.approx(told["duration_s"], rel=0.01)
    assert told["currency"] == "USD"
    assert re.search(r"^cost +\S+ USD, at 3600 USD per hour$", fp_in("show", "last").stdout, re.M)


def test_the_currency_of_prices_is_kept_with_the_run(fp_in, tmp_path):
    (tmp_path / "footplate.yaml").write_text("price: 3600\ncurrency: eur\n")
    assert fp_in("run", "--", "sleep", "0.2").returncode == 0
    (tmp_path / "footplate.yaml").unlink()
    assert shown(fp_in)["currency"] == "EUR"
    assert "EUR, at 3600 EUR per hour" in fp_in("show", "last").stdout
    assert fp_in("report", "last").returncode == 0
    (page,) = (tmp_path / "footplate-runs").glob("*/report.html")
    assert "at 3600 EUR per hour" in page.read_text()
    report = json.loads(page.with_suffix(".json").read_text())
    assert report["currency"] == report["run"]["currency"] == "EUR"
    compared = json.loads(fp_in("compare", "last", "last", "--json").stdout)
    assert compared["cost"]["currency"] == "EUR"
    done = fp_in("run", "--currency", "euros", "--", "true")
    assert done.returncode == 2 and "'euros' is not a currency" in done.stderr


def test_without_a_price_there_is_no_cost(fp_in):
    assert fp_in("run", "--", "true").returncode == 0
    told = shown(fp_in)
    assert told["cost"] is None and told["price_per_hour"] is None
    assert "per hour" not in fp_in("show", "last").stdout


def test_the_price_of_a_machine_is_that_of_the_table_of_the_program(fp_in):
    assert fp_in("run", "--machine", "ml.p3.8xlarge", "--", "true").returncode == 0
    assert shown(fp_in)["price_per_hour"] == 14.688


def test_a_price_counts_more_than_that_of_the_table(fp_in):
    assert fp_in("run", "--machine", "p3.8xlarge", "--price", "9", "--", "true").returncode == 0
    told = shown(fp_in)
    assert told["price_per_hour"] == 9 and told["machine"] == "p3.8xlarge"


@pytest.mark.parametrize("where", [".", ".config/footplate", "scripts", "named"])
def test_the_users_table_is_found(fp_in, tmp_path, where):
    folder = tmp_path / where
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machines.csv").write_text(TABLE)
    script = tmp_path / "scripts" / "job.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    env = {"FOOTPLATE_MACHINES": str(folder / "machines.csv")} if where == "named" else {}
    done = fp_in("run", "--machine", "mine", "--", "sh", "scripts/job.sh", **env)
    assert done.returncode == 0
    assert shown(fp_in)["price_per_hour"] == 7.2, done.stderr


def test_an_unknown_machine_is_said_and_the_job_runs(fp_in):
    done = fp_in("run", "--machine", "p3.8xlagre", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "unknown machine 'p3.8xlagre'" in done.stderr
    assert "did you mean 'p3.8xlarge'" in done.stderr
    assert shown(fp_in)["price_per_hour"] is None


def test_a_machine_whose_price_is_learnt_later_costs_the_same_everywhere(fp_in, tmp_path):
    assert fp_in("run", "--machine", "mine", "--", "sleep", "0.2").returncode == 0
    assert shown(fp_in)["cost"] is None
    (tmp_path / "machines.csv").write_text(TABLE)
    told = shown(fp_in)
    assert told["price_per_hour"] == 7.2
    assert "at 7.2 USD per hour for mine" in fp_in("show", "last").stdout
    assert fp_in("report", "last").returncode == 0
    report = json.loads(next((tmp_path / "footplate-runs").glob("*/report.json")).read_text())
    assert (report["cost"], report["price_per_hour"]) == (told["cost"], told["price_per_hour"])


def test_a_broken_table_is_said_with_its_line_and_the_job_runs(fp_in, tmp_path):
    (tmp_path / "machines.csv").write_text(TABLE + "other,4,16,dear\n")
    done = fp_in("run", "--machine", "mine", "--", "true")
    assert done.returncode == 0
    assert "machines.csv, line 3: price_per_hour: 'dear' is not a number" in done.stderr


def test_a_price_that_is_none_is_refused(fp_in):
    for word in ("-1", "0", "free", "1$", "inf", "nan"):
        done = fp_in("run", f"--price={word}", "--", "true")
        assert done.returncode == 2 and "is not an hourly price" in done.stderr


@pytest.fixture(scope="module")
def example(footplate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    for name in ("first", "second"):
        subprocess.run(
            [footplate, "import", EXAMPLE / f"{name}.scene", "-o", folder / name],
            check=True,
            capture_output=True,
            timeout=120,
        )
    return folder


def verdicts(fp_in, *words) -> dict:
    done = fp_in("check", *words, "--json")
    assert done.returncode == 0, done.stderr
    return {v["rule"]: v for v in json.loads(done.stdout)}


def test_three_machines_of_four_idle_gpus_should_be_fewer_and_smaller(fp_in, example):
    told = verdicts(fp_in, example / "first", "--machine", "p3.8xlarge", "--price", "14.688")
    size = told["OverallSystemUsage"]["right_size"]
    assert size["count"] < 3 and size["gpus"] < 12
    assert size["instead_of"]["machines"] == "3 x p3.8xlarge"
    assert size["instead_of"]["price_per_hour"] == pytest.approx(3 * 14.688)
    assert size["price_per_hour"] < 14.688 and size["saving_share"] > 0.6
    assert all(v is None or v <= 85 for v in size["expected"].values())
    assert size["cost"] == pytest.approx(size["price_per_hour"] * 2000 / 3600, rel=0.01)
    assert size["same_gpu"]["machine"] == "p3.8xlarge" and size["same_gpu"]["count"] == 1
    for rule in ("LowGPUUtilization", "BatchSize"):
        assert told[rule]["right_size"] == size
        assert size["why"] in told[rule]["remarks"]
    assert "right_size" not in told["CPUBottleneck"]
    text = fp_in("check", example / "first", "--machine", "p3.8xlarge").stdout
    assert "\nRight-sizing\n" in text and size["why"] in text


def test_a_machine_is_known_by_its_shape(fp_in, example):
    size = verdicts(fp_in, example / "second")["OverallSystemUsage"]["right_size"]
    assert size["instead_of"]["machines"] == "2 x p3.2xlarge (by cores and GPUs)"
    assert size["price_per_hour"] < 2 * 3.825


def test_a_machine_that_no_table_has_may_be_needed_less_often(fp_in, example):
    words = [example / "first", "--machine", "ours", "--price", "10"]
    size = verdicts(fp_in, *words)["OverallSystemUsage"]["right_size"]
    assert (size["machine"], size["count"], size["price_per_hour"]) == ("ours", 1, 10)


def test_the_price_given_to_check_sizes_the_findings(fp_in, example):
    def cost(price):
        return verdicts(fp_in, example / "first", "--price", price)["LowGPUUtilization"]

    one, ten = cost("1")["lost_cost"], cost("10")["lost_cost"]
    assert one > 0 and ten == pytest.approx(10 * one)
    assert "lost_cost" in cost("1") and cost("1")["lost_s"] == cost("10")["lost_s"]


def test_check_refuses_a_machine_or_price_that_is_none(fp_in, example):
    for words, says in [
        (["--machine", "p3.8xlagre"], "did you mean 'p3.8xlarge'"),
        (["--price", "much"], "is not an hourly price"),
    ]:
        done = fp_in("check", example / "first", *words)
        assert done.returncode == 2 and says in done.stderr and done.stdout == ""


def test_the_same_right_size_comes_out_every_time(fp_in, example):
    words = ["check", example / "first", "--machine", "p3.8xlarge", "--json"]
    assert fp_in(*words).stdout == fp_in(*words).stdout
