"""Makes cases whose models leave out outputs, with "" in place of a name.

    omit_outputs.py OUT DATA...

For each operator, version, number of outputs and place of an output that cases of DATA have, the first such case becomes one without
that output. What is left must be as before; a model that has nothing left gives back one of its inputs.
"""

import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def is_read(graph, name):
    """Whether a node of the graph, or of one nested in it, reads the value."""
    for node in graph.node:
        if name in node.input:
            return True
        for attribute in node.attribute:
            if any(is_read(nested, name) for nested in [attribute.g, *attribute.graphs] if nested.node):
                return True
    return False


def tensor_files(folder, kind):
    return sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))


def give_back_an_input(model, sets):
    """The graph's only output becomes a copy of its first tensor, or of a constant where it has no input."""
    graph = model.graph
    given = next(((i, value) for i, value in enumerate(graph.input) if value.type.HasField("tensor_type")), None)
    if all(opset.domain not in ("", "ai.onnx") for opset in model.opset_import):
        model.opset_import.add(domain="", version=21)  # for Identity
    kept = graph.output.add(name="kept")
    if given is None:
        constant = numpy_helper.from_array(np.ones(1, np.float32), "one")
        graph.initializer.append(constant)
        kept.type.CopyFrom(onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [1]))
        graph.node.add(op_type="Identity", input=["one"], output=["kept"])
    else:
        kept.type.CopyFrom(given[1].type)
        graph.node.add(op_type="Identity", input=[given[1].name], output=["kept"])
    for data in sets:
        tensor = constant if given is None else onnx.load_tensor(data / f"input_{given[0]}.pb")
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.name = "kept"
        onnx.save_tensor(copy, data / "output_0.pb")


def omit(case, model, node_index, place, out):
    name = model.graph.node[node_index].output[place]
    model.graph.node[node_index].output[place] = ""
    shutil.copytree(case, out, ignore=shutil.ignore_patterns("model.onnx"))
    sets = sorted(out.glob("test_data_set_*"))
    outputs = [value.name for value in model.graph.output]
    if name in outputs:
        gone = outputs.index(name)
        del model.graph.output[gone]
        for data in sets:
            files = tensor_files(data, "output")
            files[gone].unlink()
            for i, path in enumerate(files[gone + 1 :]):
                path.rename(data / f"output_{gone + i}.pb")
    if not model.graph.output:
        give_back_an_input(model, sets)
    onnx.save(model, out / "model.onnx")


def main():
    out, seen = pathlib.Path(sys.argv[1]), set()
    shutil.rmtree(out, ignore_errors=True)
    for case in sorted(path.parent for data in sys.argv[2:] for path in pathlib.Path(data).glob("*/model.onnx")):
        model = onnx.load(case / "model.onnx")
        gradient = any(node.op_type == "Gradient" for node in model.graph.node)  # which names values in its attributes
        versions = {opset.domain: opset.version for opset in model.opset_import}
        for i, node in enumerate(model.graph.node):
            for place, name in enumerate(node.output):
                kind = (node.domain, node.op_type, versions.get(node.domain), len(node.output), place)
                differentiated = gradient and node.op_type != "Gradient"
                if kind in seen or not name or differentiated or is_read(model.graph, name):
                    continue
                seen.add(kind)
                copy = onnx.ModelProto()
                copy.CopyFrom(model)
                omit(case, copy, i, place, out / f"{case.name}_{node.op_type}_{place}")
    print(f"{len(seen)} cases")
    sys.exit(0 if len(seen) > 300 else 1)


main()
