"""What the tests share. `PYTHONPATH` names the folder of the package under test, ONNX Runtime's is beside it."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

HAS_GENUINE = importlib.util.find_spec("onnxruntime") is not None
needs_genuine = pytest.mark.skipif(not HAS_GENUINE, reason="ONNX Runtime's package is not installed")


def run_python(*arguments: str, **environment: str) -> str:
    """What another Python process prints; it fails the test where that fails."""
    variables = {**os.environ, "ORT_DISABLE_TELEMETRY": "1", **environment}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=variables, cwd=HERE, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def answers() -> dict[str, dict]:
    """What each package answers in a process of its own."""
    return {package: json.loads(run_python("answers.py", package)) for package in ("tessera", "onnxruntime")}
