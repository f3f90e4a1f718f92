# SPDX-License-Identifier: Apache-2.0
"""What can be measured here, and the list of what there is."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import time

import pytest

PROBES = {"cpu", "mem", "psi", "disk", "net", "proc", "cgroup", "self", "nvml", "amdgpu"}


@pytest.fixture
def doctor(run_fp, tmp_runs):
    def call(*words) -> str:
        env = os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"}
        done = run_fp("doctor", "--dir", tmp_runs, *words, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_doctor_reads_every_probe_and_records_nothing(doctor, tmp_runs):
    found = json.loads(doctor("--json"))
    assert {p["name"] for p in found["probes"]} >= PROBES
    assert found["host"]["cores"] == os.cpu_count()
    assert found["host"]["memory_bytes"] > 0
    assert found["runs_folder"]["ok"] and found["runtime_folder"]["ok"]
    assert found["clock"]["read_ns"] > 0
    assert list(tmp_runs.iterdir()) == []


def test_a_probe_that_works_has_values_with_units_and_a_cost(doctor):
    probes = {p["name"]: p for p in json.loads(doctor("--json"))["probes"]}
    cpu = probes["cpu"]
    assert cpu["works"] and cpu["why"] is None and cpu["read_us"] > 0
    total = next(s for s in cpu["series"] if (s["metric"], s["entity"]) == ("cpu.util", "total"))
    assert total["unit"] == "%" and 0 <= total["value"] <= 100
    assert probes["mem"]["series"]


def test_a_probe_that_does_not_work_says_why(doctor):
    found = json.loads(doctor("--json"))
    nvml = next(p for p in found["probes"] if p["name"] == "nvml")
    assert not nvml["works"] and nvml["why"] and nvml["series"] == []


def test_no_gpu_is_told_with_its_reason(doctor):
    found = json.loads(doctor("--json"))
    if found["gpus"]:
        pytest.skip("this machine has an AMD GPU")
    assert found["gpu_absent"]
    assert re.search(r"^GPU +no GPU found: \S", doctor(), re.MULTILINE)


def test_doctor_in_words_has_probes_values_and_what_is_missing(doctor):
    before = time.monotonic()
    text = doctor()
    assert time.monotonic() - before < 10
    assert re.search(r"^cpu +CPU .* \d+ +[\d.]+ (µs|ms) +\d+ ms$", text, re.MULTILINE)
    assert re.search(r"^cpu\.util +\d+ +\S+ +[\d.]+ % +CPU utilization$", text, re.MULTILINE)
    assert re.search(r"^nvml .*not measured: ", text, re.MULTILINE)


def test_a_folder_of_runs_that_cannot_be_written_fails_the_checkup(run_fp, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    done = run_fp("doctor", "--dir", file / "runs", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)["runs_folder"]
    assert not found["ok"] and str(file) in found["why"]


def test_metrics_are_the_same_in_every_format(run_fp):
    listed = json.loads(run_fp("metrics", "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(run_fp("metrics", "--csv").stdout)))
    markdown = run_fp("metrics", "--markdown").stdout
    text = run_fp("metrics").stdout
    names = [m["metric"] for m in listed]
    assert len(set(names)) == len(names) > 50
    assert [r["metric"] for r in rows] == names
    assert re.findall(r"^\| `(\S+)` \|", markdown, re.MULTILINE) == names
    assert [line.split()[0] for line in text.splitlines()[1:]] == names


def test_every_metric_has_a_unit_and_a_title(run_fp):
    for m in json.loads(run_fp("metrics", "--json").stdout):
        assert m["title"] and m["per"]
    for line in run_fp("metrics", "--markdown").stdout.splitlines()[2:]:
        assert all(cell.strip() for cell in line.strip("|").split("|")), line
