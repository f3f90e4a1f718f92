# SPDX-License-Identifier: Apache-2.0
"""JAX: a function in whose tracing another one is compiled and run; then it runs often."""

import json
import time

import jax
import jax.numpy as jnp


@jax.jit
def inner(x):
    return jnp.tanh(x @ x.T)


@jax.jit
def outer(x):
    with jax.ensure_compile_time_eval():
        x = x + float(inner(jnp.ones((3, 3))).sum())
    for _ in range(20):
        x = inner(x) + 1
    return x.sum()


def main() -> None:
    x = jnp.ones((8, 8)).block_until_ready()
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    outer(x).block_until_ready()
    compiled = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    for _ in range(50):
        outer(x).block_until_ready()
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    print(json.dumps({"begin": begin, "compiled": compiled, "end": end}))


main()
