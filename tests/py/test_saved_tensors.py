# SPDX-License-Identifier: Apache-2.0
"""Tensors that `footplate run --save-tensors` saves: those that the program had, and no others."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pykit import SCRIPTS, ask
from talk import need_torch

SCRIPT = SCRIPTS / "save_tensors.py"
np = pytest.importorskip("numpy")


def of_torch(path: Path) -> dict[str, dict[int, Any]]:
    import torch

    kept = torch.load(path)
    wide = {torch.bfloat16: torch.float32}
    return {
        name: {step: t.to(wide.get(t.dtype, t.dtype)).numpy() for step, t in steps.items()}
        for name, steps in kept.items()
    }


class Files:
    """What hooks have left in the folder of the rings."""

    def __init__(self, folder: Path) -> None:
        self.tensors: dict[tuple[int, int], dict[str, Any]] = {}  # by rank and step
        for path in sorted(folder.glob("tensors-*.npz")):
            from footplate.analysis import saved

            about = saved.parse(path.name)
            assert about is not None
            found = self.tensors.setdefault((about.rank, about.step), {})
            with np.load(path) as file:
                found |= dict(file)

    def names(self, step: int = 0, rank: int = 0) -> set[str]:
        return set(self.tensors.get((rank, step), {}))


@pytest.fixture
def case(api, torch_hooked, ring, tmp_path) -> Callable[..., Files]:
    need_torch(2, 4, "training health")

    def run(name: str, *tensors: str, losses: list[str] | None = None, **more: Any) -> Files:
        save = {"tensors": list(tensors), "steps": [{"start": 0, "count": 100}], "limit": 1 << 20}
        ring.ask(health={"mode": "auto", "save": save | more})
        done = torch_hooked(SCRIPT, name, tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert [one for one in ring.losses() if one.startswith("saved")] == (losses or [])
        assert not list(ring.folder.glob(".tensors*"))
        return Files(ring.folder)

    return run


def same(files: Files, wanted: dict[str, dict[int, Any]], rank: int = 0) -> None:
    for name, steps in wanted.items():
        for step, want in steps.items():
            got = files.tensors[rank, step][name]
            assert (got.dtype, got.shape) == (want.dtype, want.shape), name
            assert np.array_equal(got, want), (name, step)


def test_weights_gradients_and_outputs_are_those_of_the_program_in_the_steps_asked_for(
    case, tmp_path
):
    files = case("plain", "", steps=[{"start": 2, "count": 2}, {"start": 5, "count": 1}])
    assert set(files.tensors) == {(0, 2), (0, 3), (0, 5)}
    kept = of_torch(tmp_path / "kept.pt")
    same(files, {n: {s: v for s, v in k.items() if s in (2, 3, 5)} for n, k in kept.items()})
    assert files.names(2) == {*kept, "0_output_0", "1_output_0", "Sequential_output_0"}


def test_of_a_loop_with_a_loader_the_first_output_of_a_step_is_saved(case, tmp_path):
    files = case("loader", "2_output", "gradient/0.weight")
    assert files.names() == {"2_output_0", "gradient/0.weight"}
    same(files, of_torch(tmp_path / "kept.pt"))


def test_collections_of_sagemaker_are_names_of_kinds(case):
    files = case("plain", "biases", "outputs")
    outputs = {"0_output_0", "1_output_0", "2_output_0", "Sequential_output_0"}
    assert files.names() == {"0.bias", "2.bias"} | outputs


def test_with_amp_gradients_are_saved_without_the_loss_scale_and_bf16_as_float32(case, tmp_path):
    files = case("amp", "gradient/0.weight", "2_output_0")
    same(files, of_torch(tmp_path / "kept.pt"))


def test_types_that_numpy_has_stay_and_what_has_no_values_is_left_out(case, tmp_path):
    files = case(
        "odd",
        "",
        losses=[
            "saved tensors: nowhere is on the device meta with the layout strided",
        ],
    )
    same(files, of_torch(tmp_path / "kept.pt"))
    assert files.tensors[0, 0]["small"].dtype == np.float16
    assert files.tensors[0, 0]["nothing"].shape == (0, 5)
    assert "gradient/sparse.weight" not in files.names()


def test_of_a_compiled_model_weights_and_gradients_are_saved(case, tmp_path):
    files = case("compiled", "weight$")
    same(files, of_torch(tmp_path / "kept.pt"))


def test_a_compiled_model_has_no_outputs_and_the_run_says_so(case):
    why = "saved tensors: outputs of modules inside of torch.compile are not seen"
    assert case("compiled", "_output_0", losses=[why]).tensors == {}


def test_no_hook_is_left_in_a_model(case):
    case("copied", "")


def test_a_training_whose_tensors_are_saved_has_the_same_bits(
    torch_hooked, torch_plain, ring, package
):
    need_torch(2, 4, "training health")
    save = {"tensors": [""], "steps": [{"start": 0, "count": 99}], "limit": 1 << 24}
    ring.ask(health={"mode": "auto", "save": save})
    env = {"PYTHONPATH": f"{package}:{SCRIPTS}"}
    done = [
        run(SCRIPTS / "health_cases.py", "digest", "amp", env=env)
        for run in (torch_hooked, torch_plain)
    ]
    assert done[0].returncode == 0, done[0].stderr
    assert json.loads(done[0].stdout) == json.loads(done[1].stdout)
    assert len(list(ring.folder.glob("tensors-*.npz"))) > 20


def test_a_process_saves_no_more_than_its_limit(case, ring):
    why = "saved tensors: the limit of 2000 bytes of a process is reached"
    files = case("plain", "", limit=2000, losses=[why])
    size = sum(v.nbytes for step in files.tensors.values() for v in step.values())
    assert 0 < size <= 2000
    lost = sum(e["value"] for e in ring.events() if e["kind"] == "health_lost")
    assert sum(map(len, files.tensors.values())) + lost == 6 * 12


def test_without_training_health_nothing_is_saved_and_the_run_says_so(torch_hooked, ring):
    need_torch(2, 4, "training health")
    ring.ask(health={"mode": "off", "save": {"tensors": [""], "steps": [{"start": 0, "count": 9}]}})
    assert torch_hooked(SCRIPT, "plain").returncode == 0
    assert "saved tensors: training health is off" in ring.losses()
    assert not list(ring.folder.glob("tensors*"))


def test_a_folder_that_cannot_be_written_costs_the_tensors_and_nothing_else(
    torch_hooked, ring, tmp_path
):
    need_torch(2, 4, "training health")
    save = {"tensors": [""], "steps": [{"start": 0, "count": 1}], "limit": 1 << 20}
    ring.ask(health={"mode": "auto", "save": save})
    code = f"""
import builtins, os, runpy, sys
real = os.open
def full(path, *more, **named):
    if "tensors" in str(path):
        raise OSError(28, "No space left on device")
    return real(path, *more, **named)
os.open = full
sys.argv = ["x", "plain"]
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""
    done = torch_hooked("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    losses = [one for one in ring.losses() if one.startswith("saved")]
    assert losses == ["saved tensors: OSError: [Errno 28] No space left on device"]


def test_ranks_that_are_asked_for_save_their_own(api, hooked, ring, tmp_path):
    need_torch(2, 4, "training health")
    save = {"tensors": ["2_out", "gradient/0.w"], "steps": [{"start": 1, "count": 1}]}
    ring.ask(health={"mode": "auto", "save": save | {"limit": 1 << 20, "ranks": [0, 1]}})
    done = hooked(SCRIPT, "ranks", tmp_path, env={"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    files = Files(ring.folder)
    assert set(files.tensors) == {(0, 1), (1, 1)}
    for rank in range(2):
        kept = of_torch(tmp_path / f"{rank}.pt")
        same(files, {name: {1: steps[1]} for name, steps in kept.items()}, rank)


# ---- in a run ----


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    need_torch(2, 4, "training health")
    folder = tmp_path_factory.mktemp("saved")
    quick = ("--no-report", "--no-rules")
    what = ("--save-tensors", "^(gradient/)?2.weight", "--save-tensors", "2_out")
    job = (sys.executable, SCRIPT, "plain", folder)
    ask("run", "--dir", folder, *quick, *what, "--save-steps", "1:2,5", "--", *job)
    return next(p.parent for p in folder.glob("*/run.json"))


NAMES = ["2.weight", "2_output_0", "gradient/2.weight"]


def test_a_run_returns_its_saved_tensors(run, api):
    kept = of_torch(run.parent / "kept.pt")
    with api.open(run) as opened:
        for name in NAMES:
            for step in (1, 2, 5):
                assert np.array_equal(opened.tensor(name, step), kept[name][step])
        assert opened.tensor("2.weight", 5, rank=0).shape == (4, 16)
        rows = opened.saved_tensors()
        assert sorted(set(rows["name"])) == NAMES
        assert sorted(set(rows["step"])) == [1, 2, 5]
        with pytest.raises(api.RunError, match="not saved in step 3, but in 1, 2, 5"):
            opened.tensor("2.weight", 3)
        with pytest.raises(api.RunError, match="of rank 1 was not saved in step 1"):
            opened.tensor("2.weight", 1, rank=1)
        with pytest.raises(api.RunError, match="'7.weight' was not saved"):
            opened.tensor("7.weight", 1)


def test_without_numpy_a_tensor_is_a_memoryview_of_its_shape(run, api, monkeypatch):
    kept = of_torch(run.parent / "kept.pt")
    monkeypatch.setattr("footplate.analysis.saved.numpy", lambda: None)
    with api.open(run) as opened:
        found = opened.tensor("2.weight", 2)
    assert (found.shape, found.format) == ((4, 16), "f")
    assert found.tolist() == kept["2.weight"][2].tolist()


def test_saved_tensors_are_listed(run):
    listed = json.loads(ask("health", run, "--json"))["saved"]
    assert {(s["name"], s["step"], s["rank"]) for s in listed} == {
        (name, step, 0) for name in NAMES for step in (1, 2, 5)
    }
    assert {s["bytes"] for s in listed if s["name"] == "2.weight"} == {4 * 16 * 4}
    assert "saved          9 tensors, " in ask("health", run)
    tensors = json.loads(ask("health", run, "--json"))["tensors"]
    assert "2_output_0" not in {tensor["name"] for tensor in tensors}


def test_saved_tensors_stay_with_a_run_that_is_merged_and_chosen_steps_with_their_steps(
    run, api, tmp_path
):
    ask("merge", run, run, "-o", tmp_path / "both")
    ask("merge", run, "--steps", "1:2", "-o", tmp_path / "part")
    kept = of_torch(run.parent / "kept.pt")
    with api.open(tmp_path / "both") as opened:
        assert np.array_equal(opened.tensor("2.weight", 5), kept["2.weight"][5])
    assert len(list((tmp_path / "both").glob("node-*/tensors-*.npz"))) == 6
    for name in ("both", "part"):
        assert json.loads(ask("health", tmp_path / name, "--json"))["scalars"], "and its health"
    with api.open(tmp_path / "part") as opened:
        assert np.array_equal(opened.tensor("2.weight", 2), kept["2.weight"][2])
        with pytest.raises(api.RunError):
            opened.tensor("2.weight", 5)


def test_a_tensor_whose_file_is_gone_is_told_apart_from_one_that_was_not_saved(run, api, tmp_path):
    ask("merge", run, "-o", tmp_path / "copy")
    for path in (tmp_path / "copy").glob("node-*/tensors-*.npz"):
        path.unlink()
    with (
        api.open(tmp_path / "copy") as opened,
        pytest.raises(api.RunError, match="but its file is not in this run"),
    ):
        opened.tensor("2.weight", 5)


def test_a_file_is_an_npz_that_unzip_can_read(run):
    path = next(iter(run.glob("node-*/tensors-0-1-*.npz")))
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == [f"{name}.npy" for name in NAMES]
