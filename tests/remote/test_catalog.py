# SPDX-License-Identifier: Apache-2.0
"""The catalogue of a prefix: which runs it has, from a few requests."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_s3_stub import DEST, described

BASE = "bucket/team/runs/.footplate/1/"


@pytest.fixture
def fp(run_fp, stub_env):
    def call(*words, **env) -> str:
        done = run_fp(*words, env=stub_env | env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture
def ls(fp, stub, tmp_path) -> Callable[..., list[dict]]:
    """What `ls` lists with an empty cache; stub.log then has its requests."""
    turns = iter(range(1000))

    def call(*words) -> list[dict]:
        stub.log.clear()
        cache = str(tmp_path / f"cold-{next(turns)}")
        return json.loads(fp("ls", "--dir", DEST, "--json", *words, XDG_CACHE_HOME=cache))

    return call


def entries(stub) -> dict[str, dict]:
    """By the name of the run."""
    keys = [k for k in stub.objects if k.startswith(BASE + "day/")]
    return {Path(k).stem: json.loads(stub.objects[k].body) for k in sorted(keys)}


def packs(stub) -> list[str]:
    return sorted(k for k in stub.objects if k.startswith(BASE + "pack/"))


def copies(fp, recorded: Path, folder: Path, n: int) -> list[str]:
    names = []
    for i in range(n):
        run = folder / f"demo-{i}"
        shutil.copytree(recorded, run)
        about = json.loads((run / "run.json").read_text())
        about["start_ns"] += i * 1_000_000_000
        (run / "run.json").write_text(json.dumps(about))
        fp("push", run, DEST)
        names.append(run.name)
    return names


def asked_of_runs(stub) -> list[str]:
    """Requests about single runs."""
    found = [a.key + a.query.get("prefix", "") for a in stub.log]
    return [x for x in found if "/demo-" in x and ".footplate" not in x]


def test_ls_by_the_catalogue_prints_what_it_prints_without_and_asks_for_no_run(
    fp, ls, stub, recorded, tmp_path
):
    fp("note", described(recorded, tmp_path / "n"), "--tag", "paper", "--text", "a\tb\nc")
    copies(fp, tmp_path / "n" / recorded.name, tmp_path, 3)
    by_catalog = ls()
    assert asked_of_runs(stub) == [] and stub.counts()["list"] == 3
    for key in [k for k in stub.objects if k.startswith(BASE)]:
        del stub.objects[key]
    assert ls() == by_catalog and len(by_catalog) == 3
    assert len(asked_of_runs(stub)) >= 3


def test_a_packed_catalogue_is_two_lists_and_one_get(fp, ls, stub, recorded, tmp_path):
    names = copies(fp, recorded, tmp_path, 5)
    before = ls()
    assert ls("--rebuild") == before
    assert len(packs(stub)) == 1
    assert ls() == before
    assert stub.counts() == {"put": 0, "get": 1, "list": 3, "delete": 0}
    fp("push", tmp_path / names[0], DEST)
    assert ls() == before
    assert "demo-3" in fp("show", "demo-3", "--dir", DEST)


def test_days_that_are_over_are_packed_by_who_sends_a_run_and_their_entries_go(
    fp, ls, stub, recorded, tmp_path
):
    copies(fp, recorded, tmp_path, 3)
    before = ls()
    for key in [k for k in stub.objects if k.startswith(BASE + "day/")]:
        stub.objects[f"{BASE}day/2026-01-02/{Path(key).name}"] = stub.objects.pop(key)
    assert ls() == before
    fp("push", tmp_path / "demo-1", DEST)
    assert len(packs(stub)) == 1 and set(entries(stub)) == {"demo-1"}
    assert ls() == before
    assert asked_of_runs(stub) == []


def test_a_run_without_an_entry_appears_and_one_that_is_gone_does_not(
    fp, ls, stub, recorded, tmp_path
):
    copies(fp, recorded, tmp_path, 3)
    ls("--rebuild")
    start = "bucket/team/runs/"
    for key in [k for k in stub.objects if k.startswith(start + "demo-1/")]:
        stub.objects[key.replace("demo-1", "copied")] = stub.objects.pop(key)
    assert {Path(row["path"]).name for row in ls()} == {"demo-0", "copied", "demo-2"}
    assert {Path(row["path"]).name for row in ls("--rebuild")} == {"demo-0", "copied", "demo-2"}
    ls()
    assert not any("copied" in asked.key for asked in stub.log), "it is in the pack now"


def test_an_entry_whose_name_no_run_can_have_is_ignored(fp, ls, stub, recorded, tmp_path):
    """Of a large catalogue the names are not compared with a list of the prefix."""
    if not shutil.which("zstd"):
        pytest.skip("SKIPPED: the zstd program is not installed")
    copies(fp, recorded, tmp_path, 1)
    ls("--rebuild")
    (pack,) = packs(stub)
    unpack = ["zstd", "-q", "-d", "-c"]
    line = subprocess.run(unpack, input=stub.objects[pack].body, capture_output=True, check=True)
    rest = line.stdout.partition(b"\t")[2]
    names = [f"more-{i}" for i in range(4100)]
    lines = [name.encode() + b"\t" + rest for name in [*names, "../evil", ".hidden", "a b"]]
    (tmp_path / "pack").write_bytes(b"".join(sorted(lines)))
    packed = subprocess.run(
        ["zstd", "-q", "-c", tmp_path / "pack"], capture_output=True, check=True
    ).stdout
    stub.put(pack, packed)
    assert {r["path"].removeprefix(DEST + "/") for r in ls()} == {*names, "demo-0"}


def test_rm_and_note_change_the_catalogue(fp, ls, stub, recorded, tmp_path):
    copies(fp, recorded, tmp_path, 3)
    fp("rm", "--yes", f"{DEST}/demo-0")
    assert set(entries(stub)) == {"demo-1", "demo-2"}
    ls("--rebuild")
    fp("rm", "--yes", f"{DEST}/demo-1")
    fp("note", f"{DEST}/demo-2", "--name", "better")
    rows = ls()
    assert [(Path(r["path"]).name, r["name"]) for r in rows] == [("demo-2", "better")]
    assert entries(stub)["demo-1"] == {"removed": True}
    fp("push", tmp_path / "demo-1", DEST)
    assert len(ls()) == 2


def test_the_status_of_a_living_run_is_right(footplate, fp, ls, stub, stub_env, tmp_path):
    job = subprocess.Popen(
        [footplate, "run", "--quiet", "--dir", tmp_path / "r", "--name", "live"]
        + ["--to", DEST, "--to-interval", "1s", "--", "sleep", "60"],
        env=stub_env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + 30
        while not entries(stub) and time.monotonic() < until:
            time.sleep(0.1)
        assert next(iter(entries(stub).values()))["running"] is True
        assert [row["status"] for row in ls()] == ["running"]
        for stored in stub.objects.values():
            stored.changed -= 3600
        time.sleep(0.2)  # the shipper sends again, each second
        until = time.monotonic() + 30
        while ls()[0]["status"] != "running" and time.monotonic() < until:
            time.sleep(0.2)
        assert [row["status"] for row in ls("--rebuild")] == ["running"]
    finally:
        job.terminate()
        job.communicate(timeout=60)
    assert next(iter(entries(stub).values()))["running"] is False
    row = ls()[0]
    assert row["status"] == "interrupted" and row["nodes"][0]["why"] == "SIGTERM"
    assert asked_of_runs(stub) == []


def test_a_catalogue_that_cannot_be_read_hides_nothing(fp, ls, stub, recorded, tmp_path):
    copies(fp, recorded, tmp_path, 2)
    ls("--rebuild")
    whole = stub.objects[packs(stub)[0]].body
    for body in (b"no pack", whole[: len(whole) // 2], b""):
        stub.put(packs(stub)[0], body)
        assert len(ls()) == 2
    stub.faults = lambda asked: (403, "AccessDenied") if ".footplate" in asked.key else None
    stub.put(packs(stub)[0], whole)
    assert len(ls()) == 2
    key = next(k for k in stub.objects if k.startswith(BASE + "day/"))
    stub.faults = lambda asked: None
    stub.put(key, b"{")
    assert len(ls()) == 2
