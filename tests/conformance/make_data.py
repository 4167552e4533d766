#!/usr/bin/env python3
"""Writes onnx's own backend test cases as test-data directories, for onnx_test_runner.

    make_data.py OUTPUT

OUTPUT/node    every operator case that the installed onnx generates (1884 in onnx 1.23.2)
OUTPUT/simple  the small multi-operator cases (26)
OUTPUT/light   the nine CNN topologies that the onnx wheel ships, with the inputs that its backend test feeds them

Each case is NAME/model.onnx and NAME/test_data_set_N/{input,output}_K.pb; tolerances other than the runner's defaults
stand in NAME/tolerance.json. A marker file, which says how many cases there are, makes a second call a no-op while they are.
"""

import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.case.model import collect_testcases as collect_model_cases


def to_proto(value, type_proto, name):
    kind = type_proto.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name)
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name)


def write_values(folder, role, values, infos):
    for i, value in enumerate(values):
        proto = to_proto(value, infos[i].type, infos[i].name)
        (folder / f"{role}_{i}.pb").write_bytes(proto.SerializeToString())


def write_tolerance(folder, rtol, atol):
    (folder / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))


def write_case(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    if (case.rtol, case.atol) != (1e-3, 1e-7):
        write_tolerance(folder, case.rtol, case.atol)
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data_set = folder / f"test_data_set_{i}"
        data_set.mkdir()
        write_values(data_set, "input", inputs, case.model.graph.input)
        write_values(data_set, "output", outputs, case.model.graph.output)


def ramp(info):
    """The input of onnx's light-model test: 0, 1/n, 2/n, ... in the declared shape, unknown dimensions being 1."""
    shape = [d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def write_light_model(case, folder):
    source = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light" / pathlib.Path(case.url).name
    model = onnx.load(source)
    data_set = folder / "test_data_set_0"
    data_set.mkdir(parents=True)
    shutil.copy(source, folder / "model.onnx")
    write_tolerance(folder, case.rtol, case.atol)
    initializers = {tensor.name for tensor in model.graph.initializer}
    infos = [info for info in model.graph.input if info.name not in initializers]
    write_values(data_set, "input", [ramp(info) for info in infos], infos)
    for i in range(len(model.graph.output)):
        shutil.copy(source.with_name(f"{source.stem}_output_{i}.pb"), data_set / f"output_{i}.pb")


def count_cases(output):
    return {kind: sum(1 for _ in (output / kind).glob("*/model.onnx")) for kind in ("node", "simple", "light")}


def is_complete(output, marker):
    """Whether what an earlier call wrote is still there."""
    return marker.exists() and marker.read_text() == json.dumps(count_cases(output))


def main():
    output = pathlib.Path(sys.argv[1])
    marker = output / f".onnx-{onnx.__version__}"
    if is_complete(output, marker):
        print(f"conformance data: present in {output}")
        return
    for kind in ("node", "simple", "light"):
        shutil.rmtree(output / kind, ignore_errors=True)
    node_cases = load_model_tests(kind="node")
    for case in node_cases:
        write_case(case, output / "node" / case.name)
    model_cases = collect_model_cases()
    simple = [case for case in model_cases if case.kind == "simple"]
    light = [case for case in model_cases if case.kind == "real"]
    for case in simple:
        write_case(case, output / "simple" / case.name)
    for case in light:
        write_light_model(case, output / "light" / case.name)
    marker.write_text(json.dumps(count_cases(output)))
    print(f"conformance data: {len(node_cases)} node, {len(simple)} simple, {len(light)} light cases in {output}")


if __name__ == "__main__":
    main()
