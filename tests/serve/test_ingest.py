# SPDX-License-Identifier: Apache-2.0
"""A hub receives runs: the protocol, who may do what, and hostile senders."""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import json
import os
import resource
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servekit import Answer, Server, end, first_line, serving, start, wait_for

WRITE, READ, CONTROL = "write-token-0123456789", "read-token-0123456789", "control-token-01234567"
SMALL = "small-token-0123456789"
MIB = 1 << 20


def bearer(token: str = WRITE) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def tokens_of(folder: Path) -> Path:
    tokens = folder / "tokens"
    tokens.write_text(
        f"read {READ}\ncontrol {CONTROL}\nwrite {WRITE} name=team\n"
        f"write {SMALL} name=small quota=300kB runs=small-*\n"
        "write fast-token-0123456789 name=fast rate=100kB/s\n"
    )
    tokens.chmod(0o600)
    return tokens


@pytest.fixture
def hub(footplate: Path, tmp_path: Path) -> Iterator[Server]:
    with serving(
        footplate, tmp_path / "hub", "--receive", "--token-file", tokens_of(tmp_path)
    ) as s:
        yield s


def make_run(s: Server, source: Path, run: str = "r", token: str = WRITE) -> Answer:
    return s.ask(
        f"/api/v1/ingest/{run}/run.json",
        "PUT",
        (source / "run.json").read_bytes(),
        If_None_Match="*",
        **bearer(token),
    )


def id_of(data: bytes) -> str:
    return data[40:56].hex()


def patch(
    s: Server, path: str, data: bytes, offset: int, file_id: str, token: str = WRITE, **more: str
) -> Answer:
    headers = {
        "Content_Type": "application/partial-upload",
        "Upload_Offset": str(offset),
        "Upload_Complete": "?0",
        "Footplate_File": file_id,
    }
    return s.ask(f"/api/v1/ingest/{path}", "PATCH", data, **(headers | more | bearer(token)))


def node_of(run: Path) -> Path:
    return next(run.glob("node-*"))


def growing(source: Path, size: int = 100_000) -> bytes:
    """What a file of a recorder may look like: its header, and what a reader has to bear."""
    return (node_of(source) / "metrics.fp").read_bytes()[:64] + os.urandom(size - 64)


def test_a_run_that_is_sent_part_by_part_is_the_same_to_the_byte(
    hub: Server, footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    source = own_runs / "one"
    assert make_run(hub, source).status == 201
    assert make_run(hub, source).status == 201  # the answer to the first may have been lost
    node = node_of(source)
    base = f"r/{node.name}"
    put = hub.ask(
        f"/api/v1/ingest/{base}/node.json", "PUT", (node / "node.json").read_bytes(), **bearer()
    )
    assert put.status == 204
    for file in sorted(node.glob("*.fp")):
        data = file.read_bytes()
        for at in range(0, len(data), 7000):
            answer = patch(hub, f"{base}/{file.name}", data[at : at + 7000], at, id_of(data))
            assert answer.status == 204, answer.body
            assert int(answer.headers["Upload-Offset"]) == min(at + 7000, len(data))
            shown = subprocess.run([footplate, "show", tmp_path / "hub/r"], capture_output=True)
            assert shown.returncode == 0, shown.stderr
        last = patch(hub, f"{base}/{file.name}", b"", len(data), id_of(data), Upload_Complete="?1")
        assert last.status == 204 and last.headers["Upload-Complete"] == "?1"
    for file in node.glob("*"):
        if file.name != "lock":
            assert (tmp_path / "hub/r" / node.name / file.name).read_bytes() == file.read_bytes()
    state = hub.ask(f"/api/v1/ingest/{base}", **bearer()).json
    size = (node / "metrics.fp").stat().st_size
    assert state["files"]["metrics.fp"] == {
        "size": size,
        "id": id_of((node / "metrics.fp").read_bytes()),
        "complete": True,
    }
    assert state["append_bytes"] == MIB


def test_a_part_at_another_offset_is_told_where_to_go_on(hub: Server, own_runs: Path) -> None:
    source = own_runs / "one"
    data = growing(source)
    make_run(hub, source)
    assert patch(hub, "r/node-n/metrics.fp", data[:1000], 0, id_of(data)).status == 204
    for offset in (0, 500, 2000):
        wrong = patch(hub, "r/node-n/metrics.fp", data[offset:3000], offset, id_of(data))
        assert wrong.status == 409 and wrong.headers["Upload-Offset"] == "1000"
        assert wrong.json["expected-offset"] == 1000 and wrong.json["provided-offset"] == offset
    other = patch(hub, "r/node-n/metrics.fp", data[1000:], 1000, "ab" * 16)
    assert other.status == 409 and "Upload-Offset" not in other.headers
    assert hub.ask("/api/v1/ingest/r/node-n/metrics.fp", **bearer()).headers["Upload-Offset"] == (
        "1000"
    )


def test_the_answer_to_a_part_has_the_age_of_what_is_not_durable(
    hub: Server, own_runs: Path
) -> None:
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one")
    at = "r/node-n/metrics.fp"
    assert int(patch(hub, at, data, 0, id_of(data)).headers["Footplate-Unsynced"]) > 0
    arrived = time.monotonic()

    def is_durable() -> bool:
        sent = time.monotonic()
        answer = patch(hub, at, b"", len(data), id_of(data))
        return sent - int(answer.headers["Footplate-Unsynced"]) / 1000 > arrived

    wait_for(is_durable, "the next sync of the hub", 30)


def test_a_part_before_its_run_is_not_found(hub: Server, own_runs: Path) -> None:
    data = growing(own_runs / "one")
    assert patch(hub, "r/node-n/metrics.fp", data[:99], 0, id_of(data)).status == 404
    assert hub.ask("/api/v1/ingest/r/node-n", **bearer()).status == 404


def test_tokens_do_what_they_are_for_and_nothing_else(hub: Server, own_runs: Path) -> None:
    source = own_runs / "one"
    assert make_run(hub, source, token=READ).status == 403
    assert make_run(hub, source, token=CONTROL).status == 403
    assert make_run(hub, source).status == 201
    for path in ("/api/v1/runs", "/api/v1/status", "/api/v1/runs/r", "/api/v1/files/r/run.json"):
        assert "only sends" in hub.error(path, 403, **bearer())
    assert hub.ask("/api/v1/ingest/r/run.json", **bearer()).status == 405
    wait_for(
        lambda: hub.ask("/api/v1/files/r/run.json", **bearer(READ)).status == 200,
        "the run in the list",
    )
    # Another token's run, and a name that is not among its own.
    assert make_run(hub, source, token="fast-token-0123456789").status == 403
    assert "other names" in make_run(hub, source, run="large-1", token=SMALL).json["error"]
    assert make_run(hub, source, run="small-1", token=SMALL).status == 201


def test_ten_wrong_tokens_are_enough(hub: Server, own_runs: Path) -> None:
    source = own_runs / "one"
    seen = [make_run(hub, source, token=f"wrong-token-{i:010}").status for i in range(12)]
    assert seen == [401] * 10 + [429] * 2


def test_a_large_body_with_a_wrong_token_counts_as_a_guess(hub: Server) -> None:
    head = (
        "PATCH /api/v1/ingest/r/node-n/metrics.fp HTTP/1.1\r\nHost: localhost\r\n"
        "Authorization: Bearer wrong-token-0123456789\r\nContent-Length: 900000\r\n\r\n"
    )
    seen = [hub.raw(head.encode(), hang_up=False).split()[1] for _ in range(12)]
    assert seen == [b"401"] * 10 + [b"429"] * 2


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd/run.json",
        "%2e%2e/run.json",
        "..%2f..%2fx/run.json",
        ".hidden/run.json",
        "r/node-..%2f..%2fx/metrics.fp",
        "r/node-n/lock",
        "r/received.json",
        "r/node-n/metrics.fp.tmp-1",
        "r/node-n/../run.json",
        "r" * 200 + "/run.json",
    ],
)
def test_a_foreign_path_is_refused(hub: Server, own_runs: Path, tmp_path: Path, path: str) -> None:
    make_run(hub, own_runs / "one")
    before = sorted(p for p in tmp_path.rglob("*"))
    data = (own_runs / "one" / "run.json").read_bytes()
    for method in ("PUT", "PATCH"):
        answer = hub.ask(f"/api/v1/ingest/{path}", method, data, **bearer())
        assert answer.status in (400, 404), (answer.status, answer.body)
    assert sorted(p for p in tmp_path.rglob("*")) == before


def test_a_link_in_the_hubs_folder_is_not_followed(
    hub: Server, own_runs: Path, tmp_path: Path
) -> None:
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one")
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "hub/r/node-n").mkdir()
    (tmp_path / "hub/r/node-n/metrics.fp").symlink_to(victim)
    (tmp_path / "hub/r/node-m").symlink_to(tmp_path)
    assert patch(hub, "r/node-n/metrics.fp", data, 0, id_of(data)).status in (400, 500)
    assert patch(hub, "r/node-m/metrics.fp", data, 0, id_of(data)).status in (400, 500)
    assert victim.read_text() == "untouched" and not (tmp_path / "metrics.fp").exists()
    answer = hub.ask("/api/v1/files/r/node-n/metrics.fp", **bearer(READ))
    assert answer.status == 404 and b"untouched" not in answer.body


def test_what_is_refused_leaves_nothing_on_the_disk(
    hub: Server, own_runs: Path, tmp_path: Path
) -> None:
    for i, body in enumerate((b"", b"no json", b"{}", b"{" + b" " * 300_000 + b"}")):
        answer = hub.ask(f"/api/v1/ingest/r{i}/run.json", "PUT", body, **bearer())
        assert answer.status in (400, 413), answer.body
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one")
    for i in range(5):
        at = f"r/node-n{i}/metrics.fp"
        assert patch(hub, at, data[1000:], 1000, id_of(data)).status == 409
        assert patch(hub, at, b"x" * 64, 0, id_of(data)).status == 400
    assert sorted(p.name for p in (tmp_path / "hub").rglob("*")) == [
        "r",
        "received.json",
        "run.json",
    ]
    for i in range(5):
        assert hub.ask(f"/api/v1/ingest/r/node-n{i}", **bearer()).status == 404


def test_a_huge_body_is_refused_before_it_is_sent(hub: Server) -> None:
    head = (
        "PATCH /api/v1/ingest/r/node-n/metrics.fp HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {WRITE}\r\nContent-Length: 99999999999\r\n\r\n"
    )
    answer = hub.raw(head.encode(), hang_up=False)
    assert b" 413 " in answer and b"Upload-Limit: max-append-size=1048576" in answer


def test_a_body_without_a_length_must_be_small(hub: Server) -> None:
    head = (
        "PATCH /api/v1/ingest/r/node-n/metrics.fp HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {WRITE}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    before = hub.memory()
    with hub.socket() as s, pytest.raises(OSError):
        s.sendall(head.encode())
        for _ in range(1000):
            s.sendall(body)
            time.sleep(0.001)
    assert hub.memory() - before < 8 * MIB


def test_a_bomb_is_not_unpacked(hub: Server, own_runs: Path, tmp_path: Path) -> None:
    if not shutil.which("zstd"):
        pytest.skip("SKIPPED: the zstd program is not installed")
    make_run(hub, own_runs / "one")
    bomb = subprocess.run(
        ["zstd", "-q", "-19", "-c"], input=bytes(512 * MIB), capture_output=True, check=True
    ).stdout
    long = subprocess.run(
        ["zstd", "-q", "--long=27", "-c"], input=os.urandom(MIB // 2), capture_output=True
    ).stdout
    before = hub.memory()
    bad = patch(hub, "r/node-n/metrics.fp", bomb, 0, "00" * 16, Content_Encoding="zstd")
    assert bad.status in (400, 413), bad.body
    for body in (long, b"no frame", bomb[:100], b""):
        bad = patch(hub, "r/node-n/metrics.fp", body, 0, "00" * 16, Content_Encoding="zstd")
        assert bad.status in (400, 413), (bad.status, bad.body)
    assert hub.memory() - before < 48 * MIB


def test_a_compressed_part_counts_its_plain_bytes(hub: Server, own_runs: Path) -> None:
    if not shutil.which("zstd"):
        pytest.skip("SKIPPED: the zstd program is not installed")
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one")
    packed = subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True).stdout
    answer = patch(hub, "r/node-n/metrics.fp", packed, 0, id_of(data), Content_Encoding="zstd")
    assert answer.status == 204 and int(answer.headers["Upload-Offset"]) == len(data)


def test_slow_bodies_are_bounded_and_others_are_served(hub: Server, own_runs: Path) -> None:
    head = (
        "PATCH /api/v1/ingest/r/node-n/metrics.fp HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {WRITE}\r\nContent-Length: {MIB}\r\n\r\n"
    )
    before = hub.memory()
    slow = [hub.socket() for _ in range(100)]
    refused = 0
    for s in slow:
        s.sendall(head.encode() + b"x")
    time.sleep(0.5)
    for s in slow:
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            refused += b" 503 " in s.recv(1000)
    assert refused == 100 - 64  # 64 MiB are promised; no more
    assert make_run(hub, own_runs / "one").status == 201  # a small body needs no promise
    assert hub.memory() - before < 32 * MIB
    for s in slow:
        s.close()
    wait_for(
        lambda: patch(hub, "r/node-n/metrics.fp", b"x" * 200_000, 0, "00" * 16).status == 400,
        "room for large bodies again",
    )


def test_a_quota_ends_with_507(hub: Server, own_runs: Path) -> None:
    make_run(hub, own_runs / "one", run="small-1", token=SMALL)
    data = growing(own_runs / "one", 400_000)
    first = patch(hub, "small-1/node-n/metrics.fp", data[:200_000], 0, id_of(data), SMALL)
    assert first.status == 204
    left = hub.ask("/api/v1/ingest/small-1/node-n", **bearer(SMALL)).json["quota_left_bytes"]
    assert 90_000 < left <= 100_000
    full = patch(hub, "small-1/node-n/metrics.fp", data[200_000:], 200_000, id_of(data), SMALL)
    assert full.status == 507 and int(full.headers["Retry-After"]) >= 60


def test_a_quota_counts_plain_bytes_of_whole_files_and_a_recount_frees_none(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    if not shutil.which("zstd"):
        pytest.skip("SKIPPED: the zstd program is not installed")
    tokens = tokens_of(tmp_path)

    def put(s: Server, name: str, size: int) -> Answer:
        plain = b"{" + b" " * (size - 2) + b"}"
        packed = subprocess.run(["zstd", "-q", "-c"], input=plain, capture_output=True, check=True)
        headers = {"Content_Encoding": "zstd"} | bearer(SMALL)
        return s.ask(f"/api/v1/ingest/small-1/{name}", "PUT", packed.stdout, **headers)

    with serving(footplate, tmp_path / "hub", "--receive", "--token-file", tokens) as s:
        make_run(s, own_runs / "one", run="small-1", token=SMALL)
        assert put(s, "findings.json", 400_000).status == 507
        assert put(s, "findings.json", 200_000).status == 204
        assert put(s, "report.json", 200_000).status == 507
    with serving(footplate, tmp_path / "hub", "--receive", "--token-file", tokens) as s:
        wait_for(lambda: put(s, "report.json", 200_000).status == 507, "the count of earlier runs")


def test_a_quota_counts_what_was_there_before(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    tokens = tokens_of(tmp_path)
    data = growing(own_runs / "one", 300_000)
    with serving(footplate, tmp_path / "hub", "--receive", "--token-file", tokens) as s:
        make_run(s, own_runs / "one", run="small-1", token=SMALL)
        patch(s, "small-1/node-n/metrics.fp", data[:200_000], 0, id_of(data), SMALL)
    with serving(footplate, tmp_path / "hub", "--receive", "--token-file", tokens) as s:

        def left() -> int:
            state = s.ask("/api/v1/ingest/small-1/node-n", **bearer(SMALL)).json
            return int(state["quota_left_bytes"])

        wait_for(lambda: left() <= 100_000, "the count of earlier runs")


def test_a_rate_is_kept(hub: Server, own_runs: Path) -> None:
    token = "fast-token-0123456789"
    make_run(hub, own_runs / "one", token=token)
    data = growing(own_runs / "one", 900_000)
    at, seen, begin = 0, [], time.monotonic()
    while at < 500_000:
        answer = patch(hub, "r/node-n/metrics.fp", data[at : at + 50_000], at, id_of(data), token)
        seen.append(answer.status)
        if answer.status == 204:
            at += 50_000
        else:
            assert answer.status == 429 and answer.headers["Retry-After"]
            time.sleep(0.1)
        assert time.monotonic() - begin < 30
    assert 429 in seen and time.monotonic() - begin > 2  # 500 kB less 200 at once, 100 kB a second


def test_a_full_disk_is_507_and_the_file_stays_a_prefix(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    process = subprocess.Popen(
        [footplate, "serve", tmp_path / "hub", "--port", "0", "--receive", "--token-file"]
        + [tokens_of(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )
    try:
        s = Server(process, first_line(process))
        make_run(s, own_runs / "one")
        data = growing(own_runs / "one", 300_000)
        assert patch(s, "r/node-n/metrics.fp", data[:60_000], 0, id_of(data)).status == 204
        full = patch(s, "r/node-n/metrics.fp", data[60_000:160_000], 60_000, id_of(data))
        assert full.status == 507 and str(tmp_path) not in full.json["error"]
        assert (tmp_path / "hub/r/node-n/metrics.fp").read_bytes() == data[:60_000]
        again = patch(s, "r/node-n/metrics.fp", data[60_000:90_000], 60_000, id_of(data))
        assert again.status == 204
    finally:
        end(process)


def test_two_writers_of_one_file_take_turns(hub: Server, own_runs: Path, tmp_path: Path) -> None:
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one", 400_000)

    def send() -> None:
        at = 0
        while at < len(data):
            part = data[at : at + 20_000]
            answer = patch(hub, "r/node-n/metrics.fp", part, at, id_of(data))
            assert answer.status in (204, 409), answer.body
            at = int(answer.headers["Upload-Offset"])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(send) for _ in range(4)]:
            done.result(timeout=60)
    assert (tmp_path / "hub/r/node-n/metrics.fp").read_bytes() == data


def test_many_senders_at_once_are_all_served(hub: Server, own_runs: Path, tmp_path: Path) -> None:
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one")
    before = hub.memory()

    def send(i: int) -> int:
        connection = hub.connect()
        try:
            for at in range(0, 20_000, 5_000):
                connection.request(
                    "PATCH",
                    f"/api/v1/ingest/r/node-n{i}/metrics.fp",
                    data[at : at + 5_000],
                    {
                        "Authorization": f"Bearer {WRITE}",
                        "Content-Type": "application/partial-upload",
                        "Upload-Offset": str(at),
                        "Footplate-File": id_of(data),
                    },
                )
                answer = Answer(connection.getresponse())
                if answer.status != 204:
                    return answer.status
            return 204
        finally:
            connection.close()

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        assert set(pool.map(send, range(300))) == {204}
    for i in range(300):
        assert (tmp_path / f"hub/r/node-n{i}/metrics.fp").read_bytes() == data[:20_000]
    assert hub.memory() - before < 64 * MIB


def test_files_are_read_by_ranges_with_a_tag(hub: Server, own_runs: Path) -> None:
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one")
    patch(hub, "r/node-n/metrics.fp", data, 0, id_of(data))
    path = "/api/v1/files/r/node-n/metrics.fp"
    wait_for(lambda: hub.ask(path, **bearer(READ)).status == 200, "the run in the list")
    whole = hub.ask(path, **bearer(READ))
    assert whole.body == data and whole.headers["Accept-Ranges"] == "bytes"
    part = hub.ask(path, Range="bytes=100-199", **bearer(READ))
    assert part.status == 206 and part.body == data[100:200]
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(data)}"
    assert hub.ask(path, Range="bytes=-50", **bearer(READ)).body == data[-50:]
    beyond = hub.ask(path, Range=f"bytes={len(data)}-", **bearer(READ))
    assert beyond.status == 416 and beyond.headers["Content-Range"] == f"bytes */{len(data)}"
    same = hub.ask(path, If_None_Match=whole.headers["ETag"], **bearer(READ))
    assert same.status == 304 and same.body == b""
    assert hub.ask("/api/v1/files/r/received.json", **bearer(READ)).status == 404


def test_a_token_that_is_revoked_stops_working(
    hub: Server, footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    def hub_token(*words: str) -> str:
        done = subprocess.run(
            [footplate, "hub", "token", *words, "--token-file", tmp_path / "tokens"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    token = hub_token("add", "--name", "new", "--quota", "5GiB", "--runs", "new-*")
    assert (tmp_path / "tokens").stat().st_mode & 0o777 == 0o600
    assert token not in hub_token("list") and "new-*" in hub_token("list")
    listed = json.loads(hub_token("list", "--json"))
    assert listed[-1]["name"] == "new" and listed[-1]["quota_bytes"] == 5 << 30
    time.sleep(3)  # the hub looks every second; asking for it would count as guessing
    assert make_run(hub, own_runs / "one", "new-1", token).status == 201
    hub_token("revoke", "new")
    wait_for(lambda: make_run(hub, own_runs / "one", "new-1", token).status == 401, "its end", 8)
    assert make_run(hub, own_runs / "one").status == 201  # the others still work


def test_tokens_that_are_made_at_once_are_all_in_the_file(footplate: Path, tmp_path: Path) -> None:
    words = [footplate, "hub", "token", "add", "--token-file", tmp_path / "tokens", "--name"]
    made = [
        subprocess.Popen([*words, f"n{i}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for i in range(16)
    ]
    tokens = [process.communicate()[0].decode().strip() for process in made]
    lines = (tmp_path / "tokens").read_text().splitlines()
    assert sorted(x.split()[1] for x in lines) == sorted(tokens) and len(set(tokens)) == 16


def test_a_hub_needs_a_write_token(footplate: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"read {READ}\n")
    done = subprocess.run(
        [footplate, "serve", tmp_path, "--port", "0", "--receive", "--token-file", tokens],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2 and "footplate hub token add" in done.stderr


def test_a_hub_takes_no_other_port_than_the_one_that_senders_know(
    footplate: Path, tmp_path: Path
) -> None:
    with contextlib.closing(socket.socket()) as taken:
        with contextlib.suppress(OSError):  # somebody has it already, which is as good
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", 7171))
            taken.listen()
        done = subprocess.run(
            [footplate, "serve", tmp_path, "--receive", "--token-file", tokens_of(tmp_path)],
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert done.returncode != 0 and "7171" in done.stderr, done.stderr


def test_without_receive_nothing_is_received(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    with serving(footplate, own_runs, "--token-file", tokens_of(tmp_path)) as s:
        assert "--receive" in make_run(s, own_runs / "one").json["error"]


def test_a_hub_killed_at_any_moment_goes_on_where_it_was(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    tokens = tokens_of(tmp_path)
    data = growing(own_runs / "one", 8 * MIB)
    port, at = "0", 0
    for round_ in range(6):
        process = start(
            footplate, "--port", port, tmp_path / "hub", "--receive", "--token-file", tokens
        )
        s = Server(process, first_line(process))
        port = str(s.port)
        assert make_run(s, own_runs / "one").status == 201
        if round_ < 5:
            threading.Timer(0.02 + 0.03 * round_, process.kill).start()
        try:
            at = int(
                s.ask("/api/v1/ingest/r/node-n/metrics.fp", **bearer()).headers["Upload-Offset"]
            )
            while at < len(data):
                answer = patch(s, "r/node-n/metrics.fp", data[at : at + 300_000], at, id_of(data))
                at = int(answer.headers["Upload-Offset"])
        except (OSError, http.client.HTTPException, TypeError) as error:
            assert round_ < 5, error
        if round_ < 5:
            process.wait(timeout=20)
            written = (tmp_path / "hub/r/node-n/metrics.fp").read_bytes() if at else b""
            assert data.startswith(written)
        else:
            end(process)
    assert (tmp_path / "hub/r/node-n/metrics.fp").read_bytes() == data
