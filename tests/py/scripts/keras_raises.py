# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the user's own, raised below Keras: two are printed, the third ends the script."""

import traceback

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


def model_of(cls, **options):
    inputs = keras.Input((4,))
    model = cls(inputs, keras.layers.Dense(4)(inputs))
    model.compile("sgd", "mse", **options)
    return model


for cls, callbacks in ((keras.Model, [Bad()]), (BadModel, None)):
    try:
        model_of(cls).fit(X, X, verbose=0, callbacks=callbacks)
    except ValueError:
        traceback.print_exc()
model_of(keras.Model, run_eagerly=True).predict(bad_batches(), verbose=0)
