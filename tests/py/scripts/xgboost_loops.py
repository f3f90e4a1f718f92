# SPDX-License-Identifier: Apache-2.0
"""XGBoost: train, early stopping, an exception in the middle, the scikit-learn way, cv."""

import json

import numpy as np
import xgboost

rng = np.random.default_rng(0)
X, Y = rng.random((100, 4)), rng.random(100)
DATA = xgboost.DMatrix(X, Y)
PARAMS = {"max_depth": 2, "nthread": 1}


class Raise(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if epoch == 2:
            raise RuntimeError("mine")
        return False


def main() -> None:
    rounds = 0
    xgboost.train(PARAMS, DATA, num_boost_round=5)
    rounds += 5
    stopped = xgboost.train(
        PARAMS,
        DATA,
        num_boost_round=50,
        evals=[(xgboost.DMatrix(X, -Y), "other")],
        early_stopping_rounds=3,
        verbose_eval=False,
    )
    rounds += stopped.num_boosted_rounds()
    try:
        xgboost.train(PARAMS, DATA, num_boost_round=5, callbacks=[Raise()])
    except RuntimeError:
        rounds += 3
    xgboost.train(PARAMS, DATA, num_boost_round=4)
    rounds += 4
    print(json.dumps({"rounds": rounds}))


main()
