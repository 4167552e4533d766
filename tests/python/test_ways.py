"""Programs that say `import onnxruntime` get Tessera, and the genuine package's Python parts work on it, byte for byte."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest
from conftest import HERE, needs_genuine, run_python

from tessera.onnxruntime import STAND_IN

FACTS = """
import onnxruntime, sys
import onnxruntime.capi.onnxruntime_pybind11_state as state
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
assert state.Fail is C.Fail and InferenceSession is onnxruntime.InferenceSession
print(onnxruntime.get_build_info().split()[0].lower().strip(','), onnxruntime.__version__, sys.argv[1:], __name__)
"""


@pytest.fixture
def program(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(FACTS)
    return str(path)


def test_runner(program: str) -> None:
    assert run_python("-m", "tessera.onnxruntime", program, "a", "b") == "tessera 1.31.1 ['a', 'b'] __main__\n"


def test_runner_of_modules(program: str) -> None:
    folder = str(pathlib.Path(program).parent)
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    assert run_python("-m", "tessera.onnxruntime", "-m", "program", "a", PYTHONPATH=path).startswith("tessera 1.31.1 ['a'")


def test_environment(program: str) -> None:
    switch = run_python("-m", "tessera.onnxruntime", "--path").strip()
    assert switch == STAND_IN
    path = os.pathsep.join(filter(None, (switch, os.environ.get("PYTHONPATH"))))
    assert run_python(program, PYTHONPATH=path).startswith("tessera ")


def test_processes_that_a_program_starts(tmp_path: pathlib.Path, program: str) -> None:
    parent = tmp_path / "parent.py"
    parent.write_text(f"import subprocess, sys\nsubprocess.run([sys.executable, {program!r}, 'child'], check=True)\n")
    assert run_python("-m", "tessera.onnxruntime", str(parent)).startswith("tessera 1.31.1 ['child']")


def test_runner_without_a_program(tmp_path: pathlib.Path) -> None:
    import subprocess

    asked = [sys.executable, "-m", "tessera.onnxruntime", str(tmp_path / "nothing")]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no program" in done.stderr


def made_by(tmp_path: pathlib.Path, what: str) -> dict[str, bytes]:
    """The model that genuine_tools.py writes with each package."""
    models = {}
    for package, switch in (("genuine", ()), ("tessera", ("-m", "tessera.onnxruntime"))):
        folder = tmp_path / package
        folder.mkdir()
        who = run_python(*switch, str(HERE / "genuine_tools.py"), what, str(folder)).splitlines()[-1]
        assert who == package
        models[package] = (folder / "out.onnx").read_bytes()
    return models


@needs_genuine
@pytest.mark.parametrize("what", ["quantize_dynamic", "quantize_static", "optimizer"])
def test_genuine_tools_make_the_same_model(tmp_path: pathlib.Path, what: str) -> None:
    if what == "optimizer":
        pytest.importorskip("sympy", reason="onnxruntime.transformers imports sympy, which is not installed")
    models = made_by(tmp_path, what)
    assert models["tessera"] == models["genuine"]


@needs_genuine
def test_weights_in_few_bits() -> None:
    """quantize_matmul_*bits fill the same bytes."""
    run_python("few_bits.py")
