"""mypy finds nothing in the stub, nor in a program that uses the package."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import tessera

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed: pip install mypy")

PROGRAM = """
import numpy as np
import numpy.typing as npt

import tessera as ort


def classes(model: str, image: npt.NDArray[np.float32]) -> list[str]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider", ("DnnlExecutionProvider", {})])
    name = session.get_inputs()[0].name
    size = [dim for dim in session.get_inputs()[0].shape if isinstance(dim, int)]
    try:
        (scores,) = session.run(None, {name: image.reshape(size)})
    except (ort.InvalidArgument, ort.Fail) as error:
        return [str(error)]
    binding = session.io_binding()
    binding.bind_cpu_input(name, image)
    binding.bind_output("y")
    session.run_with_iobinding(binding, ort.RunOptions())
    values: list[ort.OrtValue] = binding.get_outputs()
    ort.set_log_sink(lambda level, who, text: print(level, who, text))
    session.run_async(None, {name: image}, lambda results, data, error: print(results[0].shape, error), None)
    placed = session.placement()
    return [str(scores.argmax()), str(values[0].shape()[0]), str(placed), *session.get_providers()]
"""

WRONG = """
import tessera as ort

session = ort.InferenceSession(3)
session.run("y", {})
ort.SessionOptions().intra_op_num_threads = "a"
"""


def checked(tmp_path: pathlib.Path, *files: str) -> list[str]:
    """mypy's lines of errors, whatever its settings elsewhere."""
    configuration = tmp_path / "mypy.ini"
    configuration.write_text("[mypy]\nstrict = True\n")
    package = pathlib.Path(tessera.__file__).parent
    command = [sys.executable, "-m", "mypy", "--config-file", str(configuration), "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*command, *files],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(package.parent)} if "site-packages" not in package.parts else None,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "error:" in line]


def test_stub_and_package(tmp_path: pathlib.Path) -> None:
    package = pathlib.Path(tessera.__file__).parent
    assert checked(tmp_path, str(package / "_core.pyi"), str(package / "__init__.py")) == []


def test_program(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert checked(tmp_path, "program.py") == []


def test_program_that_is_wrong(tmp_path: pathlib.Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    assert [line.split(":")[1] for line in checked(tmp_path, "wrong.py")] == ["4", "6"]
