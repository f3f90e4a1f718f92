# SPDX-License-Identifier: Apache-2.0
"""The files of runs over HTTP: which there are, their bytes, ranges and conditions, and who may."""

from __future__ import annotations

import itertools
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servekit import Answer, Server, serving

READ, CONTROL, WRITE = "read-token-0123456789", "control-token-01234567", "write-token-0123456789"
MIB = 1 << 20


@pytest.fixture
def files(footplate: Path, own_runs: Path, tmp_path: Path) -> Iterator[Server]:
    """A server of two runs with everything in their folders that is nobody's business."""
    for name in ("one", "two"):
        run = own_runs / name
        node = next(run.glob("node-*"))
        for path in ("received.json", "secret.txt", ".env"):
            (run / path).write_text("secret")
        for path in ("lock", "shipping.json", "metrics.fp.bak", "node.json.tmp-1"):
            (node / path).write_text("secret")
        (run / "derived").mkdir(exist_ok=True)
        (run / "derived" / "metrics.fp").write_text("secret")
        (node / "events-2.fp").symlink_to("/etc/passwd")
    (own_runs.parent / "run.json").write_text("secret")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"read {READ}\ncontrol {CONTROL}\nwrite {WRITE} name=w\n")
    tokens.chmod(0o600)
    with serving(footplate, own_runs, "--token-file", tokens, "--api-only") as s:
        yield s


def get(s: Server, path: str, token: str = READ, **headers: str) -> Answer:
    return s.ask(f"/api/v1/files{path}", **({"Authorization": f"Bearer {token}"} | headers))


def node_of(runs: Path, run: str = "one") -> Path:
    return next((runs / run).glob("node-*"))


def test_the_list_of_a_run_has_its_files_and_nothing_else(files: Server, own_runs: Path) -> None:
    said = get(files, "/one").json
    node = node_of(own_runs)
    assert said["run"] == "one" and abs(said["now_ns"] / 1e9 - time.time()) < 60
    names = [f["name"] for f in said["files"]]
    assert "run.json" in names and set(names) <= {"run.json", "findings.json", "report.html",
                                                  "report.json", "notes.json"}  # fmt: skip
    (told,) = said["nodes"]
    assert f"node-{told['node']}" == node.name and told["recorder"] in ("dead", "unknown")
    wanted = {p.name for p in node.glob("*.fp") if not p.is_symlink()} | {"node.json"}
    assert {f["name"] for f in told["files"]} == wanted
    for f in told["files"]:
        assert f["bytes"] == (node / f["name"]).stat().st_size
    texts = {f["name"]: f.get("text") for f in [*said["files"], *told["files"]]}
    assert texts["run.json"] == (own_runs / "one/run.json").read_text()
    assert texts["node.json"] == (node / "node.json").read_text()
    assert texts["metrics.fp"] is None


def test_all_runs_are_listed_in_pages(files: Server, own_runs: Path) -> None:
    for i in range(5):
        shutil.copytree(own_runs / "one", own_runs / f"copy-{i}", symlinks=True)
    time.sleep(0.6)  # the list of runs is read again
    whole = get(files, "").json
    assert [r["run"] for r in whole["runs"]] == [*(f"copy-{i}" for i in range(5)), "one", "two"]
    assert whole["next"] is None
    found, after = [], ""
    while after is not None:
        page = get(files, f"?limit=2&after={after}").json
        found += page["runs"]
        after = page["next"]
    assert [r["run"] for r in found] == [r["run"] for r in whole["runs"]]
    assert [r["files"] for r in found] == [r["files"] for r in whole["runs"]]
    assert get(files, "?limit=0").status == 400 and get(files, "?x=1").status == 400


def test_bytes_ranges_and_conditions(files: Server, own_runs: Path) -> None:
    node = node_of(own_runs)
    data = (node / "metrics.fp").read_bytes()
    path = f"/one/{node.name}/metrics.fp"
    whole = get(files, path)
    tag = whole.headers["ETag"]
    assert (whole.status, whole.body) == (200, data)
    assert whole.headers["Accept-Ranges"] == "bytes" and tag.startswith('"')
    listed = {f["name"]: f["etag"] for f in get(files, "/one").json["nodes"][0]["files"]}
    assert listed["metrics.fp"] == tag
    part = get(files, path, Range="bytes=10-19")
    assert (part.status, part.body, part.headers["ETag"]) == (206, data[10:20], tag)
    assert part.headers["Content-Range"] == f"bytes 10-19/{len(data)}"
    assert get(files, path, Range="bytes=-7").body == data[-7:]
    past = get(files, path, Range=f"bytes={len(data)}-")
    assert past.status == 416 and past.headers["Content-Range"] == f"bytes */{len(data)}"
    for headers in ({}, {"Range": "bytes=0-9"}):
        same = get(files, path, If_None_Match=tag, **headers)
        assert (same.status, same.body) == (304, b"") and same.headers["ETag"] == tag
        assert get(files, path, If_None_Match='"other"', **headers).status in (200, 206)
        assert get(files, path, If_Match=tag, **headers).status in (200, 206)
        lost = get(files, path, If_Match='"other"', **headers)
        assert lost.status == 412 and data[:9] not in lost.body
        assert get(files, path, If_Match=f"W/{tag}", **headers).status == 412
    assert get(files, path, If_Match="*").status == 200
    with (node / "metrics.fp").open("ab") as f:
        f.write(b"more")
    assert get(files, path, If_Match=tag).status == 412
    grown = get(files, path, If_None_Match=tag)
    assert grown.status == 200 and grown.headers["ETag"] != tag


def test_a_large_file_is_read_in_ranges(files: Server, own_runs: Path) -> None:
    node = node_of(own_runs)
    with (node / "metrics-2.fp").open("wb") as f:
        f.truncate(17 * MIB)
    path = f"/one/{node.name}/metrics-2.fp"
    assert get(files, path).status == 413
    part = get(files, path, Range="bytes=0-")
    assert part.status == 206 and len(part.body) == 16 * MIB
    assert part.headers["Content-Range"] == f"bytes 0-{16 * MIB - 1}/{17 * MIB}"


def test_parts_of_a_file_are_read_under_their_names(files: Server, own_runs: Path) -> None:
    node = node_of(own_runs)
    name = "metrics-3.fp.000000000000-00000004"
    (node / name).write_bytes(b"abcd")
    assert name in [f["name"] for f in get(files, "/one").json["nodes"][0]["files"]]
    assert get(files, f"/one/{node.name}/{name}").body == b"abcd"
    (node / "lock.000000000000-00000004").write_bytes(b"abcd")
    assert get(files, f"/one/{node.name}/lock.000000000000-00000004").status == 404


def test_foreign_paths_are_not_found(files: Server, own_runs: Path) -> None:
    node = node_of(own_runs).name
    paths = [
        "/nope", "/nope/run.json", "/..", "/../run.json", "/%2e%2e/run.json", "/..%2frun.json",
        "/.", "/one/../two/run.json", "/one/%2e%2e/run.json", "/one/..%2f..%2frun.json",
        "/one/received.json", "/one/secret.txt", "/one/.env", "/one/derived/metrics.fp",
        f"/one/{node}/lock", f"/one/{node}/shipping.json", f"/one/{node}/metrics.fp.bak",
        f"/one/{node}/node.json.tmp-1", f"/one/{node}/events-2.fp", f"/one/{node}/..%2frun.json",
        f"/one/{node}/%2e%2e/received.json", "/one/node-..%2f..%2ftwo/metrics.fp",
        f"/one/{node}", "/one/node-x/metrics.fp", f"/one/{node}/metrics.fp/x", "/one/metrics.fp",
        f"/one/{node}/run.json", "/one//run.json", f"/one/{node}/metrics.fp%00.json",
    ]  # fmt: skip
    for path in paths:
        answer = get(files, path)
        assert answer.status in (400, 404, 410), (path, answer.status, answer.body)
        assert b"secret" not in answer.body and b"root:" not in answer.body
        assert str(own_runs).encode() not in answer.body, path


def test_a_write_token_reads_nothing_and_no_token_neither(files: Server, own_runs: Path) -> None:
    node = node_of(own_runs).name
    for path in ("", "/one", "/one/run.json", f"/one/{node}/metrics.fp"):
        assert get(files, path, CONTROL).status == 200
        refused = get(files, path, WRITE)
        assert refused.status == 403 and "only sends runs" in refused.json["error"]
        assert files.ask(f"/api/v1/files{path}").status == 401
        for method in ("PUT", "POST", "PATCH", "DELETE"):
            bearer = {"Authorization": f"Bearer {CONTROL}"}
            assert files.ask(f"/api/v1/files{path}", method, b"x", **bearer).status == 405
    assert "secret" not in (own_runs / "one/run.json").read_text()


def test_a_file_that_is_being_written_is_answered_whole_or_not_at_all(
    files: Server, own_runs: Path
) -> None:
    """A tail begins again under the same name: an answer never has bytes of two of them."""
    tail = node_of(own_runs) / "metrics.tail"
    path = f"/one/{tail.parent.name}/metrics.tail"
    size = 8 * MIB
    writer = os.fork()
    if writer == 0:
        for i in range(10**9):
            with tail.open("wb", buffering=0) as f:
                f.write(bytes([65 + i % 26]) * size)
            time.sleep(0.02)
    try:
        seen = set()
        until = time.monotonic() + 1
        while time.monotonic() < until:
            answer = get(files, path)
            assert answer.status in (200, 404, 503), answer.body
            if answer.status == 200 and answer.body:
                assert answer.body.count(answer.body[:1]) == len(answer.body)
                seen.add(answer.body[0])
        assert len(seen) > 1
    finally:
        os.kill(writer, 9)
        os.waitpid(writer, 0)


def test_the_bytes_of_a_run_that_cannot_be_read_can_be_read(files: Server, own_runs: Path) -> None:
    (own_runs / "two/run.json").write_text("{")
    assert get(files, "/two/run.json").body == b"{"
    assert get(files, "/two").status == 200


def test_a_tail_is_never_listed_with_a_sealed_file_from_before_it(
    files: Server, own_runs: Path
) -> None:
    """Entries of a folder come in any order, while both files grow: first the sealed one."""
    node = next((own_runs / "one").glob("node-*"))
    pairs = [(node / f"events-{i}.fp", node / f"events-{i}.tail") for i in range(3, 40)]
    for path in itertools.chain(*pairs):
        path.touch()
    end = threading.Event()

    def grow() -> None:
        for n in itertools.count(1):
            for path in itertools.chain(*pairs):
                os.truncate(path, n)
            if end.is_set():
                return

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(600):
            answer = get(files, "/one")
            assert answer.status == 200, answer.body
            listed = answer.json["nodes"][0]["files"]
            bytes_of = {f["name"]: f["bytes"] for f in listed}
            for sealed, tail in pairs:
                assert bytes_of[tail.name] <= bytes_of[sealed.name]
    finally:
        end.set()
        writer.join()
