# SPDX-License-Identifier: Apache-2.0
"""Plays deepspeed.runtime.engine, found on sys.path as the real one would be."""

import json
import os
import sys

ENGINE = """
import torch


class DeepSpeedEngine:
    micro_steps = 0

    def __init__(self):
        self.optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)

    def is_gradient_accumulation_boundary(self):
        return self.micro_steps % 2 == 1

    def step(self):
        done = self.is_gradient_accumulation_boundary()
        if done:
            self.optimizer.step()
        self.micro_steps += 1
        return done
"""
PIPE = """
from deepspeed.runtime.engine import DeepSpeedEngine


class PipelineEngine(DeepSpeedEngine):
    def train_batch(self):
        return self.micro_steps

    def eval_batch(self):
        return self.micro_steps
"""
for path, text in {
    "deepspeed/__init__.py": "",
    "deepspeed/runtime/__init__.py": "",
    "deepspeed/runtime/engine.py": ENGINE,
    "deepspeed/runtime/pipe/__init__.py": "",
    "deepspeed/runtime/pipe/engine.py": PIPE,
}.items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
sys.path.insert(0, os.getcwd())

from deepspeed.runtime.engine import DeepSpeedEngine  # noqa: E402
from deepspeed.runtime.pipe.engine import PipelineEngine  # noqa: E402

heard = []
if "footplate.hooks.torch_marks" in sys.modules:  # as GPU timers and detail windows listen
    sys.modules["footplate.hooks.torch_marks"].listen(
        "optimizer", lambda: heard.append("begin"), lambda: heard.append("end")
    )
engine = DeepSpeedEngine()
boundaries = sum(engine.step() for _ in range(6))
pipe = PipelineEngine()
pipe.train_batch()
pipe.train_batch()
pipe.eval_batch()
print(json.dumps({"boundaries": boundaries, "heard": heard}))
