# SPDX-License-Identifier: Apache-2.0
"""Programs of other frameworks: with one problem each, or healthy with the knobs turned."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

from kit import Job, Knobs, Program, main, network, tensors

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


# ---- Keras ----


def keras_model() -> Any:
    import keras

    layers = [keras.layers.Dense(512, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((256,)), *layers, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    return model


def keras_generator(job: Job) -> None:
    """fit() with a generator that makes its batches slowly; or a PyDataset with workers."""
    import keras
    import numpy as np

    def batch() -> Any:
        time.sleep(0.04)
        return np.random.rand(64, 256).astype("float32"), np.random.randint(0, 10, 64)

    class Batches(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 1 << 20

        def __getitem__(self, at: int) -> Any:
            return batch()

    def generate() -> Any:
        while True:
            yield batch()

    workers = job.knob("workers")
    data: Any = (
        Batches(workers=workers, use_multiprocessing=False, max_queue_size=2 * workers)
        if workers
        else generate()
    )
    keras_fit(job, data, steps_per_epoch=100)


def keras_arrays(job: Job) -> None:
    import numpy as np

    x, y = np.random.rand(16384, 256).astype("float32"), np.random.randint(0, 10, 16384)
    keras_fit(job, x, y, batch_size=256)


def keras_fit(job: Job, *data: Any, **options: Any) -> None:
    import keras

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            job.steps += 1
            self.model.stop_training = job.is_over

    model = keras_model()
    job.begin()
    while not job.is_over:
        model.fit(*data, epochs=100, verbose=0, callbacks=[Watch()], **options)
    job.report()


# ---- Transformers and Lightning ----


def trainer(job: Job) -> None:
    """HF Trainer that evaluates often."""
    import torch
    from torch import nn
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network(width=1024)

        def forward(self, x: Any, labels: Any) -> Any:
            out = self.inner(x)
            return {"loss": nn.functional.cross_entropy(out, labels), "logits": out}

    class Rows:
        def __init__(self, count: int) -> None:
            self.x = torch.randn(count, 256)

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, at: int) -> Any:
            return {"x": self.x[at], "labels": at % 10}

    class Watch(TrainerCallback):
        def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
            job.begin()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            job.steps += 1
            control.should_training_stop = job.is_over

    every = job.knob("eval_every")
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder,
            per_device_train_batch_size=128,
            per_device_eval_batch_size=128,
            max_steps=100_000,
            eval_strategy="steps",
            eval_steps=every,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            logging_steps=1000,
        )
        Trainer(
            model=Model(),
            args=args,
            train_dataset=Rows(8192),
            eval_dataset=Rows(job.knob("eval_rows")),
            callbacks=[Watch()],
        ).train()
    job.report()


def lightning_fit(job: Job) -> None:
    import lightning
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network(width=1024)

        def training_step(self, batch: Any, index: int) -> Any:
            job.steps += 1
            return nn.functional.cross_entropy(self.inner(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    class Watch(lightning.Callback):
        def on_train_batch_end(self, trainer: Any, *args: Any) -> None:
            trainer.should_stop = job.is_over

    with tempfile.TemporaryDirectory() as folder:
        fit = lightning.Trainer(
            max_epochs=-1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
            callbacks=[Watch()],
        )
        job.begin()
        fit.fit(Model(), DataLoader(tensors(32768), batch_size=256))
    job.report()


# ---- trees ----


def rows(count: int) -> Any:
    import numpy as np

    x = np.random.rand(count, 20)
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0.7).astype(int)


def xgboost_rounds(job: Job) -> None:
    import xgboost

    x, y = rows(50_000)
    data = xgboost.DMatrix(x, y)

    class Watch(xgboost.callback.TrainingCallback):
        def after_iteration(self, *args: Any) -> bool:
            job.steps += 1
            return job.is_over

    job.begin()
    xgboost.train(
        {"max_depth": 6, "nthread": 2, "objective": "binary:logistic"},
        data,
        num_boost_round=100_000,
        callbacks=[Watch()],
    )
    job.report()


def lightgbm_rounds(job: Job) -> None:
    import lightgbm

    x, y = rows(50_000)
    job.begin()

    def watch(env: Any) -> None:
        job.steps += 1
        if job.is_over:
            raise lightgbm.callback.EarlyStopException(env.iteration, [])

    lightgbm.train(
        {"num_leaves": 63, "num_threads": 2, "objective": "binary", "verbose": -1},
        lightgbm.Dataset(x, y),
        num_boost_round=100_000,
        callbacks=[watch],
    )
    job.report()


def sklearn_fits(job: Job) -> None:
    from sklearn.ensemble import RandomForestClassifier

    x, y = rows(10_000)
    job.begin()
    while not job.is_over:
        RandomForestClassifier(n_estimators=20, n_jobs=2).fit(x, y)
        job.steps += 1
    job.report()


PROGRAMS: dict[str, tuple[Program, Knobs]] = {
    "keras_generator": (keras_generator, {"workers": 0}),
    "keras_arrays": (keras_arrays, {}),
    "trainer": (trainer, {"eval_every": 20, "eval_rows": 7680}),
    "lightning": (lightning_fit, {}),
    "xgboost": (xgboost_rounds, {}),
    "lightgbm": (lightgbm_rounds, {}),
    "sklearn": (sklearn_fits, {}),
}

if __name__ == "__main__":
    main(PROGRAMS)
