"""Writes what the optimizer makes of every case's model as ONNX, and checks it with ONNX's own checker.

    optimized_models.py TESSERA_INSPECT DATA OUT

OUT gets a folder for each case of DATA, with the optimized model and the case's data beside it, for onnx_test_runner to run. A case
whose model cannot be written is told with the reason; a model that the checker refuses, or that has operators or attributes of
Tessera's own, is an error, as is one that it accepts before and not after.
"""

import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import onnx

# What ONNX's checker says of some of its own cases, or what the writer may refuse, with the reason.
MAY_REFUSE = ("convert the model, or its functions, to one opset",)


def is_private(name):
    return name.startswith(("tessera", "ai.tessera"))


def private_names(graph):
    for node in graph.node:
        if is_private(node.domain):
            yield f"{node.domain}.{node.op_type}"
        for attribute in node.attribute:
            if is_private(attribute.name):
                yield f"{node.op_type}.{attribute.name}"
            if attribute.HasField("g"):
                yield from private_names(attribute.g)
            for nested in attribute.graphs:
                yield from private_names(nested)


def complaint_of(path):
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        return str(error).strip().splitlines()[0]
    return ""


def check(inspect, case, out):
    """None where all is well, else what is wrong; "refused: ..." where the writer says so."""
    model, written = case / "model.onnx", out / case.name / "model.onnx"
    written.parent.mkdir(parents=True)
    for data in sorted(case.glob("test_data_set_*")):
        (written.parent / data.name).symlink_to(data.resolve())
    result = subprocess.run([inspect, "-e", "cpu", "--write-optimized", written, model], capture_output=True, text=True)
    if result.returncode != 0:
        shutil.rmtree(written.parent)
        message = result.stderr.strip().splitlines()[-1] if result.stderr.strip() else f"exit code {result.returncode}"
        return f"refused: {message}" if any(reason in message for reason in MAY_REFUSE) else message
    private = sorted(set(private_names(onnx.load(written, load_external_data=False).graph)))
    if private:
        return f"has {', '.join(private)}"
    complaint = complaint_of(written)
    if complaint and not complaint_of(model):
        return f"the checker: {complaint}"
    return None


def main():
    inspect, data, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    cases = sorted(path.parent for path in data.glob("*/model.onnx"))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: check(inspect, case, out), cases))
    refused = [(case.name, why) for case, why in zip(cases, results) if why and why.startswith("refused: ")]
    wrong = [(case.name, why) for case, why in zip(cases, results) if why and not why.startswith("refused: ")]
    for name, why in refused + wrong:
        print(f"{name}: {why}")
    print(f"{len(cases)} models, {len(refused)} cannot be written, {len(wrong)} are wrong")
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()
