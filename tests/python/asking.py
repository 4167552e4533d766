"""What is asked of a package, and what the questions have in common."""

from __future__ import annotations

import importlib
import os
import pathlib
import tempfile

import models
import numpy as np

# By name: what is asked, of the package and a session of `x -> y`, whose elements are floats of any shape.
CASES = {}


def each(**asked):
    """Registers several at once."""
    CASES.update(asked)


FOUR = np.arange(4, dtype=np.float32)
TWO = models.perceptron().SerializeToString()


def session(ort, model: bytes, **options):
    options.setdefault("providers", ["CPUExecutionProvider"])
    return ort.InferenceSession(model, **options)


def in_folder(ask):
    """Asks in a folder that has m.onnx and nothing else."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            pathlib.Path("m.onnx").write_bytes(TWO)
            return ask()
        finally:
            os.chdir(before)


def state_module(ort):
    if ort.__name__ == "tessera":
        importlib.import_module("tessera.onnxruntime").install()
    return importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")


def settings(options):
    return {
        name: str(getattr(options, name))
        for name in dir(options)
        if not name.startswith("_") and not callable(getattr(options, name))
    }
