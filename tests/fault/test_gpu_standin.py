# SPDX-License-Identifier: Apache-2.0
"""GPUs, end to end: the program loads a stand-in of the driver's library that plays what a real one
answered."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from faultkit import PYTHON, Lab, compile_library

TESTS = Path(__file__).resolve().parent.parent
PLAYS = TESTS / "data" / "nvml"


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that FOOTPLATE_STANDIN names, else one built here."""
    given = os.environ.get("FOOTPLATE_STANDIN")
    if given:
        return Path(given)
    folder = TESTS / "standin"
    return compile_library(
        folder / "nvml_standin.c",
        tmp_path_factory.mktemp("standin") / "libnvidia-ml-standin.so",
        str(folder / "play.c"),
        "-std=gnu17",
        f"-I{TESTS.parent / 'src'}",
        "-pthread",
    )


def with_play(lab: Lab, standin: Path, play: Path) -> dict[str, str]:
    return lab.env | {"FOOTPLATE_NVML": str(standin), "FOOTPLATE_NVML_PLAY": str(play)}


ALWAYS = {
    "gpu.util",
    "gpu.mem_util",
    "gpu.mem",
    "gpu.mem_used",
    "gpu.mem_total",
    "gpu.mem_reserved",
    "gpu.power",
    "gpu.power_limit",
    "gpu.power_default",
    "gpu.energy",
    "gpu.clock_sm",
    "gpu.clock_mem",
    "gpu.temp",
    "gpu.throttle",
    "gpu.pcie_rx",
    "gpu.pcie_tx",
    "gpu.sm_active",
    "gpu.sm_occupancy",
    "gpu.tensor_active",
    "gpu.dram_active",
    "gpu.job_processes",
}


def every_gpu_metric(lab: Lab) -> set[str]:
    done = lab.fp("metrics", "--csv")
    return set(re.findall(r"^(gpu\.[a-z_]+)", done.stdout, re.M))


def test_every_metric_that_the_driver_gave_is_recorded_and_the_rest_has_a_reason(
    lab: Lab, standin: Path
):
    env = with_play(lab, standin, PLAYS / "h200.play")
    done = lab.record("--interval", "100ms", "--", "sleep", "4", env=env)
    assert done.returncode == 0
    assert "no GPU found" not in done.stderr
    (node,) = lab.show()["nodes"]
    assert node["gpus"] == 1
    (device,) = node["gpu_devices"]
    assert device["name"] == "NVIDIA H200"
    assert device["driver"] == "580.159.04"
    assert device["memory_bytes"] > 100 << 30
    assert "NVIDIA H200" in lab.fp("show", "last").stdout
    rows = {row["metric"]: row for row in lab.stats()}
    assert rows["gpu"]["count"] > 10 and rows["gpu_memory"]["count"] > 10
    assert 0 <= rows["gpu"]["min"] <= rows["gpu"]["max"] <= 100
    recorded = {s["metric"] for s in lab.query("gpu.")}
    assert recorded >= ALWAYS, ALWAYS - recorded
    lost = " ".join(f"{x['what']} {x['why']}" for x in lab.show()["losses"])
    for metric in every_gpu_metric(lab) - recorded:
        assert metric in lost, f"{metric} is neither recorded nor said to be missing"


def test_readings_are_within_their_bounds_and_without_spikes(lab: Lab, standin: Path):
    env = with_play(lab, standin, PLAYS / "h200.play")
    assert lab.record("--interval", "100ms", "--", "sleep", "3", env=env).returncode == 0
    for series in lab.query("gpu."):
        values = series["v"]
        assert min(values) >= 0, series["metric"]
        if series["unit"] == "%":
            assert max(values) <= 100, series["metric"]
        if series["unit"] == "W":
            assert max(values) < 2000, series["metric"]


def test_the_energy_counter_is_read_after_a_second_and_at_the_end(lab: Lab, standin: Path):
    env = with_play(lab, standin, PLAYS / "h200.play")
    assert lab.record("--interval", "100ms", "--", "sleep", "4", env=env).returncode == 0
    (power,), (energy,) = lab.query("gpu.power"), lab.query("gpu.energy")
    assert len(energy["v"]) == 2, energy
    first, last = (t - power["t_ns"][0] for t in energy["t_ns"])
    assert 0.5e9 < first < 2e9 and last > 3.5e9, (first, last)


def test_the_last_line_gives_the_cost_of_recording_apart_from_start_and_end(
    lab: Lab, standin: Path
):
    play = lab.folder / "slow_start.play"
    play.write_text("cost Init 400000\n" + (PLAYS / "h200.play").read_text())
    env = with_play(lab, standin, play)
    short = lab.record("--", "sleep", "1", env=env).stderr
    assert re.search(r"overhead [0-9.]+ s of CPU;", short), short
    long = lab.record("--", "sleep", "8", env=env).stderr
    found = re.search(r"overhead ([0-9.]+) % of a core, and ([0-9.]+) s for start and end;", long)
    assert found, long
    assert float(found[1]) < 4, "0.4 s of 8 would be 5 %"
    assert float(found[2]) >= 0.4


def test_a_gpu_that_is_lost_leaves_a_reason_and_the_job_alone(lab: Lab, standin: Path):
    play = lab.folder / "lost.play"
    text = (PLAYS / "h200.play").read_text()
    lines = [x for x in text.splitlines() if not x.startswith("series 0 UtilizationRates")]
    lines.append("series 0 UtilizationRates 50,10*5 !15*1000")
    play.write_text("\n".join(lines) + "\n")
    env = with_play(lab, standin, play)
    done = lab.record("--interval", "100ms", "--", "sh", "-c", "sleep 3; exit 3", env=env)
    assert done.returncode == 3
    kinds = {x["kind"] for x in lab.show()["losses"]}
    assert "gpu-lost" in kinds, lab.show()["losses"]
    values = lab.query("gpu.util")[0]["v"]
    assert values and set(values) == {50}, "what was not read is missing, not zero"


def test_a_library_that_is_no_driver_is_said_to_be_none(lab: Lab, tmp_path: Path):
    empty = compile_library("int nothing_here;\n", tmp_path / "empty.so")
    for library in (empty, lab.folder / "not-there.so", shutil.which("true")):
        env = lab.env | {"FOOTPLATE_NVML": str(library)}
        done = lab.record("--", "sh", "-c", "sleep 0.5; exit 2", env=env)
        assert done.returncode == 2
        assert done.stderr.count("no GPU found") == 1, done.stderr
        assert lab.show()["nodes"][0]["gpus"] == 0
        assert lab.show()["nodes"][0]["gpu_absent"]


HANGING = """
#include <unistd.h>
int nvmlInitWithFlags(unsigned flags) { (void)flags; for (;;) pause(); }
int nvmlInit_v2(void) { for (;;) pause(); }
"""


def test_a_driver_that_hangs_holds_neither_the_job_nor_its_end(lab: Lab, tmp_path: Path):
    hanging = compile_library(HANGING, tmp_path / "hanging.so")
    env = lab.env | {"FOOTPLATE_NVML": str(hanging)}
    script = "import time; time.sleep(1.5); raise SystemExit(6)"
    done = lab.record("--interval", "100ms", "--", PYTHON, "-c", script, env=env, timeout=20)
    assert done.returncode == 6
    assert lab.show()["status"] == "failed"
    assert lab.show()["duration_s"] < 5
    assert len(lab.series("job.cpu")["v"]) > 8, "the cheap readings went on"
