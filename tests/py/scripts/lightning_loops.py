# SPDX-License-Identifier: Apache-2.0
"""Lightning: fit with validation and gradient accumulation, then test and predict."""

import contextlib
import json
import logging
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

if sys.argv[1] == "lightning":
    import lightning.pytorch as pl
else:
    import pytorch_lightning as pl

torch.manual_seed(0)


class Model(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.counted = {"batches": 0, "optimizer": 0, "eval": 0, "predict": 0}

    def training_step(self, batch, index):
        self.counted["batches"] += 1
        if sys.argv[2:] == ["interrupt"] and self.counted["batches"] == 4:
            raise KeyboardInterrupt
        return self.layer(batch[0]).pow(2).mean()

    def optimizer_step(self, *args, **kwargs):
        super().optimizer_step(*args, **kwargs)
        self.counted["optimizer"] += 1

    def validation_step(self, batch, index):
        self.counted["eval"] += 1
        self.log("val", self.layer(batch[0]).mean())

    test_step = validation_step

    def predict_step(self, batch, index):
        self.counted["predict"] += 1
        return self.layer(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main() -> None:
    loader = DataLoader(TensorDataset(torch.rand(70, 4)), batch_size=8)  # 9 batches
    model = Model()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = pl.Trainer(
        max_epochs=2, accumulate_grad_batches=2, accelerator="cpu", default_root_dir=".", **quiet
    )
    names = [type(c).__name__ for c in trainer.callbacks]
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        trainer.fit(model, loader, loader)
    facts = dict(model.counted)
    if sys.argv[2:] != ["interrupt"]:
        trainer.test(model, loader, verbose=False)
        trainer.predict(model, loader)
        facts = dict(model.counted)
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    print(json.dumps(facts | {"callbacks": names, "begin": begin, "end": end}))


main()
