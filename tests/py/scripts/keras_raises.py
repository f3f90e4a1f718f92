# SPDX-License-Identifier: Apache-2.0
"""Ends with an exception of the user's own, raised below Keras."""

import sys

import keras
import numpy as np

X = np.ones((16, 4), dtype="float32")


class Bad(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise ValueError("mine, in a callback")


class BadModel(keras.Model):
    def train_step(self, data):
        raise ValueError("mine, in train_step")


def bad_batches():
    yield X, X
    raise ValueError("mine, in a generator")


inputs = keras.Input((4,))
cls = BadModel if sys.argv[1] == "train_step" else keras.Model
model = cls(inputs, keras.layers.Dense(4)(inputs))
model.compile("sgd", "mse", run_eagerly=sys.argv[1] == "generator")
if sys.argv[1] == "generator":
    model.predict(bad_batches(), verbose=0)
else:
    model.fit(X, X, verbose=0, callbacks=[Bad()] if sys.argv[1] == "callback" else None)
