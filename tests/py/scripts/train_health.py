# SPDX-License-Identifier: Apache-2.0
"""A job that reports the training health of a small model, without any framework: train_health.py
[PART [BAD [APART]]]. From step PART on losses and weights differ from those of other jobs, and from
step APART on (that is PART unless given) losses by much; at step BAD the loss and the gradients of
layer.2.weight are not finite."""

import math
import sys

import footplate
from footplate import _core

PART = int(sys.argv[1]) if len(sys.argv) > 1 else -1
BAD = int(sys.argv[2]) if len(sys.argv) > 2 else -1
APART = int(sys.argv[3]) if len(sys.argv) > 3 else PART
STEPS, EVERY = 200, 10

names = [f"layer.{i}.{what}" for i in range(4) for what in ("weight", "bias")]
numbers = [_core.health_name(n) for n in names]
stats = _core.STATISTICS


def sample(step: int) -> None:
    moved = 1 if 0 <= PART <= step else 0
    bad = 0 <= BAD <= step
    _core.health_begin(step, _core.TRAIN, 0)
    if step == 0:
        dims = [2.0 if n.endswith("weight") else 1.0 for n in names]
        _core.health_values(stats["parameter.dims"], numbers, dims)
    norms = [2.0 ** -(k + step / 100) for k in range(len(names))]
    if bad:
        norms[names.index("layer.2.weight")] = math.nan
    _core.health_values(stats["gradient.l2"], numbers, norms)
    _core.health_values(stats["weight.l2"], numbers, [4.0 + k for k in range(len(names))])
    _core.health_values(stats["update.ratio"], numbers, [1e-3 * (k + 1) for k in range(len(names))])
    if step % 50 == 0:  # of 400 values of the gradient of layer.2.weight
        for exponent, count in ((0, 4), (110, 96), (112, 300)):
            at = numbers[names.index("layer.2.weight")]
            _core.health_count(stats["gradient.exponents"], at, exponent << 48 | count)
    _core.health_values(stats["weight.sum"], numbers, [step + k + moved for k in range(len(names))])


for i in range(STEPS):
    with footplate.step():
        more = 0.25 if 0 <= APART <= i else 1e-9 if 0 <= PART <= i else 0
        loss = math.exp(-i / 50) + 0.01 * (i % 3) + more
        footplate.log("loss", math.nan if 0 <= BAD <= i else loss)
        footplate.log("lr", 0.001 * min(1, (i + 1) / 20))
        footplate.log("grad.norm", 2.0 + math.sin(i))
        footplate.log("accuracy", i / STEPS)
        footplate.log("amp.scale", 65536.0)
        if i % 50 == 49:
            footplate.log("loss", math.exp(-i / 60), mode="eval")
        if i % EVERY == 0:
            sample(i)
    _core.health_flush()
