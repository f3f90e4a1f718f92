# SPDX-License-Identifier: Apache-2.0
"""Settings from the command line, the environment, footplate.yaml and profilerconfig.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

SDK_DEFAULT = {
    "ProfilingIntervalInMilliseconds": 100,
    "ProfilingParameters": {
        "LocalPath": "/opt/ml/output/profiler",
        "RotateMaxFileSizeInBytes": "10485760",
        "DetailedProfilingConfig": '{"StartStep": 5, "NumSteps": 1, }',
        "DataloaderProfilingConfig": '{"StartStep": 7, "MetricsRegex": ".*GetNext", }',
        "PythonProfilingConfig": "{'StartStep': 9, 'NumSteps': 3, 'cProfileTimer': 'default'}",
    },
}


@pytest.fixture
def place(run_fp, tmp_path):
    """A folder to configure in, with an environment that says nothing of its own."""

    class Place:
        folder = tmp_path
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("FOOTPLATE_", "SMPROFILER_")) or k == "FOOTPLATE_BIN"
        } | {"FOOTPLATE_NVML": "/nonexistent.so"}

        def write(self, name: str, text: str) -> Path:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return path

        def fp(self, *words, **env):
            return run_fp(*words, cwd=tmp_path, env=self.env | env)

        def config(self, *words, **env) -> dict:
            done = self.fp("config", "--json", *words, **env)
            told = json.loads(done.stdout)
            assert done.returncode == (1 if told["problems"] else 0)
            assert done.stderr.count("\n") == len(told["problems"])
            return told

        def value(self, name: str, *words, **env) -> tuple[str | None, str]:
            (row,) = (x for x in self.config(*words, **env)["settings"] if x["name"] == name)
            return row["value"], row["source"]

        def info(self) -> dict:
            (run,) = json.loads(self.fp("ls", "--json").stdout)
            path = next(self.folder.glob(f"**/{run['id']}/run.json"))
            return json.loads(path.read_text())

    return Place()


def test_each_source_counts_over_the_next(place):
    path = place.write("p.json", json.dumps(SDK_DEFAULT))
    sm = {"SMPROFILER_CONFIG_PATH": str(path)}
    assert place.value("interval") == ("500ms", "default")
    assert place.value("interval", **sm) == ("100ms", "profilerconfig.json")
    place.write("footplate.yaml", "interval: 200ms\n")
    assert place.value("interval", **sm) == ("200ms", "footplate.yaml")
    sm["FOOTPLATE_INTERVAL"] = "300ms"
    assert place.value("interval", **sm) == ("300ms", "environment")
    assert place.value("interval", "--interval", "1s", **sm) == ("1s", "command line")


def test_the_file_beside_the_script_counts(place):
    place.write("footplate.yaml", "name: here\n")
    place.write("sub/footplate.yaml", "name: beside\ndetail: {steps: [5:2, 100:2]}\n")
    assert place.value("name", "--", "python", "sub/train.py") == ("beside", "footplate.yaml")
    assert place.value("name", "--", "torchrun", "--nproc-per-node", "2", "sub/train.py") == (
        "beside",
        "footplate.yaml",
    )
    assert place.value("name", "--", "python", "-m", "sub.train") == ("here", "footplate.yaml")
    assert place.value("name") == ("here", "footplate.yaml")


def test_the_text_form_names_value_and_source_of_every_setting(place):
    place.write("footplate.yaml", "\ndetail:\n  steps: 5:2\n")
    text = place.fp("config", "--interval=1s").stdout
    rows = {line.split()[0]: line.split(None, 2)[1:] for line in text.splitlines()[1:]}
    assert rows["interval"] == ["1s", "--interval"]
    assert rows["detail.steps"] == ["5:2", "footplate.yaml, line 3"]
    assert rows["hooks"] == ["on", "default"]
    assert rows["name"] == ["-", "default"]
    assert len(rows) == len(place.config()["settings"])


def test_sagemakers_configuration_becomes_windows_and_notes(place):
    path = place.write("p.json", json.dumps(SDK_DEFAULT))
    told = place.config(SMPROFILER_CONFIG_PATH=str(path))
    values = {x["name"]: x["value"] for x in told["settings"]}
    assert values["detail.steps"] == "5:1"
    assert values["python-profile.steps"] == "9:3:cprofile:default"
    assert told["problems"] == []
    assert len(told["notes"]) == 1 and ".*GetNext" in told["notes"][0]


def test_a_wrong_configuration_is_told_and_the_run_starts_with_the_rest(place):
    place.write(
        "footplate.yaml",
        "intervall: 100ms\nlabels: {team: vision}\nname: demo\ndetail: {steps: soon}\n",
    )
    path = place.write("p.json", '{"ProfilingIntervalInMilliseconds": "never"}')
    env = {"FOOTPLATE_NODE": "n1", "SMPROFILER_CONFIG_PATH": str(path)}
    done = place.fp("run", "--quiet", "--", "sh", "-c", "echo out; exit 7", **env)
    assert done.returncode == 7
    assert done.stdout == "out\n"
    told = [line for line in done.stderr.splitlines() if line.startswith("footplate: ")]
    assert len(told) == 3
    assert "ProfilingIntervalInMilliseconds is not between 10 and 60000" in told[0]
    assert told[1] == (
        "footplate: footplate.yaml, line 1, column 12: "
        "unknown setting 'intervall' (did you mean 'interval'?)"
    )
    assert "line 4, column 17: detail.steps: 'soon' is not a start step" in told[2]
    info = place.info()
    assert info["name"] == "demo"
    assert info["labels"] == {"team": "vision"}
    assert info["interval_ms"] == 500


BROKEN = [
    ("footplate.yaml", "a: [\n", "footplate.yaml, line 2, column 1: "),
    ("footplate.yaml", "- a\n", "expected settings"),
    ("footplate.yaml", "\x00", "control characters are not allowed"),
    ("footplate.yaml", "#" * 70000, "footplate.yaml"),
    ("p.json", "{", "p.json: line 1, column 1"),
    ("p.json", "[]", "not a JSON object"),
    ("p.json", '{"ProfilingParameters": {"DetailedProfilingConfig": "{exit()}"}}', "ignored"),
]


@pytest.mark.parametrize("name, text, says", BROKEN, ids=[x[2] for x in BROKEN])
def test_a_broken_file_never_keeps_the_job_from_running(place, name, text, says):
    path = place.write(name, text)
    env = {"SMPROFILER_CONFIG_PATH": str(path)} if name == "p.json" else {}
    done = place.fp("run", "--quiet", "--", "sh", "-c", "echo out; exit 3", **env)
    assert done.returncode == 3 and done.stdout == "out\n"
    assert says in done.stderr and done.stderr.startswith("footplate: ")
    assert done.stderr.count("footplate: ") == 1


WRONG_OPTIONS = [
    (["--detail-steps", "x"], "--detail-steps: 'x' is not a start step; write START:COUNT"),
    (["--detail-steps", "5:0"], "--detail-steps: number of steps: '0' is not a number from 1"),
    (["--detail-at", "60s:10s"], "--detail-at: '60s' is not a start time (examples: +60s"),
    (["--detail-at", "+60s:10"], "--detail-at: length: '10' has no unit (example: 10s)"),
    (["--detail-ranks", "first"], "--detail-ranks: 'first' is not a rank; write 0,1 or 0-3 or all"),
    (
        ["--python-profile-steps", "9:3:cprof"],
        "--python-profile-steps: unknown profiler 'cprof' (did you mean 'cprofile'?)",
    ),
    (["--config", "missing.yaml"], "--config: open 'missing.yaml': No such file"),
    (["--label", "x"], "--label: 'x' is not of the form KEY=VALUE"),
    (["--set", "x"], "--set: 'x' is not of the form RULE.PARAM=VALUE"),
    (["--set", "StepOutlyer.x=1"], "--set: unknown rule 'StepOutlyer'; did you mean"),
    (
        ["--set", "StepOutlier.x=1"],
        "--set: StepOutlier has no parameter 'x'; its parameters: stddev",
    ),
    (["--set", "StepOutlier.stddev=1h"], "--set: StepOutlier.stddev: '1h' is not a number"),
    (["--set", "StepOutlier.stddev=0"], "--set: StepOutlier.stddev: 0 is out of range"),
    (["--scan-interval", "10ms"], "scan-interval"),
    (["--action", "do: nothing"], "--action: unknown action 'nothing'"),
]


@pytest.mark.parametrize("words, says", WRONG_OPTIONS, ids=[" ".join(x[0]) for x in WRONG_OPTIONS])
def test_a_wrong_option_is_wrong_use_and_starts_nothing(place, words, says):
    for command in (["run"], ["config"]):
        done = place.fp(*command, *words, "--", "sh", "-c", "echo started")
        assert done.returncode == 2 and done.stdout == ""
        assert says in done.stderr and done.stderr.count("\n") == 1


def test_settings_reach_the_run(place):
    done = place.fp(
        "run",
        "--quiet",
        "-l",
        "a=1",
        "--",
        "true",
        FOOTPLATE_NAME="from-env",
        FOOTPLATE_LABELS="b=2,c=3",
        FOOTPLATE_INTERVAL="50ms",
    )
    assert done.returncode == 0 and done.stderr == ""
    info = place.info()
    assert info["name"] == "from-env"
    assert info["labels"] == {"b": "2", "c": "3", "a": "1"}
    assert info["interval_ms"] == 50


def test_a_folder_for_runs_in_the_file_is_found_by_the_commands_that_read(place):
    place.write("footplate.yaml", "dir: kept/here\n")
    assert place.fp("run", "--quiet", "--name", "demo", "--", "true").returncode == 0
    assert list((place.folder / "kept" / "here").glob("demo-*"))
    assert len(json.loads(place.fp("ls", "--json").stdout)) == 1
    assert "demo" in place.fp("show", "last").stdout
    other = place.folder / "other"
    assert json.loads(place.fp("ls", "--json", FOOTPLATE_DIR=str(other)).stdout) == []
    assert json.loads(place.fp("ls", "--json", "--dir", other).stdout) == []


def test_hooks_that_are_off_make_windows_useless_and_that_is_said(place):
    told = place.config("--no-hooks", "--detail-steps=5:2")
    assert told["problems"] == [
        "hooks are disabled (--no-hooks), so detail windows and Python profiles have no effect"
    ]


def test_control_characters_in_a_file_do_not_reach_the_terminal(place):
    place.write("footplate.yaml", '"\\e[2Jx": 1\nname: "a\\eb"\n')
    done = place.fp("config")
    assert done.returncode == 1
    assert "\033" not in done.stdout + done.stderr


def test_the_documentation_has_the_table_that_the_program_prints(run_fp):
    table = run_fp("config", "--markdown").stdout
    assert table.count("\n") > 10
    assert table in (ROOT / "docs" / "configuration.md").read_text()


def test_the_documentation_has_the_keys_of_actions_that_the_program_prints(run_fp):
    table = run_fp("config", "--action-keys").stdout
    assert table.count("\n") > 10
    assert table in (ROOT / "docs" / "actions.md").read_text()


RULES = """\
rules:
  scan-interval: 5s
  StepOutlier: {stddev: 4, stddv: 5}
  StepOutlyer: {stddev: 4}
  Dataloader: {wait_threshold: 200}
actions:
  - {do: webhook, url: http://127.0.0.1:9/T0/s3cret}
  - {do: email, server: mx, from: a@b.c, to: d@e.f, user: u, password: s3cret, tls: off}
  - {do: wobhook}
"""


def test_wrong_rules_and_actions_of_a_file_are_told_and_the_run_starts_with_the_rest(place):
    place.write("footplate.yaml", RULES)
    done = place.fp("run", "--quiet", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    said = done.stderr.splitlines()
    assert len(said) == 4, said
    assert said[0].startswith(
        "footplate: footplate.yaml, line 3: StepOutlier has no parameter 'stddv'"
    )
    assert "line 4: unknown rule 'StepOutlyer'; did you mean StepOutlier?" in said[1]
    assert "line 5: Dataloader.wait_threshold: 200 is out of range (0 to 100 %)" in said[2]
    assert "line 9: action 3: unknown action 'wobhook' (did you mean 'webhook'?)" in said[3]
    (path,) = place.folder.glob("**/findings.json")
    params = {r["rule"]: r["params"] for r in json.loads(path.read_text())["rules"]}
    assert params["StepOutlier"]["stddev"] == 4 and params["Dataloader"]["wait_threshold"] == 20


def test_secrets_of_actions_are_never_printed_and_never_stored(place):
    place.write("footplate.yaml", RULES)
    assert place.value("actions") == ("webhook, email, wobhook", "footplate.yaml")
    done = place.fp("config")
    assert "s3cret" not in done.stdout + done.stderr
    assert place.fp("run", "--", "true").returncode == 0
    for path in place.folder.glob("footplate-runs/**/*"):
        assert path.is_dir() or b"s3cret" not in path.read_bytes()


def test_what_can_be_set_while_a_run_goes_on_is_checked_before_it_is_sent(place):
    for word, says in [
        ("detail=soon", "detail: 'soon' is not a start step"),
        ("detail", "'detail' needs a value: write key=value"),
        ("detail=5:2s", "detail: number of steps: '2s' is not a number"),
        ("speed=1", "'speed' cannot be set; use interval=TIME, monitoring=on|off, detail="),
    ]:
        done = place.fp("set", "last", word)
        assert done.returncode == 2 and says in done.stderr
