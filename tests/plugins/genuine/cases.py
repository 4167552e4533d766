"""Runs ONNX's node cases by ONNX Runtime with a plugin: a line for each, its name and what became of it.

usage: cases.py PLUGIN PROVIDER OPTIONS_AS_JSON CASES OUT

Cases that OUT has a line for are not run again, so that who starts this anew after a crash goes on behind the case that
crashed: a name without an outcome.
"""

import json
import os
import sys
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

# As onnx_test_runner compares where a case has no tolerances of its own, but for half floats.
RELATIVE, ABSOLUTE, OF_HALVES = 1e-3, 1e-7, 2 / 1024


def load(path: Path, value_type: onnx.TypeProto):
    content = path.read_bytes()
    kind = value_type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def equal(given, expected) -> bool:
    if isinstance(expected, list):
        return len(given) == len(expected) and all(map(equal, given, expected))
    if expected is None:
        return given is None
    given, expected = np.asarray(given), np.asarray(expected)
    if given.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc" and "float" not in expected.dtype.name:
        return bool((given == expected).all())
    halves = expected.dtype.itemsize < 4
    return np.allclose(given.astype(np.complex128), expected.astype(np.complex128), equal_nan=True,
                       rtol=OF_HALVES if halves else RELATIVE, atol=ABSOLUTE)


def run(case: Path, devices: list, options: dict) -> str:
    model = onnx.load(case / "model.onnx")
    session_options = ort.SessionOptions()
    session_options.log_severity_level = 4
    session_options.add_provider_for_devices(devices[:1], options)
    session = ort.InferenceSession(case / "model.onnx", session_options)
    session.disable_fallback()  # what fails with the plugin is not to pass without it
    for data in sorted(case.glob("test_data_set_*")):
        feeds = {}
        for k, declared in enumerate(model.graph.input):
            if (data / f"input_{k}.pb").exists():
                feeds[declared.name] = load(data / f"input_{k}.pb", declared.type)
        results = session.run(None, {name: value for name, value in feeds.items() if value is not None})
        for k, declared in enumerate(model.graph.output):
            if not equal(results[k], load(data / f"output_{k}.pb", declared.type)):
                return "other numbers"
    return "passed"


def main() -> None:
    plugin, provider, options, cases, out = sys.argv[1:]
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library("plugin", plugin)
    devices = [device for device in ort.get_ep_devices() if device.ep_name in (provider, "plugin")]
    if not devices:
        sys.exit(f"{plugin} offers no device of {provider}")
    path = Path(out)
    done = {line.split("\t")[0] for line in path.read_text().splitlines()} if path.exists() else set()
    with path.open("a") as file:
        for case in sorted(Path(cases).iterdir()):
            if case.name in done or not (case / "model.onnx").exists():
                continue
            print(case.name, end="\t", file=file, flush=True)
            try:
                outcome = run(case, devices, json.loads(options))
            except Exception as error:  # whatever the library or the runtime says
                outcome = "refused: " + str(error).replace("\n", " ")[:200]
            print(outcome, file=file, flush=True)


main()
