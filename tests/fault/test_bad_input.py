# SPDX-License-Identifier: Apache-2.0
"""Damaged, foreign and newer runs: a clear sentence or a note of the damage, never a crash."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import random
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultkit import LONG, Lab, assert_no_crash, assert_sentence

READERS = [
    ["show"],
    ["show", "--json"],
    ["stats"],
    ["query", "--metric", "cpu.util"],
    ["export"],
    ["export", "--format", "jsonl"],
]
by_name = pytest.mark.parametrize("words", READERS, ids=" ".join)


@pytest.fixture(scope="module")
def small_run(program_for_all: Path) -> Iterator[Path]:
    """A short run that ended as it should; each test takes a copy."""
    lab = Lab(program_for_all)
    assert lab.record("--interval", "100ms", "--node", "n", "--", "sleep", "1").returncode == 0
    (run,) = lab.run_folders()
    yield run
    lab.close()


@pytest.fixture(scope="module")
def torn_run(program_for_all: Path) -> Iterator[Path]:
    """A short run whose recorder was killed: its samples are in the tail."""
    lab = Lab(program_for_all)
    recording = lab.start("--interval", "100ms", "--node", "n", "--", "sleep", "2.5")
    job = recording.job_pid()
    with pytest.raises(subprocess.TimeoutExpired):
        recording.end(1.6)
    recording.process.kill()
    recording.end()
    (run,) = lab.run_folders()
    assert (run / "node-n" / "metrics.tail").stat().st_size > 100 and job
    yield run
    lab.close()


@pytest.fixture
def run(lab: Lab, small_run: Path) -> Path:
    lab.runs.mkdir()
    return Path(shutil.copytree(small_run, lab.runs / "small"))


# -- what the user asks for --


@by_name
def test_a_run_that_is_not_there_is_said_to_be_missing(lab: Lab, run: Path, words: list[str]):
    assert_sentence(lab.fp(*words, lab.runs / "gone"), 1, "gone")
    assert_sentence(lab.fp(*words, "gone"), 1, "no run called 'gone'")


@by_name
def test_a_folder_that_is_no_run_is_said_to_be_none(lab: Lab, words: list[str]):
    (lab.folder / "plain").mkdir()
    assert_sentence(lab.fp(*words, lab.folder / "plain"), 1, "plain", "not a run")


@by_name
def test_a_file_is_not_a_run(lab: Lab, words: list[str]):
    (lab.folder / "file").write_text("{}")
    assert_sentence(lab.fp(*words, lab.folder / "file"), 1, "file")


def test_commands_and_options_that_do_not_exist_get_a_sentence(lab: Lab):
    assert_sentence(lab.fp("recrod"), 2, "unknown command 'recrod'")
    assert_sentence(
        lab.fp("run", "--intervall", "1s", "--", "true"), 2, "unknown option --intervall"
    )
    assert_sentence(lab.fp("run", "--interval", "soon", "--", "true"), 2, "'soon'")
    assert lab.run_folders() == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "x" * 300])
def test_ids_that_would_leave_the_folder_for_runs_are_refused(lab: Lab, name: str):
    for option in ("--run", "--node"):
        if option == "--node" and name in (".", "..", ".hidden"):
            continue  # "node-.." is a harmless name
        done = lab.record(option, name, "--", "touch", "ran")
        assert done.returncode in (1, 2) and done.stderr.count("\n") == 1, done.stderr
        assert not (lab.folder / "ran").exists()
    assert lab.run_folders() == []


# -- run.json and node.json --

DAMAGED_JSON = {
    "empty": b"",
    "cut": b'{"format": "footplate-run", "format_ver',
    "list": b"[]",
    "number": b"7",
    "other": b'{"hello": "world"}',
    "binary": bytes(range(256)),
    "wrong types": b'{"format_version": 1, "command": 5, "labels": [], "start_ns": "x"}',
    "deep": b"[" * 100_000,
    "huge number": b'{"format_version": 99999999999999999999999999}',
}


@pytest.mark.parametrize("kind", DAMAGED_JSON)
def test_a_damaged_run_json_gets_a_sentence(lab: Lab, run: Path, kind: str):
    (run / "run.json").write_bytes(DAMAGED_JSON[kind])
    for words in READERS:
        done = lab.fp(*words, run)
        assert_no_crash(done)
        if kind != "wrong types":
            assert_sentence(done, 1, "run.json")
    done = lab.fp("ls")
    assert_no_crash(done)
    assert "small" in done.stdout, "one damaged run does not hide from the list"


@pytest.mark.parametrize("kind", DAMAGED_JSON)
def test_a_damaged_node_json_leaves_the_samples_readable(lab: Lab, run: Path, kind: str):
    before = lab.fp("export", run).stdout
    (run / "node-n" / "node.json").write_bytes(DAMAGED_JSON[kind])
    for words in READERS:
        assert_no_crash(lab.fp(*words, run))
    done = lab.fp("export", run)
    assert done.returncode == 0
    assert done.stdout == before


@by_name
def test_a_run_of_a_newer_version_is_refused_in_one_sentence(lab: Lab, run: Path, words: list[str]):
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(about | {"format_version": 99}))
    assert_sentence(lab.fp(*words, run), 1, "version 99", "newer")


def xxh3(data: bytes) -> int:
    name = ctypes.util.find_library("xxhash")
    if not name:
        pytest.skip("libxxhash is not installed")
    function = ctypes.CDLL(name).XXH3_64bits
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return int(function(data, len(data)))


def with_version(header: bytes, major: int, minor: int) -> bytes:
    """The 64 bytes at the start of a file, with other version numbers and the right checksum."""
    head = header[:8] + struct.pack("<HH", major, minor) + header[12:56]
    return head + struct.pack("<Q", xxh3(head))


@by_name
def test_samples_of_a_newer_version_are_refused_in_one_sentence(
    lab: Lab, run: Path, words: list[str]
):
    file = run / "node-n" / "metrics.fp"
    data = file.read_bytes()
    assert with_version(data[:64], 1, 0) == data[:64], "this is how the header is made"
    file.write_bytes(with_version(data[:64], 2, 0) + data[64:])
    assert_sentence(lab.fp(*words, run), 1, "version 2", "newer")


def test_samples_of_a_newer_minor_version_are_read(lab: Lab, run: Path):
    before = lab.fp("export", run).stdout
    file = run / "node-n" / "metrics.fp"
    data = file.read_bytes()
    file.write_bytes(with_version(data[:64], 1, 7) + data[64:])
    done = lab.fp("export", run)
    assert (done.returncode, done.stdout) == (0, before)


# -- metrics.fp --


def samples_of(lab: Lab, run: Path) -> Counter:
    """How often each series has each value. Without times: a file whose header is damaged has to
    take the wall clock from elsewhere, some ns off."""
    done = lab.fp("export", run)
    assert_no_crash(done)
    rows = (line.rsplit(",", 2) for line in done.stdout.splitlines()[1:])
    return Counter((series, value) for series, _, value in rows)


def spots(size: int, many: int) -> list[int]:
    """Offsets to break a file at: the edges, and some of all the others; all of them if long."""
    if LONG:
        return list(range(size))
    edges = [0, 1, 7, 8, 15, 63, 64, 65, 111, 112, size - 17, size - 16, size - 8, size - 1]
    rest = random.Random(7).sample(range(size), min(many, size))
    return sorted({x for x in [*edges, *rest] if 0 <= x < size})


def check_damaged(lab: Lab, run: Path, whole: Counter, what: str) -> None:
    shown = lab.fp("show", run, "--json")
    assert_no_crash(shown)
    if shown.returncode != 0:
        assert_sentence(shown, shown.returncode)
        return
    kinds = {x["kind"] for x in json.loads(shown.stdout)["losses"]}
    left = samples_of(lab, run)
    assert left <= whole, f"{what}: samples appeared that were never recorded"
    if left != whole:
        noted = kinds & {"damaged", "torn", "recorder-died"}
        assert noted, f"{what}: samples are missing and nothing says so"


@pytest.mark.parametrize("name", ["metrics.fp", "metrics.tail"])
def test_a_file_cut_off_anywhere_reads_up_to_there(
    lab: Lab, small_run: Path, torn_run: Path, name: str
):
    lab.runs.mkdir()
    run = Path(shutil.copytree(small_run if name == "metrics.fp" else torn_run, lab.runs / "cut"))
    file = run / "node-n" / name
    data, whole = file.read_bytes(), samples_of(lab, run)
    assert whole
    for at in spots(len(data), 120):
        file.write_bytes(data[:at])
        check_damaged(lab, run, whole, f"cut at {at} of {len(data)}")


@pytest.mark.parametrize("name", ["metrics.fp", "metrics.tail"])
def test_a_flipped_bit_is_caught_and_the_rest_reads(
    lab: Lab, small_run: Path, torn_run: Path, name: str
):
    lab.runs.mkdir()
    run = Path(shutil.copytree(small_run if name == "metrics.fp" else torn_run, lab.runs / "bit"))
    file = run / "node-n" / name
    data, whole = file.read_bytes(), samples_of(lab, run)
    chance, kept = random.Random(8), 0
    for at in spots(len(data), 150):
        broken = bytearray(data)
        broken[at] ^= 1 << chance.randrange(8)
        file.write_bytes(broken)
        check_damaged(lab, run, whole, f"bit flipped in byte {at} of {len(data)}")
        kept += bool(samples_of(lab, run))
    assert kept > len(spots(len(data), 150)) // 2, "one bit must not cost the whole file"


def test_damage_is_shown_to_people(lab: Lab, run: Path):
    file = run / "node-n" / "metrics.fp"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)
    done = lab.fp("show", run)
    assert done.returncode == 0
    assert "checksum" in done.stdout


def test_garbage_behind_the_end_of_a_file_does_not_hide_it(lab: Lab, run: Path):
    whole = samples_of(lab, run)
    with (run / "node-n" / "metrics.fp").open("ab") as file:
        file.write(random.Random(9).randbytes(5000))
    check_damaged(lab, run, whole, "garbage at the end")
    assert samples_of(lab, run) == whole


def test_a_node_without_samples_does_not_hide_the_others(lab: Lab, run: Path):
    shutil.copytree(run / "node-n", run / "node-broken")
    (run / "node-broken" / "metrics.fp").write_bytes(b"not at all")
    whole = [x for x, _ in samples_of(lab, run) if x.startswith("n,")]
    assert len(whole) > 20
    shown = lab.show(run)
    assert {n["id"] for n in shown["nodes"]} == {"n", "broken"}
    assert any(x["kind"] == "damaged" and x["node"] == "broken" for x in shown["losses"])
