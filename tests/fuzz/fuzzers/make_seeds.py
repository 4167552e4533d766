#!/usr/bin/env python3
"""Writes what the fuzzers start from, a folder for each.

    make_seeds.py OUTPUT CASES... [--every N]

CASES are folders of test-data directories. The fuzzers' headers (fuzz_*.cpp) are bytes drawn with a fixed seed.
"""

import argparse
import pathlib
import random
import shutil

import onnx

# Inputs of these types say sizes, positions and texts: a model that has their values says more than one that is given random ones.
TELLING = {onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL, onnx.TensorProto.STRING}
LARGEST = 64 << 10


def with_telling_inputs(model, folder):
    """The model with initializers in place of such inputs."""
    graph = model.graph
    for i, info in reversed(list(enumerate(graph.input))):
        path = folder / f"input_{i}.pb"
        if info.type.tensor_type.elem_type not in TELLING or not path.exists():
            continue
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        tensor.name = info.name
        graph.initializer.append(tensor)
        del graph.input[i]
    return model.SerializeToString()


def type_of(info):
    """Number of the type in fuzz_values.cpp."""
    kind = info.type.WhichOneof("value")
    inner = info.type.optional_type.elem_type.WhichOneof("value") if kind == "optional_type" else None
    return {"sequence_type": 1, "optional_type": 3 if inner == "sequence_type" else 2, "map_type": 4, "sparse_tensor_type": 7}.get(kind, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path, nargs="+")
    parser.add_argument("--every", type=int, default=1, help="take one case of so many")
    args = parser.parse_args()
    stream = random.Random(1)
    shutil.rmtree(args.output, ignore_errors=True)
    folders = {name: args.output / name for name in ("model_bytes", "graphs", "values", "calls", "c_abi", "made_models", "options", "files")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    models = sorted(model for folder in args.cases for model in folder.glob("*/model.onnx"))[:: args.every]
    for path in models:
        if path.stat().st_size > LARGEST:
            continue
        name, data = path.parent.name, path.parent / "test_data_set_0"
        model = onnx.load(path)
        (folders["model_bytes"] / name).write_bytes(stream.randbytes(2) + path.read_bytes())
        (folders["graphs"] / name).write_bytes(stream.randbytes(4) + with_telling_inputs(model, data))
        for i, info in enumerate(onnx.load(path).graph.input):
            value = data / f"input_{i}.pb"
            if value.exists() and value.stat().st_size < 1 << 10:
                (folders["values"] / f"{name}_{value.stem}").write_bytes(bytes([type_of(info)]) + value.read_bytes())
    for name in ("calls", "c_abi", "made_models", "options", "files"):
        for i in range(100):
            (folders[name] / f"random_{i}").write_bytes(stream.randbytes(stream.randrange(4, 300)))
    print(f"{len(models)} models in {args.output}")


if __name__ == "__main__":
    main()
