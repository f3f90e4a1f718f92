#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lightning's Trainer: bf16, a validation after every 100 batches."""

import time
import warnings
from typing import Any

import common
import torch

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl


class Module(pl.LightningModule):
    def __init__(self, job: common.Job) -> None:
        super().__init__()
        self.job = job
        self.model = job.model

    def training_step(self, batch: Any, number: int) -> torch.Tensor:
        return self.model(*batch)

    def validation_step(self, batch: Any, number: int) -> torch.Tensor:
        return self.model(*batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.job.adamw(fused=True)


class Watch(pl.Callback):
    """The meter; ends the training when its time is over."""

    def __init__(self, meter: common.Meter) -> None:
        self.meter = meter
        self.began = 0.0  # the validation

    def on_train_start(self, *_: Any) -> None:
        self.meter.start()

    def on_train_batch_start(self, *_: Any) -> None:
        self.meter.begin_step()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.meter.stop()
        if not self.meter.goes_on():
            trainer.should_stop = True

    def on_validation_start(self, *_: Any) -> None:
        self.began = time.perf_counter()

    def on_validation_batch_end(self, *_: Any) -> None:
        self.meter.eval_steps += 1

    def on_validation_end(self, *_: Any) -> None:
        if self.meter.begins:  # else it is the check before the training
            self.meter.was_outside("eval", self.began)
            self.meter.stop()


def main() -> None:
    warnings.filterwarnings("ignore", module=".*lightning.*")
    args = common.parser(__doc__, batch=32).parse_args()
    job = common.prepare(args)
    meter = job.meter("lightning", cause=None)
    trainer = pl.Trainer(
        accelerator="gpu" if job.cuda else "cpu",
        devices=1,
        precision="bf16-mixed" if job.cuda else "32-true",
        max_epochs=1,
        val_check_interval=100,
        callbacks=[Watch(meter)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    held_out = common.Tokens(job.size, length=20 * job.size.batch)
    trainer.fit(
        Module(job),
        job.loader(workers=args.workers),
        job.loader(held_out, args.workers),
    )
    meter.write()


if __name__ == "__main__":
    main()
