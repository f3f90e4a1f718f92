# SPDX-License-Identifier: Apache-2.0
"""The unit and the container file of a hub are what systemd, a builder and we understand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HUB = Path(__file__).resolve().parents[2] / "packaging/hub"
UNIT, CONTAINER = HUB / "footplate-hub.service", HUB / "Containerfile"
INSTRUCTIONS = {"FROM", "ARG", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}


def lines(file: Path) -> list[str]:
    """Without comments, and with continued lines joined."""
    text = "\n".join(x for x in file.read_text().splitlines() if not x.startswith("#"))
    return [x.strip() for x in re.sub(r"\\\n\s*", " ", text).splitlines() if x.strip()]


def unit() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    section = ""
    for line in lines(UNIT):
        if re.fullmatch(r"\[[A-Z][a-z]+\]", line):
            section = line[1:-1]
            continue
        key, equals, value = line.partition("=")
        assert section and equals and re.fullmatch(r"[A-Z][A-Za-z]+", key) and value, line
        found.setdefault(section, []).append((key, value))
    return found


def container() -> list[tuple[str, str]]:
    found = [line.split(None, 1) for line in lines(CONTAINER)]
    assert all(len(x) == 2 and x[0] in INSTRUCTIONS for x in found), found
    return [(x[0], x[1]) for x in found]


def assert_known(footplate: Path, words: list[str]) -> None:
    """The command is `serve`, with options that it has."""
    done = subprocess.run([footplate, "serve", "--help"], capture_output=True, text=True)
    assert words[0] == "serve" and not words[1].startswith("-")
    options = [w for w in words if w.startswith("--")]
    assert "--receive" in options and "--tls-cert" in options and "--token-file" in options
    for option in options:
        assert re.search(rf"(?m)^ .*{option}\b", done.stdout), option


def test_the_unit_is_one_and_its_command_has_options_that_we_know(footplate: Path) -> None:
    found = unit()
    assert set(found) == {"Unit", "Service", "Install"}
    service = dict(found["Service"])
    words = service["ExecStart"].split()
    assert words[0] == "/usr/bin/footplate"
    assert_known(footplate, words[1:])
    credentials = {v.split(":")[0] for k, v in found["Service"] if k == "LoadCredential"}
    assert credentials == set(re.findall(r"\$\{CREDENTIALS_DIRECTORY\}/(\S+)", " ".join(words)))
    state = f"/var/lib/{service['StateDirectory']}/"
    assert words[2].startswith(state) and words[words.index("--token-file") + 1].startswith(state)


def test_who_installs_a_hub_can_add_tokens_and_the_hub_can_read_them(footplate: Path) -> None:
    """The user of the unit is a fixed one: what it may not read, or root may not change, is of no
    use. The commands at the head are those that make the user, its folder and a token."""
    service = dict(unit()["Service"])
    assert "DynamicUser" not in service
    user, state = service["User"], f"/var/lib/{service['StateDirectory']}"
    said = [x.removeprefix("#").split() for x in UNIT.read_text().splitlines() if x[:1] == "#"]
    made, folder, token = (
        next(x for x in said if x[:1] == [word]) for word in ("useradd", "install", "runuser")
    )
    assert made[-1] == user and folder[-1] == state
    assert [folder[folder.index(x) + 1] for x in ("-o", "-g")] == [user, service["Group"]]
    assert token[1:4] == ["-u", user, "--"]
    serve = service["ExecStart"].replace("\\\n", " ").split()
    file = "--token-file"
    assert token[token.index(file) + 1] == serve[serve.index(file) + 1]
    run = dict(container())
    assert f"--token-file {json.loads(run['CMD'])[4]} " in CONTAINER.read_text()


def test_a_hub_answers_under_its_dns_name() -> None:
    """Otherwise each request of a sender is for an unknown host, and refused."""
    service = unit()["Service"]
    words = dict(service)["ExecStart"].split()
    name = re.fullmatch(r"\$\{(\w+)\}", words[words.index("--host") + 1])
    assert name and [v for k, v in service if k == "Environment"] == [f"{name[1]}=localhost"]
    assert "systemctl edit footplate-hub" in UNIT.read_text()
    assert f"Environment={name[1]}=hub.example.org" in UNIT.read_text()
    assert "podman run --hostname hub.example.org -p 7171:7171" in CONTAINER.read_text()


def test_systemd_takes_the_unit(footplate: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("SKIPPED: systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/bin/footplate ", f"{footplate} "))

    def verify() -> str:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True
        )
        return "".join(x for x in done.stderr.splitlines(True) if UNIT.name in x)

    assert verify() == ""
    copy.write_text(copy.read_text().replace("Restart=always", "Restart=forever"))
    assert "forever" in verify(), "it does look"


def test_the_container_file_is_one_and_its_command_has_options_that_we_know(
    footplate: Path,
) -> None:
    found = container()
    names = [name for name, _ in found]
    assert names[0] == "FROM" and names[-2:] == ["ENTRYPOINT", "CMD"]
    assert names.index("USER") > names.index("RUN"), "it does not run as root"
    last = dict(found)
    assert json.loads(last["ENTRYPOINT"]) == ["footplate"]
    command = json.loads(last["CMD"])
    assert_known(footplate, command)
    assert command[command.index("--port") + 1] == last["EXPOSE"]
    assert command[1].startswith(last["VOLUME"] + "/")
    arguments = {value.partition("=")[0] for name, value in found if name == "ARG"}
    assert set(re.findall(r"\$\{(\w+)\}", CONTAINER.read_text())) == arguments
    shell = subprocess.run(["sh", "-n", "-c", last["RUN"]], capture_output=True, text=True)
    assert shell.returncode == 0, shell.stderr
    assert f"useradd --system --uid 7171 {last['USER']}" in last["RUN"]
