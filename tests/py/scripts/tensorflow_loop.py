# SPDX-License-Identifier: Apache-2.0
"""TensorFlow without Keras' loops: batches taken in Python and inside of a function."""

import json
import time

import tensorflow as tf


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def slow(i):
    time.sleep(0.01)
    return i


def dataset(n):
    made = tf.data.Dataset.range(n * 4)
    made = made.map(lambda i: tf.cast(i, tf.float32)).batch(4)
    return made.map(lambda b: tf.numpy_function(slow, [b], tf.float32), num_parallel_calls=1)


weight = tf.Variable(1.0)


@tf.function
def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch * weight) ** 2)
    weight.assign_sub(1e-6 * tape.gradient(loss, weight))
    return loss


@tf.function
def fetches_itself(iterator):
    return tf.reduce_sum(next(iterator)) + tf.reduce_sum(iterator.get_next())


def main() -> None:
    said = {"begin": now(), "waited": 0.0}
    iterator = iter(dataset(10))
    for _ in range(10):
        at = now()
        batch = next(iterator)
        said["waited"] += (now() - at) / 1e9
        step(batch)
    said["python"] = now()
    iterator = iter(dataset(8))
    for _ in range(4):
        fetches_itself(iterator)
    said["graph"] = now()
    tf.train.Checkpoint(weight=weight).save("checkpoint")
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(weight=weight), "folder", max_to_keep=1
    )
    manager.save()
    said["end"] = now()
    print(json.dumps(said))


main()
