# SPDX-License-Identifier: Apache-2.0
"""Help, manual page and completion: complete, and accepted by the real tools."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

COMMANDS = [
    "run",
    "attach",
    "set",
    "config",
    "ls",
    "show",
    "top",
    "stats",
    "steps",
    "health",
    "events",
    "ops",
    "breakdown",
    "query",
    "check",
    "report",
    "rules",
    "compare",
    "serve",
    "hub",
    "push",
    "pull",
    "import",
    "export",
    "merge",
    "note",
    "rm",
    "metrics",
    "doctor",
    "completion",
    "man",
    "help",
]
OPTION = re.compile(r"^  (?:-\w, )?--([a-z-]+)", re.MULTILINE)


def options_of(run_fp, command: str) -> list[str]:
    return OPTION.findall(run_fp("help", command).stdout)


def test_the_overview_lists_every_command_with_a_summary(run_fp):
    done = run_fp("--help")
    assert done.returncode == 0 and done.stderr == ""
    listed = re.findall(r"^  ([a-z]+) {2,}\S.*$", done.stdout, re.MULTILINE)
    assert listed[: len(COMMANDS)] == COMMANDS


def test_help_without_a_command_is_the_overview_and_no_command_at_all_is_wrong_use(run_fp):
    assert run_fp("help").stdout == run_fp("-h").stdout == run_fp("--help").stdout
    alone = run_fp()
    assert alone.returncode == 2 and alone.stdout == "" and "usage:" in alone.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_in_three_ways(run_fp, command):
    long, short, word = run_fp(command, "--help"), run_fp(command, "-h"), run_fp("help", command)
    assert long.returncode == short.returncode == word.returncode == 0
    assert long.stdout == short.stdout == word.stdout
    assert f"usage: footplate {command}" in long.stdout
    assert "exit status:" in long.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_sentence(run_fp, command):
    text = run_fp("help", command).stdout
    block = text.split("\noptions:\n")[1].split("\n\n")[0]
    joined = re.sub(r"\n {20,}", " ", block)
    for line in joined.splitlines():
        assert re.search(r"\S {1,}.*[a-z].*\.$", line), line


def test_everything_that_prints_data_has_json(run_fp):
    for command in ["ls", "show", "stats", "steps", "query", "metrics", "doctor"]:
        assert "json" in options_of(run_fp, command), command
    for command in ["ls", "stats", "steps", "query", "metrics"]:
        assert "csv" in options_of(run_fp, command), command


def test_help_fits_the_width_that_a_page_has(run_fp):
    for command in COMMANDS:
        lines = run_fp("help", command).stdout.splitlines()
        wide = [x for x in lines if len(x) > 100 and not x.lstrip().startswith("footplate ")]
        assert wide == []


def test_hidden_options_are_in_no_help_but_work(run_fp, tmp_runs):
    assert "--names" not in run_fp("help", "ls").stdout
    assert run_fp("ls", "--names", "--dir", tmp_runs).returncode == 0


def test_version_is_one_line(run_fp):
    done = run_fp("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"footplate \d+\.\d+\.\d+\n", done.stdout)


def test_no_escape_codes_when_the_output_is_no_terminal(run_fp, tmp_runs):
    for words in (["--help"], ["help", "query"], ["metrics"], ["ls", "--dir", tmp_runs]):
        assert "\033" not in run_fp(*words).stdout


# -- the manual page --


@pytest.fixture
def manual(run_fp, tmp_path) -> Path:
    page = tmp_path / "footplate.1"
    page.write_text(run_fp("man").stdout)
    return page


def test_the_manual_page_names_every_command_and_option(run_fp, manual):
    text = manual.read_text().replace("\\-", "-")
    for command in COMMANDS:
        assert f'.SS "footplate {command}' in text
        for option in options_of(run_fp, command):
            assert option == "help" or f"--{option}" in text, (command, option)


def test_man_finds_nothing_wrong_with_the_manual_page(manual):
    if not shutil.which("man") or not shutil.which("groff"):
        pytest.skip("man and groff are not installed")
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", manual],
        capture_output=True,
        text=True,
        env=os.environ | {"MANROFFOPT": "-ww", "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_mandoc_finds_nothing_wrong_with_the_manual_page(manual):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", manual], capture_output=True, text=True
    )
    complaints = [x for x in done.stdout.splitlines() if "missing date" not in x]
    assert complaints == []


# -- completion --

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_itself_accepts_its_completion_script(run_fp, tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(run_fp("completion", shell).stdout)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_knows_every_command_and_option(run_fp, shell):
    script = run_fp("completion", shell).stdout
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", script)
        for option in options_of(run_fp, command):
            spelled = f"-l {option}" if shell == "fish" else f"--{option}"
            assert spelled in script, (command, option)


class Bash:
    """A real interactive bash on a terminal of its own."""

    def __init__(self, footplate: Path, folder: Path, runs: Path) -> None:
        bin_dir = folder / "bin"
        bin_dir.mkdir()
        (bin_dir / "footplate").symlink_to(footplate)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            env = {
                "PATH": f"{bin_dir}:{os.environ['PATH']}",
                "HOME": str(folder),
                "FOOTPLATE_DIR": str(runs),
                "TERM": "dumb",
                "PS1": "$ ",
            }
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
        self.send("bind 'set enable-bracketed-paste off'; bind 'set bell-style none'\n")
        self.send("source <(footplate completion bash); echo re''ady\n")
        self.read_until("ready")

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read_until(self, text: str, seconds: float = 20) -> str:
        out, end = "", time.monotonic() + seconds
        while text not in out and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                out += os.read(self.fd, 4096).decode(errors="replace")
        assert text in out, out
        return out

    def completed(self, line: str, result: str) -> None:
        self.send(line + "\t")
        self.read_until(result)
        self.send("\x15\n")
        self.read_until("$ ")

    def close(self) -> None:
        self.send("\x15exit\n")
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture
def bash(footplate, tmp_path):
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    runs = tmp_path / "somewhere"
    for name in ("alpha-20260101-000000-0001", "beta-20260101-000000-0002"):
        (runs / name).mkdir(parents=True)
        (runs / name / "run.json").write_text('{"format": "footplate-run", "format_version": 1}')
    shell = Bash(footplate, tmp_path, runs)
    yield shell
    shell.close()


@pytest.mark.parametrize(
    "line, result",
    [
        ("footplate at", "footplate attach "),
        ("footplate show --js", "footplate show --json "),
        ("footplate show al", "footplate show alpha-20260101-000000-0001 "),
        ("footplate show la", "footplate show last "),
        ("footplate export --format=js", "footplate export --format=jsonl "),
        ("footplate export last -f js", "footplate export last -f jsonl "),
        ("footplate query last --metric cpu.io", "footplate query last --metric cpu.iowait "),
        ("footplate help doc", "footplate help doctor "),
        ("footplate completion fi", "footplate completion fish "),
    ],
)
def test_tab_in_bash_completes(bash, line, result):
    bash.completed(line, result)


def test_the_name_of_a_run_cannot_make_the_shell_do_anything(bash, tmp_path):
    evil = tmp_path / "somewhere" / "x$(touch pwned)-20260101-000000-0003"
    evil.mkdir()
    (evil / "run.json").write_text('{"format": "footplate-run", "format_version": 1}')
    bash.send("footplate show x\t")
    time.sleep(1)
    bash.send("\x15\n")
    bash.read_until("$ ")
    assert not (tmp_path / "pwned").exists()
