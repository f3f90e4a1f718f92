# SPDX-License-Identifier: Apache-2.0
"""The server as its user meets it: started, asked, ended; its runs and what happens to them."""

from __future__ import annotations

import gzip
import http.client
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from servekit import Server, end, first_line, import_scene, serving, start, wait_for

# Its file does not fit into a page or two.
NOISY = """scene 1
node a cores=32 gpus=0 memory=244GiB
interval 500ms
* cpu.util cpu*   0s..8000s 50 noise 20
"""


def test_it_says_once_where_it_is_and_ends_at_ctrl_c(footplate: Path, kept_runs: Path) -> None:
    process = start(footplate, kept_runs, "--port", "0")
    line = first_line(process)
    assert line.startswith("footplate: dashboard at http://127.0.0.1:")
    assert line.endswith(f"/ (3 runs in {kept_runs})\n")
    assert end(process) == ""


def test_a_folder_that_is_not_there_is_named_and_shown_once_it_is(
    footplate: Path, kept_runs: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later"
    process = start(footplate, later, "--port", "0")
    assert process.stderr
    said = process.stderr.readline()
    s = Server(process, first_line(process))
    shutil.copytree(kept_runs, later)
    wait_for(lambda: len(s.api("/runs")) == 3, "runs of the new folder")
    assert end(process) == ""
    assert said == f"footplate: '{later}' does not exist yet; its runs will appear when it does\n"


def test_sigterm_ends_it_as_well_with_streams_open(footplate: Path, kept_runs: Path) -> None:
    process = start(footplate, kept_runs, "--port", "0")
    s = Server(process, first_line(process))
    connection = s.connect()
    connection.request("GET", "/api/v1/runs/run-0/live")
    assert connection.getresponse().status == 200
    process.send_signal(signal.SIGTERM)
    assert end(process) == ""


def test_a_port_that_is_taken_gives_the_next_with_a_word(footplate: Path, kept_runs: Path) -> None:
    with socket.socket() as taken:
        try:
            # as the server does: else a connection that ended there keeps the port for a minute
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", 7171))
            taken.listen()
        except OSError:
            pass  # somebody has it already, which is as good
        process = start(footplate, kept_runs)
        assert process.stderr
        said = process.stderr.readline()
        if "dashboard at" not in said:
            said += process.stderr.readline()
        end(process)
    assert "port 7171 is in use; using 71" in said
    assert "dashboard at http://127.0.0.1:71" in said


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(
    footplate: Path, server: Server
) -> None:
    done = subprocess.run(
        [footplate, "serve", "--port", str(server.port)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Address already in use" in done.stderr and done.stderr.count("\n") == 1


def test_the_page_has_its_policy_and_a_tag(server: Server) -> None:
    answer = server.ask("/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
    assert "http" not in policy and "*" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_file_of_the_page_comes_compressed_and_again_only_when_changed(server: Server) -> None:
    plain, small = server.ask("/"), server.ask("/", Accept_Encoding="gzip")
    if "ETag" not in plain.headers:
        pytest.skip("this build has no page")
    assert small.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(small.body) == plain.body
    again = server.ask("/", If_None_Match=plain.headers["ETag"])
    assert again.status == 304 and again.body == b""


def test_status_tells_of_the_server(server: Server, kept_runs: Path) -> None:
    status = server.api("/status")
    assert status["runs"] == 3
    assert status["folders"] == [str(kept_runs)]
    assert status["rights"] == {"read": True, "control": True}
    assert status["memory_bytes"] > 0 and status["cpu_s"] >= 0


def test_an_answer_that_is_kept_is_the_same_plain_and_compressed(server: Server) -> None:
    path = "/api/v1/runs/run-0/series?metric=cpu.&points=50"
    first, second = server.ask(path), server.ask(path)
    small = server.ask(path, Accept_Encoding="gzip")
    assert first.status == 200 and len(first.body) > 1400
    assert first.body == second.body == gzip.decompress(small.body)
    assert small.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in second.headers
    assert server.ask(path, If_None_Match=first.headers["ETag"]).status == 304


def test_head_has_the_headers_of_get_and_no_body(server: Server) -> None:
    get, head = (
        server.ask("/api/v1/runs/run-0/stats"),
        server.ask("/api/v1/runs/run-0/stats", method="HEAD"),
    )
    assert head.status == 200 and head.body == b""
    assert head.headers["Content-Length"] == str(len(get.body))


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nothing", 404, "page not found"),
        ("/api/v1/nothing", 404, "no such API path"),
        ("/api/v1/runs/none", 404, "no run 'none'"),
        ("/api/v1/runs/run-0/stats?wrong=1", 400, "unknown parameter 'wrong'"),
        ("/api/v1/runs/run-0/stats?from=x", 400, "'x' is not a whole number"),
        ("/api/v1/runs/run-0/stats?from=1&from=2", 400, "from is given twice"),
        ("/api/v1/runs/run-0/stats?from=%zz", 400, "malformed"),
        ("/api/v1/runs/run-0%00/stats", 400, "malformed"),
        ("/api/v1/runs/run-0/stats?" + "a" * 9000, 400, "longer than"),
    ],
)
def test_wrong_questions_get_one_sentence(
    server: Server, path: str, status: int, words: str
) -> None:
    assert words in server.error(path, status)


def test_other_methods_are_refused(server: Server) -> None:
    assert server.ask("/api/v1/status", method="POST", body=b"{}").status == 405
    assert server.ask("/api/v1/status", method="DELETE").status == 405
    assert server.ask("/", method="PUT", body=b"x").status == 405


def test_two_folders_with_the_same_name_in_them(
    footplate: Path, kept_runs: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(kept_runs / "run-1", other / "run-0")
    with serving(footplate, kept_runs, other) as s:
        runs = {r["run"]: r["folder"] for r in s.api("/runs")}
        assert runs == {
            "run-0": str(kept_runs),
            "run-1": str(kept_runs),
            "run-2": str(kept_runs),
            "run-0~2": str(other),
        }
        first = s.api("/runs/run-1/stats?all=1")
        assert s.api("/runs/run-0~2/stats?all=1") == first


def test_a_single_run_can_be_served(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs / "run-1") as s:
        assert [r["run"] for r in s.api("/runs")] == ["run-1"]


def test_a_folder_that_comes_later_is_seen(
    footplate: Path, kept_runs: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later"
    with serving(footplate, later) as s:
        assert s.api("/runs") == []
        shutil.copytree(kept_runs, later)
        wait_for(lambda: len(s.api("/runs")) == 3, "the runs to be listed")


def test_a_damaged_run_has_a_message_and_the_others_work(footplate: Path, own_runs: Path) -> None:
    (own_runs / "one" / "run.json").write_text("{ this is no JSON")
    with serving(footplate, own_runs) as s:
        runs = {r["run"]: r for r in s.api("/runs")}
        assert "error" in runs["one"] and runs["one"]["status"] is None
        assert "run.json" in s.error("/api/v1/runs/one/stats", 500)
        assert s.api("/runs/two/stats")


def test_a_run_that_vanishes_is_gone_and_the_others_work(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        before = s.api("/runs/two/stats?all=1")
        assert s.api("/runs/one/stats")
        shutil.rmtree(own_runs / "one")
        wait_for(
            lambda: s.ask("/api/v1/runs/one/stats").status == 410,
            "the server to see that it is gone",
        )
        assert "was removed" in s.error("/api/v1/runs/one/stats", 410)
        assert s.api("/runs/two/stats?all=1") == before
        wait_for(lambda: len(s.api("/runs")) == 1, "the list to forget it")
        assert "was removed" in s.error("/api/v1/runs/one/stats", 410)


def test_it_survives_the_deletion_of_everything(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        stream = s.connect()
        stream.request("GET", "/api/v1/runs/one/live")
        events = stream.getresponse()
        assert s.api("/runs/two/stats")
        shutil.rmtree(own_runs)
        wait_for(lambda: s.api("/runs") == [], "the empty list")
        assert b"was removed" in events.read()  # and then the stream ends
        assert s.api("/status")["runs"] == 0
        assert s.ask("/").status == 200


def test_files_that_are_cut_while_they_are_read_do_not_end_it(
    footplate: Path, own_runs: Path, tmp_path: Path
) -> None:
    noisy = tmp_path / "noisy.scene"
    noisy.write_text(NOISY)
    import_scene(footplate, noisy, own_runs / "noisy")
    file = own_runs / "noisy" / "node-a" / "metrics.fp"
    with serving(footplate, own_runs) as s:
        assert s.api("/runs/noisy/series?metric=cpu.&points=2")
        # It is mapped by now, and cut in the half second in which nobody looks for changes.
        os.truncate(file, 8192)
        answer = s.ask("/api/v1/runs/noisy/series?metric=cpu.util&entity=cpu31&points=10000")
        assert answer.status == 500 and "were truncated" in answer.json["error"], answer.body
        wait_for(
            lambda: s.ask("/api/v1/runs/noisy/series?metric=cpu.&points=3").status in (200, 404),
            "an answer from what is left",
        )
        assert s.api("/runs/two/stats")


def test_a_run_that_changes_has_another_version_and_other_answers(
    footplate: Path, own_runs: Path, kept_runs: Path
) -> None:
    with serving(footplate, own_runs) as s:
        before = s.api("/runs/one/stats?all=1")
        shutil.rmtree(own_runs / "one")
        shutil.copytree(kept_runs / "run-2", own_runs / "one")
        wait_for(lambda: s.api("/runs/one/stats?all=1") != before, "answers of the new files")


def test_findings_that_are_not_there_are_evaluated(footplate: Path, own_runs: Path) -> None:
    (own_runs / "one" / "findings.json").unlink(missing_ok=True)
    with serving(footplate, own_runs) as s:
        path = "/api/v1/runs/one/findings"
        wait_for(lambda: s.ask(path).status != 202, "the findings")
        found = s.ask(path).json
        assert len(found) > 10
        assert {"rule", "state", "title", "description", "plots"} <= found[0].keys()
        assert not (own_runs / "one" / "findings.json").exists()  # nothing is written there


def test_the_list_counts_the_issues_of_findings_json(footplate: Path, own_runs: Path) -> None:
    (own_runs / "one" / "findings.json").write_text(
        '{"version": "1", "rules": ['
        '{"rule": "A", "state": "issue", "severity": "warning", "findings": ['
        '{"message": "state: issue", "numbers": {"severity": "critical"}}]},'
        '{"rule": "B", "state": "clear", "severity": "critical"},'
        '{"rule": "C", "severity": "warning", "state": "issue"},'
        '{"rule": "D", "severity": "info", "state": "issue"}]}'
    )
    (own_runs / "two" / "findings.json").write_text('{"rules": [')
    with serving(footplate, own_runs) as s:
        runs = {r["run"]: r["findings"] for r in s.api("/runs")}
        assert runs == {
            "one": {"critical": 0, "warning": 2, "info": 1, "evaluated": 4},
            "two": None,
        }


def test_more_runs_are_asked_for_than_may_be_open(footplate: Path, own_runs: Path) -> None:
    for i in range(20):
        shutil.copytree(own_runs / "one", own_runs / f"copy-{i}")
    with serving(footplate, own_runs) as s:
        expected = s.api("/runs/one/stats?all=1")
        for i in range(20):
            assert s.api(f"/runs/copy-{i}/stats?all=1") == expected
        assert s.api("/status")["open_runs"] <= 8
        assert s.api("/runs/one/stats?all=1") == expected


def test_a_connection_serves_many_requests(server: Server) -> None:
    connection = server.connect()
    for _ in range(50):
        connection.request("GET", "/api/v1/runs/run-0/stats")
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    assert isinstance(connection, http.client.HTTPConnection) and connection.sock
    connection.close()
