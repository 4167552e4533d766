"""Ensembles of decision trees as LightGBM's, XGBoost's and scikit-learn's exporters write them, for one row and for a thousand.

The trees are random: their tests halve what is left of a feature's range, so that rows spread over the leaves as in trained ones.
"""

import dataclasses
import typing

import numpy as np
import onnx
from onnx import TensorProto, helper

from .exportable import Input, describe

FEATURES = 50


def grow(rng, leaves, leafwise):
    """Nodes of a tree as (feature, threshold, true child, false child), leaves as None. Level by level, or at a random leaf."""
    nodes, ends = [None], [(0, np.full(FEATURES, -1.0), np.full(FEATURES, 1.0))]
    for _ in range(leaves - 1):
        at, low, high = ends.pop(int(rng.integers(len(ends))) if leafwise else 0)
        feature = int(rng.integers(FEATURES))
        middle = float(np.float32(low[feature] + (high[feature] - low[feature]) * rng.uniform(0.3, 0.7)))
        nodes[at] = (feature, middle, len(nodes), len(nodes) + 1)
        below, above = high.copy(), low.copy()
        below[feature] = above[feature] = middle
        ends += [(len(nodes), low, below), (len(nodes) + 1, above, high)]
        nodes += [None, None]
    return nodes


@dataclasses.dataclass
class Trees:
    name: str
    rows: int
    trees: int
    leaves: int
    mode: str
    leafwise: bool = False
    missing: bool = False
    classes: int = 0  # 0: a regressor
    votes_for_all: bool = False

    def export(self, folder):
        rng = np.random.default_rng(0)
        nodes, votes = [], []
        for tree in range(self.trees):
            for at, node in enumerate(grow(rng, self.leaves, self.leafwise)):
                feature, threshold, yes, no = node or (0, 0.0, 0, 0)
                missing = int(node is not None and self.missing and rng.random() < 0.5)
                nodes.append((tree, at, feature, threshold, self.mode if node else "LEAF", yes, no, missing))
                if node is None:
                    targets = range(self.classes) if self.votes_for_all else [tree % max(self.classes, 1)]
                    votes += [(tree, at, target, float(np.float32(rng.uniform(0 if self.votes_for_all else -1, 1)) / self.trees)) for target in targets]
        keys = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
        attributes = {f"nodes_{key}": list(column) for key, column in zip(keys, zip(*nodes))}
        prefix = "class" if self.classes else "target"
        attributes |= {f"{prefix}_{key}": list(column) for key, column in zip(("treeids", "nodeids", "ids", "weights"), zip(*votes))}
        values = [Input("x", ["rows", FEATURES])]
        model = self.classifier(attributes) if self.classes else self.regressor(attributes)
        onnx.save(model, str(folder / f"{self.name}.onnx"))
        describe(folder / f"{self.name}.json", values, {"rows": self.rows})

    def classifier(self, attributes):
        node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", classlabels_int64s=list(range(self.classes)),
                                post_transform="NONE" if self.votes_for_all else "SOFTMAX", **attributes)
        return self.model(node, [("label", TensorProto.INT64, ["rows"]), ("scores", TensorProto.FLOAT, ["rows", self.classes])])

    def regressor(self, attributes):
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **attributes)
        return self.model(node, [("y", TensorProto.FLOAT, ["rows", 1])])

    def model(self, node, outputs):
        graph = helper.make_graph([node], self.name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", FEATURES])],
                                  [helper.make_tensor_value_info(*output) for output in outputs])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)


def for_rows(name, **form) -> typing.List[Trees]:
    return [Trees(f"{name}_{rows}", rows, **form) for rows in (1, 1000)]


MODELS = [
    *for_rows("lightgbm", trees=500, leaves=31, mode="BRANCH_LEQ", leafwise=True, missing=True),
    *for_rows("xgboost", trees=1000, leaves=64, mode="BRANCH_LT", classes=10),
    *for_rows("random_forest", trees=100, leaves=700, mode="BRANCH_LEQ", leafwise=True, classes=10, votes_for_all=True),
]
