# SPDX-License-Identifier: Apache-2.0
"""Prints what a program can see of its callbacks, functions and results."""

import inspect
import os
import sys

import keras
import numpy as np

if os.environ.get("BREAK_HOOK"):  # as if Keras were one that the hooks do not understand
    loop = sys.modules.get("footplate.hooks._loop")
    if loop is not None:
        loop.begin_step = None

keras.utils.set_random_seed(3)
X = np.arange(240, dtype="float32").reshape(40, 6) / 240
Y = X.sum(axis=1, keepdims=True)


class Look(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print("params", self.params, "epoch", epoch, "logs", logs)

    def on_train_batch_end(self, batch, logs=None):
        print("batch", batch, sorted(logs or ()))


class Remember(keras.callbacks.CallbackList):
    """A list of the user's own, made before fit()."""


model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3), keras.layers.Dense(1)])
model.compile("sgd", "mse")
mine = [Look()]
history = model.fit(X, Y, epochs=2, batch_size=8, validation_split=0.2, callbacks=mine, verbose=2)
print([type(c).__name__ for c in mine], sorted(history.history), history.params)

ready = Remember([Look()], add_history=True, model=model, epochs=1, steps=5, verbose=0)
model.fit(X, Y, batch_size=8, callbacks=ready, verbose=0)
print([type(c).__name__ for c in ready.callbacks])
print(np.asarray(model.predict(X[:3], verbose=0)).round(4).tolist())
print(model.evaluate(X, Y, verbose=0) > 0)
for function in (model.fit, keras.Model.evaluate, keras.callbacks.CallbackList.on_train_batch_end):
    print(function.__name__, function.__qualname__, inspect.signature(function))
    print(inspect.getsource(function).splitlines()[0].strip())
print(inspect.isfunction(keras.callbacks.Callback.on_epoch_end), inspect.ismethod(model.fit))
