"""Trains scikit-learn's regressors on the rows that the example beside_trees trained on, and prints their test R².

    python beside_trees.py FOLDER FILE...

FOLDER has the parts of the rows (`--parts FOLDER`), FILE.SEED.csv for each CSV file and seed. The last column of a file is the target;
columns of text are one-hot encoded. The regressors have scikit-learn's defaults, but the multilayer perceptron stops early. Where the
singular values of linear least squares do not converge, its R² is nan.
"""

import pathlib
import statistics
import sys
import time

import numpy as np
from scikit_learn import encoded, number, texts
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

MODELS = {
    "linear": lambda seed: LinearRegression(),
    "MLPRegressor": lambda seed: MLPRegressor(early_stopping=True, max_iter=500, random_state=seed),
    "HistGradientBoosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
}


def header(path):
    with open(path) as file:
        return [name.strip() for name in file.readline().split(",")]


def compare(folder, path):
    *features, target = texts(path, header(path))
    inputs, targets = np.hstack([encoded(column, False) for column in features]), np.array([number(text) for text in target])
    scores, seconds = {name: [] for name in MODELS}, {name: [] for name in MODELS}
    for seed, parts in enumerate(sorted(folder.glob(f"{path.stem}.*.csv"))):
        rows = [line.split(",") for line in parts.read_text().splitlines()[1:]]
        train, test = ([int(row) for row, part in rows if part == name] for name in ("training", "test"))
        scale, target_scale = StandardScaler().fit(inputs[train]), StandardScaler().fit(targets[train, None])
        scaled, learned = scale.transform(inputs), target_scale.transform(targets[:, None])[:, 0]
        for name, model in MODELS.items():
            start = time.perf_counter()
            try:
                fitted = model(seed).fit(scaled[train], learned[train])
            except np.linalg.LinAlgError:
                scores[name].append(float("nan"))
                continue
            finally:
                seconds[name].append(time.perf_counter() - start)
            predicted = target_scale.inverse_transform(fitted.predict(scaled[test])[:, None])[:, 0]
            scores[name].append(r2_score(targets[test], predicted))
    for name in MODELS:
        each = " ".join(f"{score:.4f}" for score in scores[name])
        print(f"| {path.stem} | {name} | {statistics.median(scores[name]):.4f} ({each}) | {statistics.median(seconds[name]):.1f} |",
              flush=True)


def main():
    folder, *paths = map(pathlib.Path, sys.argv[1:])
    print("| table | regressor | R² | seconds |\n|---|---|---|---|")
    for path in paths:
        compare(folder, path)


if __name__ == "__main__":
    main()
