# SPDX-License-Identifier: Apache-2.0
"""Who may do what: tokens, sessions, names, origins, other users, TLS."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from servekit import Answer, Server, serving, wait_for

READ, CONTROL = "read-token-0123456789", "control-token-0123456789x"
STOP = b'{"set": "status"}'


@pytest.fixture(scope="module")
def guarded(footplate: Path, kept_runs: Path, tmp_path_factory: pytest.TempPathFactory):
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"# for the team\nread {READ}\n\ncontrol {CONTROL}\n")
    with serving(footplate, kept_runs, "--token-file", tokens) as s:
        yield s


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def post(s: Server, **headers: str) -> Answer:
    headers = {"Content_Type": "application/json"} | headers
    return s.ask("/api/v1/runs/run-0/control", method="POST", body=STOP, **headers)


def refused(footplate: Path, *words: str | Path, **env: str) -> str:
    done = subprocess.run(
        [footplate, "serve", "--port", "0", *words],
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ | env,
    )
    assert done.returncode in (1, 2), done.stderr
    return done.stderr


def test_without_a_token_nothing_of_the_api_is_told(guarded: Server) -> None:
    for path in ("/api/v1/runs", "/api/v1/status", "/api/v1/runs/run-0", "/api/v1/nothing"):
        assert "token is required" in guarded.error(path, 401)
    assert guarded.ask("/").status == 200  # the page itself is no secret
    assert b"<form" in guarded.ask("/login").body


def test_a_token_for_reading_reads_and_does_not_control(guarded: Server) -> None:
    assert guarded.ask("/api/v1/runs", **bearer(READ)).status == 200
    status = guarded.ask("/api/v1/status", **bearer(READ)).json
    assert status["rights"] == {"read": True, "control": False}
    answer = post(guarded, **bearer(READ))
    assert answer.status == 403 and "does not allow controlling" in answer.json["error"]


def test_a_token_for_control_does_both(guarded: Server) -> None:
    status = guarded.ask("/api/v1/status", **bearer(CONTROL)).json
    assert status["rights"] == {"read": True, "control": True}
    assert post(guarded, **bearer(CONTROL)).status == 409  # allowed, but the run has ended


def test_a_login_gives_a_session_that_scripts_cannot_read(guarded: Server) -> None:
    answer = guarded.ask(
        "/login", "POST", f'{{"token": "{READ}"}}'.encode(), Content_Type="application/json"
    )
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"footplate-{guarded.port}=") and READ not in cookie
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    session = cookie.split(";")[0]
    assert guarded.ask("/api/v1/runs", Cookie=f"other=1; {session}").status == 200
    assert guarded.ask("/api/v1/runs", Cookie=session[:-1] + "x").status == 401
    assert post(guarded, Cookie=session).status == 403


def test_the_form_logs_in_too(guarded: Server) -> None:
    answer = guarded.ask(
        "/login",
        "POST",
        f"token={CONTROL}".encode(),
        Content_Type="application/x-www-form-urlencoded",
    )
    assert answer.status == 303 and answer.headers["Location"] == "/"
    assert post(guarded, Cookie=answer.headers["Set-Cookie"].split(";")[0]).status == 409


def test_guessing_is_slowed_down(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs, env={"FOOTPLATE_TOKEN": CONTROL}) as s:
        session = (
            s.ask("/login", "POST", f"token={CONTROL}".encode()).headers["Set-Cookie"].split(";")[0]
        )
        wrong = [s.ask("/api/v1/runs", **bearer(f"{CONTROL[:-2]}{i:02}")).status for i in range(15)]
        assert wrong == [401] * 10 + [429] * 5
        limited = s.ask("/login", "POST", f"token={CONTROL}".encode())
        assert limited.status == 429 and limited.headers["Retry-After"]
        assert s.ask("/api/v1/runs", Cookie=session).status == 200  # who is in stays in


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
     "", "[::1", "localhost:80:80", "localhost@evil.example", "169.254.169.254"],
)  # fmt: skip
def test_another_name_than_ours_is_refused(server: Server, host: str) -> None:
    answer = server.get("/api/v1/runs", host)
    status = int(answer.split()[1])
    assert status in (400, 403), answer
    assert b"run-0" not in answer


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:7171"])
def test_names_of_this_machine_are_ours_whatever_the_port(server: Server, host: str) -> None:
    answer = server.get("/api/v1/runs", host)
    assert answer.startswith(b"HTTP/1.1 200")


def test_a_further_name_can_be_given(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs, "--host", "dash.example", "--host", "other.example") as s:
        assert s.ask("/api/v1/runs", Host="other.example").status == 200
        assert s.ask("/api/v1/runs", Host="third.example").status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_requests_of_other_pages_are_refused(server: Server, origin: str) -> None:
    assert post(server, Origin=origin).status == 403
    assert server.ask("/api/v1/runs", Origin=origin).status == 403
    assert server.ask("/login", "POST", b"token=x", Origin=origin).status == 403


def test_requests_of_our_own_page_are_answered(server: Server) -> None:
    origin = f"http://127.0.0.1:{server.port}"
    assert server.ask("/api/v1/runs", Origin=origin, Sec_Fetch_Site="same-origin").status == 200
    assert post(server, Origin=origin, Sec_Fetch_Site="same-origin").status == 409


def test_what_a_browser_says_of_other_sites_counts(server: Server) -> None:
    for site in ("cross-site", "same-site"):
        assert server.ask("/api/v1/runs", Sec_Fetch_Site=site, Sec_Fetch_Mode="cors").status == 403
        assert post(server, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 403
        assert server.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200


def test_a_form_of_another_page_cannot_control(server: Server) -> None:
    assert post(server, Content_Type="text/plain").status == 403
    assert post(server, Content_Type="application/x-www-form-urlencoded").status == 403


def test_control_can_be_off_for_everybody(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs, "--control", "off") as s:
        assert s.api("/status")["rights"]["control"] is False
        assert post(s).status == 403
    with serving(footplate, kept_runs, "--control", "off", env={"FOOTPLATE_TOKEN": CONTROL}) as s:
        assert post(s, **bearer(CONTROL)).status == 403


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_other_users_of_the_machine_are_turned_away(
    footplate: Path, kept_runs: Path, tmp_path: Path
) -> None:
    nobody = 65534
    copy = Path("/tmp") / f"footplate-peer-{os.getpid()}"
    shutil.copytree(kept_runs, copy)
    program = copy / "footplate"
    shutil.copy(footplate, program)
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
    as_other = ["setpriv", f"--reuid={nobody - 1}", "--clear-groups", "--"]
    ask = (
        "import http.client as h, sys\n"
        "c = h.HTTPConnection('127.0.0.1', int(sys.argv[1])); c.request('GET', '/api/v1/runs')\n"
        "print(c.getresponse().status)"
    )
    wrapper = copy / "serve-as-nobody"
    wrapper.write_text(
        f'#!/bin/sh\nexec setpriv --reuid={nobody} --clear-groups -- {program} "$@"\n'
    )
    wrapper.chmod(0o755)
    try:
        with serving(wrapper, copy) as s:
            other = subprocess.run(
                [*as_other, "/usr/bin/python3", "-c", ask, str(s.port)],
                capture_output=True,
                text=True,
            )
            assert other.stdout.strip() == "403", other.stderr
            assert s.ask("/api/v1/runs").status == 200  # root may
    finally:
        shutil.rmtree(copy)


# Asks and is gone before the server, which is stopped, has looked: the kernel then knows of the
# connection, but not of an owner.
HANG_UP = """
import socket, struct, sys
port, run, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]
body = b'{"set": "stop"}'
for _ in range(20):
    s = socket.create_connection(("127.0.0.1", port))
    head = f"POST /api/v1/runs/{run}/control HTTP/1.1\\r\\nHost: localhost\\r\\n"
    head += f"Content-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
    s.sendall(head.encode() + body)
    if how == "reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("how", ["close", "reset"])
def test_another_user_who_hangs_up_at_once_does_not_pass_for_root(
    footplate: Path, tmp_runs: Path, how: str
) -> None:
    job = subprocess.Popen(
        [footplate, "run", "-q", "--dir", tmp_runs, "--run", "victim", "--", "sleep", "60"],
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
    )
    try:
        wait_for(lambda: list(tmp_runs.glob("*/node-*/node.json")), "the run")
        with serving(footplate, tmp_runs) as s:
            assert s.api("/runs/victim")["status"] == "running"
            s.process.send_signal(signal.SIGSTOP)
            try:
                subprocess.run(
                    ["setpriv", "--reuid=65534", "--clear-groups", "--", "/usr/bin/python3", "-c",
                     HANG_UP, str(s.port), "victim", how],
                    check=True, timeout=30,
                )  # fmt: skip
                time.sleep(0.3)  # the last packets of the connections are answered
            finally:
                s.process.send_signal(signal.SIGCONT)
            wait_for(lambda: s.api("/status")["connections"] < 3, "the connections to be closed")
            time.sleep(0.3)
            assert job.poll() is None, "another user ended the job"
            assert s.api("/runs/victim")["status"] == "running"
            own = s.ask(
                "/api/v1/runs/victim/control",
                "POST",
                b'{"set": "stop"}',
                Content_Type="application/json",
            )
            assert own.status == 200, own.body  # the user may
            job.wait(20)
    finally:
        job.kill()
        job.wait()


def test_the_network_is_not_served_without_a_token(footplate: Path, kept_runs: Path) -> None:
    for address in ("0.0.0.0", "::", "192.0.2.1"):
        assert "a token is required" in refused(footplate, kept_runs, "--bind", address)
    assert "not a numeric IP address" in refused(footplate, kept_runs, "--bind", "example.org")


def test_wrong_tokens_are_told_at_the_start(
    footplate: Path, kept_runs: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    for text, words in [
        ("", "contains no token"),
        ("# nothing\n", "contains no token"),
        ("read short\n", "16 to 255 characters"),
        (f"{READ}\n", "'read TOKEN'"),
        (f"append {READ}\n", "'write TOKEN'"),
        (f"read {READ} more\n", "not 'more'"),
        (f"read {READ} quota=5GiB\n", "for write tokens only"),
    ]:
        tokens.write_text(text)
        said = refused(footplate, kept_runs, "--token-file", tokens)
        assert words in said and READ not in said
    assert "No such file" in refused(footplate, kept_runs, "--token-file", tmp_path / "none")
    assert "16 to 255" in refused(footplate, kept_runs, FOOTPLATE_TOKEN="short")


def test_tokens_that_other_users_could_have_written_are_refused(
    footplate: Path, kept_runs: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"control {CONTROL}\n")
    tokens.chmod(0o666)
    said = refused(footplate, kept_runs, "--token-file", tokens)
    assert "other users can write" in said
    if os.geteuid() != 0:
        pytest.skip("only root can make a file of another user")
    tokens.chmod(0o600)
    os.chown(tokens, 65534, 65534)
    assert "another user" in refused(footplate, kept_runs, "--token-file", tokens)


def test_with_a_token_it_listens_on_all_addresses(footplate: Path, kept_runs: Path) -> None:
    env = {"FOOTPLATE_TOKEN": CONTROL}
    with serving(footplate, kept_runs, "--bind", "0.0.0.0", env=env) as s:
        assert s.ask("/api/v1/runs").status == 401
        assert s.ask("/api/v1/runs", Host="10.1.2.3:99", **bearer(CONTROL)).status == 200
        assert s.ask("/api/v1/runs", Host="evil.example", **bearer(CONTROL)).status == 403


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_with_certificate_and_key(footplate: Path, kept_runs: Path, tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    with serving(footplate, kept_runs, "--tls-cert", cert, "--tls-key", key) as s:
        assert s.scheme == "https"
        assert len(s.api("/runs")) == 3
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", s.port)) as c, pytest.raises(ssl.SSLError):
            old.wrap_socket(c)
        assert b"run-0" not in s.raw(b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert "must be given together" in refused(footplate, kept_runs, "--tls-cert", cert)
    assert "matching PEM files" in refused(
        footplate, kept_runs, "--tls-cert", cert, "--tls-key", cert
    )
