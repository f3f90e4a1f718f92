# SPDX-License-Identifier: Apache-2.0
"""A training loop of JAX with an evaluation, and what a program may do with a jitted function. With
"explicit" the program marks its steps."""

import functools
import inspect
import json
import sys
import time

import jax
import jax.numpy as jnp

EXPLICIT = "explicit" in sys.argv
if EXPLICIT:
    import footplate


@jax.jit
def prepare(x):
    return x * 2


@functools.partial(jax.jit, static_argnames="rate")
def train_step(w, x, rate):
    """Documented."""
    return w - rate * jax.grad(lambda w: jnp.mean((inner(x) @ w) ** 2))(w)


@jax.jit
def inner(x):
    return x + 1


@jax.jit
def eval_step(w, x):
    return jnp.sum(x @ w)


class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return x + 1


def train(w, x):
    for _ in range(10):
        batch = prepare(x)
        time.sleep(0.001)
        if EXPLICIT:
            with footplate.step():
                w = train_step(w, batch, rate=0.1)
        else:
            w = train_step(w, batch, rate=0.1)
    return w


def call_often(x) -> None:
    for _ in range(1000):
        prepare(x)


def main() -> None:
    x, w = jnp.ones((8, 4)), jnp.ones(4)
    if "short" in sys.argv:
        call_often(x)
    for _ in range(2):
        w = train(w, x)
        for _ in range(8):
            eval_step(w, x)
    facts = {
        "doc": train_step.__doc__,
        "name": train_step.__name__,
        "signature": str(inspect.signature(train_step)),
        "lowered": "module" in train_step.lower(w, x, rate=0.1).as_text(),
        "method": float(Model().apply(jnp.float32(1))),
        "vmapped": jax.vmap(prepare)(x).shape == x.shape,
        "wrapped": isinstance(train_step, jax.stages.Wrapped),
    }
    print(json.dumps(facts))


main()
