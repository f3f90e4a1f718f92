# SPDX-License-Identifier: Apache-2.0
"""The same against a real server: OpenStack Swift with its S3 API, which checks every signature."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hub_server import serving
from s3_requests import S3, environment
from same_output import FORTY, RUNS, copy_runs, output_of
from swift_server import flipping
from test_s3_stub import files

ROOT = Path(__file__).parents[2]
DEST = "s3://bucket/a b+c/é~"  # what has to be encoded in addresses and signatures


@pytest.fixture
def fp(run_fp, swift_env):
    def call(*words, **env) -> str:
        done = run_fp(*words, env=swift_env | env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture
def s3(swift) -> S3:
    return S3(swift.url, swift.KEY, swift.SECRET)


def objects(s3: S3, run: str) -> dict[str, bytes]:
    start = f"a b+c/é~/{run}/"
    return {k[len(start) :]: s3.get("bucket", k) for k in s3.keys("bucket", start)}


@pytest.fixture
def pushed(fp, recorded) -> str:
    fp("push", recorded, DEST)
    return f"{DEST}/{recorded.name}"


def test_a_pushed_run_is_the_folder_byte_for_byte_and_comes_back(
    fp, s3, recorded, pushed, tmp_path
):
    assert objects(s3, recorded.name) == files(recorded)
    made = Path(fp("pull", pushed, "--dir", tmp_path / "pulled").strip())
    assert files(made) == files(recorded)


@pytest.fixture(scope="module")
def forty_runs(footplate, swift, tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The runs of the forty commands, here and on Swift, and the environment to read them with."""
    local = copy_runs(tmp_path_factory.mktemp("local"))
    env = environment(swift.url, swift.KEY, swift.SECRET, tmp_path_factory.mktemp("cache"))
    for name in RUNS:
        words = [footplate, "push", local / name, DEST + "/forty", "--quiet"]
        subprocess.run(words, env=env, check=True, timeout=60)
    return local, env


@pytest.mark.parametrize("line", FORTY)
def test_a_command_prints_the_same_for_a_run_on_swift(run_fp, forty_runs, tmp_path, line):
    local, env = forty_runs
    here = output_of(run_fp, line, str(local), tmp_path / "out", env)
    assert here[0] == 0, here[2]
    assert output_of(run_fp, line, DEST + "/forty", tmp_path / "out", env) == here


def test_wrong_keys_regions_and_buckets_are_one_sentence(run_fp, fp, swift_env, recorded, pushed):
    def refused(dest: str = DEST, **env: str) -> str:
        done = run_fp("push", recorded, dest, env=swift_env | env)
        assert done.returncode in (1, 2) and done.stderr.count("\n") == 1
        return done.stderr

    assert "SignatureDoesNotMatch" in refused(AWS_SECRET_ACCESS_KEY="wrong")
    assert "SignatureDoesNotMatch" in refused(AWS_ACCESS_KEY_ID="nobody")
    assert "NoSuchBucket" in refused("s3://no-such-bucket/x")
    assert "demo" in fp("show", pushed, AWS_REGION="eu-west-1"), "the answer names the region"


def test_a_body_that_changes_on_the_way_is_refused_and_sent_again(
    run_fp, s3, swift, swift_env, recorded
):
    """The hash of the body is signed, so the server notices. No object is what was refused."""
    dest = "s3://bucket/flipped"
    with flipping(swift) as proxy:
        env = swift_env | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{proxy.server_port}"}
        done = run_fp("push", recorded, dest, env=env)
    assert done.returncode == 0, done.stderr
    start = f"flipped/{recorded.name}/"
    there = {k[len(start) :]: s3.get("bucket", k) for k in s3.keys("bucket", start)}
    assert there == files(recorded)
    assert {f"/bucket/{start}{name}" for name in there} <= proxy.refused.keys()
    for path, (status, text) in proxy.refused.items():
        assert status == 400, (path, status, text)
        assert b"BadDigest" in text or b"XAmzContentSHA256Mismatch" in text, (path, text)


def test_a_run_is_sent_while_it_is_recorded_and_is_whole_when_it_ends(
    footplate, fp, s3, swift_env, tmp_path
):
    runs = tmp_path / "sent"
    job = subprocess.Popen(
        [footplate, "run", "--dir", runs, "--name", "sent", "--interval", "20ms"]
        + ["--to", DEST, "--to-interval", "1s", "--", "sleep", "6"],
        env=swift_env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3.5)
    run = next(runs.glob("sent*"))
    assert json.loads(fp("show", f"{DEST}/{run.name}", "--json"))["status"] == "running"
    _, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    assert objects(s3, run.name) == files(run)


def test_a_prefix_is_listed_annotated_served_and_opened_in_python(
    footplate, fp, s3, recorded, swift_env, tmp_path
):
    """By its catalogue, which Swift lists and serves as it does runs."""
    dest = DEST + "/many"
    for i in range(3):
        shutil.copytree(recorded, tmp_path / f"demo-{i}")
        fp("push", tmp_path / f"demo-{i}", dest)

    def listed(*words: str, **env: str) -> dict[str, list[str]]:
        found = json.loads(fp("ls", "--dir", dest, "--json", *words, **env))
        return {x["path"].rpartition("/")[2]: x["tags"] for x in found}

    assert listed() == {"demo-0": [], "demo-1": [], "demo-2": []}
    fp("note", f"{dest}/demo-1", "--tag", "keep")
    fp("rm", "--yes", f"{dest}/demo-2")
    changed = {"demo-0": [], "demo-1": ["keep"]}
    assert listed(XDG_CACHE_HOME=str(tmp_path / "cold")) == listed("--rebuild") == changed
    assert not s3.keys("bucket", "a b+c/é~/many/demo-2/")

    with serving(footplate, dest, "--api-only", env=swift_env) as server:
        runs = {x["run"]: x["tags"] for x in server.api("/runs")}
        series = server.api("/runs/demo-0/series?metric=cpu.util&points=5")
    assert runs == changed and series[0]["v"]

    code = (
        "import sys, footplate\n"
        "print(sorted(footplate.runs(sys.argv[1], frames='table')['path']))\n"
        "print(footplate.open(sys.argv[1] + '/demo-0').info['status'])\n"
    )
    package = os.environ.get("FOOTPLATE_PYTHON", str(ROOT / "build/release/python"))
    done = subprocess.run(
        [sys.executable, "-c", code, dest],
        env=swift_env | {"PYTHONPATH": package, "FOOTPLATE_BIN": str(footplate)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{[f'{dest}/demo-0', f'{dest}/demo-1']}\nfinished\n"


def test_the_folder_goes_when_all_of_a_run_is_on_swift(footplate, fp, s3, swift_env, tmp_path):
    words = ["--to-only=16MiB", "--to-interval", "1s", "-i", "20ms", "--", "sh", "-c"]
    done = subprocess.run(
        [footplate, "run", "--dir", tmp_path / "runs", "--to", DEST + "/spool", *words]
        + ["sleep 3; exit 4"],
        env=swift_env, capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert not list((tmp_path / "runs").glob("*/run.json")), done.stderr
    (found,) = json.loads(fp("ls", "--dir", DEST + "/spool", "--json"))
    there = s3.keys("bucket", f"a b+c/é~/spool/{found['path'].rpartition('/')[2]}/")
    assert any(x.endswith("metrics.fp") for x in there)
    assert not [x for x in there if ".tail" in x or ".fp." in x], there


def test_a_large_file_goes_in_parts_and_is_read_in_ranges(fp, s3, recorded, pushed, tmp_path):
    """70 MiB: multipart on the way there, five ranges on the way back."""
    run = tmp_path / "large"
    shutil.copytree(recorded, run)
    body = bytes(range(256)) * (70 << 12)
    part = next(run.glob("node-*")) / "metrics.fp"
    old = part.read_bytes()
    part.write_bytes(old[:-16] + body + old[-16:])  # it still ends as a closed file does
    fp("push", run, DEST)
    made = Path(fp("pull", f"{DEST}/large", "--dir", tmp_path / "pulled").strip())
    assert files(made)[f"{part.parent.name}/metrics.fp"] == part.read_bytes()
