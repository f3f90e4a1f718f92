# SPDX-License-Identifier: Apache-2.0
"""push, pull and reading over S3, against a server of our own that can be slow, busy and broken."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEST = "s3://bucket/team/runs"


@pytest.fixture
def fp(run_fp, stub_env):
    """Runs a command that must succeed; its stdout."""

    def call(*words, **env) -> str:
        done = run_fp(*words, env=stub_env | env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def files(folder: Path) -> dict[str, bytes]:
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    kept = ("lock", "shipping.json")  # they stay on the machine
    return {name: p.read_bytes() for name, p in found.items() if not name.endswith(kept)}


def objects(stub, run: str) -> dict[str, bytes]:
    start = f"bucket/team/runs/{run}/"
    return {k[len(start) :]: v.body for k, v in stub.objects.items() if k.startswith(start)}


def test_a_pushed_run_is_the_folder_key_for_key_and_byte_for_byte(fp, stub, recorded):
    assert fp("push", recorded, DEST).startswith(f"{recorded.name} is at {DEST} (")
    assert objects(stub, recorded.name) == files(recorded)


def test_a_second_push_sends_no_data_again(fp, stub, recorded):
    fp("push", recorded, DEST)
    stub.log.clear()
    fp("push", recorded, DEST)
    sent = [asked.key for asked in stub.log if asked.method == "PUT"]
    assert not any(key.endswith((".fp", ".tail")) for key in sent)


def test_opening_a_finished_run_costs_one_list_and_one_get_a_file_and_later_no_get(
    fp, stub, recorded, tmp_path
):
    fp("push", recorded, DEST, XDG_CACHE_HOME=str(tmp_path / "elsewhere"))
    stub.log.clear()
    fp("stats", f"{DEST}/{recorded.name}")
    assert stub.counts() == {"put": 0, "get": 3, "list": 1, "delete": 0}
    stub.log.clear()
    fp("stats", f"{DEST}/{recorded.name}")
    assert stub.counts() == {"put": 0, "get": 0, "list": 1, "delete": 0}


def test_ls_lists_the_runs_below_a_prefix(fp, stub, recorded):
    fp("push", recorded, DEST)
    rows = json.loads(fp("ls", "--dir", DEST, "--json"))
    assert [row["path"] for row in rows] == [f"{DEST}/{recorded.name}"]
    assert "demo" in fp("show", "last", "--dir", DEST)


def test_a_prefix_with_many_foreign_keys_is_not_listed_to_its_end(run_fp, stub, stub_env):
    for i in range(50):
        stub.put(f"bucket/team/runs/r{i}/x", b"")
    stub.page = 10
    done = run_fp("show", DEST, env=stub_env)
    assert done.returncode == 1 and "is not a run" in done.stderr
    assert stub.counts()["list"] == 1


def test_pull_gives_the_folder_back_byte_for_byte(fp, stub, recorded, tmp_path):
    fp("push", recorded, DEST)
    runs = tmp_path / "pulled"
    made = Path(fp("pull", f"{DEST}/{recorded.name}", "--dir", runs).strip())
    assert made == runs / recorded.name
    assert files(made) == files(recorded)
    assert fp("stats", made) == fp("stats", recorded)


def test_pull_refuses_names_that_are_not_of_a_run(fp, stub, recorded, tmp_path):
    fp("push", recorded, DEST)
    start = f"bucket/team/runs/{recorded.name}"
    for key in ("node-x/../../escape", "node-x/evil.sh", "derived/x", "node-.x/metrics.fp"):
        stub.put(f"{start}/{key}", b"x")
    fp("pull", f"{DEST}/{recorded.name}", "--dir", tmp_path / "pulled")
    assert files(tmp_path / "pulled" / recorded.name) == files(recorded)
    assert not (tmp_path / "escape").exists()


# The files of a run, one moment after the other: parts, more of them, joined, whole.
HEAD, MORE, REST = b"h" * 64, b"m" * 32, b"r" * 32
GROWING = [
    {"node.json": b"running", "metrics.fp.000000000000-00000040": HEAD, "metrics.tail": b"1"},
    {"node.json": b"running", "metrics.fp.000000000000-00000040": HEAD,
     "metrics.fp.000000000040-00000020": MORE, "metrics.tail": b"2"},
    {"node.json": b"running", "metrics.fp.000000000000-00000060": HEAD + MORE,
     "metrics.tail": b"2"},
    {"node.json": b"ended", "metrics.fp": HEAD + MORE + REST, "../findings.json": b"final"},
]  # fmt: skip


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_what_pull_fetches_of_a_run_that_grows_fits_together(fp, stub, recorded, tmp_path, moment):
    """The run goes on while one of its files is requested."""
    about = (recorded / "run.json").read_bytes()
    needs = {b"1": len(HEAD), b"2": len(HEAD + MORE)}
    left = 0

    def put(files: dict[str, bytes]) -> None:
        stub.objects.clear()
        stub.put("bucket/team/runs/grows/run.json", about)
        for name, body in files.items():
            key = name[3:] if name.startswith("../") else f"node-n/{name}"
            stub.put(f"bucket/team/runs/grows/{key}", body)

    def grow(asked) -> None:
        nonlocal left
        left -= asked.method == "GET" and "list-type" not in asked.query
        if left == 0:
            put(GROWING[moment + 1])

    for number in range(1, 7):
        put(GROWING[moment])
        left, stub.faults = number, grow
        runs, env = tmp_path / f"runs{number}", {"XDG_CACHE_HOME": str(tmp_path / f"c{number}")}
        fp("pull", f"{DEST}/grows", "--dir", runs, **env)
        made = files(runs / "grows")
        parts = sorted(v for k, v in made.items() if ".fp." in k)
        data = made.get("node-n/metrics.fp", b"".join(parts))
        assert data in (HEAD, HEAD + MORE, HEAD + MORE + REST), (number, made)
        assert len(data) >= needs.get(made.get("node-n/metrics.tail", b""), 0), (number, made)
        if made["node-n/node.json"] == b"ended" or "findings.json" in made:
            assert data.endswith(REST), (number, made)


# ---- a run that is being recorded


@pytest.fixture
def living(footplate, tmp_path):
    """A run that is recorded until the test ends; stop() ends it."""
    runs = tmp_path / "living"
    job = subprocess.Popen(
        [footplate, "run", "--dir", runs, "--name", "live", "--interval", "20ms", "--quiet"]
        + ["--", "sleep", "60"],
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while not list(runs.glob("live*/node-*/metrics.tail")) and time.monotonic() < until:
        time.sleep(0.05)
    run = next(runs.glob("live*"))
    time.sleep(1.5)

    def stop() -> None:
        if job.poll() is None:
            job.send_signal(signal.SIGINT)
            job.wait(30)

    yield run, stop
    stop()


def test_a_living_run_is_read_from_its_tail_and_parts_and_then_becomes_whole(fp, stub, living):
    run, stop = living
    fp("push", run, DEST)
    remote = f"{DEST}/{run.name}"
    keys = objects(stub, run.name)
    assert any(k.endswith("metrics.tail") for k in keys)
    assert any(".fp.000000000000-" in k for k in keys) and not any(k.endswith(".fp") for k in keys)
    shown = json.loads(fp("show", remote, "--json"))
    assert shown["status"] == "running"
    first = json.loads(fp("stats", remote, "--json"))
    time.sleep(1.2)
    fp("push", run, DEST)
    second = json.loads(fp("stats", remote, "--json"))
    assert second != first, "the tail that was sent later has more"
    stop()
    fp("push", run, DEST)
    assert objects(stub, run.name) == files(run)
    assert json.loads(fp("show", remote, "--json"))["status"] != "running"
    assert fp("stats", remote).replace(remote, str(run)) == fp("stats", run)


def into_parts(stub, there: str, body: bytes = b"") -> None:
    """A part becomes three, with its bytes or others."""
    (part,) = [k for k in stub.objects if k.startswith(there + "fp.0")]
    body = body or stub.objects.pop(part).body
    stub.objects.pop(part, None)
    for at, n in ((0, 20), (20, 20), (40, len(body) - 40)):
        stub.put(f"{there}fp.{at:012x}-{n:08x}", body[at : at + n])


@pytest.mark.parametrize("status", ["finished", "running"])
@pytest.mark.parametrize("parts_left", [0, 1, 2])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_file_that_becomes_whole_while_its_parts_are_fetched_is_read_whole(
    run_fp, fp, stub, stub_env, living, tmp_path, number, parts_left, status
):
    """Whichever request for a part comes too late, and however many parts are not removed yet: the
    last one goes first."""
    run, stop = living
    fp("push", run, DEST)
    stop()
    whole = next(run.glob("node-*/metrics.fp"))
    there = f"bucket/team/runs/{run.name}/{whole.parent.name}/metrics."
    into_parts(stub, there, whole.read_bytes())
    if status == "finished":
        node = whole.with_name("node.json")
        stub.put(there.replace("metrics.", "node.json"), node.read_bytes())
    left = number

    def close(asked) -> None:
        nonlocal left
        if left > 0 and asked.method == "GET" and asked.key.startswith(there + "fp.0"):
            left -= 1
        if left == 0:
            left = -1
            for key in sorted(k for k in stub.objects if k.startswith(there + "fp."))[parts_left:]:
                del stub.objects[key]
            stub.objects.pop(there + "tail", None)
            stub.put(there + "fp", whole.read_bytes())

    stub.faults = close
    env = stub_env | {"XDG_CACHE_HOME": str(tmp_path / "empty")}
    done = run_fp("show", f"{DEST}/{run.name}", "--json", env=env)
    assert done.returncode == 0 and left == -1, done.stderr
    shown, here = json.loads(done.stdout), json.loads(fp("show", run, "--json"))
    assert not [x for x in shown["losses"] if x["kind"] in ("damaged", "torn")], shown["losses"]
    assert shown["marks"] == here["marks"] != []
    assert shown["self"]["samples"] == here["self"]["samples"]


def test_a_tail_that_changes_before_it_can_be_fetched_is_no_damage(fp, stub, living):
    """Of a recorder that sends often, to a reader that is far away."""
    run, _ = living
    fp("push", run, DEST)
    asked_for = 0

    def change(asked) -> None:
        nonlocal asked_for
        if asked.method == "GET" and asked.key.endswith("metrics.tail"):
            asked_for += 1
            stub.put(asked.key, stub.objects[asked.key].body + b"x")

    stub.faults = change
    shown = json.loads(fp("show", f"{DEST}/{run.name}", "--json"))
    assert asked_for > 1 and shown["status"] == "running"
    assert not [x for x in shown["losses"] if x["kind"] == "damaged"], shown["losses"]


def test_a_node_whose_description_came_before_its_data_is_not_damaged(fp, stub, living):
    run, _ = living
    fp("push", run, DEST)
    start = f"bucket/team/runs/{run.name}/node-"
    for key in [k for k in stub.objects if k.startswith(start) and not k.endswith("/node.json")]:
        del stub.objects[key]
    shown = json.loads(fp("show", f"{DEST}/{run.name}", "--json"))
    assert shown["status"] == "running"
    assert not [x for x in shown["losses"] if x["kind"] == "damaged"], shown["losses"]
    fp("stats", f"{DEST}/{run.name}")


def test_a_part_of_a_killed_shipper_that_arrives_late_is_removed(fp, stub, living):
    """It was not there when the next shipper listed the parts."""
    run, stop = living
    fp("push", run, DEST)
    stop()
    late = f"bucket/team/runs/{run.name}/{next(run.glob('node-*')).name}/metrics.fp"

    def arrive(asked) -> None:
        if asked.method == "PUT" and asked.key == late:
            stub.put(f"{late}.{64:012x}-{16:08x}", b"x" * 16)

    stub.faults = arrive
    fp("push", run, DEST)
    assert objects(stub, run.name) == files(run)


@pytest.mark.parametrize("page", [2, 3, 4, 5])
def test_a_file_that_becomes_whole_between_two_pages_of_a_list_is_read_whole(
    run_fp, fp, stub, stub_env, living, tmp_path, page
):
    """Its parts are in the cache, so that nobody misses them on the server."""
    run, stop = living
    fp("push", run, DEST)
    stop()
    whole = next(run.glob("node-*/metrics.fp"))
    there = f"bucket/team/runs/{run.name}/{whole.parent.name}/metrics."
    into_parts(stub, there)
    env = stub_env | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run_fp("show", f"{DEST}/{run.name}", env=env).returncode == 0
    left, stub.page = page, 1

    def close(asked) -> None:
        nonlocal left
        if run.name + "/" in asked.query.get("prefix", ""):
            left -= 1
        if left == 0:
            left = -1
            for key in [k for k in stub.objects if k.startswith(there)]:
                del stub.objects[key]
            stub.put(there + "fp", whole.read_bytes())

    stub.faults = close
    done = run_fp("show", f"{DEST}/{run.name}", "--json", env=env)
    assert done.returncode == 0 and left < 0, done.stderr
    shown, here = json.loads(done.stdout), json.loads(fp("show", run, "--json"))
    assert not [x for x in shown["losses"] if x["kind"] == "damaged"], shown["losses"]
    assert shown["marks"] == here["marks"] != []


def test_all_keys_of_a_node_are_from_one_page_while_the_run_changes_all_the_time(
    run_fp, fp, stub, stub_env, living, tmp_path
):
    """At one of the requests for the list all files become whole; at each, something changes."""
    run, stop = living
    fp("push", run, DEST)
    stop()
    whole = next(run.glob("node-*/metrics.fp"))
    start = f"bucket/team/runs/{run.name}/"
    there = f"{start}{whole.parent.name}/"
    into_parts(stub, there + "metrics.")
    for key in [k for k in stub.objects if k.startswith(there)]:
        for i in range(6):
            stub.put(f"{start}node-n{i}/{key[len(there) :]}", stub.objects[key].body)
    before, stub.page = dict(stub.objects), 10
    lists = closing = 0

    def change(asked) -> None:
        nonlocal lists
        if "list-type" not in asked.query:
            return
        lists += 1
        stub.put(start + "report.html", str(lists).encode())
        parts = [k for k in stub.objects if "/metrics." in k]
        for key in parts if lists == closing else []:
            del stub.objects[key]
            stub.put(key.partition("metrics.")[0] + "metrics.fp", whole.read_bytes())

    stub.faults = change
    env = stub_env | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for closing in range(8):
        stub.objects, lists = dict(before), 0
        done = run_fp("show", f"{DEST}/{run.name}", "--json", env=env)
        assert done.returncode == 0 and closing <= lists <= 8, (lists, done.stderr)
        losses = json.loads(done.stdout)["losses"]
        assert not [x for x in losses if x["kind"] == "damaged"], (closing, losses)


def test_parts_that_a_killed_shipper_left_are_removed(fp, stub, living):
    run, stop = living
    fp("push", run, DEST)
    start = f"bucket/team/runs/{run.name}/"
    first = next(k for k in objects(stub, run.name) if "metrics.fp.0" in k)
    body = objects(stub, run.name)[first]
    stem = first.rsplit(".", 1)[0]
    left = [f"{stem}.{32:012x}-{16:08x}", f"{stem}.{len(body) + 99:012x}-{1:08x}"]
    for key, part in zip(left, (body[32:48], b"x"), strict=True):
        stub.put(start + key, part)
    fp("stats", f"{DEST}/{run.name}")
    fp("push", run, DEST)
    assert not set(left) & set(objects(stub, run.name))
    stop()
    fp("push", run, DEST)
    assert objects(stub, run.name) == files(run)


def test_a_run_is_sent_while_it_is_recorded_and_is_whole_when_it_ends(
    footplate, fp, stub, stub_env, tmp_path
):
    runs = tmp_path / "sent"
    job = subprocess.Popen(
        [footplate, "run", "--dir", runs, "--name", "sent", "--interval", "20ms"]
        + ["--to", DEST, "--to-interval", "1s", "--", "sleep", "5"],
        env=stub_env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    run = next(runs.glob("sent*"))
    assert json.loads(fp("show", f"{DEST}/{run.name}", "--json"))["status"] == "running"
    _, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    assert "very-secret" not in err
    assert objects(stub, run.name) == files(run)
    assert "libcurl" not in err


def test_set_says_that_object_storage_does_not_reach_a_recorder(run_fp, fp, stub_env, living):
    run, _ = living
    fp("push", run, DEST)
    done = run_fp("set", f"{DEST}/{run.name}", "stop", env=stub_env)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "is in object storage, which cannot reach its recorder" in done.stderr


def test_a_dead_endpoint_costs_the_job_nothing(run_fp, stub_env, tmp_path):
    env = stub_env | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
    words = ["run", "--dir", tmp_path, "--to", DEST, "--", "sh", "-c", "exit 7"]
    done = run_fp(*words, env=env)
    assert done.returncode == 7
    assert "not all of the run was sent" in done.stderr


def test_the_copy_of_a_living_run_in_a_local_folder_opens(fp, stub, living, tmp_path):
    """As `aws s3 cp --recursive` makes it: parts side by side are one file."""
    run, _ = living
    fp("push", run, DEST)
    copy = tmp_path / "copy" / run.name
    for name, body in objects(stub, run.name).items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(body)
    remote = f"{DEST}/{run.name}"
    there, here = (json.loads(fp("stats", x, "--json")) for x in (remote, copy))
    assert here == there


# ---- what goes wrong


def push_killed_at(footplate, stub, env, run, number: int) -> None:
    """The request of that number fails, and the shipper is killed in that moment."""
    started = []

    def fault(asked):
        if len(stub.log) == number:
            started[0].kill()
            return (500, "InternalError")
        return None

    stub.faults = fault
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with stub.lock:
        started.append(subprocess.Popen([footplate, "push", run, DEST], env=env, **quiet))
    started[0].wait(30)
    stub.faults = lambda asked: None


def test_a_push_that_is_killed_at_any_request_is_continued_and_ends_byte_for_byte(
    footplate, run_fp, stub, stub_env, recorded
):
    for number in range(1, 12):
        stub.objects.clear()
        stub.log.clear()
        push_killed_at(footplate, stub, stub_env, recorded, number)
        shown = run_fp("show", f"{DEST}/{recorded.name}", "--json", env=stub_env)
        absent = "No such file" in shown.stderr or "is not a run" in shown.stderr
        assert shown.returncode == 0 or absent, shown.stderr
        losses = json.loads(shown.stdout)["losses"] if shown.stdout else []
        broken = [x for x in losses if x["kind"] in ("damaged", "torn", "node_died")]
        assert not broken, (number, broken)
        done = run_fp("push", recorded, DEST, env=stub_env)
        assert done.returncode == 0, done.stderr
        assert objects(stub, recorded.name) == files(recorded)


def test_busy_answers_and_cut_connections_pass(fp, stub, recorded):
    turns = iter([(503, "SlowDown"), None, "cut", None, (500, "InternalError"), None] * 50)
    stub.faults = lambda asked: next(turns, None)
    fp("push", recorded, DEST)
    stub.faults = lambda asked: None
    assert objects(stub, recorded.name) == files(recorded)
    turns = iter(["cut", None, (503, "SlowDown"), None] * 50)
    stub.faults = lambda asked: next(turns, None)
    assert "demo" in fp("show", f"{DEST}/{recorded.name}")


def test_a_dead_endpoint_is_one_sentence(run_fp, stub_env, recorded):
    env = stub_env | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
    done = run_fp("push", recorded, DEST, env=env)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "refused" in done.stderr


def test_without_libcurl_it_is_one_sentence(run_fp, stub_env, recorded):
    env = stub_env | {"FOOTPLATE_CURL": "/nonexistent.so"}
    for words in (["push", recorded, DEST], ["show", f"{DEST}/x"]):
        done = run_fp(*words, env=env)
        assert done.returncode != 0 and "requires libcurl, which is not installed" in done.stderr


def described(run: Path, folder: Path, **members: object) -> Path:
    """A copy of the run with another description."""
    copy = folder / run.name
    shutil.copytree(run, copy)
    about = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(about | members))
    return copy


JOB = {"cluster": "west", "id": "6", "step": "0", "start_ns": 1_790_000_000_000_000_000}


@pytest.mark.parametrize("conditions", ["conditional", "refused", "ignored"])
@pytest.mark.parametrize("member", ["start_ns", "job", "cluster", "step", "job start"])
def test_two_jobs_with_one_run_id_do_not_mix(
    run_fp, fp, stub, stub_env, recorded, tmp_path, member, conditions
):
    stub.conditions, stub.ignores = conditions != "refused", conditions == "ignored"
    first = described(recorded, tmp_path / "a", job=JOB)
    other = {
        "start_ns": {"job": None, "start_ns": 1},
        "job": {"job": JOB | {"id": "7"}},
        "cluster": {"job": JOB | {"cluster": "east"}},
        "step": {"job": JOB | {"step": None}},
        "job start": {"job": JOB | {"start_ns": JOB["start_ns"] + 1}},
    }[member]
    fp("push", first, DEST)
    second = described(recorded, tmp_path / "b", **other)
    before = files(second)
    done = run_fp("push", second, DEST, env=stub_env)
    assert done.returncode == 1 and f"has another run called '{recorded.name}'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert objects(stub, recorded.name) == files(first) and files(second) == before


def test_nodes_of_one_job_with_folders_of_their_own_become_one_run(fp, stub, recorded, tmp_path):
    first = described(recorded, tmp_path / "a", job=JOB)
    second = described(recorded, tmp_path / "b", job=JOB, start_ns=JOB["start_ns"] + 5)
    node = next(second.glob("node-*"))
    node.rename(second / "node-other")
    fp("push", first, DEST)
    fp("push", second, DEST)
    both = files(second) | files(first)
    assert objects(stub, recorded.name) == both and len(both) > len(files(first))


def test_another_recorder_of_the_same_node_changes_nothing(
    run_fp, fp, stub, stub_env, recorded, tmp_path
):
    """Not even node.json, which is sent first."""
    fp("push", recorded, DEST)
    fp("run", "--quiet", "--dir", tmp_path / "b", "--", "true")
    other = next((tmp_path / "b").iterdir()).rename(tmp_path / recorded.name)
    (other / "run.json").write_bytes((recorded / "run.json").read_bytes())
    assert {x.name for x in other.iterdir()} <= {x.name for x in recorded.iterdir()}
    done = run_fp("push", other, DEST, env=stub_env)
    assert done.returncode == 1 and "from another recorder" in done.stderr
    assert objects(stub, recorded.name) == files(recorded)


def test_notes_go_there_and_back_and_are_changed_there(fp, stub, recorded, tmp_path):
    run = described(recorded, tmp_path / "a")
    remote = f"{DEST}/{run.name}"
    fp("note", run, "--name", "baseline", "--tag", "paper", "--text", "lr 0.01")
    fp("push", run, DEST)
    assert objects(stub, run.name) == files(run)
    assert fp("note", remote) == fp("note", run) == "name  baseline\ntag   paper\ntext  lr 0.01\n"
    shown = json.loads(fp("ls", "--dir", DEST, "--json"))
    assert shown[0]["name"] == "baseline" and shown[0]["tags"] == ["paper"]
    made = Path(fp("pull", remote, "--dir", tmp_path / "pulled").strip())
    assert files(made) == files(run)
    fp("note", run, "--tag", "again")
    fp("push", run, DEST)
    assert fp("note", remote) == fp("note", run)
    fp("note", remote, "--untag", "paper", "--name", "there")
    assert fp("note", remote) == "name  there\ntag   again\ntext  lr 0.01\n"


def test_rm_deletes_a_run_there_and_only_that_one(fp, stub, recorded, tmp_path):
    longer = tmp_path / f"{recorded.name}-2"  # its keys begin like those of the other
    shutil.copytree(recorded, longer)
    fp("push", recorded, DEST)
    fp("push", longer, DEST)
    stub.log.clear()
    fp("rm", "--yes", f"{DEST}/{recorded.name}")
    assert objects(stub, recorded.name) == {} and objects(stub, longer.name) == files(longer)
    first = next(asked for asked in stub.log if asked.method == "DELETE")
    assert first.key.endswith("/run.json"), "what is left after a cut is no run"


def test_a_run_that_is_sent_there_while_it_is_recorded_is_not_deleted(
    run_fp, fp, stub, stub_env, living
):
    run, _ = living
    fp("push", run, DEST)
    before = objects(stub, run.name)
    done = run_fp("rm", "--yes", f"{DEST}/{run.name}", env=stub_env)
    assert done.returncode == 1 and "is being recorded" in done.stderr
    assert objects(stub, run.name) == before


def test_without_conditional_writes_the_first_run_json_stays(run_fp, fp, stub, stub_env, recorded):
    stub.conditions = False
    stub.put(f"bucket/team/runs/{recorded.name}/run.json", b"{}")
    done = run_fp("push", recorded, DEST, env=stub_env)
    assert done.returncode == 1 and "has another run called" in done.stderr
    del stub.objects[f"bucket/team/runs/{recorded.name}/run.json"]
    fp("push", recorded, DEST)
    assert objects(stub, recorded.name) == files(recorded)


def test_no_secret_is_in_a_message_a_process_list_or_the_cache(
    footplate, run_fp, stub, stub_env, recorded, tmp_path
):
    env = stub_env | {"AWS_SESSION_TOKEN": "very-secret-token"}
    seen = []

    def look(asked):
        seen.append(Path(f"/proc/{push.pid}/cmdline").read_text())
        return (403, "AccessDenied") if asked.method == "PUT" else None

    stub.faults = look
    with stub.lock:
        push = subprocess.Popen(
            [footplate, "push", recorded, DEST],
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    out, err = push.communicate(timeout=30)
    assert push.returncode == 1 and "AccessDenied" in err and err.count("\n") == 1
    stub.faults = lambda asked: None
    assert run_fp("push", recorded, DEST, env=env).returncode == 0
    assert run_fp("stats", f"{DEST}/{recorded.name}", env=env).returncode == 0
    kept = [p.read_bytes() for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert kept and seen
    for text in [out, err, *seen, *map(str, kept), *map(str, files(recorded).values())]:
        assert "very-secret" not in text and "Signature=" not in text


def test_runs_are_not_recorded_to_s3(run_fp, stub, stub_env):
    done = run_fp("run", "--dir", DEST, "--require-recording", "--", "true", env=stub_env)
    assert done.returncode != 0 and "footplate push" in done.stderr
    assert stub.log == []


def test_the_cache_is_bounded_and_private(fp, stub, recorded, tmp_path):
    fp("push", recorded, DEST)
    fp("stats", f"{DEST}/{recorded.name}")
    objects_folder = tmp_path / "cache/footplate/objects"
    assert objects_folder.stat().st_mode & 0o777 == 0o700
    assert len(list(objects_folder.iterdir())) == 3
    copy = tmp_path / "renamed"
    shutil.copytree(recorded, copy)
    fp("push", copy, DEST)
    fp("stats", f"{DEST}/renamed", FOOTPLATE_CACHE_BYTES="1000")
    assert sum(p.stat().st_size for p in objects_folder.iterdir()) < 200_000


def test_an_object_of_the_same_size_does_not_take_the_place_of_another(fp, stub, recorded):
    """Neither one that replaced it later, nor one that comes between the listing and the GET."""
    fp("push", recorded, DEST)
    remote = f"{DEST}/{recorded.name}"
    key = f"bucket/team/runs/{recorded.name}/notes.json"

    def put(name: str) -> None:
        stub.put(key, json.dumps({"name": name, "tags": [], "text": ""}).encode())

    def replace(asked) -> None:
        if asked.key == key and asked.method == "GET":
            stub.faults = lambda asked: None
            put("B")

    put("X")
    assert fp("note", remote) == "name  X\n"
    put("A")
    stub.faults = replace
    assert fp("note", remote) == "name  B\n"
    put("A")
    assert fp("note", remote) == "name  A\n"


# ---- the other ways to read


def test_serve_shows_runs_of_a_prefix_and_the_page_gets_their_data(
    footplate, fp, stub, stub_env, recorded
):
    fp("push", recorded, DEST)
    server = subprocess.Popen(
        [footplate, "serve", DEST + "/", "--port", "0"],
        env=stub_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        words = server.stdout.readline().split()
        url = next(w for w in words if w.startswith("http")).rstrip("/")
        with urllib.request.urlopen(f"{url}/api/v1/runs", timeout=30) as answer:
            assert recorded.name in answer.read().decode()
        address = f"{url}/api/v1/runs/{recorded.name}/stats"
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert json.load(answer)
    finally:
        server.terminate()
        server.wait(30)


def test_python_opens_a_run_on_s3_and_lists_a_prefix(fp, stub, stub_env, recorded):
    package = ROOT / "build/release/python"
    if not package.exists():
        pytest.skip("the Python package is not built")
    fp("push", recorded, DEST)
    program = (
        "import footplate, sys\n"
        "place = sys.argv[1]\n"
        "print(list(footplate.runs(place, frames='table')['path']))\n"
        "with footplate.open(place + '/' + sys.argv[2]) as run: print(run.path)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, DEST, recorded.name],
        env=stub_env | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"['{DEST}/{recorded.name}']\n{DEST}/{recorded.name}\n"
