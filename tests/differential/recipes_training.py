"""Optimizers of ai.onnx.preview.training."""

import numpy as np
from onnx import helper

from recipe import Case, choice, recipe, shape, values


@recipe("Adagrad", "Adam", "Momentum")
def optimizer(rng, op):
    states = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[op]
    count = int(rng.integers(1, 4))
    inputs = {"rate": np.asarray(rng.uniform(0.01, 0.5), np.float32), "step": np.asarray(int(rng.integers(0, 5)), np.int64)}
    kinds = ["x", "g"] + [f"s{i}_" for i in range(states)]
    for i in range(count):
        dims = shape(rng, rank=int(rng.integers(0, 4)), low=1)
        for kind in kinds:
            low = 0 if kind.startswith("s") and op != "Momentum" else -1
            inputs[f"{kind}{i}"] = values(rng, dims, np.float32, low, 1)
    names = ["rate", "step"] + [f"{kind}{i}" for kind in kinds for i in range(count)]
    outputs = [f"y{kind}{i}" for kind in ["x"] + kinds[2:] for i in range(count)]
    attributes = {"norm_coefficient": float(rng.uniform(0, 0.01))}
    if op == "Adagrad":
        attributes |= {"decay_factor": float(rng.uniform(0, 0.1)), "epsilon": 1e-5}
    elif op == "Adam":
        attributes |= {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-4, "norm_coefficient_post": float(rng.uniform(0, 0.01))}
    else:
        attributes |= {"alpha": 0.9, "beta": 0.8, "mode": choice(rng, ["standard", "nesterov"])}
    node = helper.make_node(op, names, outputs, domain="ai.onnx.preview.training", **attributes)
    return Case([node], inputs, outputs, 22, rtol=1e-3, atol=1e-5, domains={"ai.onnx.preview.training": 1})
