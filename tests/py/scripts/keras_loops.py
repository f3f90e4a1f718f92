# SPDX-License-Identifier: Apache-2.0
"""Every way of training with Keras that the tests look at, one after the other. Its last line says
of each when it ran (CLOCK_MONOTONIC, ns) and what it counted itself."""

import contextlib
import json
import os
import sys
import time

import keras
import numpy as np

BACKEND = keras.backend.backend()
SAMPLES, BATCH = 200, 32  # 7 batches, the last one of 8
X = np.random.default_rng(1).random((SAMPLES, 6), dtype="float32")
Y = X.sum(axis=1, keepdims=True)


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Count(keras.callbacks.Callback):
    """Counts batches and measures them."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = {"train": 0, "eval": 0, "predict": 0}
        self.begun = dict(self.ended)
        self.seconds = 0.0
        self.at = 0

    def _begin(self, mode: str) -> None:
        self.at = now()
        self.begun[mode] += 1

    def _end(self, mode: str) -> None:
        self.ended[mode] += 1
        self.seconds += (now() - self.at) / 1e9

    def on_train_batch_begin(self, batch, logs=None):
        self._begin("train")

    def on_train_batch_end(self, batch, logs=None):
        self._end("train")

    def on_test_batch_begin(self, batch, logs=None):
        self._begin("eval")

    def on_test_batch_end(self, batch, logs=None):
        self._end("eval")

    def on_predict_batch_begin(self, batch, logs=None):
        self._begin("predict")

    def on_predict_batch_end(self, batch, logs=None):
        self._end("predict")


def model(cls=keras.Sequential, **compile_):
    layers = [
        keras.layers.Input((6,)),
        keras.layers.Dense(4, activation="relu"),
        keras.layers.Dense(1),
    ]
    if cls is keras.Sequential:
        made = cls(layers)
    else:
        x = inputs = keras.Input((6,))
        for layer in layers[1:]:
            x = layer(x)
        made = cls(inputs, x)
    made.compile("sgd", "mse", **compile_)
    return made


def fit_evaluate_predict():
    m, count = model(), Count()
    m.fit(X, Y, batch_size=BATCH, epochs=2, verbose=0, callbacks=[count])
    m.evaluate(X, Y, batch_size=BATCH, verbose=0, callbacks=[count])
    m.predict(X, batch_size=BATCH, verbose=0, callbacks=[count])
    return count.ended


def validation():
    count = Count()
    model().fit(
        X, Y, batch_size=BATCH, epochs=2, verbose=0, validation_data=(X, Y), callbacks=[count]
    )
    return count.ended


def no_callbacks():
    """Then Keras calls its own callbacks in another thread, where the backend allows it."""
    model().fit(X, Y, batch_size=BATCH, verbose=0)
    return {"train": 7, "eval": 0, "predict": 0}


def steps_per_execution():
    if BACKEND == "torch":  # refuses it
        return {"train": 0}
    count = Count()
    model(steps_per_execution=3).fit(X, Y, batch_size=BATCH, verbose=0, callbacks=[count])
    return count.ended


def run_eagerly():
    count = Count()
    model(run_eagerly=True).fit(X, Y, batch_size=BATCH, verbose=0, callbacks=[count])
    return count.ended


def stop_training():
    class Stop(Count):
        def on_train_batch_end(self, batch, logs=None):
            super().on_train_batch_end(batch, logs)
            if batch == 3:
                self.model.stop_training = True

    count = Stop()
    model().fit(X, Y, batch_size=BATCH, epochs=5, verbose=0, callbacks=[count])
    return count.ended


def interrupted():
    """The user presses ^C between the two halves of a step, then goes on with something else."""

    class Interrupt(Count):
        def on_train_batch_begin(self, batch, logs=None):
            super().on_train_batch_begin(batch, logs)
            if batch == 2:
                raise KeyboardInterrupt

    m, count = model(), Interrupt()
    with contextlib.suppress(KeyboardInterrupt):
        m.fit(X, Y, batch_size=BATCH, epochs=2, verbose=0, callbacks=[count])
    m.evaluate(X, Y, batch_size=BATCH, verbose=0, callbacks=[count])
    return count.ended


def unknown_size():
    """A generator: that it is empty shows only when one more batch is asked for."""

    def batches():
        for i in range(0, SAMPLES, BATCH):
            yield X[i : i + BATCH], Y[i : i + BATCH]

    count = Count()
    model().fit(batches(), verbose=0, validation_data=(X, Y), callbacks=[count])
    return count.ended


def nested_predict():
    """A callback that runs another loop in the middle of a step."""

    class Nested(Count):
        def on_train_batch_end(self, batch, logs=None):
            other.predict(X, batch_size=BATCH, verbose=0)
            super().on_train_batch_end(batch, logs)

    other, count = model(), Nested()
    model().fit(X, Y, batch_size=BATCH, verbose=0, callbacks=[count])
    return count.ended


def train_on_batch():
    m = model()
    for _ in range(5):
        m.train_on_batch(X[:BATCH], Y[:BATCH])
    m.test_on_batch(X[:BATCH], Y[:BATCH])
    m.predict_on_batch(X[:BATCH])
    return {"train": 5, "eval": 1, "predict": 1}


def checkpoints():
    callback = keras.callbacks.ModelCheckpoint("best.keras")
    m = model()
    m.fit(X, Y, batch_size=BATCH, epochs=2, verbose=0, callbacks=[callback])
    m.save("last.keras")
    m.save_weights("last.weights.h5")
    os.remove("last.keras")
    return {"checkpoints": 4}


def custom_train_step():
    if BACKEND == "tensorflow":
        cls = tensorflow_model()
    elif BACKEND == "torch":
        cls = torch_model()
    else:
        return {"train": 0}
    count = Count()
    model(cls).fit(X, Y, batch_size=BATCH, verbose=0, callbacks=[count])
    return count.ended


def tensorflow_model():
    import tensorflow as tf

    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            grads = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
            return {"loss": loss}

    return Custom


def torch_model():
    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            self.zero_grad()
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            loss.backward()
            weights = list(self.trainable_weights)
            self.optimizer.apply([w.value.grad for w in weights], weights)
            return {"loss": loss}

    return Custom


def thousand():
    count = Count()
    x = np.tile(X, (10, 1))
    y = x.sum(axis=1, keepdims=True)
    model().fit(x, y, batch_size=4, epochs=2, verbose=0, callbacks=[count])
    return count.ended


def measured():
    """Steps that are long beside what Keras does around the callbacks."""

    class Slow(Count):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.05)
            super().on_train_batch_end(batch, logs)

    count = Slow()
    model().fit(X, Y, batch_size=8, verbose=0, callbacks=[count])
    return count.ended | {"seconds": count.seconds}


ALL = (
    fit_evaluate_predict,
    validation,
    no_callbacks,
    steps_per_execution,
    run_eagerly,
    stop_training,
    interrupted,
    unknown_size,
    nested_predict,
    train_on_batch,
    checkpoints,
    custom_train_step,
    thousand,
    measured,
)

if __name__ == "__main__":
    said = {}
    for scene in ALL:
        if len(sys.argv) > 1 and scene.__name__ not in sys.argv[1:]:
            continue
        begin = now()
        facts = scene()
        said[scene.__name__] = {"begin": begin, "end": now(), **facts}
    print(json.dumps(said))
