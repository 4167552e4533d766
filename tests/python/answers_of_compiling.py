"""Models compiled ahead of time: with CPU alone nothing is compiled, and the model is written."""

from __future__ import annotations

import os
import pathlib

import models
import numpy as np
import onnx
from asking import CASES, FOUR, TWO, each, in_folder, session


def compiler(ort, model: object = TWO, **given):
    return ort.ModelCompiler(ort.SessionOptions(), model, **given)


def flags(ort):
    return ort.OrtCompileApiFlags


each(
    compiled_bytes=lambda ort, s: in_folder(lambda: written(ort, compiler(ort).compile_to_bytes())),
    compiled_bytes_of_file=lambda ort, s: in_folder(lambda: written(ort, compiler(ort, "m.onnx").compile_to_bytes())),
    compiled_file=lambda ort, s: in_folder(lambda: compiled_file(ort, "o.onnx")),
    compiled_pathlib=lambda ort, s: in_folder(lambda: compiled_file(ort, pathlib.Path("o.onnx"))),
    compiled_stream=lambda ort, s: compiled_stream(ort),
    compiled_again=lambda ort, s: (lambda c: c.compile_to_bytes() == c.compile_to_bytes())(compiler(ort)),
    compiled_at_level=lambda ort, s: in_folder(
        lambda: compiled_with(ort, graph_optimization_level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    ),
    compiled_to_no_path=lambda ort, s: compiler(ort).compile_to_file(""),
    compiled_to_number=lambda ort, s: compiler(ort).compile_to_file(3),
    compiled_to_bytes_path=lambda ort, s: compiler(ort).compile_to_file(b"x.onnx"),
    compiled_over=lambda ort, s: in_folder(lambda: compiler(ort).compile_to_file("m.onnx")),
    compiled_not_over=lambda ort, s: in_folder(
        lambda: compiler(ort, flags=flags(ort).ERROR_IF_OUTPUT_FILE_EXISTS).compile_to_file("m.onnx")
    ),
    compiled_nothing=lambda ort, s: compiler(ort, flags=flags(ort).ERROR_IF_NO_NODES_COMPILED).compile_to_bytes(),
    compiled_flags_joined=lambda ort, s: compiler(
        ort, flags=flags(ort).ERROR_IF_NO_NODES_COMPILED | flags(ort).ERROR_IF_OUTPUT_FILE_EXISTS
    ).compile_to_bytes(),
    compiled_weights=lambda ort, s: in_folder(
        lambda: compiled_with(ort, external_initializers_file_path="w.bin", external_initializers_size_threshold=1100)
    ),
    compiled_weights_below=lambda ort, s: in_folder(
        lambda: compiled_with(ort, external_initializers_file_path="w.bin", external_initializers_size_threshold=9999)
    ),
    compiled_weights_placed=lambda ort, s: in_folder(lambda: weights_placed(ort)),
    compiled_weights_left=lambda ort, s: in_folder(lambda: weights_left(ort)),
    compiled_weights_both=lambda ort, s: compiler(
        ort, external_initializers_file_path="w.bin", get_initializer_location_func=lambda *_: None
    ),
    compiled_garbage=lambda ort, s: compiler(ort, b"abc").compile_to_bytes(),
    compiled_no_file=lambda ort, s: compiler(ort, "no-such-file.onnx").compile_to_bytes(),
    compiled_no_writer=lambda ort, s: compiler(ort).set_ep_context_data_write_func(None),
    compiled_no_function=lambda ort, s: compiler(ort).set_ep_context_data_write_func(3),
    compiled_cleared=lambda ort, s: compiler(ort).clear_ep_context_data_write_func(),
    compiled_to_no_stream=lambda ort, s: compiler(ort).compile_to_stream(3),
    compile_flags=lambda ort, s: flag_facts(ort),
    weight_place=lambda ort, s: (lambda i: [i.filepath, i.file_offset, i.byte_size])(
        ort.OrtExternalInitializerInfo("a/b.bin", -3, 4)
    ),
    weight_place_read_only=lambda ort, s: setattr(ort.OrtExternalInitializerInfo("a", 0, 4), "filepath", "b"),
    context_data=lambda ort, s: ort.OrtEpContextData(),
    context_buffer=lambda ort, s: ort.OrtEpContextDataBuffer(),
    context_reader=lambda ort, s: context_reader(ort, lambda name, buffer: None, 100),
    context_reader_none=lambda ort, s: context_reader(ort, None, 100),
    context_reader_number=lambda ort, s: context_reader(ort, 3, 100),
    context_reader_of_nothing=lambda ort, s: context_reader(ort, lambda name, buffer: None, 0),
    context_reader_below=lambda ort, s: context_reader(ort, lambda name, buffer: None, -1),
    context_reader_alone=lambda ort, s: ort.SessionOptions().set_ep_context_data_read_func(lambda name, buffer: None),
)
for name, wrong in {
    "model": {"model": 3},
    "no_model": {"model": None},
    "empty_path": {"model": ""},
    "empty_bytes": {"model": b""},
    "bytearray": {"model": bytearray(TWO)},
    "embed_text": {"embed_compiled_data_into_model": "a"},
    "embed_none": {"embed_compiled_data_into_model": None},
    "weights_number": {"external_initializers_file_path": 3},
    "weights_empty": {"external_initializers_file_path": ""},
    "threshold_negative": {"external_initializers_size_threshold": -1},
    "threshold_text": {"external_initializers_size_threshold": "a"},
    "flags_number": {"flags": 7},
    "flags_high": {"flags": 1 << 31},
    "flags_huge": {"flags": 1 << 40},
    "flags_negative": {"flags": -1},
    "flags_none": {"flags": None},
    "flags_text": {"flags": "1"},
    "flags_float": {"flags": 1.0},
    "level_number": {"graph_optimization_level": 1},
    "level_none": {"graph_optimization_level": None},
}.items():
    CASES[f"compiler_{name}"] = lambda ort, s, wrong=wrong: type(compiler(ort, **wrong)).__name__
CASES["compiler_options_none"] = lambda ort, s: ort.ModelCompiler(None, TWO)
CASES["compiler_options_number"] = lambda ort, s: ort.ModelCompiler(3, TWO)


def written(ort, model: bytes):
    """What a compiled model has, and what it computes where its weights are found."""
    made = onnx.load_from_string(model)
    weights = [
        [w.name, list(w.dims), w.data_location, [[e.key, e.value] for e in w.external_data if e.key == "location"]]
        for w in made.graph.initializer
    ]
    pathlib.Path("c.onnx").write_bytes(model)
    try:
        results = session(ort, "c.onnx").run(None, {"x": np.ones((2, 16), np.float32)})
    finally:
        pathlib.Path("c.onnx").unlink()
    kinds = [node.op_type for node in made.graph.node]
    return [kinds, sorted(weights), [result.round(3) for result in results], sorted(os.listdir("."))]


def compiled_with(ort, **given):
    return written(ort, compiler(ort, "m.onnx", **given).compile_to_bytes())


def compiled_file(ort, path):
    before = compiler(ort, "m.onnx").compile_to_file(path)
    return [before, written(ort, pathlib.Path(path).read_bytes())]


def compiled_stream(ort):
    parts = []
    compiler(ort).compile_to_stream(parts.append)
    return [sorted({type(part).__name__ for part in parts}), b"".join(parts) == compiler(ort).compile_to_bytes()]


def weights_placed(ort):
    asked = []

    def place(name, value, now):
        asked.append([name, type(value).__name__, value.shape(), value.tensor_size_in_bytes(), now])
        if name == "w1":
            return now
        with open("own.bin", "wb") as file:
            file.write(b"before" + value.numpy().tobytes())
        return ort.OrtExternalInitializerInfo("own.bin", 6, value.tensor_size_in_bytes())

    return [written(ort, compiler(ort, "m.onnx", get_initializer_location_func=place).compile_to_bytes()), sorted(asked)]


def weights_left(ort):
    return written(ort, compiler(ort, get_initializer_location_func=lambda name, value, now: None).compile_to_bytes())


def flag_facts(ort):
    none, nodes, exists = flags(ort).NONE, flags(ort).ERROR_IF_NO_NODES_COMPILED, flags(ort).ERROR_IF_OUTPUT_FILE_EXISTS
    joined = nodes | exists
    return [none == 0, int(nodes), exists.value, str(none), repr(exists), joined, type(joined).__name__, nodes ^ 5, ~nodes]


def context_reader(ort, function, most):
    options = ort.SessionOptions()
    options.set_ep_context_data_read_func(function, most)
    results = session(ort, models.identity(), sess_options=options).run(None, {"x": FOUR})
    options.clear_ep_context_data_read_func()
    return results
