# SPDX-License-Identifier: Apache-2.0
"""A job that logs scalars and statistics of tensors, without any framework."""

import math

import footplate
from footplate import _core


class Tensor:
    def __float__(self) -> float:
        return 0.5


names = [_core.health_name(f"layer.{i}.weight") for i in range(300)]
stats = _core.STATISTICS
for i in range(200):
    with footplate.step():
        footplate.log("loss", 1 / (i + 1))
        footplate.log("bad", math.nan if i % 2 == 0 else 1.0)
        if i % 100 == 0:
            _core.health_begin(i, _core.TRAIN, 1000)
            _core.health_values(stats["gradient.l2"], names, [float(k) for k in range(300)])
            _core.health_values(stats["weight.sum"], names, [k << 40 for k in range(300)])
            _core.health_count(stats["gradient.nonfinite"], names[7], 3 if i else 0)
    _core.health_flush()
footplate.log("accuracy", 0.25, step=7, mode="eval")
footplate.log("tensor", Tensor())
footplate.log("free", 1)
footplate.log({"pair/a": 1, "pair/b": 2.5}, step=11)
