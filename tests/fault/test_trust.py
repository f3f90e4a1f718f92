# SPDX-License-Identifier: Apache-2.0
"""Files, folders and sockets of other users: none of them runs code, hangs, empties or lies.

The victim is the user who runs the tests, the attacker is uid 65534, so most need root.
"""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from faultkit import NOBODY, Lab, assert_no_crash, wait_for

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("FOOTPLATE_PYTHON") or ROOT / "build" / "release" / "python")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as another user")
EVIL = "import os\nopen({!r}, 'w').write(str(os.getuid()))\n"


def planted(lab: Lab, *, sticky: bool = True) -> tuple[Path, Path]:
    """A folder that everybody may write, with a footplate.yaml of the other user that runs code;
    and the file that this code would make."""
    lab.folder.chmod(0o755)
    shared, proof = lab.folder / "shared", lab.folder / "proof"
    shared.mkdir()
    shared.chmod(0o1777 if sticky else 0o777)
    for name, text in {
        "footplate.yaml": "rule-files: [.r.py]\n",
        ".r.py": EVIL.format(str(proof)),
    }.items():
        path = shared / name
        path.write_text(text)
        os.chown(path, NOBODY, NOBODY)
    return shared, proof


def recorded(lab: Lab) -> Path:
    assert lab.record("-q", "--", "true").returncode == 0
    (run,) = lab.run_folders()
    return run


# -- configuration --


@needs_root
@pytest.mark.parametrize("command", ["check", "report", "run"])
def test_configuration_of_another_user_in_the_current_folder_is_ignored(lab: Lab, command: str):
    run = recorded(lab)
    shared, proof = planted(lab)
    lab.env["FOOTPLATE_HOOKS"] = str(PACKAGE / "footplate" / "_bootstrap")
    words = {
        "check": ["check", run],
        "report": ["report", run, "-o", lab.folder / "r.html"],
        "run": ["run", "--", "true"],
    }[command]
    done = lab.fp(*words, cwd=shared)
    assert done.returncode == 0, done.stderr
    assert not proof.exists(), "code of another user ran"
    (said,) = [line for line in done.stderr.splitlines() if "footplate.yaml" in line]
    assert "ignored" in said and "another user" in said and "--config" in said


@pytest.mark.parametrize("mode", ["file", "folder"])
def test_configuration_that_others_can_write_is_ignored(lab: Lab, mode: str):
    run = recorded(lab)
    shared, proof = lab.folder / "open", lab.folder / "proof"
    shared.mkdir()
    (shared / "footplate.yaml").write_text("rule-files: [r.py]\n")
    (shared / "r.py").write_text(EVIL.format(str(proof)))
    (shared / "footplate.yaml" if mode == "file" else shared).chmod(0o777)
    done = lab.fp("check", run, cwd=shared)
    assert "ignored" in done.stderr and "other users can write" in done.stderr
    assert not proof.exists()


def test_rule_files_of_an_unpacked_folder_run_only_when_named(lab: Lab):
    run = recorded(lab)
    lab.env["FOOTPLATE_HOOKS"] = str(PACKAGE / "footplate" / "_bootstrap")
    mine, proof = lab.folder / "mine", lab.folder / "proof"
    mine.mkdir()
    (mine / "footplate.yaml").write_text("rule-files: [r.py]\n")
    (mine / "r.py").write_text(EVIL.format(str(proof)))
    for words in (["check", run], ["report", run, "-o", "r.html"]):
        done = lab.fp(*words, cwd=mine)
        assert not proof.exists(), "a file that was only found ran code"
        assert "rule-files of footplate.yaml are ignored" in done.stderr
    mine.chmod(0o777)
    done = lab.fp("check", run, "--config", "footplate.yaml", cwd=mine)
    assert proof.exists() and "ignored" not in done.stderr


@needs_root
def test_rules_in_python_import_nothing_from_a_folder_of_others(lab: Lab):
    run = recorded(lab)
    shared, proof = planted(lab)
    lab.env["FOOTPLATE_HOOKS"] = str(PACKAGE / "footplate" / "_bootstrap")
    for name in ("argparse.py", "footplate/__init__.py"):
        path = shared / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(EVIL.format(str(proof)))
        os.chown(path, NOBODY, NOBODY)
    rule = lab.folder / "rule.py"
    rule.write_text(
        "from footplate.rules import Rule\n"
        "class Mine(Rule):\n    name = 'Mine'\n    def check(self, run):\n        return []\n"
    )
    done = lab.fp("check", run, "--rule-file", rule, cwd=shared)
    assert "Mine" in done.stdout, done.stderr
    assert not proof.exists(), "code of another user ran"


@needs_root
def test_prices_of_another_user_in_the_current_folder_do_not_count(lab: Lab):
    shared, _ = planted(lab)
    table = shared / "machines.csv"
    table.write_text("machine,gpus,price_per_hour\nevil.machine,1,99\n")
    os.chown(table, NOBODY, NOBODY)
    run = recorded(lab)
    done = lab.fp("check", run, "--machine", "evil.machine", cwd=shared)
    assert done.returncode == 2 and "unknown machine 'evil.machine'" in done.stderr, done.stderr


# -- what lies in a run folder --


def node_of(run: Path) -> Path:
    (node,) = run.glob("node-*")
    return node


def as_running(run: Path) -> None:
    path = node_of(run) / "node.json"
    path.write_text(path.read_text().replace('"finished"', '"running"'))


@pytest.mark.parametrize(
    "name", ["lock", "node.json", "metrics.fp", "metrics.tail", "events.fp", "run.json"]
)
def test_a_fifo_in_a_run_folder_keeps_nobody_waiting(lab: Lab, name: str):
    run = recorded(lab)
    as_running(run)
    path = run / name if name == "run.json" else node_of(run) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for words in (["ls"], ["show", run], ["stats", run], ["check", run]):
        assert_no_crash(lab.fp(*words, timeout=20))


@pytest.mark.parametrize("name", ["node.json", "metrics.fp", "findings.json", "run.json"])
def test_a_link_in_a_run_folder_is_not_followed(lab: Lab, name: str):
    run = recorded(lab)
    path = run / name if name in ("run.json", "findings.json") else node_of(run) / name
    elsewhere = lab.folder / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.write_text("{}")
    path.symlink_to(elsewhere)
    done = lab.fp("show", run, "--json")
    assert_no_crash(done)
    if name in ("run.json", "metrics.fp"):
        assert "symbolic link" in done.stdout + done.stderr, (done.stdout, done.stderr)


def test_the_folder_of_a_node_that_is_a_link_is_no_node(lab: Lab):
    run = recorded(lab)
    node = node_of(run)
    node.rename(lab.folder / "private")
    node.symlink_to(lab.folder / "private")
    done = lab.fp("show", run, "--json")
    assert "metrics" not in done.stdout or '"nodes": []' in done.stdout, done.stdout


def test_a_file_that_claims_terabytes_costs_no_memory(lab: Lab):
    run = recorded(lab)
    metrics = node_of(run) / "metrics.fp"
    real = metrics.stat().st_size
    try:
        os.truncate(metrics, 15 << 40)
    except OSError:
        os.truncate(metrics, 64 << 30)
    done = lab.fp("show", run, timeout=30)
    assert_no_crash(done)
    assert done.returncode == 0, done.stderr
    assert metrics.stat().st_size > real


# -- where a run is written --


@needs_root
@pytest.mark.parametrize("mode", [0o777, 0o755])
def test_a_run_folder_that_another_user_made_is_refused(lab: Lab, mode: int):
    lab.folder.chmod(0o755)
    precious = lab.folder / "precious"
    precious.write_text("precious")
    node = lab.runs / "4711" / f"node-{socket.gethostname()}"
    node.mkdir(parents=True)
    (node / "metrics.tail").symlink_to(precious)
    (node / "events.tail").symlink_to(precious)
    for path in (node, node.parent):
        os.chown(path, NOBODY, NOBODY)
        path.chmod(mode)
    done = lab.record("--run", "4711", "--", "sleep", "0.3")
    assert precious.read_text() == "precious"
    assert "belongs to another user" in done.stderr, done.stderr
    assert [p.name for p in node.iterdir() if p.suffix == ".fp"] == []


@pytest.mark.parametrize("level", ["run", "node"])
def test_a_run_or_node_folder_that_is_a_link_is_refused(lab: Lab, level: str):
    target = lab.folder / "target"
    target.mkdir()
    lab.runs.mkdir()
    if level == "run":
        (lab.runs / "4711").symlink_to(target)
    else:
        (lab.runs / "4711").mkdir()
        (lab.runs / "4711" / f"node-{socket.gethostname()}").symlink_to(target)
    done = lab.record("--run", "4711", "--", "true")
    assert "is a link" in done.stderr, done.stderr
    assert list(target.iterdir()) == []


def test_files_to_write_are_new_ones_whatever_lies_there(lab: Lab):
    """The folder is the user's, so it is taken; a link in it is replaced, not followed."""
    precious = lab.folder / "precious"
    precious.write_text("precious")
    node = lab.runs / "4711" / f"node-{socket.gethostname()}"
    node.mkdir(parents=True)
    for name in ("metrics.tail", "events.tail", "node.json"):
        (node / name).symlink_to(precious)
    (node.parent / "findings.json").symlink_to(precious)
    assert lab.record("--run", "4711", "--", "sleep", "0.3").returncode == 0
    assert precious.read_text() == "precious"
    assert lab.show("4711")["status"] == "finished"


def test_a_lock_that_is_a_link_is_refused(lab: Lab):
    precious = lab.folder / "precious"
    node = lab.runs / "4711" / f"node-{socket.gethostname()}"
    node.mkdir(parents=True)
    (node / "lock").symlink_to(precious)
    done = lab.record("--run", "4711", "--", "true")
    assert "lock" in done.stderr and not precious.exists(), done.stderr


def test_an_earlier_session_of_the_user_is_continued_beside(lab: Lab):
    for _ in range(2):
        assert lab.record("--run", "again", "--", "true").returncode == 0
    (run,) = lab.run_folders()
    assert sorted(p.name for p in node_of(run).glob("*.fp")) == ["metrics-2.fp", "metrics.fp"]


@pytest.mark.parametrize(("mask", "mode"), [("077", 0o600), ("022", 0o644), ("002", 0o664)])
def test_files_have_the_rights_that_the_umask_leaves(lab: Lab, mask: str, mode: int):
    report = lab.folder / "r.html"
    done = subprocess.run(
        ["sh", "-c", f'umask {mask}; "$0" run -q -- true; "$0" report last -o "$1"',
         str(lab.footplate), str(report)],
        env=lab.env, cwd=lab.folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = lab.run_folders()
    files = [report, run / "run.json", node_of(run) / "node.json", node_of(run) / "metrics.fp"]
    files += run.glob("findings.json")
    assert {p.name: oct(stat.S_IMODE(p.stat().st_mode)) for p in files} == {
        p.name: oct(mode) for p in files
    }


# -- the control socket --


class Liar(threading.Thread):
    """Listens where a recorder would, in the other user's name, and says that all is done."""

    def __init__(self, path: Path):
        super().__init__(daemon=True)
        self.asked: list[bytes] = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        path.chmod(0o777)
        # The kernel notes who listens at this moment.
        os.seteuid(NOBODY)
        try:
            self.server.listen()
        finally:
            os.seteuid(0)
        self.start()

    def run(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            with client:
                client.settimeout(2)
                try:
                    if line := client.recv(256):
                        self.asked.append(line)
                        client.sendall(b"ok the job was stopped\n")
                except OSError:
                    pass


def control_socket(lab: Lab) -> Path:
    (path,) = wait_for(lambda: list((lab.runtime / "footplate").glob("*.sock")), "the socket")
    return path


@needs_root
@pytest.mark.parametrize("owner", ["folder of the other user", "folder of the user"])
def test_an_answer_of_another_users_socket_is_not_believed(lab: Lab, owner: str):
    recording = lab.start("--", "sleep", "20")
    path = control_socket(lab)
    path.unlink()
    if owner == "folder of the other user":
        os.chown(path.parent, NOBODY, NOBODY)
    liar = Liar(path)
    done = lab.fp("set", "last", "stop")
    liar.server.close()
    assert done.returncode != 0 and "stopped" not in done.stdout, done.stdout
    assert "another user" in done.stderr, done.stderr
    assert liar.asked == [], "the request was sent before the listener was known"
    assert recording.process.poll() is None


# -- the job's own files --


def test_a_fifo_of_the_job_in_the_ring_folder_does_not_keep_the_recorder(lab: Lab):
    job = 'mkfifo "$FOOTPLATE_RING/detail-$$-0.json"; sleep 0.5; exit 7'
    recording = lab.start("--detail-at", "+0s:1s", "--", "sh", "-c", job)
    assert recording.end(20) == 7
