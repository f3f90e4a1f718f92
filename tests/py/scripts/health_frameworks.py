# SPDX-License-Identifier: Apache-2.0
"""health_frameworks.py FRAMEWORK: numbers that a framework reports itself, as they are captured."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
from health_kit import Told

rng = np.random.default_rng(0)
X = rng.random((96, 4), dtype=np.float32)
Y = X @ np.array([3, 1, 0, 0], dtype=np.float32)


def boosted(told: Told, history: dict[str, dict[str, list[float]]], gain: str) -> dict[str, Any]:
    for data, metrics in history.items():
        for metric, values in metrics.items():
            mode = 0 if data.startswith("train") else 1
            found = told.scalar(f"{data}/{metric}", mode)
            assert list(found) == list(range(len(values))), (data, metric, found)
            assert all(math.isclose(a, b) for a, b in zip(found.values(), values, strict=True))
    for mode, metrics in enumerate([*history.values()][:2]):  # the first metric is the loss
        first = [float(value) for value in next(iter(metrics.values()))]
        assert list(told.scalar("loss", mode).values()) == first
    importances = {
        n: v for n in told.scalars() if n.startswith(gain) for v in told.scalar(n).values()
    }
    return {"best": max(importances, key=lambda n: importances[n]), "count": len(importances)}


def xgboost(told: Told) -> dict[str, Any]:
    import xgboost as xgb

    train, other = xgb.DMatrix(X[:64], Y[:64]), xgb.DMatrix(X[64:], Y[64:])
    history: dict[str, Any] = {}
    xgb.train(
        {"max_depth": 2, "nthread": 1, "eval_metric": ["rmse", "mae"]},
        train,
        num_boost_round=4,
        evals=[(train, "train"), (other, "validation_0")],
        evals_result=history,
        verbose_eval=False,
    )
    return boosted(told, history, "importance/total_gain/")


def lightgbm(told: Told) -> dict[str, Any]:
    import lightgbm as lgb

    train = lgb.Dataset(X[:64], Y[:64])
    history: dict[str, Any] = {}
    params = {"metric": "l2", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 4}
    lgb.train(
        params,
        train,
        num_boost_round=4,
        valid_sets=[train, lgb.Dataset(X[64:], Y[64:], reference=train)],
        valid_names=["training", "valid_0"],
        callbacks=[lgb.record_evaluation(history)],
    )
    return boosted(told, history, "importance/total_gain/")


def transformers(told: Told) -> dict[str, Any]:
    import tempfile

    import torch
    from transformers import Trainer, TrainingArguments

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            out = self.layer(x)[:, 0]
            return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}

    rows = [{"x": x, "labels": y} for x, y in zip(X, Y, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        asked = TrainingArguments(
            folder, max_steps=6, logging_steps=3, eval_steps=3, eval_strategy="steps",
            report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        trainer = Trainer(Net(), asked, train_dataset=rows[:64], eval_dataset=rows[64:])
        trainer.train()
        logs = trainer.state.log_history
    evals = [log["eval_loss"] for log in logs if "eval_loss" in log]
    assert list(told.scalar("loss", 1).values()) == evals, (told.scalar("loss", 1), evals)
    assert list(told.scalar("logged/loss").values()) == [
        log["loss"] for log in logs if "loss" in log
    ]
    assert list(told.scalar("loss", 1)) == [2, 5]
    return {"losses": sorted(told.scalar("loss")), "rates": len(told.scalar("lr"))}


def lightning(told: Told) -> dict[str, Any]:
    import logging
    import warnings

    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Net(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1])
            self.log("mine", 2 * loss)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("val_loss", torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1]))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    loader = DataLoader(TensorDataset(torch.tensor(X), torch.tensor(Y)), batch_size=16)
    trainer = pl.Trainer(
        max_epochs=2, log_every_n_steps=2, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, logger=False, accelerator="cpu",
    )  # fmt: skip
    trainer.fit(Net(), loader, loader)
    losses, mine = told.scalar("loss"), told.scalar("mine")
    assert all(math.isclose(value, 2 * losses[step], rel_tol=1e-5) for step, value in mine.items())
    return {"losses": sorted(losses), "evals": sorted(told.scalar("loss", 1)), "mine": len(mine)}


def keras(told: Told) -> dict[str, Any]:
    import keras as k

    k.utils.set_random_seed(0)
    model = k.Sequential([k.layers.Input((4,)), k.layers.Dense(1)])
    model.compile("sgd", "mse")
    seen: list[float] = []

    class Batches(k.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.total = 0.0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            total = float(logs["loss"]) * (batch + 1)
            seen.append(total - self.total)
            self.total = total

    past = model.fit(
        X[:64], Y[:64], batch_size=16, epochs=2, verbose=0, shuffle=False,
        validation_data=(X[64:], Y[64:]), callbacks=[Batches()],
    )  # fmt: skip
    losses = told.scalar("loss")
    assert all(math.isclose(losses[i], seen[i], rel_tol=1e-4) for i in range(8)), (losses, seen)
    evals = told.scalar("loss", 1)
    assert list(evals.values()) == [float(v) for v in past.history["val_loss"]]
    return {"losses": sorted(losses), "evals": sorted(evals)}


def main() -> None:
    told = Told.listen()
    print(json.dumps(globals()[sys.argv[1]](told)))


main()
