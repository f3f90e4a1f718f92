# SPDX-License-Identifier: Apache-2.0
"""Actions: what is done when a rule's answer changes, and that nothing they do disturbs the run."""

from __future__ import annotations

import email
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faultkit import Lab, compile_library, is_alive, wait_for
from listeners import dead_port, mail_server, silent, webhook

RULE = "MaxInitializationTime"
# A rule that finds something with the first step of any job, looked at every second.
SOON = ("--scan-interval", "1s", "--set", f"{RULE}.threshold=0")
Act = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def act(lab: Lab, train: Path) -> Act:
    """act(actions): records a job of some seconds with those actions in its footplate.yaml."""

    def run(actions: str, *words: object, job: tuple[str, ...] = (), **options: object):
        if "rules:" not in actions:
            actions = actions.replace("  - do:", f"  - rules: [{RULE}]\n    do:")
        (lab.folder / "footplate.yaml").write_text(f"actions:\n{actions}")
        usual = ("sh", "-c", f"{train} --seconds 1.6 >/dev/null; exit 7")
        return lab.record(*SOON, *words, "--", *(job or usual), **options)

    return run


def test_a_webhook_gets_the_verdict_with_a_text_for_chat_programs(lab, act):
    with webhook() as hook:
        done = act(
            f"  - on: [issue]\n    rules: [{RULE}]\n    do: webhook\n"
            f"    url: http://127.0.0.1:{hook.port}/services/T0/secret?x=1\n",
            "--name",
            "demo",
        )
    assert done.returncode == 7
    (post,) = hook.posts
    assert hook.paths == ["/services/T0/secret?x=1"]
    assert hook.heads[0]["Content-Type"] == "application/json"
    assert post["event"] == "issue" and post["rule"] == RULE and post["run"] == "demo"
    assert post["text"].startswith("Footplate: ") and RULE in post["text"]
    assert post["verdict"]["findings"][0]["message"] in post["text"]
    assert post["verdict"]["params"]["threshold"] == 0
    (mark,) = lab.marks("action")
    assert mark["text"] == f"webhook 127.0.0.1:{hook.port}: {RULE} issue"
    assert "secret" not in done.stderr
    for path in lab.run_folders()[0].rglob("*"):
        assert path.is_dir() or b"T0/secret" not in path.read_bytes()


def test_a_rule_that_finds_something_is_a_line_and_a_mark_while_the_run_lives(lab, train):
    recording = lab.start(*SOON, "--", train, "--seconds", "60")
    wait_for(lambda: f"({RULE})" in recording.stderr, "the line")
    assert is_alive(recording.pid)
    assert lab.fp("set", "last", "stop").returncode == 0
    recording.end()
    mark = lab.marks("rule")[0]
    assert mark["text"].startswith(f"{RULE}: ") and mark["number"] == 1


def test_an_issue_found_at_the_very_end_still_sets_actions_off(lab, train):
    with webhook() as hook:
        words = ("--scan-interval", "1h", "--set", f"{RULE}.threshold=0")
        (lab.folder / "footplate.yaml").write_text(
            f"actions: [{{do: webhook, url: 'http://127.0.0.1:{hook.port}'}}]\n"
        )
        done = lab.record(*words, "--", train, "--seconds", "1")
    assert done.returncode == 0
    assert RULE in [p["rule"] for p in hook.posts]
    assert set(hook.paths) == {"/"}


@pytest.mark.parametrize("auth", ["", "LOGIN PLAIN", "LOGIN"])
def test_a_mail_says_what_was_found(lab, act, auth):
    login = "    user: me\n    password-env: MAIL_PASSWORD\n    tls: off\n" if auth else ""
    with mail_server() as box:
        box.auth = auth
        done = act(
            f"  - do: email\n    server: 127.0.0.1:{box.port}\n    from: job@example.org\n"
            f"    to: [a@example.org, b@example.org]\n{login}",
            env=lab.env | {"MAIL_PASSWORD": "p4ssw0rd"},
        )
    assert done.returncode == 7 and "p4ssw0rd" not in done.stderr
    assert box.logins == ([("me", "p4ssw0rd")] if auth else [])
    assert "MAIL FROM:<job@example.org>" in box.commands
    assert [c for c in box.commands if c.startswith("RCPT")] == [
        "RCPT TO:<a@example.org>",
        "RCPT TO:<b@example.org>",
    ]
    (mail,) = map(email.message_from_string, box.mails)
    text, attached = mail.get_payload()
    assert RULE in mail["Subject"] and mail["Date"]
    assert RULE in text.get_payload(decode=True).decode()
    assert json.loads(attached.get_payload(decode=True))["rule"] == RULE


def test_a_command_gets_the_verdict_on_stdin_and_what_it_says_is_told(lab, act):
    out = lab.folder / "told.json"
    done = act(
        f"  - do: exec\n    command: [sh, -c, 'cat > {out}; echo out; echo err >&2']\n",
    )
    assert done.returncode == 7
    assert json.loads(out.read_text())["rule"] == RULE
    assert "footplate: exec sh: out\n" in done.stderr
    assert "footplate: exec sh: err\n" in done.stderr


def test_a_command_is_no_part_of_the_job(lab, act):
    """It neither prolongs the recording nor counts among the job's processes."""
    pid = lab.folder / "pid"
    done = act(
        f"  - do: exec\n    timeout: 60s\n    command: 'echo $$ > {pid}; sleep 2 & sleep 0.1'\n",
    )
    assert done.returncode == 7
    assert "still running" not in done.stderr
    assert "still recording" not in done.stderr
    names = {s["entity"] for s in lab.query("proc.cpu")}
    assert not any(pid.read_text().strip() in name for name in names), names


def test_a_command_that_hangs_is_killed_with_all_its_processes(lab, act):
    pids = lab.folder / "pids"
    begin = time.monotonic()
    done = act(
        f"  - do: exec\n    timeout: 500ms\n"
        f"    command: 'sleep 1000 & echo $! > {pids}; echo $$ >> {pids}; wait'\n",
    )
    assert done.returncode == 7 and time.monotonic() - begin < 30
    assert "took longer than 0.5 s and was killed" in done.stderr
    (loss,) = lab.losses("action-failed")
    assert loss["what"] == "exec sleep"
    left = [int(p) for p in pids.read_text().split()]
    wait_for(lambda: not any(map(is_alive, left)), "the end of the command")


def test_stop_ends_the_job_and_says_who_did(lab, act, train):
    done = act(
        f"  - do: stop\n    rules: [{RULE}]\n    grace: 1s\n",
        job=(
            "sh",
            "-c",
            f"trap 'echo term' TERM; {train} --seconds 60 & while :; do sleep 0.1; done",
        ),
    )
    assert done.returncode == 128 + 9 and "term" in done.stdout
    assert f"stopped by rule {RULE}: SIGTERM sent" in done.stderr
    node = lab.show()["nodes"][0]
    assert node["status"] == "stopped" and node["why"] == f"stopped by rule {RULE}"
    assert any(m["text"] == f"stopped by rule {RULE}" for m in lab.marks("stop"))


def test_a_dead_endpoint_is_told_once_and_counted_and_the_run_goes_on(lab, act):
    port = dead_port()
    begin = time.monotonic()
    done = act(f"  - do: webhook\n    url: http://127.0.0.1:{port}/hook\n")
    assert done.returncode == 7 and time.monotonic() - begin < 30
    assert done.stderr.count(f"action 'webhook 127.0.0.1:{port}' failed") == 1
    assert "Connection refused" in done.stderr
    (loss,) = lab.losses("action-failed")
    assert loss["what"] == f"webhook 127.0.0.1:{port}" and loss["count"] >= 1


@pytest.mark.parametrize("kind", ["webhook", "email"])
def test_an_endpoint_that_never_answers_costs_some_seconds_at_the_end_at_most(lab, act, kind):
    with silent() as port:
        where = {
            "webhook": f"    url: http://127.0.0.1:{port}/hook\n",
            "email": f"    server: 127.0.0.1:{port}\n    from: a@b\n    to: c@d\n",
        }[kind]
        begin = time.monotonic()
        done = act(f"  - do: {kind}\n    timeout: 1s\n{where}")
        took = time.monotonic() - begin
    assert done.returncode == 7 and took < 30
    assert "no answer in time" in done.stderr
    assert lab.losses("action-failed")


def test_an_endpoint_that_refuses_is_told(lab, act):
    with webhook() as hook:
        hook.status = 403
        done = act(f"  - do: webhook\n    url: http://127.0.0.1:{hook.port}/\n")
    assert done.returncode == 7 and "answered with status 403" in done.stderr
    with mail_server() as box:
        box.refuses = "RCPT"
        done = act(f"  - do: email\n    server: 127.0.0.1:{box.port}\n    from: a@b\n    to: c@d\n")
    assert done.returncode == 7 and "RCPT failed: 550" in done.stderr
    assert box.mails == []


def test_proxies_of_the_environment_are_not_asked(lab, act):
    port = dead_port()
    proxies = {"http_proxy": f"http://127.0.0.1:{port}", "HTTP_PROXY": f"http://127.0.0.1:{port}"}
    with webhook() as hook:
        done = act(
            f"  - do: webhook\n    url: http://127.0.0.1:{hook.port}/\n",
            env=lab.env | proxies,
        )
    assert done.returncode == 7 and len(hook.posts) == 1


def self_signed(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate with")
    out = folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", str(out), "-out", str(folder / "only.pem")],
        check=True,
        capture_output=True,
    )
    with out.open("a") as f:
        f.write((folder / "only.pem").read_text())
    return out


def test_https_goes_through_libcurl_and_checks_the_certificate(lab, act):
    words = ("--action", "do: webhook, url: 'https://127.0.0.1'")
    if "this requires libcurl" in lab.record(*words, "--", "true").stderr:
        pytest.skip("there is no libcurl")
    certificate = self_signed(lab.folder)
    with webhook(certificate) as hook:
        url = f"    url: https://127.0.0.1:{hook.port}/x\n"
        ca = f"    ca: {lab.folder / 'only.pem'}\n"
        done = act(f"  - do: webhook\n{url}{ca}", env=lab.env | {"https_proxy": "http://[::1]:9"})
        assert done.returncode == 7 and "' failed: " not in done.stderr, done.stderr
        assert [p["rule"] for p in hook.posts] == [RULE]
        done = act(f"  - do: webhook\n{url}")
    assert done.returncode == 7 and "failed" in done.stderr
    assert len(hook.posts) == 1


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_a_mail_by_tls_goes_through_libcurl(lab, act, tls):
    certificate = self_signed(lab.folder)
    with mail_server(certificate, later=tls == "starttls") as box:
        box.auth = "PLAIN"
        done = act(
            f"  - do: email\n    server: 127.0.0.1:{box.port}\n    from: a@b.org\n    to: c@d.org\n"
            f"    user: me\n    password: p4ssw0rd\n"
            f"    tls: {tls}\n    ca: {lab.folder / 'only.pem'}\n",
        )
    if "this requires libcurl" in done.stderr:
        pytest.skip("there is no libcurl")
    assert done.returncode == 7 and "' failed: " not in done.stderr, done.stderr
    assert box.logins == [("me", "p4ssw0rd")] and len(box.mails) == 1
    assert RULE in email.message_from_string(box.mails[0])["Subject"]


def test_a_server_without_starttls_gets_no_mail_and_no_password(lab, act):
    with mail_server() as box:
        box.auth = "PLAIN"
        done = act(
            f"  - do: email\n    server: 127.0.0.1:{box.port}\n    from: a@b.org\n    to: c@d.org\n"
            f"    user: me\n    password: p4ssw0rd\n",
        )
    if "this requires libcurl" in done.stderr:
        pytest.skip("there is no libcurl")
    assert done.returncode == 7 and "failed" in done.stderr
    assert box.logins == [] and box.mails == [] and "p4ssw0rd" not in done.stderr


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_without_libcurl_a_webhook_is_said_to_be_out_of_reach_at_the_start(lab, act, scheme):
    done = act(
        f"  - do: webhook\n    url: {scheme}://127.0.0.1/secret\n",
        job=("true",),
        env=lab.env | {"FOOTPLATE_CURL": "/nonexistent.so"},
    )
    assert done.returncode == 0
    assert "action 1: this requires libcurl, which is not installed on this" in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize("do", ["webhook, url: 'https://127.0.0.1'", "email, server: x, user: me"])
def test_an_action_of_the_command_line_that_lacks_libcurl_does_not_keep_the_job(lab, do):
    more = ", from: a@b.org, to: c@d.org, password: p" if do.startswith("email") else ""
    done = lab.record(
        *("--action", f"do: {do}{more}", "--", "sh", "-c", "exit 7"),
        env=lab.env | {"FOOTPLATE_CURL": "/nonexistent.so"},
    )
    assert done.returncode == 7
    assert "requires libcurl, which is not installed" in done.stderr.split("recording to")[0], (
        "before the job"
    )


def test_doctor_says_whether_libcurl_is_there(lab):
    def look(library: str) -> tuple[bool, str]:
        env = lab.env | {"FOOTPLATE_CURL": library}
        found = json.loads(lab.fp("doctor", "--json", env=env).stdout)["libcurl"]
        text = lab.fp("doctor", env=env).stdout
        assert ("requires libcurl, which is not installed" in text) == (not found["ok"])
        return found["ok"], found["why"]

    ok, why = look("/nonexistent.so")
    assert not ok and "requires libcurl, which is not installed" in why
    stand_in = compile_library(
        "".join(f"void curl_{name}(void) {{}}\n" for name in CURL), lab.folder / "curl.so"
    )
    assert look(str(stand_in)) == (True, None)


CURL = [
    f"easy_{x}" for x in ("init", "setopt", "perform", "getinfo", "cleanup", "reset", "strerror")
]
CURL += ["global_init", "slist_append", "slist_free_all"]


def test_what_is_more_than_the_limit_is_left_out_and_counted(lab, act):
    """Two rules find something; the first action may act once."""
    both = f"  - do: webhook\n    rules: [{RULE}, Dataloader]\n"
    with webhook() as hook:
        url = f"    url: http://127.0.0.1:{hook.port}"
        done = act(
            f"{both}    limit: 1/h\n{url}/first\n{both}{url}/second\n",
            "--set",
            "Dataloader.wait_threshold=0",
        )
    assert done.returncode == 7
    assert sorted(hook.paths) == ["/first", "/second", "/second"]
    why = "rate limit reached"
    assert done.stderr.count(why) == 1
    assert [x["why"] for x in lab.losses("action-failed")] == [why]


def test_an_action_of_another_rule_or_severity_stays_quiet(lab, act):
    with webhook() as hook:
        url = f"    url: http://127.0.0.1:{hook.port}/\n"
        done = act(
            f"  - do: webhook\n    rules: [StepOutlier]\n{url}"
            f"  - do: webhook\n    on: [clear]\n{url}",
        )
    assert done.returncode == 7 and hook.posts == []


def test_a_recorder_that_is_killed_leaves_nothing_of_its_actions_behind(lab):
    (lab.folder / "footplate.yaml").write_text("actions: [{do: exec, command: 'true'}]\n")
    recording = lab.start(*SOON, "--", "sleep", "5")
    others = [p for p in lab.left_processes() if p not in (recording.pid, recording.job_pid())]
    assert others, "the helper, and the process that runs commands"
    recording.process.kill()
    recording.end()
    wait_for(lambda: not is_alive(others[0]), "its end")
