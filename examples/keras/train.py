# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network learns to tell drawn shapes apart, with plain Keras.

It knows nothing of Footplate. Record it with

    footplate run -- python examples/keras/train.py
    footplate run -- python examples/keras/train.py --slow-input

The second one is starved of data: its input is drawn one picture at a time, in the training loop's
way. Needs keras and one of its backends (KERAS_BACKEND=tensorflow, jax or torch).
"""

from __future__ import annotations

import argparse
import time

import keras
import numpy as np

SIZE = 24  # pixels, both ways
SHAPES = ("disc", "ring", "square", "cross", "stripes")


def draw(shape: int, rng: np.random.Generator) -> np.ndarray:
    """One picture of a shape, somewhere, of some size, under noise."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] - rng.uniform(8, SIZE - 8, size=(2, 1, 1))
    r = rng.uniform(4, 7)
    far, near = np.hypot(x, y), np.maximum(abs(x), abs(y))
    picture = (
        far < r,
        abs(far - r) < 1.2,
        near < r * 0.8,
        (np.minimum(abs(x), abs(y)) < 1.2) & (near < r),
        (np.floor(x / 2) % 2 == 0) & (near < r),
    )[shape]
    return (picture + rng.normal(0, 0.3, (SIZE, SIZE))).astype("float32")


class Pictures(keras.utils.PyDataset):
    """Draws its batches when they are asked for."""

    def __init__(self, batches: int, batch_size: int, seed: int, pause_s: float, **workers) -> None:
        super().__init__(**workers)
        self.batches, self.batch_size = batches, batch_size
        self.seed, self.pause_s = seed, pause_s

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng((self.seed, index))
        labels = rng.integers(0, len(SHAPES), self.batch_size)
        time.sleep(self.pause_s * self.batch_size)
        return np.stack([draw(label, rng) for label in labels])[..., None], labels


def network() -> keras.Model:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.GlobalMaxPooling2D(),
            layers.Dense(len(SHAPES)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(2e-3), loss, metrics=["accuracy"])
    return model


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=60, help="of an epoch")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow-input", action="store_true", help="draw slowly, in one thread")
    parser.add_argument("--checkpoint", default="shapes.keras", help="file; none when empty")
    return parser.parse_args()


def main() -> None:
    args = options()
    keras.utils.set_random_seed(args.seed)
    pause_s = 1e-3 if args.slow_input else 0.0
    workers = (1, 1) if args.slow_input else (2, 8)
    queue = dict(zip(("workers", "max_queue_size"), workers, strict=True))
    train = Pictures(args.batches, args.batch_size, args.seed, pause_s, **queue)
    test = Pictures(10, args.batch_size, args.seed + 1, 0.0)
    saves = [keras.callbacks.ModelCheckpoint(args.checkpoint)] if args.checkpoint else []
    model = network()
    model.fit(train, epochs=args.epochs, validation_data=test, callbacks=saves, verbose=2)
    guesses = model.predict(test, verbose=0).argmax(axis=1)
    print(f"predicted {len(guesses)} pictures, {len(set(guesses.tolist()))} different shapes")


if __name__ == "__main__":
    main()
