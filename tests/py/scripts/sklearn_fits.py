# SPDX-License-Identifier: Apache-2.0
"""scikit-learn: a fit, a pipeline in a search, a fit that raises, partial_fit; and what
scikit-learn asks of its classes."""

import inspect
import json

import numpy as np
import sklearn
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(0)
X, Y = rng.random((60, 4)), rng.random(60)


def main() -> None:
    LinearRegression().fit(X, Y)
    pipeline = make_pipeline(StandardScaler(), Ridge())
    GridSearchCV(pipeline, {"ridge__alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
    try:
        LinearRegression().fit(X, Y[:3])
        raised = ""
    except ValueError as error:
        raised = type(error).__name__
    model = SGDRegressor()
    for _ in range(7):
        model.partial_fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        Ridge().set_fit_request(sample_weight=True)
    print(json.dumps({"raised": raised, "function": inspect.isfunction(Ridge.fit)}))


main()
