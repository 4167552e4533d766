"""Each answer is ONNX Runtime's."""

from __future__ import annotations

import answers as asked
import pytest
from conftest import needs_genuine



@needs_genuine
@pytest.mark.parametrize("name", sorted(asked.CASES))
def test_answer(answers: dict[str, dict], name: str) -> None:
    assert answers["tessera"][name] == answers["onnxruntime"][name]
