"""Times one epoch of regression-studio's default network on the CPU in scikit-learn and PyTorch, in single precision.

numpy_regressor.py describes the network and the data, 560,000 rows of 8 random features.

- scikit-learn: MLPRegressor.partial_fit, which goes once through the rows in batches, in a new order each time.
- PyTorch: autograd and Adam(fused=True), one kernel for all parameters.
"""

import itertools
import json

import numpy as np

import peer
from numpy_regressor import BATCH, EPSILON, LAYERS, LEARNING_RATE, MEAN_DECAY, ROWS, SQUARES_DECAY, random_data

# Largest accepted mean of half the squared errors after training; half the targets' variance is 0.3.
MAX_LOSS = 0.005


def main():
    options = peer.arguments(repeats=3).parse_args()
    x, y = random_data(np.random.default_rng(0))
    seconds, names, absent = {}, [], peer.Absent()

    def require(outputs):
        loss = float(0.5 * np.square(outputs.reshape(-1) - y.reshape(-1)).mean())
        if not loss < MAX_LOSS:
            raise RuntimeError(f"the loss {loss} is not below {MAX_LOSS}")

    def time_sklearn():
        import sklearn
        from sklearn.neural_network import MLPRegressor

        network = MLPRegressor(
            hidden_layer_sizes=LAYERS[1:-1], alpha=0.0, batch_size=BATCH, learning_rate_init=LEARNING_RATE, beta_1=MEAN_DECAY, beta_2=SQUARES_DECAY, epsilon=EPSILON, random_state=0
        )
        targets = y.reshape(-1)
        times = peer.measure(options.repeats, lambda: network.partial_fit(x, targets))
        require(network.predict(x))
        seconds["scikit-learn"] = times
        names.append(f"scikit-learn {sklearn.__version__}")

    def time_torch():
        import torch

        torch.set_num_threads(options.threads)
        torch.manual_seed(0)
        inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
        modules = [module for shape in itertools.pairwise(LAYERS) for module in (torch.nn.Linear(*shape), torch.nn.ReLU())]
        network = torch.nn.Sequential(*modules[:-1])
        optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE, (MEAN_DECAY, SQUARES_DECAY), EPSILON, fused=True)

        def train():
            for chosen in torch.randperm(ROWS).split(BATCH):
                optimizer.zero_grad()
                loss = 0.5 * (network(inputs[chosen]) - targets[chosen]).square().mean()
                loss.backward()
                optimizer.step()

        times = peer.measure(options.repeats, train)
        with torch.no_grad():
            require(network(inputs).numpy())
        seconds["PyTorch"] = times
        names.append(f"PyTorch {torch.__version__}")

    absent.attempt(["scikit-learn"], "sklearn", time_sklearn)
    absent.attempt(["PyTorch"], "torch", time_torch)
    absent.missing = {label: {"sklearn": "scikit-learn"}.get(package, package) for label, package in absent.missing.items()}
    print(json.dumps({"peer": ", ".join(names), "seconds": seconds, "missing": absent.missing, "failed": absent.failed}))


if __name__ == "__main__":
    main()
