"""Runs a model in ONNX Runtime or OpenVINO and prints what it took, as tessera_perf --json does; compare.py's other half.

    peers.py PEER MODEL --inputs FOLDER [--outputs FOLDER] [--threads N] [--callers N] [--seconds S]
             [--config KEY=VALUE]...

PEER: ort, openvino (float32 throughout), openvino-default (the precision that it chooses by itself).
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import threading
import time

import numpy as np
import onnx
from onnx import numpy_helper

# ONNX Runtime sends telemetry and writes to the home folder unless it is told not to, before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def memory_mib(key):
    """VmRSS: resident now; VmHWM: at most since the last reset."""
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE)[1]) / 1024


def read_inputs(folder):
    paths = sorted(pathlib.Path(folder).glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(str(p))) for p in paths]


class OnnxRuntime:
    def __init__(self, model, threads, callers, precision, entries):
        import onnxruntime

        self.runtime = onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        for entry in entries:
            options.add_session_config_entry(*entry.split("=", 1))
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def caller(self, inputs):
        """A function that runs once and one that gives the results, for one thread."""
        binding = self.session.io_binding()
        for value, array in zip(self.session.get_inputs(), inputs):
            binding.bind_ortvalue_input(value.name, self.runtime.OrtValue.ortvalue_from_numpy(array))
        for value in self.session.get_outputs():
            binding.bind_output(value.name, "cpu")
        return lambda: self.session.run_with_iobinding(binding), binding.copy_outputs_to_cpu


class OpenVino:
    def __init__(self, model, threads, callers, precision, entries):
        import openvino

        self.runtime = openvino
        config = {"INFERENCE_NUM_THREADS": threads * callers, "PERFORMANCE_HINT": "LATENCY" if callers == 1 else "THROUGHPUT",
                  "NUM_STREAMS": callers}
        if precision:
            config["INFERENCE_PRECISION_HINT"] = precision
        self.session = openvino.Core().compile_model(model, "CPU", config)

    def caller(self, inputs):
        request = self.session.create_infer_request()
        for i, array in enumerate(inputs):
            request.set_input_tensor(i, self.runtime.Tensor(array))

        def run():
            request.start_async()
            request.wait()

        return run, lambda: [np.array(request.get_output_tensor(i).data) for i in range(len(self.session.outputs))]


PEERS = {"ort": (OnnxRuntime, None), "openvino": (OpenVino, "f32"), "openvino-default": (OpenVino, None)}


def run_for(run, seconds, warmup, barrier):
    for _ in range(warmup):
        run()
    barrier.wait()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times, time.perf_counter() - begin


def measure(session, inputs, callers, seconds, warmup):
    """Latencies and runs a second of `callers` threads; and the first one's results."""
    pairs = [session.caller(inputs) for _ in range(callers)]
    barrier, taken = threading.Barrier(callers), [None] * callers

    def call(i):
        taken[i] = run_for(pairs[i][0], seconds, warmup, barrier)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(1, callers)]
    for thread in threads:
        thread.start()
    call(0)
    for thread in threads:
        thread.join()
    return [t for times, _ in taken for t in times], sum(len(times) / took for times, took in taken), pairs[0][1]()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--outputs", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--callers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--config", action="append", default=[], help="KEY=VALUE: a session configuration entry of ONNX Runtime")
    arguments = parser.parse_args()
    inputs = read_inputs(arguments.inputs)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak: Python's own start does not count
    python_mib = memory_mib("VmRSS")
    kind, precision = PEERS[arguments.peer]
    begin = time.perf_counter()
    session = kind(arguments.model, arguments.threads, arguments.callers, precision, arguments.config)
    load_ms = (time.perf_counter() - begin) * 1e3
    times, rate, results = measure(session, inputs, arguments.callers, arguments.seconds, arguments.warmup)
    memory = memory_mib("VmHWM") - python_mib
    if arguments.outputs:
        arguments.outputs.mkdir(parents=True, exist_ok=True)
        for i, array in enumerate(results):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(array)), str(arguments.outputs / f"output_{i}.pb"))
    print(json.dumps({"latency_ms": {"median": statistics.median(times), "min": min(times)}, "runs_per_second": rate, "load_ms": load_ms,
                      "peak_rss_mib": memory, "runs": len(times)}))


if __name__ == "__main__":
    main()
