# SPDX-License-Identifier: Apache-2.0
"""The wheel: what is in it, which systems it is for, and what an ordinary user gets of it."""

from __future__ import annotations

import email
import hashlib
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from packagekit import (
    GLIBC,
    ROOT,
    TRAIN,
    elf_files,
    needed_libraries,
    newest_glibc,
    ordinary_user,
    records_serves_and_reports,
    system_python,
    version,
)

MOST_BYTES = 5_000_000

RULE = """
import sys
from footplate.rules import Finding, Rule

class Mine(Rule):
    name = "Mine"
    description = "Finds something in every run."
    recommendation = "Nothing."

    def check(self, run):
        yield Finding(f"{sum('/v/lib' in p for p in sys.path)} paths of the environment")
"""


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def metadata(unpacked: Path) -> email.message.Message:
    [file] = unpacked.glob("*.dist-info/METADATA")
    return email.message_from_string(file.read_text())


@pytest.fixture(scope="module")
def venv(wheel: Path, user) -> Path:
    """An empty environment with the wheel and nothing else, made without the network."""
    folder = user.home / "v"
    user.must(system_python(), "-m", "venv", folder)
    user.must(folder / "bin/pip", "install", "-q", "--no-index", user.copy(wheel))
    return folder


def test_auditwheel_finds_every_wheel_to_fit_its_tag(wheel: Path) -> None:
    """Also the one for aarch64, where it was made."""
    auditwheel = ROOT / "build/package/venv/bin/auditwheel"
    for each in wheel.parent.glob(f"footplate-{version()}-*.whl"):
        shown = subprocess.run([auditwheel, "show", each], capture_output=True, text=True)
        assert shown.returncode == 0, shown.stderr
        text = " ".join(shown.stdout.split())
        fits = re.search(r'following platform tag: "manylinux_(\d+)_(\d+)_(\w+)"', text)
        assert fits, text
        assert (int(fits[1]), int(fits[2])) <= GLIBC
        assert each.name.endswith(f"-cp310-abi3-manylinux_2_28_{fits[3]}.whl")


def test_the_wheel_is_small_and_has_nothing_twice(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    seen: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        for name in names:
            data = archive.read(name)
            if not data:
                continue
            other = seen.setdefault(hashlib.sha256(data).hexdigest(), name)
            assert other == name, f"{name} has the content of {other}"


def test_its_programs_need_only_libc_and_have_no_debug_information(unpacked: Path) -> None:
    files = elf_files(unpacked)
    assert sorted(f.name for f in files) == ["_core.abi3.so", "_query.abi3.so", "footplate"]
    for file in files:
        sections = subprocess.run(["readelf", "-SW", file], capture_output=True, text=True).stdout
        assert ".debug_info" not in sections and ".symtab" not in sections
        head = subprocess.run(["readelf", "-hW", file], capture_output=True, text=True).stdout
        assert "DYN (" in head  # can be loaded at any address
        assert newest_glibc(file) <= GLIBC
        assert all(
            re.match(r"(lib(c|m|dl|pthread|rt)|ld-linux.*)\.so", n) for n in needed_libraries(file)
        )


def test_licences_of_what_it_contains_are_in_it(unpacked: Path) -> None:
    text = (unpacked / "footplate/THIRD-PARTY-LICENSES.txt").read_text()
    linked = ("libzstd", "libjansson", "zlib1g", "libyaml", "libiberty", "libmicrohttpd")
    for name in (*linked, "preact", "uplot"):
        assert f"==== {name}" in text
    assert len(list(unpacked.glob("*.dist-info/**/LICENSE"))) == 1
    assert len(list(unpacked.glob("*.dist-info/**/NOTICE"))) == 1


def test_its_metadata_is_complete_and_its_text_has_no_link_into_the_repository(metadata) -> None:
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Version"] == version()
    assert "profiler" in metadata["Keywords"]
    assert "Operating System :: POSIX :: Linux" in metadata.get_all("Classifier")
    assert metadata.get_all("Requires-Dist") is None or all(
        "extra ==" in need for need in metadata.get_all("Requires-Dist")
    )
    text = metadata.get_payload()
    assert "footplate run" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert all(link.startswith("https://") for link in links), links


def test_an_ordinary_user_records_serves_and_reports_with_it(user, venv: Path) -> None:
    records_serves_and_reports(user, venv / "bin/footplate", venv / "bin/python")


def test_hooks_load_into_a_python_that_does_not_have_the_package(user, venv: Path) -> None:
    records_serves_and_reports(user, venv / "bin/footplate", system_python())


def test_hooks_of_another_version_beside_the_program_are_not_used(user, venv: Path) -> None:
    """As where pip installed other versions for other Pythons into one folder."""
    old = venv / "lib/python3.1/site-packages/footplate"
    user.must("mkdir", "-p", old / "_bootstrap")
    user.must("sh", "-c", f"echo 'raise SystemExit(9)' > {old}/_bootstrap/sitecustomize.py")
    user.must("sh", "-c", f"echo 'VERSION = \"0.0.1\"' > {old}/_version.py")
    records_serves_and_reports(user, venv / "bin/footplate", system_python())
    user.must("rm", "-r", venv / "lib/python3.1")


def test_the_package_opens_the_run_and_runs_the_program(user, venv: Path) -> None:
    code = (
        "import footplate, footplate.analysis; print(len(footplate.open('last', dir='runs').nodes))"
    )
    assert user.must(venv / "bin/python", "-c", code) == "1\n"
    assert version() in user.must(venv / "bin/python", "-m", "footplate", "--version")


def test_a_rule_in_python_runs_in_a_python_that_does_not_have_the_package(user, venv: Path) -> None:
    """And sees no other package of the environment that the program is in."""
    rule = user.home / "my_rule.py"
    rule.write_text(RULE)
    done = user.run(
        venv / "bin/footplate", "check", "last", "--dir", "runs", "--rule-file", rule, "--json"
    )
    assert done.returncode == 0, done.stderr
    [mine] = [r for r in json.loads(done.stdout) if r["rule"] == "Mine"]
    assert mine["state"] == "issue"
    assert mine["findings"][0]["message"] == "0 paths of the environment", mine


def test_pip_puts_it_into_a_plain_folder_too(user, wheel: Path) -> None:
    with ordinary_user() as other:
        python = system_python()
        pip = user.home / "v/bin/pip"
        os.chmod(user.home, 0o755)
        other.must(
            pip, "install", "-q", "--no-index", "--target", other.home / "t", other.copy(wheel)
        )
        records_serves_and_reports(other, other.home / "t/bin/footplate", python)


@pytest.mark.parametrize("tool", ["pipx", "uvx"])
def test_pipx_and_uvx_take_the_file(tool: str, wheel: Path) -> None:
    program = ROOT / "build/package/venv/bin" / tool
    with ordinary_user() as user:
        if user.run("test", "-x", program).returncode:
            pytest.skip(f"an ordinary user cannot run {program}")
        file = user.copy(wheel)
        if tool == "pipx":
            user.must(program, "install", "-q", "--python", system_python(), file)
            footplate = [user.home / ".local/bin/footplate"]
        else:
            footplate = [program, "-q", "--offline", "--python", system_python(), "--from", file]
            footplate += ["footplate"]
        (user.home / "train.py").write_text(TRAIN)
        assert user.must(*footplate, "run", "--", system_python(), "train.py") == "hooked True\n"


def test_uninstalling_leaves_nothing(user, venv: Path) -> None:
    """The last of this file."""
    user.must(venv / "bin/pip", "uninstall", "-q", "-y", "footplate")
    left = [p for p in venv.rglob("*") if "footplate" in str(p.relative_to(venv))]
    assert left == []
