"""ai.onnx.ml against ONNX Runtime, which models in the wild are exported for. Left out: what the two are known to see apart
(PROBIT of a second class, labels of two classes that both get votes, base values of classes nobody votes for)."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from recipe import Case, choice, recipe, values

# Their schemas infer nothing.
UNTYPED = ["FeatureVectorizer", "Imputer", "LinearRegressor", "Normalizer", "SVMClassifier", "SVMRegressor", "Scaler",
           "TreeEnsembleClassifier", "TreeEnsembleRegressor"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def ml(op, inputs, outputs=1, version=3, rtol=1e-3, atol=1e-5, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    attributes = {key: value for key, value in attributes.items() if value is not None}
    node = helper.make_node(op, names, results, domain="ai.onnx.ml", **attributes)
    types = {}
    if op in UNTYPED:
        types[results[-1]] = TensorProto.FLOAT
    if op in ("SVMClassifier", "TreeEnsembleClassifier"):
        types[results[0]] = TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64
    return Case([node], dict(zip(names, inputs)), results, 17, {}, rtol, atol, "ort", {"ai.onnx.ml": version}, types)


def numbers(rng, dims, low=-3, high=3):
    return values(rng, dims, choice(rng, [np.float32, np.float32, np.float64, np.int64, np.int32]), low, high)


def size(rng, limit=40):
    return int(rng.integers(1, limit))


def floats(rng, count, low=-1.0, high=1.0):
    return [float(v) for v in rng.uniform(low, high, count)]


def labels(rng, count, ints="classlabels_ints"):
    if rng.random() < 0.5 or count == 1:  # the peer aborts on a single string
        return {ints: [int(v) for v in rng.permutation(100)[:count]]}
    return {"classlabels_strings": [f"label{v}" for v in rng.permutation(100)[:count]]}


@recipe("ArrayFeatureExtractor")
def array_feature_extractor(rng):
    dims = tuple(size(rng, 9) for _ in range(int(rng.integers(1, 4))))
    return ml("ArrayFeatureExtractor", [numbers(rng, dims), rng.integers(0, dims[-1], size=size(rng, 6))])


@recipe("Binarizer")
def binarizer(rng):
    return ml("Binarizer", [values(rng, (size(rng), size(rng)), np.float32)], threshold=float(rng.normal()))


@recipe("Imputer")
def imputer(rng):
    width, count = size(rng), size(rng)
    x = values(rng, (count, width), np.float32).round()
    nan = rng.random() < 0.5
    if nan:
        x[rng.random(x.shape) < 0.2] = np.nan
    return ml("Imputer", [x], imputed_value_floats=floats(rng, width if rng.random() < 0.5 else 1),
              replaced_value_float=float("nan") if nan else 1.0)


@recipe("Normalizer")
def normalizer(rng):
    dims = (size(rng), size(rng)) if rng.random() < 0.8 else (size(rng),)
    return ml("Normalizer", [numbers(rng, dims)], norm=choice(rng, ["MAX", "L1", "L2"]))


@recipe("Scaler")
def scaler(rng):
    width = size(rng)
    count = width if rng.random() < 0.7 else 1
    return ml("Scaler", [numbers(rng, (size(rng), width))], offset=floats(rng, count), scale=floats(rng, count))


@recipe("FeatureVectorizer")
def feature_vectorizer(rng):
    rows, dtype = size(rng), choice(rng, [np.float32, np.int64, np.int32, np.float64])
    inputs = [values(rng, (rows, size(rng, 9)), dtype) for _ in range(size(rng, 4))]
    return ml("FeatureVectorizer", inputs, inputdimensions=[x.shape[1] + int(rng.integers(0, 3)) for x in inputs])


@recipe("OneHotEncoder")
def one_hot_encoder(rng):
    dims = tuple(size(rng, 6) for _ in range(int(rng.integers(0, 3))))
    if rng.random() < 0.5:
        x = np.array([f"c{v}" for v in rng.integers(0, 6, size=int(np.prod(dims)))], object).reshape(dims)
        return ml("OneHotEncoder", [x], cats_strings=["c1", "c3", "c0"])
    return ml("OneHotEncoder", [numbers(rng, dims)], cats_int64s=[3, 1, -2, 0])


@recipe("LabelEncoder")
def label_encoder(rng):
    keys = [int(v) for v in rng.permutation(50)[:10]]
    kind, to = choice(rng, ["strings", "int64s", "floats"]), choice(rng, ["strings", "int64s", "floats"])

    def typed(numbers_, as_):
        return [f"k{n}" for n in numbers_] if as_ == "strings" else [float(n) for n in numbers_] if as_ == "floats" else numbers_

    x = typed([int(v) for v in rng.integers(0, 50, size=30)], kind)
    x = np.array(x, {"strings": object, "int64s": np.int64, "floats": np.float32}[kind]).reshape(5, 6)
    return ml("LabelEncoder", [x], version=choice(rng, [2, 4]),
              **{f"keys_{kind}": typed(keys, kind), f"values_{to}": typed(keys[::-1], to)})


@recipe("CategoryMapper")
def category_mapper(rng):
    attributes = {"cats_strings": ["a", "b", "c"], "cats_int64s": [4, 9, 2]}
    x = np.array([choice(rng, ["a", "b", "q"]) for _ in range(9)], object) if rng.random() < 0.5 else rng.integers(0, 10, size=(3, 3))
    return ml("CategoryMapper", [x], **attributes)


@recipe("LinearClassifier")
def linear_classifier(rng):
    classes, features = int(rng.integers(2, 6)), size(rng)
    targets = 1 if classes == 2 and rng.random() < 0.5 else classes
    return ml("LinearClassifier", [numbers(rng, (size(rng), features))], 2, coefficients=floats(rng, targets * (features + choice(rng, [0, 0, 2]))),
              intercepts=floats(rng, targets), post_transform=choice(rng, TRANSFORMS), multi_class=int(rng.integers(0, 2)),
              **labels(rng, classes))


@recipe("LinearRegressor")
def linear_regressor(rng):
    targets, features = int(rng.integers(1, 5)), size(rng)
    return ml("LinearRegressor", [values(rng, (size(rng), features), np.float32)], coefficients=floats(rng, targets * (features + choice(rng, [0, 0, 2]))),
              intercepts=floats(rng, targets) if rng.random() < 0.7 else None, targets=targets, post_transform=choice(rng, TRANSFORMS))


@recipe("SVMClassifier")
def svm_classifier(rng):
    classes, features = int(rng.integers(2, 5)), size(rng, 12)
    kernel = dict(kernel_type=choice(rng, ["LINEAR", "POLY", "RBF", "SIGMOID"]), kernel_params=[0.3, 0.2, float(rng.integers(1, 4))],
                  post_transform=choice(rng, TRANSFORMS), **labels(rng, classes))
    x = numbers(rng, (size(rng), features), -1, 1)
    if rng.random() < 0.25 and classes > 2:  # of two classes the peer names the second whenever a score is positive
        return ml("SVMClassifier", [x], 2, coefficients=floats(rng, classes * features), rho=[0.1], **kernel)
    counts = [int(v) for v in rng.integers(1, 6, size=classes)]
    total, pairs = sum(counts), classes * (classes - 1) // 2
    proba = {} if rng.random() < 0.5 else {"prob_a": floats(rng, pairs, -2, -0.5), "prob_b": floats(rng, pairs)}
    return ml("SVMClassifier", [x], 2, coefficients=floats(rng, (classes - 1) * total), support_vectors=floats(rng, total * features),
              vectors_per_class=counts, rho=floats(rng, pairs), **proba, **kernel)


@recipe("SVMRegressor")
def svm_regressor(rng):
    features, supports = size(rng, 50), size(rng, 20)
    kernel = dict(kernel_type=choice(rng, ["LINEAR", "POLY", "RBF", "SIGMOID"]), kernel_params=[0.1, 0.2, 2.0],
                  one_class=int(rng.integers(0, 2)))
    x = values(rng, (size(rng), features), np.float32, -1, 1)
    return ml("SVMRegressor", [x], coefficients=floats(rng, supports), support_vectors=floats(rng, supports * features),
              n_supports=supports, rho=floats(rng, 1), **kernel)


def trees(rng, features, votes, targets, positive, binary_class=None, mixed=False):
    """Attributes of random trees. Each leaf votes for one target, or for all; boosted trees have one target each."""
    boosted, deepest = rng.random() < 0.4, int(choice(rng, [5, 5, 7]))
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                 "missing_value_tracks_true")}
    leaves = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    modes = [choice(rng, ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])]
    if mixed and not boosted:
        modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    for tree in range(size(rng, 30)):
        size_, rows = [1], []

        def grow(at, depth):
            leaf = depth == 0 or (at > 0 and rng.random() < 0.2)
            row = {"treeids": tree, "nodeids": at, "featureids": int(rng.integers(features)), "modes": "LEAF" if leaf else choice(rng, modes),
                   "values": float(np.float32(rng.integers(-6, 7) / 2)), "truenodeids": 0, "falsenodeids": 0,
                   "missing_value_tracks_true": int(mixed and rng.random() < 0.5)}
            rows.append(row)
            if leaf:
                chosen = [binary_class] if binary_class is not None else [tree % targets] if boosted else list(range(targets)) if rng.random() < 0.7 else [int(rng.integers(targets))]
                for target in chosen:
                    leaves["treeids"].append(tree)
                    leaves["nodeids"].append(at)
                    leaves["ids"].append(target)
                    leaves["weights"].append(float(np.float32(rng.uniform(0 if positive else -1, 1) / 10)))
                return
            row["truenodeids"], row["falsenodeids"] = size_[0], size_[0] + 1
            size_[0] += 2
            grow(row["truenodeids"], depth - 1)
            grow(row["falsenodeids"], depth - 1)

        grow(0, int(rng.integers(1, deepest + 1)))
        for row in sorted(rows, key=lambda row: row["nodeids"]):
            for key, value in row.items():
                nodes[key].append(value)
    return {**{f"nodes_{k}": v for k, v in nodes.items()}, **{f"{votes}_{k}": v for k, v in leaves.items()}}


def features_of(rng, count, mixed):
    rows = int(choice(rng, [1, 2, 7, 8, 9, 30, 300]))
    x = values(rng, (rows, count), choice(rng, [np.float32, np.float32, np.float64, np.int64]))
    if x.dtype == np.int64:
        return x
    x = (x * 2).round() / 2
    if mixed:
        x[rng.random(x.shape) < 0.1] = np.nan
    return x


@recipe("TreeEnsembleClassifier")
def tree_classifier(rng):
    classes, features, mixed = int(rng.integers(1, 6)), size(rng, 8), bool(rng.random() < 0.4)
    one = 0 if classes == 1 else int(rng.integers(0, 2)) if classes == 2 else None
    attributes = trees(rng, features, "class", classes, bool(rng.random() < 0.5), one, mixed)
    base = floats(rng, classes) if classes > 2 and rng.random() < 0.5 else None
    return ml("TreeEnsembleClassifier", [features_of(rng, features, mixed)], 2, base_values=base,
              post_transform=choice(rng, TRANSFORMS), **labels(rng, classes, "classlabels_int64s"), **attributes)


@recipe("TreeEnsembleRegressor")
def tree_regressor(rng):
    targets, features, mixed = int(rng.integers(1, 5)), size(rng, 8), bool(rng.random() < 0.4)
    attributes = trees(rng, features, "target", targets, False, None, mixed)
    base = floats(rng, 1) if targets == 1 and rng.random() < 0.5 else None
    x = features_of(rng, features, mixed)
    x = x.astype(np.float32) if x.dtype == np.int64 else x
    return ml("TreeEnsembleRegressor", [x], n_targets=targets, base_values=base,
              aggregate_function=choice(rng, ["SUM", "AVERAGE", "MIN", "MAX"]), post_transform=choice(rng, TRANSFORMS), **attributes)


@recipe("TreeEnsemble")
def tree_ensemble(rng):
    """Complete trees of one depth, a leaf in each corner."""
    features, targets, trees_count, depth = size(rng, 6), int(rng.integers(1, 4)), size(rng, 8), int(rng.integers(1, 5))
    inner, outer = 2 ** depth - 1, 2 ** depth
    dtype = choice(rng, [np.float32, np.float64])
    attributes = {key: [] for key in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")}
    for tree in range(trees_count):
        for n in range(inner):
            last = 2 * n + 1 >= inner
            attributes["featureids"].append(int(rng.integers(features)))
            base = tree * outer - inner if last else tree * inner
            attributes["truenodeids"].append(base + 2 * n + 1)
            attributes["falsenodeids"].append(base + 2 * n + 2)
            attributes["trueleafs"].append(int(last))
            attributes["falseleafs"].append(int(last))
    count = trees_count * inner
    as_tensor = lambda array: numpy_helper.from_array(np.asarray(array))  # noqa: E731
    node = helper.make_node(
        "TreeEnsemble", ["x0"], ["y0"], domain="ai.onnx.ml", n_targets=targets, aggregate_function=choice(rng, [0, 1, 2, 3]), post_transform=0,
        tree_roots=[tree * inner for tree in range(trees_count)], nodes_modes=as_tensor(rng.integers(0, 6, count).astype(np.uint8)),
        nodes_splits=as_tensor((rng.integers(-6, 7, count) / 2).astype(dtype)), leaf_targetids=[int(v) for v in rng.integers(0, targets, trees_count * outer)],
        leaf_weights=as_tensor(rng.uniform(-1, 1, trees_count * outer).astype(dtype)), **{f"nodes_{key}": value for key, value in attributes.items()})
    x = (values(rng, (int(rng.integers(1, 40)), features), dtype) * 2).round() / 2
    return Case([node], {"x0": x.astype(dtype)}, ["y0"], 21, {}, 1e-3, 1e-5, "ort", {"ai.onnx.ml": 5}, {})


@recipe("ZipMap")
def zip_map(rng):
    """A sequence of maps: what scikit-learn's exporter ends classifiers with."""
    classes, rows = size(rng, 5), size(rng, 6)
    key = choice(rng, [TensorProto.INT64, TensorProto.STRING])
    names = {"classlabels_int64s": [int(v) for v in rng.permutation(50)[:classes]]} if key == TensorProto.INT64 else {
        "classlabels_strings": [f"c{v}" for v in rng.permutation(50)[:classes]]}
    case = ml("ZipMap", [values(rng, (rows, classes), np.float32)], version=1, **names)
    case.types["y0"] = helper.make_sequence_type_proto(helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
    return case


@recipe("CastMap")
def cast_map(rng):
    sparse = rng.random() < 0.5
    keys = sorted(int(k) for k in rng.permutation(9)[: size(rng, 6)])
    # Of what a sparse map leaves out the peer makes the string "0.f".
    to = choice(rng, ["TO_FLOAT", "TO_INT64"] if sparse else ["TO_FLOAT", "TO_INT64", "TO_STRING"])
    case = ml("CastMap", [{key: float(np.float32(rng.integers(-9, 9))) for key in keys}], version=1, cast_to=to, map_form="SPARSE" if sparse else "DENSE",
              max_map=12 if sparse else None)
    case.input_types["x0"] = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    return case


@recipe("DictVectorizer")
def dict_vectorizer(rng):
    words = [f"w{v}" for v in rng.permutation(20)[:8]]
    case = ml("DictVectorizer", [{word: float(np.float32(rng.normal())) for word in words if rng.random() < 0.6} or {words[0]: 1.0}], version=1,
              string_vocabulary=words)
    case.input_types["x0"] = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    return case
