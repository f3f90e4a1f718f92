#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with a GPT-2 of random weights: two batches a step, evaluation, a save."""

import tempfile
import time
from typing import Any

import common
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

ACCUMULATE = 2


class Texts(Dataset):
    """The same data as the Trainer wants it."""

    def __init__(self, tokens: common.Tokens) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        text, _ = self.tokens[index]
        return {"input_ids": text, "labels": text}


class Watch(TrainerCallback):
    """The meter; ends the training when its time is over."""

    def __init__(self, meter: common.Meter) -> None:
        self.meter = meter
        self.left = 0.0  # when the last step ended

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.meter.start()

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.meter.begin_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.left = time.perf_counter()
        self.meter.stop()
        control.should_training_stop |= not self.meter.goes_on()

    def on_prediction_step(self, *_: Any, **__: Any) -> None:
        self.meter.eval_steps += 1

    def on_evaluate(self, *_: Any, **__: Any) -> None:
        self.meter.was_outside("eval", self.left)
        self.left = time.perf_counter()

    def on_save(self, *_: Any, **__: Any) -> None:
        self.meter.was_outside("checkpoint", self.left)


def model_of(size: common.Size) -> GPT2LMHeadModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=size.vocabulary,
            n_positions=size.tokens,
            n_embd=size.width,
            n_layer=size.layers,
            n_head=size.heads,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def main() -> None:
    parser = common.parser(__doc__, batch=32)
    parser.add_argument("--eval-every", type=int, default=50, help="steps")
    parser.add_argument("--save-every", type=int, default=100, help="steps")
    args = parser.parse_args()
    job = common.prepare(args, model_of)
    meter = job.meter("hf", cause=None)
    meter.flops *= ACCUMULATE
    meter.samples_per_step *= ACCUMULATE
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=job.model,
            args=TrainingArguments(
                output_dir=folder,
                max_steps=args.steps or 1_000_000,
                per_device_train_batch_size=job.size.batch,
                per_device_eval_batch_size=job.size.batch,
                gradient_accumulation_steps=ACCUMULATE,
                dataloader_num_workers=args.workers,
                eval_strategy="steps",
                eval_steps=args.eval_every,
                prediction_loss_only=True,
                save_strategy="steps",
                save_steps=args.save_every,
                save_only_model=True,
                save_total_limit=1,
                logging_steps=50,
                bf16=job.cuda is not None,
                use_cpu=job.cuda is None,
                report_to="none",
                disable_tqdm=True,
            ),
            train_dataset=Texts(common.Tokens(job.size, length=1 << 17)),
            eval_dataset=Texts(common.Tokens(job.size, length=20 * job.size.batch)),
            callbacks=[Watch(meter)],
        )
        result = trainer.train()
    took_s = result.metrics["train_runtime"]
    meter.notes["framework_throughput"] = len(meter.begins) * meter.samples_per_step / took_s
    meter.write()


if __name__ == "__main__":
    main()
