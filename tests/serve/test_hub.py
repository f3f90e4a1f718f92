# SPDX-License-Identifier: Apache-2.0
"""The folder of a hub: what it uses, who did what, and what goes when it is old."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servekit import Server, serving, wait_for
from test_ingest import (
    CONTROL,
    READ,
    SMALL,
    WRITE,
    bearer,
    growing,
    id_of,
    make_run,
    patch,
    tokens_of,
)

DAY_S = 86400


@pytest.fixture
def hub(footplate: Path, tmp_path: Path) -> Iterator[Server]:
    with serving(
        footplate, tmp_path / "hub", "--receive", "--token-file", tokens_of(tmp_path)
    ) as s:
        yield s


def received(runs: Path, source: Path, name: str, days: float, by: str = "team") -> Path:
    """A run that came from elsewhere so many days ago."""
    run = runs / name
    shutil.copytree(source, run)
    (run / "received.json").write_text(json.dumps({"by": by}))
    when = time.time() - days * DAY_S
    for path in [*run.rglob("*"), run]:
        os.utime(path, (when, when))
    return run


def prune(footplate: Path, runs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [footplate, "hub", "prune", "--dir", runs, *words], capture_output=True, text=True
    )


def audit(runs: Path) -> list[dict[str, str | None]]:
    return [json.loads(line) for line in (runs / "audit.jsonl").read_text().splitlines()]


def kept_and_old(footplate: Path, own_runs: Path, runs: Path) -> None:
    """Two that are old, and one of each kind that stays."""
    source = own_runs / "one"
    for name, days in (("old", 91), ("older", 200), ("young", 89), ("tagged", 300)):
        received(runs, source, name, days)
    subprocess.run([footplate, "note", runs / "tagged", "--tag", "keep"], check=True)
    shutil.copytree(source, runs / "local")
    damaged = received(runs, source, "damaged", 300)
    (damaged / "run.json").write_text("{")
    living = received(runs, source, "living", 300)
    for file in living.glob("node-*/node.json"):
        node = json.loads(file.read_text())
        file.write_text(json.dumps(node | {"status": "running"}))
    for file in living.glob("node-*/*"):  # it sends data now
        os.utime(file)


STAYS = ["damaged", "living", "local", "tagged", "young"]


def names(runs: Path) -> list[str]:
    return sorted(p.parent.name for p in runs.glob("*/run.json"))


def test_old_runs_are_shown_first_and_then_removed(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "hub"
    kept_and_old(footplate, own_runs, runs)
    dry = prune(footplate, runs, "--keep", "90d", "--dry-run")
    assert dry.returncode == 0 and "would remove 2 runs" in dry.stdout, dry.stdout + dry.stderr
    assert dry.stdout.index("older") < dry.stdout.index("old ")
    assert names(runs) == sorted([*STAYS, "old", "older"]) and not (runs / "audit.jsonl").exists()
    done = prune(footplate, runs, "--keep", "90d", "--json")
    assert [r["run"] for r in json.loads(done.stdout)["runs"]] == ["older", "old"], done.stderr
    assert names(runs) == STAYS and not (runs / "old").exists()
    lines = audit(runs)
    assert [(x["by"], x["action"], x["run"]) for x in lines] == [
        ("hub prune", "prune", "older"),
        ("hub prune", "prune", "old"),
    ]
    again = prune(footplate, runs, "--keep", "90d")
    assert again.returncode == 0 and "removed 0 runs" in again.stdout


@pytest.mark.parametrize(
    "words", [[], ["--keep", "90"], ["--keep", "1h"], ["--keep", "90d", "extra"]]
)
def test_prune_needs_a_time_of_at_least_a_day(
    footplate: Path, own_runs: Path, tmp_path: Path, words: list[str]
) -> None:
    runs = tmp_path / "hub"
    received(runs, own_runs / "one", "old", 200)
    assert prune(footplate, runs, *words).returncode == 2
    assert names(runs) == ["old"]


def test_a_hub_with_keep_removes_old_runs_by_itself(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "hub"
    kept_and_old(footplate, own_runs, runs)
    with serving(
        footplate, runs, "--receive", "--token-file", tokens_of(tmp_path), "--keep", "90d"
    ) as s:
        wait_for(lambda: names(runs) == STAYS, "the removal of old runs")

        def listed() -> list[str]:
            return sorted(r["run"] for r in s.ask("/api/v1/runs", **bearer(READ)).json)

        wait_for(lambda: listed() == STAYS, "a list without them")
    assert {x["by"] for x in audit(runs)} == {"serve --keep"}
    refused = subprocess.run(
        [footplate, "serve", runs, "--port", "0", "--keep", "90d"], capture_output=True, text=True
    )
    assert refused.returncode == 2 and "--receive" in refused.stderr


def test_deletions_and_notes_are_in_the_audit_file_with_the_name_of_the_token(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    tokens = tokens_of(tmp_path)
    text = tokens.read_text().replace(CONTROL, f"{CONTROL} name=zoe")
    tokens.write_text(text)
    runs = tmp_path / "hub"
    received(runs, own_runs / "one", "r", 1)
    json_body = {"Content_Type": "application/json"}
    with serving(footplate, runs, "--receive", "--token-file", tokens) as s:
        notes = json.dumps({"name": "", "tags": ["x"], "text": ""}).encode()
        for token, status in ((READ, 403), (WRITE, 403), (CONTROL, 200)):
            said = s.ask("/api/v1/runs/r/notes", "POST", notes, **json_body, **bearer(token))
            assert said.status == status, said.body
        login = s.ask("/login", "POST", json.dumps({"token": CONTROL}).encode(), **json_body)
        cookie = {"Cookie": login.headers["Set-Cookie"].split(";")[0]}
        gone = s.ask("/api/v1/runs/r/delete", "POST", b'{"run": "r"}', **json_body, **cookie)
        assert gone.status == 200, gone.body
    assert [(x["by"], x["action"], x["run"]) for x in audit(runs)] == [
        ("zoe", "notes", "r"),
        ("zoe", "delete", "r"),
    ]
    text = (runs / "audit.jsonl").read_text()
    assert not any(token in text for token in (CONTROL, READ, WRITE))
    assert all(x["time"] and x["time"].endswith("Z") for x in audit(runs))


def test_the_list_has_the_size_and_the_sender_of_runs_and_the_status_what_all_use(
    hub: Server, own_runs: Path, tmp_path: Path
) -> None:
    data = growing(own_runs / "one", 200_000)
    for run, token in (("r", WRITE), ("small-1", SMALL)):
        assert make_run(hub, own_runs / "one", run, token).status == 201
        assert patch(hub, f"{run}/node-n/metrics.fp", data, 0, id_of(data), token).status == 204

    def listed() -> dict[str, tuple[int, str]]:
        rows = hub.ask("/api/v1/runs", **bearer(READ)).json
        return {r["run"]: (r["bytes"], r["owner"]) for r in rows if r["status"]}

    def whole() -> bool:
        found = listed()
        return len(found) == 2 and all(size >= 200_000 for size, _ in found.values())

    wait_for(whole, "both runs with their sizes")
    assert {run: owner for run, (_, owner) in listed().items()} == {"r": "team", "small-1": "small"}
    storage = hub.ask("/api/v1/status", **bearer(READ)).json["hub"]
    by_name = {x["name"]: x for x in storage["names"]}
    assert by_name["small"]["quota_bytes"] == 300_000 and by_name["team"]["quota_bytes"] is None
    assert by_name["small"]["used_bytes"] >= 200_000
    assert storage["used_bytes"] == sum(x["used_bytes"] for x in storage["names"])
    assert storage["free_bytes"] > 0


def test_without_receive_the_status_has_no_storage_of_a_hub(server: Server) -> None:
    assert server.api("/status")["hub"] is None


CLIENTS = 1000


def test_a_thousand_clients_at_once_are_all_served(
    hub: Server, own_runs: Path, tmp_path: Path
) -> None:
    """All are connected and have sent half of their request before the first one ends it."""
    make_run(hub, own_runs / "one")
    data = growing(own_runs / "one", 3000)
    head = (
        "PATCH /api/v1/ingest/r/node-n{}/metrics.fp HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {WRITE}\r\nContent-Type: application/partial-upload\r\n"
        f"Upload-Offset: 0\r\nFootplate-File: {id_of(data)}\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    before = hub.memory()
    clients = []
    for i in range(CLIENTS):
        s = socket.create_connection(("127.0.0.1", hub.port), timeout=60)
        s.sendall(head.format(i).encode() + data[:1500])
        clients.append(s)
    for s in clients:
        s.sendall(data[1500:])
    waiting = selectors.DefaultSelector()
    for s in clients:
        waiting.register(s, selectors.EVENT_READ)
    statuses: dict[bytes, int] = {}
    until = time.monotonic() + 60
    while waiting.get_map() and time.monotonic() < until:
        for key, _ in waiting.select(1):
            answer = key.fileobj.recv(4096)  # type: ignore[union-attr]
            status = answer.split()[1] if answer else b"closed"
            statuses[status] = statuses.get(status, 0) + 1
            waiting.unregister(key.fileobj)
    for s in clients:
        s.close()
    assert statuses == {b"204": CLIENTS}
    for i in range(CLIENTS):
        assert (tmp_path / f"hub/r/node-n{i}/metrics.fp").read_bytes() == data
    assert hub.memory() - before < 96 << 20
