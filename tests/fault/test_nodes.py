# SPDX-License-Identifier: Apache-2.0
"""Several recorders write into one run; each is seen as what became of it."""

from __future__ import annotations

import re
import signal
import time

from faultkit import NS, Lab, Recording, assert_sentence, wait_for


def start_node(lab: Lab, node: str, job: str, run: str = "job-42") -> Recording:
    words = ["--interval", "100ms", "--run", run, "--node", node, "--", "sh", "-c", job]
    return lab.start(*words)


def test_nodes_that_join_late_die_and_restart_are_all_in_one_run(lab: Lab):
    began_ns = time.time_ns()
    steady = start_node(lab, "a", "sleep 6; exit 0")
    killed = start_node(lab, "b", "sleep 60")
    first_try = start_node(lab, "c", "sleep 1.2; exit 3")
    assert first_try.end() == 3
    killed.signal(signal.SIGKILL)
    killed.end()
    late_ns = time.time_ns()
    late = start_node(lab, "d", "sleep 2")
    second_try = start_node(lab, "c", "sleep 1.5; exit 0")
    living = lab.show("job-42")
    assert living["status"] == "running", "the run lives as long as one of its nodes"
    statuses = {n["id"]: n["status"] for n in living["nodes"]}
    assert statuses == {"a": "running", "b": "died", "c": "running", "d": "running"}
    assert [late.end(), second_try.end(), steady.end()] == [0, 0, 0]
    shown = lab.show("job-42")
    nodes = {n["id"]: (n["status"], n["sessions"]) for n in shown["nodes"]}
    assert nodes == {
        "a": ("finished", 1),
        "b": ("died", 1),
        "c": ("finished", 2),
        "d": ("finished", 1),
    }
    assert shown["status"] == "died", "the worst of its nodes"
    starts = {s["node"]: s["t_ns"][0] for s in lab.query("cpu.util", "--entity", "total")}
    assert starts["a"] < began_ns + 2 * NS
    assert starts["d"] >= late_ns
    assert {row["node"] for row in lab.stats("job-42")} == {"a", "b", "c", "d"}
    died = lab.losses("recorder-died", "job-42")
    assert [x["node"] for x in died] == ["b"]
    text = lab.fp("show", "job-42").stdout
    assert all(re.search(rf"^node +{x}: ", text, re.MULTILINE) for x in "abcd")


def test_a_second_recorder_of_the_same_node_records_nothing_and_its_job_runs(lab: Lab):
    first = start_node(lab, "same", "sleep 3; exit 5")
    words = ["--run", "job-42", "--node", "same", "--", "sh", "-c", "exit 7"]
    assert_sentence(lab.record(*words), 7, "another recorder", "node-same", "its own node name")
    assert lab.record("--require-recording", *words).returncode == 1
    assert first.end() == 5
    shown = lab.show("job-42")
    assert [(n["id"], n["status"], n["sessions"]) for n in shown["nodes"]] == [
        ("same", "failed", 1)
    ]
    times = lab.series("job.cpu", "job-42")["t_ns"]
    assert times[-1] - times[0] > 2.5 * NS, "the first recorder was not disturbed"
    assert not lab.losses("damaged", "job-42")


def test_two_recorders_without_a_node_name_on_one_host_do_not_share_one(lab: Lab):
    first = lab.start("--run", "job-7", "--", "sleep", "2")
    done = lab.record("--run", "job-7", "--", "sh", "-c", "exit 7")
    assert_sentence(done, 7, "another recorder")
    assert first.end() == 0


def test_ten_recorders_that_begin_a_run_at_once_all_get_into_it(lab: Lab):
    recorders = [
        lab.start("-q", "--run", "crowd", "--node", f"n{k}", "--", "sh", "-c", "sleep 1.2")
        for k in range(10)
    ]
    assert [r.end() for r in recorders] == [0] * 10
    shown = lab.show("crowd")
    assert [n["id"] for n in shown["nodes"]] == [f"n{k}" for k in range(10)]
    assert {n["status"] for n in shown["nodes"]} == {"finished"}


def test_the_launchers_job_id_brings_several_nodes_into_one_run(lab: Lab):
    for node in range(2):
        slurm = {
            "SLURM_JOB_ID": "4711",
            "SLURM_STEP_ID": "0",
            "SLURM_PROCID": str(node),
            "SLURM_NTASKS": "2",
            "SLURM_LOCALID": "0",
            "SLURM_NODEID": str(node),
            "SLURM_NNODES": "2",
            "SLURM_JOB_NUM_NODES": "2",
            "SLURMD_NODENAME": f"gpu{node}",
        }
        done = lab.record("--node", f"gpu{node}", "--", "true", env=lab.env | slurm)
        assert done.returncode == 0, done.stderr
    assert len(lab.run_folders()) == 1
    shown = lab.show()
    assert [(n["id"], n["launcher"]) for n in shown["nodes"]] == [
        ("gpu0", "slurm"),
        ("gpu1", "slurm"),
    ]


def test_a_run_is_over_only_when_its_last_node_is(lab: Lab):
    first = start_node(lab, "a", "sleep 0.3; exit 1")
    second = start_node(lab, "b", "sleep 2; exit 0")
    assert first.end() == 1
    assert lab.show("job-42")["status"] == "running"
    assert second.end() == 0
    wait_for(lambda: lab.show("job-42")["status"] == "failed", "the run's end")
    assert lab.show("job-42")["exit_status"] == 1
