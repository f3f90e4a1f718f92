# SPDX-License-Identifier: Apache-2.0
"""LightGBM: train, early stopping, an exception in the middle, the scikit-learn way, cv, and rounds
of the program's own."""

import json

import lightgbm
import numpy as np

rng = np.random.default_rng(0)
X, Y = rng.random((200, 4)), rng.random(200)
PARAMS = {"num_leaves": 4, "num_threads": 1, "verbose": -1}


def data() -> lightgbm.Dataset:
    return lightgbm.Dataset(X, Y, free_raw_data=False)


def refuse(env) -> None:
    if env.iteration == 2:
        raise RuntimeError("mine")


def main() -> None:
    counts = []
    evaluated = []
    watch = [lambda env: evaluated.append(env.iteration)]
    lightgbm.train(PARAMS, data(), num_boost_round=5, callbacks=watch)
    counts.append(len(evaluated))
    stop = lightgbm.early_stopping(3, verbose=False)
    train = data()
    other = lightgbm.Dataset(X, -Y, reference=train)
    evaluated.clear()
    lightgbm.train(PARAMS, train, 50, valid_sets=[other], callbacks=[*watch, stop])
    counts.append(len(evaluated))
    try:
        lightgbm.train(PARAMS, data(), 5, callbacks=[refuse])
    except RuntimeError:
        counts.append(2)
    lightgbm.LGBMRegressor(n_estimators=4, n_jobs=1, verbose=-1).fit(X, Y)
    counts.append(4)
    lightgbm.cv(PARAMS, data(), num_boost_round=6, nfold=3, stratified=False)
    counts.append(6)
    booster = lightgbm.Booster(PARAMS, data())
    for _ in range(3):
        booster.update()
    counts.append(3)
    print(json.dumps({"rounds": counts}))


main()
