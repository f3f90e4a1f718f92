# SPDX-License-Identifier: Apache-2.0
"""Every answer of the API against its description: each key that is there is described, and each
key that is described is there, over runs with and without GPUs, steps and operators."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate
from test_api import ROOT, Api, serving

FUNCTION = {"file": "/x/train.py", "line": 7, "name": "f", "calls": 4, "self_s": 1, "total_s": 2}
PROFILE = {"version": 1, "pid": 4242, "start_step": 9, "end_step": 11, "start_ns": 10**18,
           "end_ns": 10**18 + 10**9, "profiler": "cprofile", "timer": "total_time",
           "functions": [FUNCTION], "phases": {"forward": [FUNCTION]},
           "stacks": [{"depth": 0, "file": "a.py", "name": "f", "total_s": 0.1}]}  # fmt: skip
SCENES = ["dataloader/one_bad_node", "eval_heavy/fires", "gpu_throttling/fires"]
SCENES += ["slow_finalization/fires"]
# What needs a rule of the user, prices, a hub or a run that is being recorded.
NOT_HERE = {"Verdict.custom"}
UNREACHED = {"Pending", "ControlAsk", "ControlAnswer", "ControlSaid", "Notes"}
UNREACHED |= {"RemoveAsk", "Removed", "Shipping", "HubStorage", "HubUse", "ControlRequest"}
UNREACHED |= {"RightSize", "Sizing", "SizingUse", "SizingNow"}
PYTHON = {"integer": int, "number": (int, float), "string": str, "boolean": bool,
          "array": list, "object": dict, "null": type(None)}  # fmt: skip


@pytest.fixture(scope="module")
def api(footplate: Path, train: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server over scenes, a training with its health, a trace with operators, a profile of
    Python, a recording with GPUs, one without, and a run that cannot be read."""
    folder = tmp_path_factory.mktemp("runs")
    profile = tmp_path_factory.mktemp("profile") / "profile.json"
    profile.write_text(json.dumps(PROFILE))
    traces = [profile, ROOT / "tests/serve/health.jsonl"]
    traces += sorted((ROOT / "tests/data/traces").iterdir())
    for path in [*(ROOT / "tests/rules" / f"{scene}.scene" for scene in SCENES), *traces]:
        subprocess.run([footplate, "import", path, "--dir", folder], check=True, timeout=120,
                       capture_output=True)  # fmt: skip
    archive = min((ROOT / "tests/data/gpu").glob("*.tar.xz"), key=lambda p: p.stat().st_size)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    shutil.copytree(ROOT / "tests/data/runs/h200", folder / "h200")
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    subprocess.run(
        [footplate, "run", "--dir", folder, "--interval", "100ms", "--", train, "--seconds", "1"],
        check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    with serving(footplate, folder, "--api-only") as url:
        yield Api(url, footplate, folder)


class Check:
    """Compares answers with schemas; remembers which keys of which schema were there."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self.seen: set[str] = set()
        self.reached: set[str] = set()

    def problems(self, schema: dict[str, Any], value: Any, where: str) -> list[str]:
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.problems({"name": name, **self.schemas[name]}, value, where)
        for choices in (schema.get("anyOf"), schema.get("oneOf")):
            if choices:
                each = [self.problems(choice, value, where) for choice in choices]
                return [] if [] in each else min(each, key=len)
        types = schema.get("type", list(PYTHON))
        allowed = [types] if isinstance(types, str) else types
        if not any(self.is_a(value, word) for word in allowed):
            return [f"{where} is {value!r:.40}, described as {types}"]
        if isinstance(value, list):
            return [
                p
                for v in value[:20]
                for p in self.problems(schema.get("items", {}), v, f"{where}[]")
            ]
        return self.of_object(schema, value, where) if isinstance(value, dict) else []

    @staticmethod
    def is_a(value: Any, word: str) -> bool:
        if isinstance(value, bool):
            return word == "boolean"
        return isinstance(value, PYTHON[word])  # type: ignore[arg-type]

    def of_object(self, schema: dict[str, Any], value: dict[str, Any], where: str) -> list[str]:
        keys = schema.get("properties", {})
        rest = schema.get("additionalProperties", {} if not keys else None)
        found = [f"{where}.{k} is described and absent" for k in schema.get("required", [])
                 if k not in value]  # fmt: skip
        for key, v in value.items():
            if key not in keys and rest is None:
                found.append(f"{where}.{key} is not described")
            else:
                found += self.problems(keys.get(key, rest), v, f"{where}.{key}")
        if "name" in schema and not found:
            self.reached.add(schema["name"])
            self.seen |= {f"{schema['name']}.{key}" for key in value}
        return found

    def unseen(self) -> set[str]:
        """Keys that are described and were in no answer, of objects that were in one."""
        described = {f"{name}.{key}" for name in self.reached
                     for key in self.schemas[name].get("properties", {})}  # fmt: skip
        return described - self.seen


# Paths that need parameters, and what else is asked for.
PARAMS: dict[str, list[dict[str, object]]] = {
    "/runs/{RUN}/series": [{"metric": "cpu.", "points": 5}],
    "/runs/{RUN}/grid": [{"metric": "cpu.util", "points": 5}],
    "/runs/{RUN}/counters": [{}, {"exact": 1}],
    "/runs/{RUN}/search": [{"q": "a"}],
    "/runs/{RUN}/stats": [{}, {"all": 1}, {"loop": 1}],
    "/runs/{RUN}/ops": [{}, {"by": "module"}, {"by": "function"}, {"by": "group"}],
    "/runs/{RUN}/events": [{}, {"detail": 1}],
    "/runs/{RUN}/health/scalars": [{"name": "loss"}, {"name": "lr", "mode": "train", "points": 2}],
    "/runs/{RUN}/health/tensors": [{"statistic": "gradient.l2"}, {"statistic": "none"}],
}


def asked(path: str, names: list[str]) -> list[tuple[str, dict[str, object]]]:
    if path == "/compare":
        pairs = [*zip(names, names[1:], strict=False), *zip(names, names, strict=True)]
        return [(path, {"a": a, "b": b}) for a, b in pairs]
    runs = names if "{RUN}" in path else [""]
    return [(path.replace("{RUN}", r), p) for r in runs for p in PARAMS.get(path, [{}])]


def test_the_description_is_valid_and_lists_every_route(api: Api) -> None:
    described = api.get("/openapi.json")
    validate(described)
    table = (ROOT / "src/serve/routes.def").read_text()
    routes = [line for line in table.splitlines() if line.startswith("ROUTE(")]
    assert sum(len(methods) for methods in described["paths"].values()) == len(routes)


def test_every_key_of_every_answer_is_described_and_every_described_key_is_there(api: Api) -> None:
    described = api.get("/openapi.json")
    check = Check(described["components"]["schemas"])
    names = [run["run"] for run in api.get("/runs") if run["status"]]
    assert len(names) >= 6
    found: list[str] = []
    for path, methods in described["paths"].items():
        if "get" not in methods or path.endswith(("/live", ".html", "/{FILE}")):
            continue
        content = methods["get"]["responses"]["200"]["content"]["application/json"]
        for address, params in asked(path, names):
            status, answer = api.ask(address, **params)
            if status == 200:
                found += check.problems(content["schema"], answer, path)
            else:
                found += check.problems({"$ref": "x/Error"}, answer, path)
    assert sorted(set(found)) == []
    assert check.unseen() - NOT_HERE == set()
    lists = {n for n, s in check.schemas.items() if s["type"] == "array"}
    assert check.schemas.keys() - check.reached - lists - UNREACHED == set()
