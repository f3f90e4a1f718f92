# SPDX-License-Identifier: Apache-2.0
"""The Trainer of transformers on a tiny model: accumulation, evaluation, prediction, saving."""

import json
import sys

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

torch.manual_seed(0)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x=None, labels=None):
        y = self.layer(x)
        return {"loss": (y - labels).pow(2).mean(), "logits": y}


class Own(Trainer):
    """Does its prediction by itself."""

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            out = model(**inputs)
        return out["loss"], out["logits"], inputs["labels"]


class Count(TrainerCallback):
    def __init__(self) -> None:
        self.facts = {"train": 0, "substeps": 0, "predictions": 0, "saves": 0}

    def on_step_end(self, args, state, control, **kwargs):
        self.facts["train"] += 1

    def on_substep_end(self, args, state, control, **kwargs):
        self.facts["substeps"] += 1

    def on_prediction_step(self, args, state, control, **kwargs):
        self.facts["predictions"] += 1

    def on_save(self, args, state, control, **kwargs):
        self.facts["saves"] += 1


def main() -> None:
    data = [{"x": torch.rand(4), "labels": torch.rand(1)} for _ in range(36)]  # 9 batches
    args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
    )
    count = Count()
    cls = Own if "own" in sys.argv else Trainer
    trainer = cls(Model(), args, train_dataset=data, eval_dataset=data, callbacks=[count])
    names = [type(c).__name__ for c in trainer.callback_handler.callbacks]
    trainer.train()
    trainer.predict(data)
    print(json.dumps(count.facts | {"callbacks": names, "steps": trainer.state.global_step}))


main()
