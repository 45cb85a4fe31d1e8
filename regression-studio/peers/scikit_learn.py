"""Trains scikit-learn's regressors on the data and the split of a run of regression-studio, and prints their test R² beside it.

    python scikit_learn.py RUN

RUN is the folder of a run that has ended. Columns of text are one-hot encoded. The multilayer perceptron has the run's hidden layers and
number of epochs, and scikit-learn's defaults otherwise (Adam, learning rate 0.001, batches of 200).
"""

import csv
import gzip
import pathlib
import sys
import time
import tomllib

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

SEEDS = range(3)


def signed_log(values):
    return np.sign(values) * np.log1p(np.abs(values))


def texts(path, names):
    """The named columns of a CSV file, each a list of texts."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        rows = csv.reader(file, skipinitialspace=True)
        header = [name.strip() for name in next(rows)]
        places = [header.index(name) for name in names]
        return list(zip(*([row[place].strip() for place in places] for row in rows)))


def number(text):
    """The number, or NaN for an empty text."""
    return float(text) if text else np.nan


def encoded(column, is_log):
    """The inputs of a column, rows × inputs: its numbers, or one input for each of its texts."""
    try:
        numbers = np.array([[number(text)] for text in column])
        return signed_log(numbers) if is_log else numbers
    except ValueError:
        categories = sorted(set(column))
        return np.array([[float(text == category) for category in categories] for text in column])


def main():
    run = pathlib.Path(sys.argv[1])
    settings = tomllib.loads((run / "settings.toml").read_text())
    results = tomllib.loads((run / "results.toml").read_text())
    data = settings["data"]
    *features, target = texts(pathlib.Path(data["source"]["file"]), [*data["features"], data["target"]])
    inputs = np.hstack([encoded(column, data["log_features"]) for column in features])
    targets = np.array([number(text) for text in target])
    learned = signed_log(targets) if data["log_target"] else targets
    with open(run / "split.csv") as file:
        parts = [(int(row) - 1, part) for row, part in list(csv.reader(file))[1:]]
    train, test = ([row for row, part in parts if part == name] for name in ("training", "test"))

    scale, target_scale = StandardScaler().fit(inputs[train]), StandardScaler().fit(learned[train, None])
    inputs, learned = scale.transform(inputs), target_scale.transform(learned[:, None])[:, 0]
    epochs, hidden = settings["training"]["epochs"], settings["network"]["hidden"]

    def network(seed):
        return MLPRegressor(hidden_layer_sizes=hidden, max_iter=epochs, n_iter_no_change=epochs, random_state=seed)

    models = {
        "linear least squares": lambda seed: LinearRegression(),
        f"MLPRegressor {hidden}, {epochs} epochs": network,
        "HistGradientBoostingRegressor": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    }
    own = next(part for part in results["results"]["parts"] if part["name"] == "test")
    print(f"regression-studio, epoch {results['results']['best_epoch']}: R² {own['network']['r2']:.4f}, "
          f"{results['results']['seconds']:.2f} s")
    for name, model in models.items():
        scores, start = [], time.perf_counter()
        for seed in SEEDS:
            predicted = model(seed).fit(inputs[train], learned[train]).predict(inputs[test])
            predicted = target_scale.inverse_transform(predicted[:, None])[:, 0]
            if data["log_target"]:
                predicted = np.sign(predicted) * np.expm1(np.abs(predicted))
            scores.append(r2_score(targets[test], predicted))
        seconds = (time.perf_counter() - start) / len(SEEDS)
        print(f"{name}: R² {' '.join(f'{score:.4f}' for score in scores)}, {seconds:.2f} s each")


if __name__ == "__main__":
    main()
