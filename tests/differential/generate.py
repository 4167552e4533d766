#!/usr/bin/env python3
"""Makes seeded random models with expected outputs from an independent implementation, as test-data directories.

    generate.py OUTPUT [--seed N] [--per-operator N] [--only REGEX]

Expected outputs come from onnx's reference evaluator or from ONNX Runtime, as each recipe says: where the two are known to
disagree with the specification, the recipe names the one that follows it. onnx_test_runner does the comparison.
"""

import argparse
import json
import pathlib
import re
import shutil
import sys
import warnings
import zlib

import numpy as np
import onnx
import onnx.reference
from onnx import numpy_helper

import recipes_conversion  # noqa: F401  (registers its recipes)
import recipes_elementwise  # noqa: F401
import recipes_flow  # noqa: F401
import recipes_generation  # noqa: F401
import recipes_images  # noqa: F401
import recipes_ml  # noqa: F401
import recipes_microsoft  # noqa: F401
import recipes_microsoft_attention  # noqa: F401
import recipes_microsoft_decoders  # noqa: F401
import recipes_microsoft_fused  # noqa: F401
import recipes_microsoft_quantized  # noqa: F401
import recipes_layouts  # noqa: F401
import recipes_mixture  # noqa: F401
import recipes_models  # noqa: F401
import recipes_movement  # noqa: F401
import recipes_nn  # noqa: F401
import recipes_reduction  # noqa: F401
import recipes_search  # noqa: F401
import recipes_sequence  # noqa: F401
import recipes_slices  # noqa: F401
import recipes_training  # noqa: F401
import recipes_vision  # noqa: F401
import recipes_window  # noqa: F401
from recipe import RECIPES, ort_session, to_model


def ort_outputs(model, case, arena=True):
    session = ort_session(model, arena)
    return [session.run(None, inputs) for inputs in [case.inputs, *case.variants]]


def agreed_outputs(model, case):
    """What two sessions, one after the other, agree on: one has an arena, the other takes each block of memory by itself."""
    outputs = ort_outputs(model, case)
    for attempt in range(8):
        again = ort_outputs(model, case, arena=attempt % 2 == 1)
        if all(np.array_equal(a, b, equal_nan=True) for run, other in zip(outputs, again) for a, b in zip(run, other)):
            return outputs
        outputs = again
    raise RuntimeError("ONNX Runtime's sessions do not agree")


def expected_outputs(model, case):
    """One list of outputs for the inputs and for each of the variants."""
    if callable(case.peer):
        return [case.peer(inputs) for inputs in [case.inputs, *case.variants]]
    if case.peer == "ort":
        return agreed_outputs(model, case) if case.unsteady else ort_outputs(model, case)
    evaluator = onnx.reference.ReferenceEvaluator(model)
    return [evaluator.run(None, inputs) for inputs in [case.inputs, *case.variants]]


def complete_output_types(model, outputs):
    """Declares what inference left open, so that the case says what it expects; returns the outputs as declared."""
    result = []
    for info, array in zip(model.graph.output, outputs):
        if info.type.WhichOneof("value") not in (None, "tensor_type"):
            result.append(array)
            continue
        array = np.asarray(array)
        if info.type.tensor_type.elem_type == 0:
            info.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        declared = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        # numpy's promotions may leave the reference with a wider type.
        result.append(array.astype(declared) if array.dtype == np.float64 else array)
    return result


def map_proto(values, name=""):
    """Keys of one type, and scalars of one type."""
    proto = onnx.MapProto(name=name)
    strings = all(isinstance(key, str) for key in values)
    proto.key_type = onnx.TensorProto.STRING if strings else onnx.TensorProto.INT64
    if strings:
        proto.string_keys.extend(key.encode() for key in values)
    else:
        proto.keys.extend(int(key) for key in values)
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    proto.values.tensor_values.extend(numpy_helper.from_array(np.asarray(value, np.float32)) for value in values.values())
    return proto


def to_proto(value, name):
    """A tensor, a map from a key to a float, or a sequence of such maps."""
    if isinstance(value, dict):
        return map_proto(value, name)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP, map_values=[map_proto(element) for element in value])
    return numpy_helper.from_array(np.asarray(value), name)


def write_case(folder, model, case, outputs):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tolerance.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    for k, (inputs, results) in enumerate(zip([case.inputs, *case.variants], outputs)):
        data = folder / f"test_data_set_{k}"
        data.mkdir()
        for i, info in enumerate(model.graph.input):
            (data / f"input_{i}.pb").write_bytes(to_proto(inputs[info.name], info.name).SerializeToString())
        for i, (info, array) in enumerate(zip(model.graph.output, results)):
            (data / f"output_{i}.pb").write_bytes(to_proto(array, info.name).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-operator", type=int, default=6)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    shutil.rmtree(arguments.output, ignore_errors=True)
    written, refused = 0, {}
    for name, make in sorted(RECIPES.items()):
        if not re.search(arguments.only, name):
            continue
        for i in range(arguments.per_operator):
            # A stream for each case: adding a recipe does not change the others' cases.
            try:
                case = make(np.random.default_rng([arguments.seed, zlib.crc32(name.encode()), i]))
                model = to_model(case)
                outputs = expected_outputs(model, case)
            except Exception as error:  # noqa: BLE001: a peer that cannot run a case gives no expectation
                refused.setdefault(name, []).append(f"{i}: {(str(error) or type(error).__name__).splitlines()[0][:120]}")
                continue
            outputs = [complete_output_types(model, results) for results in outputs]
            write_case(arguments.output / f"{name}_{arguments.seed}_{i}", model, case, outputs)
            written += 1
    for name, reasons in refused.items():
        print(f"{name}: {len(reasons)} cases that the peer cannot run, e.g. {reasons[0]}")
    print(f"{written} cases in {arguments.output}")
    # A peer that refuses a few corners is expected; a recipe that never works is broken.
    broken = [name for name, reasons in refused.items() if len(reasons) == arguments.per_operator]
    if broken:
        sys.exit(f"no case at all from: {', '.join(broken)}")


if __name__ == "__main__":
    main()
