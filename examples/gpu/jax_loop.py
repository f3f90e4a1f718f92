#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX, with its steps marked. JAX only queues the work of a step: most of them end at once, and the
one that reads the loss waits for all before it."""

import argparse
import contextlib
import os
from typing import Any

import truth

LOG_EVERY = 20


def arguments() -> argparse.Namespace:
    parser = truth.options(__doc__)
    parser.add_argument("--width", type=int, help="default: 4096; 128 with --device cpu")
    parser.add_argument("--batch", type=int, help="default: 4096; 32 with --device cpu")
    parser.add_argument("--layers", type=int, default=8)
    args = parser.parse_args()
    usual = (128, 32) if args.device == "cpu" else (4096, 4096)
    args.width, args.batch = args.width or usual[0], args.batch or usual[1]
    os.environ.setdefault("JAX_PLATFORMS", args.device)
    return args


def mark() -> Any:
    """footplate.step(), or nothing where Footplate is not installed."""
    try:
        import footplate
    except ImportError:
        return contextlib.nullcontext
    return footplate.step


def build(args: argparse.Namespace) -> tuple[Any, Any, Any]:
    """A step, the weights, and a batch on the device."""
    import jax
    import jax.numpy as jnp

    def loss_of(weights: list[Any], x: Any, y: Any) -> Any:
        for weight in weights:
            x = x + jax.nn.gelu(x @ weight.astype(jnp.bfloat16))
        return jnp.mean(jnp.square(x.astype(jnp.float32) - y))

    def step(weights: list[Any], x: Any, y: Any) -> Any:
        loss, slopes = jax.value_and_grad(loss_of)(weights, x, y)
        return [w - 0.01 * g for w, g in zip(weights, slopes, strict=True)], loss

    keys = jax.random.split(jax.random.key(args.seed), args.layers + 2)
    shape = (args.width, args.width)
    weights = [0.5 * jax.random.normal(key, shape) / args.width**0.5 for key in keys[2:]]
    x = jax.random.normal(keys[0], (args.batch, args.width), jnp.bfloat16)
    y = jax.random.normal(keys[1], (args.batch, args.width))
    return jax.jit(step, donate_argnums=0), weights, (x, y)


def main() -> None:
    args = arguments()
    import jax

    footplate_step = mark()
    step, weights, (x, y) = build(args)
    flops = 6.0 * args.batch * args.width**2 * args.layers
    meter = truth.Meter("jax", args, cause=None, samples=args.batch, flops=flops)
    meter.start()
    while meter.goes_on():
        meter.begin_step()
        number = len(meter.begins) - 1
        with footplate_step():
            weights, loss = step(weights, x, y)
            if number % LOG_EVERY == 0:
                last = float(loss)
    meter.stop()
    print(f"step {number}: loss {last:.3f}", flush=True)
    jax.block_until_ready(weights)
    device = jax.devices()[0]
    meter.notes["gpu"] = device.device_kind if device.platform != "cpu" else None
    meter.notes["peak_bytes"] = (device.memory_stats() or {}).get("peak_bytes_in_use")
    meter.write()


if __name__ == "__main__":
    main()
