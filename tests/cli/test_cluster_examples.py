# SPDX-License-Identifier: Apache-2.0
"""The examples for Slurm and Kubernetes: their commands run here, with a small srun and torchrun.

What they need of a cluster is played: srun starts the tasks of two nodes on this machine, with the
variables that Slurm gives them; the pods of the Job are started with the environment that their
manifest describes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml  # comes with openapi-spec-validator

ROOT = Path(__file__).resolve().parent.parent.parent
SLURM = ROOT / "examples/slurm"
KUBERNETES = ROOT / "examples/kubernetes"
TIMEOUT_S = 60

SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
for node in 0 1; do
    SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_NODEID=$node SLURM_PROCID=$node SLURM_LOCALID=0 \\
        SLURMD_NODENAME=gpu$node SLURM_SRUN_COMM_PORT=41245 "$@" &
    tasks+=($!)
done
for task in "${tasks[@]}"; do wait "$task" || status=$?; done
exit ${status:-0}
"""
SCONTROL = '#!/bin/sh\n[ "$*" = "show hostnames gpu[0-1]" ] && printf "gpu0\\ngpu1\\n"\n'
TORCHRUN = '#!/bin/sh\necho "$@" >> "$TORCHRUN_LOG"\n'

BATCH = {
    "SLURM_CLUSTER_NAME": "fp",
    "SLURM_JOB_ID": "42",
    "SLURM_JOB_START_TIME": "1798718400",  # 2026-12-31
    "SLURM_JOB_NODELIST": "gpu[0-1]",
    "SLURM_NNODES": "2",
    "SLURM_GPUS_ON_NODE": "8",
}


class Cluster:
    """A folder with the commands of a cluster, and an environment that finds them first."""

    def __init__(self, folder: Path, footplate: Path):
        self.runs = folder / "runs"
        self.log = folder / "torchrun.log"
        tools = folder / "bin"
        tools.mkdir()
        for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("torchrun", TORCHRUN)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        (tools / "footplate").symlink_to(footplate)
        self.env = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "FOOTPLATE_DIR": str(self.runs),
            "FOOTPLATE_NVML": "/nonexistent.so",
            "TORCHRUN_LOG": str(self.log),
        }

    def start(self, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(w) for w in words],
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )

    def torchruns(self) -> list[str]:
        return sorted(self.log.read_text().splitlines())


@pytest.fixture
def cluster(tmp_path: Path, footplate: Path) -> Cluster:
    return Cluster(tmp_path, footplate.resolve())


def skip_without(run_fp, command: str, option: str) -> None:
    if option not in run_fp(command, "--help").stdout:
        pytest.skip(f"this version has no {command} {option}")


def nodes_of(run: Path) -> list[str]:
    return sorted(f.parent.name for f in run.glob("node-*/node.json"))


# ---- Slurm ----


def test_the_nodes_of_a_slurm_job_become_one_run_in_the_shared_folder(cluster):
    done = cluster.start(SLURM / "shared.sh", "train.py", "--epochs", "3", **BATCH)
    assert done.returncode == 0, done.stderr
    (run,) = cluster.runs.iterdir()
    assert run.name == "train-fp-42.0-20261231"
    assert nodes_of(run) == ["node-gpu0", "node-gpu1"]
    job = json.loads((run / "run.json").read_text())["job"]
    start_ns = int(BATCH["SLURM_JOB_START_TIME"]) * 1_000_000_000
    assert job == {"cluster": "fp", "id": "42", "step": "0", "start_ns": start_ns}
    words = "--nnodes 2 --nproc-per-node 8 --rdzv-id 42 --rdzv-backend c10d"
    assert cluster.torchruns() == [f"{words} --rdzv-endpoint gpu0:29500 train.py --epochs 3"] * 2


def test_a_slurm_job_whose_hub_is_dead_runs_and_is_recorded(cluster, run_fp, tmp_path):
    skip_without(run_fp, "run", "--to ")
    hub = "http://127.0.0.1:9"  # nobody listens
    done = cluster.start(SLURM / "hub.sh", hub, "train.py", FOOTPLATE_TOKEN="x" * 24, **BATCH)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "footplate-42").iterdir()
    assert nodes_of(run) == ["node-gpu0", "node-gpu1"]
    assert len(cluster.torchruns()) == 2


def test_each_start_of_a_requeued_job_is_a_run_of_its_own_on_the_hub(cluster, tmp_path):
    hub = "http://127.0.0.1:9"
    for start in ({}, {"SLURM_RESTART_COUNT": "1", "SLURM_JOB_START_TIME": "1798719000"}):
        env = BATCH | {"FOOTPLATE_TOKEN": "x" * 24} | start
        done = cluster.start(SLURM / "hub.sh", hub, "train.py", **env)
        assert done.returncode == 0, done.stderr
    runs = sorted((tmp_path / "footplate-42").iterdir())
    assert [run.name for run in runs] == ["train-fp-42.0", "train-fp-42.1"]
    assert [nodes_of(run) for run in runs] == [["node-gpu0", "node-gpu1"]] * 2


# ---- Kubernetes ----


def manifests(name: str) -> dict[str, dict]:
    found = list(yaml.safe_load_all((KUBERNETES / name).read_text()))
    assert all(x["apiVersion"] and x["metadata"]["name"] for x in found)
    assert len({x["kind"] for x in found}) == len(found)
    return {x["kind"]: x for x in found}


def pod_of(manifest: dict) -> dict:
    template = manifest["spec"]["template"]
    pod = template["spec"]
    (container,) = pod["containers"]
    mounted = {m["name"] for m in container["volumeMounts"]}
    assert mounted == {v["name"] for v in pod["volumes"]}, "each volume is there and used"
    return pod


def expand(text: str, env: dict[str, str]) -> str:
    """$(NAME) as Kubernetes replaces it; what is not defined stays and would be seen."""
    return re.sub(r"\$\((\w+)\)", lambda m: env.get(m[1], m[0]), text)


def environment(container: dict, facts: dict[str, str]) -> dict[str, str]:
    """In the order of the manifest: a value may use those before it."""
    env: dict[str, str] = {}
    for x in container["env"]:
        source = x.get("valueFrom", {})
        if "fieldRef" in source:
            env[x["name"]] = facts[source["fieldRef"]["fieldPath"]]
        else:
            env[x["name"]] = expand(x["value"], env)
    return env


def start_pod(cluster: Cluster, pod: dict, index: int, uid: str, ships: bool) -> None:
    hub = cluster.runs.parent / "hub"
    hub.mkdir(exist_ok=True)
    (hub / "token").write_text("x" * 24 + "\n")
    (hub / "ca.crt").touch()
    (container,) = pod["containers"]
    facts = {
        "metadata.name": f"train-{index}-abcde",
        "metadata.labels['batch.kubernetes.io/controller-uid']": uid,
    }
    own = {"JOB_COMPLETION_INDEX": str(index), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    env = environment(container, facts) | own
    assert env.pop("FOOTPLATE_DIR") == "/spool"
    env = {k: v.replace("/etc/footplate", str(hub)) for k, v in env.items()}
    words = [expand(w, env) for w in container["command"]]
    at = words.index("--to")
    if ships:
        words[at + 1] = "http://127.0.0.1:9"  # nobody listens
    else:
        del words[at : at + 2]
    done = cluster.start(*words, **env)
    assert done.returncode == 0, done.stderr


def test_the_pods_of_an_indexed_job_become_one_run_and_those_of_the_next_another(cluster, run_fp):
    job = manifests("job.yaml")["Job"]
    assert job["spec"]["completionMode"] == "Indexed"
    pod = pod_of(job)
    ships = "--to " in run_fp("run", "--help").stdout
    for uid in ("1f0c-1", "1f0c-2"):  # deleted and created again
        for index in range(job["spec"]["completions"]):
            start_pod(cluster, pod, index, uid, ships)
    assert sorted(p.name for p in cluster.runs.iterdir()) == ["train-1f0c-1", "train-1f0c-2"]
    for run in cluster.runs.iterdir():
        assert nodes_of(run) == ["node-train-0-abcde", "node-train-1-abcde"]
    ranks = [w for line in cluster.torchruns() for w in line.split() if "node-rank" in w]
    assert sorted(ranks) == ["--node-rank=0"] * 2 + ["--node-rank=1"] * 2


def test_the_job_has_a_bounded_spool_time_to_send_the_rest_and_no_secret_in_it():
    both = manifests("job.yaml")
    pod = pod_of(both["Job"])
    spool = next(v for v in pod["volumes"] if v["name"] == "spool")
    assert spool["emptyDir"]["sizeLimit"]
    assert pod["terminationGracePeriodSeconds"] >= 60
    assert both["Service"]["spec"]["clusterIP"] == "None"
    assert both["Service"]["metadata"]["name"] == pod["subdomain"]
    labels = both["Job"]["spec"]["template"]["metadata"]["labels"]
    assert both["Service"]["spec"]["selector"].items() <= labels.items()
    secret = next(v for v in pod["volumes"] if v["name"] == "hub")
    assert secret["secret"]["secretName"] == "footplate-write"
    env = {x["name"]: x.get("value") for x in pod["containers"][0]["env"]}
    (folder,) = [m["mountPath"] for m in pod["containers"][0]["volumeMounts"] if m["name"] == "hub"]
    assert env["FOOTPLATE_TO_TOKEN_FILE"] == f"{folder}/token"
    assert env["FOOTPLATE_TO_CA"] == f"{folder}/ca.crt"


def test_the_hub_is_one_pod_with_its_runs_on_a_volume_and_its_tokens_from_a_secret():
    found = manifests("hub.yaml")
    assert set(found) == {"PersistentVolumeClaim", "Deployment", "Service"}
    hub = found["Deployment"]["spec"]
    assert hub["replicas"] == 1 and hub["strategy"]["type"] == "Recreate"
    labels = hub["template"]["metadata"]["labels"]
    assert hub["selector"]["matchLabels"] == labels == found["Service"]["spec"]["selector"]
    pod = pod_of(found["Deployment"])
    volumes = {v["name"]: v for v in pod["volumes"]}
    claim = volumes["runs"]["persistentVolumeClaim"]["claimName"]
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
    assert all(volumes[v]["secret"]["defaultMode"] == 0o440 for v in ("tokens", "tls"))
    (port,) = found["Service"]["spec"]["ports"]
    assert pod["containers"][0]["ports"] == [{"containerPort": port["targetPort"]}]
    address = f"https://{found['Service']['metadata']['name']}:{port['port']}"
    assert address in pod_of(manifests("job.yaml")["Job"])["containers"][0]["command"]


def test_the_hub_is_started_with_options_that_this_version_has(run_fp):
    (container,) = pod_of(manifests("hub.yaml")["Deployment"])["containers"]
    program, command, folder, *options = container["command"]
    assert (program, command) == ("footplate", "serve")
    assert folder in [m["mountPath"] for m in container["volumeMounts"]]
    skip_without(run_fp, "serve", "--receive")
    known = run_fp("serve", "--help").stdout
    assert [o for o in options if o.partition("=")[0] not in known] == []


# ---- policies of a bucket ----


def test_the_policies_of_the_documentation_grant_what_it_explains_and_no_more():
    text = (ROOT / "docs/remote.md").read_text()
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    writer, reader, lifecycle = (json.loads(b) for b in blocks)
    granted = []
    for policy in (writer, reader):
        objects, bucket = policy["Statement"]
        assert objects["Resource"] == "arn:aws:s3:::BUCKET/runs/*"
        assert bucket["Resource"] == "arn:aws:s3:::BUCKET"
        assert bucket["Condition"] == {"StringLike": {"s3:prefix": "runs/*"}}
        actions = [s["Action"] for s in policy["Statement"]]
        granted.append({x for a in actions for x in ([a] if isinstance(a, str) else a)})
    explained = set(re.findall(r"^\| `(s3:\w+)` \|", text, re.MULTILINE))
    assert granted == [explained, {"s3:GetObject", "s3:ListBucket"}]
    (rule,) = lifecycle["Rules"]
    assert rule["Filter"] == {"Prefix": "runs/"} and rule["Status"] == "Enabled"
