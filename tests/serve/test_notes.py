# SPDX-License-Identifier: Apache-2.0
"""Notes and removal of runs through the server: rights, hostile input, two writers."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from servekit import Answer, Server, serving, wait_for

READ, CONTROL = "read-token-0123456789", "control-token-0123456789x"
NOTES = {"name": "baseline", "tags": ["paper", "x y"], "text": "lr 0.01\nbatch 64"}


def post(s: Server, path: str, body: Any, **headers: str) -> Answer:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content_Type": "application/json"} | headers
    return s.ask(f"/api/v1/runs/{path}", "POST", text, **headers)


def test_notes_are_seen_at_once_in_the_run_and_in_the_list(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        before = s.api("/runs/one")
        assert before["tags"] == [] and before["note"] is None and before["control"]["edit"]
        answer = post(s, "one/notes", NOTES)
        assert answer.status == 200 and answer.json == NOTES
        now = s.api("/runs/one")
        assert (now["name"], now["tags"], now["note"]) == (
            "baseline",
            NOTES["tags"],
            NOTES["text"],
        )
        assert now["recorded_name"] == before["name"]
        assert now["data_version"] != before["data_version"]
        listed = next(r for r in s.api("/runs") if r["run"] == "one")
        assert listed["name"] == "baseline" and listed["tags"] == NOTES["tags"]


def test_findings_stay_valid_when_a_run_is_renamed(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        found = wait_for(
            lambda: (
                a.json
                if (a := s.ask("/api/v1/runs/one/findings")).status == 200
                and isinstance(a.json, list)
                else None
            ),
            "findings",
        )
        post(s, "one/notes", NOTES)
        again = wait_for(
            lambda: (
                a.json
                if (a := s.ask("/api/v1/runs/one/findings")).status == 200
                and isinstance(a.json, list)
                else None
            ),
            "findings",
        )
        assert again == found


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b'{"name": "x"}', b'{"name": null, "tags": [], "text": ""}',
        {"name": "a\nb", "tags": [], "text": ""}, {"name": "\u001b[31m", "tags": [], "text": ""},
        {"name": "x" * 201, "tags": [], "text": ""}, {"name": "", "tags": ["a"] * 2, "text": ""},
        {"name": "", "tags": [str(i) for i in range(33)], "text": ""},
        {"name": "", "tags": ["a,b"], "text": ""}, {"name": "", "tags": [["a"]], "text": ""},
        {"name": "", "tags": [], "text": "x" * 9000}, {**NOTES, "path": "../two"},
        b'{"name": "a\\u0000b", "tags": [], "text": ""}',
        b'{"name": "\xff", "tags": [], "text": ""}',
        b'{"name": "a", "name": "b", "tags": [], "text": ""}', b"[" * 60000,
    ],
)  # fmt: skip
def test_wrong_notes_are_refused_and_nothing_is_written(
    footplate: Path, own_runs: Path, body: Any
) -> None:
    with serving(footplate, own_runs) as s:
        assert post(s, "one/notes", body).status == 400
        assert not (own_runs / "one" / "notes.json").exists()
        assert post(s, "one/notes", b"x" * (1 << 17)).status == 413
        assert post(s, "..%2Ftwo/notes", NOTES).status == 404


def test_markup_in_notes_stays_text_in_the_report(footplate: Path, own_runs: Path) -> None:
    evil = "<script>alert(1)</script>"
    with serving(footplate, own_runs) as s:
        assert post(s, "one/notes", {"name": evil, "tags": [evil], "text": evil}).status == 200
        assert evil.encode() not in s.ask("/api/v1/runs/one/report.html").body


def test_of_many_writers_one_stays_whole(footplate: Path, own_runs: Path) -> None:
    def write(i: int) -> int:
        mine = {"name": f"n{i}", "tags": [f"t{i}"], "text": f"{i} " * 500}
        return post(s, "one/notes", mine).status

    with serving(footplate, own_runs) as s:
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(write, range(40))) == {200}
        left = json.loads((own_runs / "one" / "notes.json").read_text())
        i = left["name"][1:]
        assert left == {"name": f"n{i}", "tags": [f"t{i}"], "text": f"{i} " * 500}
        assert s.api("/runs/one")["name"] == left["name"]
    hidden = [p for p in (own_runs / "one").iterdir() if p.name.startswith(".")]
    assert not hidden  # no temporary file is left


def test_a_token_for_reading_changes_and_deletes_nothing(footplate: Path, own_runs: Path) -> None:
    tokens = own_runs.parent / "tokens"
    tokens.write_text(f"read {READ}\ncontrol {CONTROL}\n")
    with serving(footplate, own_runs, "--token-file", tokens) as s:
        reader = {"Authorization": f"Bearer {READ}"}
        assert post(s, "one/notes", NOTES).status == 401
        assert post(s, "one/delete", {"run": "one"}).status == 401
        assert post(s, "one/notes", NOTES, **reader).status == 403
        assert post(s, "one/delete", {"run": "one"}, **reader).status == 403
        seen = s.ask("/api/v1/runs/one", **reader).json
        assert seen["control"]["edit"] is False and seen["tags"] == []
        other = {"Authorization": f"Bearer {CONTROL}"}
        assert post(s, "one/notes", NOTES, **other).status == 200
        assert post(s, "one/delete", {"run": "one"}, **other).status == 200
    assert sorted(p.name for p in own_runs.iterdir()) == ["two"]


def test_without_control_nothing_is_changed(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs, "--control", "off") as s:
        assert post(s, "one/notes", NOTES).status == 403
        assert post(s, "one/delete", {"run": "one"}).status == 403


def test_other_pages_and_forms_cannot_delete(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        body = {"run": "one"}
        assert post(s, "one/delete", body, Origin="http://evil.example").status == 403
        assert post(s, "one/delete", body, Content_Type="text/plain").status == 403
        assert s.ask("/api/v1/runs/one/delete").status == 405
        assert post(s, "one/delete", {"run": "two"}).status == 400  # the name must be repeated
        assert post(s, "one/delete", b"").status == 400
        assert s.api("/runs/one")["run"] == "one"


def test_a_deleted_run_is_gone_at_once(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        s.api("/runs/one/stats")  # it is open
        answer = post(s, "one/delete", {"run": "one"})
        assert answer.status == 200 and answer.json == {"removed": "one"}
        assert [r["run"] for r in s.api("/runs")] == ["two"]
        assert s.ask("/api/v1/runs/one").status == 410
        assert not (own_runs / "one").exists()


def test_a_run_that_is_being_recorded_is_annotated_but_not_deleted(
    footplate: Path, tmp_runs: Path
) -> None:
    words = ["run", "--name", "live", "--quiet", "--dir", str(tmp_runs), "--", "sleep", "60"]
    child = subprocess.Popen([footplate, *words], env=os.environ)
    try:
        with serving(footplate, tmp_runs) as s:
            run = wait_for(lambda: [r for r in s.api("/runs") if r["live"]], "the run")[0]["run"]
            assert post(s, f"{run}/notes", NOTES).status == 200
            answer = post(s, f"{run}/delete", {"run": run})
            assert answer.status == 409 and "being recorded" in answer.json["error"]
            assert s.api(f"/runs/{run}")["name"] == "baseline"
    finally:
        child.terminate()
        child.wait(20)
