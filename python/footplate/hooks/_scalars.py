# SPDX-License-Identifier: Apache-2.0
"""Training health that all frameworks share: the settings, which names are recorded, and the
numbers of steps.

The settings are in the recorder's config.json. Without the key "health" nothing is captured:

    "health": {"mode": "auto", "budget": 0.005, "every": 50,
               "include": ["layer4"], "exclude": ["bias$"], "collections": ["gradients"],
               "save": {...}}

`core` is the part of _core that takes the values; tests put something else there.
"""

import json
import re

from .. import _core, _health, _safe, _steps
from ..detail import boundary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# SageMaker's collections: the beginnings of the statistics that they mean, and what is searched in
# the names of their tensors.
PARAMETERS = ("weight.", "update.", "parameter.")
COLLECTIONS: "dict[str, tuple[tuple[str, ...], str]]" = {
    "weights": (PARAMETERS, r"^(?!.*bias)"),
    "biases": (PARAMETERS, "bias"),
    "gradients": (("gradient.", "parameter."), ""),
    "losses": ((), ""),
    "metrics": ((), ""),
    "sm_metrics": ((), ""),
    "optimizer_variables": (("optimizer.",), ""),
    "outputs": (("output.",), ""),
    "layers": (("output.", "input."), ""),
    "inputs": (("input.",), ""),
    "default": (("",), ""),
    "all": (("",), ""),
    "predictions": ((), ""),
    "labels": ((), ""),
    "feature_importance": ((), ""),
    "average_shap": ((), ""),
    "full_shap": ((), ""),
    "trees": ((), ""),
    "hyperparameters": ((), ""),
}
# How a collection of the user names a tensor, by the kind of its statistics; others by their name.
PLACES = {"gradient": "gradient/{}", "output": "{}_output_0", "input": "{}_input_0"}
SHARE, EVERY = 0.005, 50
MOST_LOGGED = 256  # numbers of one call of a framework's log
# Metrics of boosters that are losses; others, such as auc and ndcg, rise.
_LOSS = re.compile(
    r"loss$|^(rmse|rmsle|mae|mape|mphe|l1|l2|huber|fair|quantile)$|nloglik|deviance|entropy|poisson"
)

core: "Any" = _core
STATISTICS: "dict[str, int]" = getattr(_core, "STATISTICS", {})
SCALAR = 0


def regexes(value: "Any") -> "list[re.Pattern[str]]":
    found = []
    for text in value if isinstance(value, list) else []:
        try:
            found.append(re.compile(str(text)))
        except re.error as error:
            _safe.report_loss("health filter", f"{text!r}: {error}")
    return found


class Settings:
    """What the recorder requests."""

    def __init__(self, value: "Any" = None) -> None:
        given = value if isinstance(value, dict) else {}
        self.on = given.get("mode", "off") in ("auto", "on")
        self.forced = given.get("mode") == "on"  # samples are taken also when they cost more
        share, every = given.get("budget", SHARE), given.get("every", EVERY)
        self.share = float(share) if isinstance(share, int | float) and share > 0 else SHARE
        self.every = every if isinstance(every, int) and every > 0 else EVERY
        self.include = regexes(given.get("include"))
        self.exclude = regexes(given.get("exclude"))
        # Beginnings of statistics, and what is searched in the names of tensors; empty: all.
        self.collections: list[tuple[tuple[str, ...], re.Pattern[str]]] = []
        self.names: dict[int, str] = {}  # of tensors
        self.picked: dict[tuple[str, int], bool] = {}
        self.save = given.get("save")  # which tensors are saved whole: torch_saver.py
        if self.save and not self.on:
            _safe.report_loss("saved tensors", "training health is off")
        listed = given.get("collections")
        if isinstance(listed, list) and listed:
            self._take_collections([str(one) for one in listed])

    def _take_collections(self, names: "list[str]") -> None:
        """A collection of SageMaker by its name, or NAME=REGEX: one that the user defines."""
        for name in names:
            own, equals, regex = name.partition("=")
            prefixes, pattern = COLLECTIONS.get(own, ((), "")) if not equals else (("",), regex)
            if not equals and own not in COLLECTIONS:
                _safe.report_loss("health filter", f"there is no collection {own!r}")
            found = regexes([pattern])
            self.collections.append((prefixes, found[0]) if found else ((), re.compile("")))

    def number(self, name: str) -> int:
        """The number of a tensor's name."""
        number = int(core.health_name(name))
        self.names[number] = name
        return number

    def takes(self, statistic: str) -> bool:
        """Whether a statistic is wanted of any tensor."""
        return not self.collections or any(statistic.startswith(one) for one, _ in self.collections)

    def picks(self, statistic: str, number: int) -> bool:
        """Whether a statistic is wanted of this tensor: any of the collections has it."""
        if not self.collections:
            return True
        key = statistic, number
        found = self.picked.get(key)
        if found is None:
            place = PLACES.get(statistic.partition(".")[0], "{}").format(self.names.get(number, ""))
            found = self.picked[key] = any(
                statistic.startswith(prefixes) and pattern.search(place) is not None
                for prefixes, pattern in self.collections
            )
        return found

    def follows(self, name: str) -> bool:
        """Whether a tensor or module with this name is wanted."""
        if self.include and not any(one.search(name) for one in self.include):
            return False
        return not any(one.search(name) for one in self.exclude)


def read_settings() -> Settings:
    """The settings of the recorder; off where it requests nothing, or cannot record it."""
    with _safe.guard("health settings"):
        if not hasattr(core, "health_value"):
            return Settings()
        text = _safe.read_settings()
        settings = json.loads(text) if text else None
        return Settings(settings.get("health") if isinstance(settings, dict) else None)
    return Settings()


class _Shared:
    settings: "Settings | None" = None


def settings() -> Settings:
    """Read once in a recording."""
    if _Shared.settings is None:
        _Shared.settings = read_settings()
    return _Shared.settings


def _begin_again() -> None:
    _Shared.settings = None
    _Newest.train = -1


_safe.on_begin_again.append(_begin_again)


# ---- scalars ----


def current_step() -> int:
    """The number of the training step under way, or of the next one; -1: there were none."""
    loop = boundary.loop
    return loop.ended if loop.ended or loop.begun or loop.stepped else -1


class _Newest:
    train = -1  # step that the framework reported


def _listen(begins: bool, number: int, mode: int) -> None:
    if begins and mode == _core.TRAIN:
        _Newest.train = number


_steps.listeners.append(_listen)


def latest_step() -> int:
    """The training step under way or, between two, the one before."""
    explicit = boundary.loop.explicit and _Newest.train >= 0
    return _Newest.train if explicit else current_step()


def put(name: str, value: float, step: int, mode: int) -> None:
    """One number of a step."""
    core.health_begin(step, mode, 0)
    core.health_value(SCALAR, core.health_name(name), value)


def split_name(name: str, mode: int) -> "tuple[str, int]":
    """A name as a framework writes it, and its mode: eval_loss is the loss of an evaluation."""
    for prefix in ("eval_", "val_", "valid_", "validation_", "test_", "eval/", "val/", "test/"):
        if name.startswith(prefix) and len(name) > len(prefix):
            return name[len(prefix) :], _core.EVAL
    for prefix in ("train_", "train/"):
        if name.startswith(prefix) and len(name) > len(prefix):
            return name[len(prefix) :], _core.TRAIN
    return name, mode


def put_all(values: "Any", step: int, mode: int, skip: "tuple[str, ...]" = ()) -> None:
    """The numbers of a framework's log: a mapping of names. What is not a number on the host is
    left out, so that nothing waits."""
    begun: int | None = None
    for name, value in list(values.items())[:MOST_LOGGED]:
        if not isinstance(name, str) or name in skip or isinstance(value, bool):
            continue
        short, its = split_name(name, mode)
        number = host_number(value)
        if number is None:
            for take in _health.defer:
                take(core.health_name(short), value, step, its)
            continue
        if its != begun:
            core.health_begin(step, its, 0)
            begun = its
        core.health_value(SCALAR, core.health_name(short), number)
    core.health_flush()


def put_evaluations(found: "Any", step: int) -> None:
    """(data set, metric, value) of each: "validation_0/logloss". The first metric that is a loss is
    that of the step, too: of the training data, and of the last data set."""
    losses: dict[int, tuple[str, float]] = {}
    for data, metric, value in list(found)[:MOST_LOGGED]:
        mode = _core.TRAIN if str(data).startswith("train") else _core.EVAL
        if isinstance(value, tuple):  # mean and deviation of several folds
            value = value[0]
        put(f"{data}/{metric}", float(value), step, mode)
        if _LOSS.search(str(metric)) and losses.get(mode, ("",))[0] != data:
            losses[mode] = str(data), float(value)
    for mode, (_, value) in losses.items():
        put("loss", value, step, mode)
    core.health_flush()


def put_importances(kind: str, found: "Any", step: int) -> None:
    """The largest of a mapping from features to numbers."""
    largest = sorted(found.items(), key=lambda one: -float(one[1]))[:MOST_LOGGED]
    for feature, value in largest:
        put(f"importance/{kind}/{feature}", float(value), step, _core.TRAIN)
    core.health_flush()


def host_number(value: "Any") -> "float | None":
    """None when it is not one number, or is not on the host."""
    if isinstance(value, int | float):
        return float(value)
    device = getattr(value, "device", None)
    if device is not None and getattr(device, "type", "cpu") != "cpu":
        return None
    try:
        return float(value.item()) if hasattr(value, "item") else None
    except Exception:
        return None
