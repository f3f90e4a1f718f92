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


def slurm(node: int, start_s: int, **more: object) -> dict[str, str]:
    """The environment of one of two tasks of a step, as Slurm 23.02 makes it."""
    task = {
        "SLURM_CLUSTER_NAME": "fp",
        "SLURM_JOB_ID": 4711,
        "SLURM_JOB_START_TIME": start_s,
        "SLURM_STEP_ID": 0,
        "SLURM_PROCID": node,
        "SLURM_NTASKS": 2,
        "SLURM_NODEID": node,
        "SLURM_NNODES": 2,
        "SLURMD_NODENAME": f"gpu{node}",
    }
    return {k: str(v) for k, v in (task | more).items()}


def record_task(lab: Lab, *words: str, **env: str) -> None:
    done = lab.record(*words, "--", "true", env=lab.env | env)
    assert done.returncode == 0, done.stderr


NOON = 1798718400  # 2026-12-31 12:00 UTC
DAY = 86400


def nodes_of(lab: Lab, run: str) -> list[tuple[str, int]]:
    return [(n["id"], n["sessions"]) for n in lab.show(run)["nodes"]]


def test_two_jobs_of_the_same_id_are_kept_apart_and_their_nodes_together(lab: Lab):
    for node in range(2):
        record_task(lab, **slurm(node, NOON))
        record_task(lab, **slurm(node, NOON + 60))  # the counter restarted on this day
        record_task(lab, **slurm(node, NOON, SLURM_CLUSTER_NAME="xy"))
    assert sorted(p.name for p in lab.run_folders()) == [
        "true-fp-4711.0-20261231",
        "true-fp-4711.0-20261231-2",
        "true-xy-4711.0-20261231",
    ]
    for run in lab.run_folders():
        assert nodes_of(lab, run.name) == [("gpu0", 1), ("gpu1", 1)]
    assert lab.show("true-fp-4711.0-20261231-2")["id"] == "true-fp-4711.0-20261231-2"


def test_ten_nodes_of_two_jobs_of_the_same_id_that_begin_at_once_do_not_mix(lab: Lab):
    tasks = [slurm(k // 2, NOON + k % 2, SLURM_NTASKS=5, SLURM_NNODES=5) for k in range(10)]
    recorders = [lab.start("-q", "--", "sleep", "1", env=lab.env | task) for task in tasks]
    assert [r.end() for r in recorders] == [0] * 10
    names = sorted(p.name for p in lab.run_folders())
    assert names == ["sleep-fp-4711.0-20261231", "sleep-fp-4711.0-20261231-2"]
    for run in names:
        assert nodes_of(lab, run) == [(f"gpu{k}", 1) for k in range(5)]


def test_a_recorder_that_restarts_and_a_job_that_is_requeued_are_sessions_of_their_run(lab: Lab):
    for node in range(2):
        record_task(lab, **slurm(node, NOON))
    record_task(lab, **slurm(1, NOON))
    for node in range(2):
        record_task(lab, **slurm(node, NOON + DAY, SLURM_RESTART_COUNT=1))
    assert [p.name for p in lab.run_folders()] == ["true-fp-4711.0-20261231"]
    assert nodes_of(lab, "last") == [("gpu0", 2), ("gpu1", 3)]


def test_an_id_of_the_users_own_is_joined_whatever_the_job(lab: Lab):
    for start in (NOON, NOON + DAY):
        record_task(lab, "--run", "exp7", **slurm(0, start))
    assert [p.name for p in lab.run_folders()] == ["exp7"]
    assert nodes_of(lab, "exp7") == [("gpu0", 2)]
