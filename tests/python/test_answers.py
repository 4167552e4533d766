"""Each answer is ONNX Runtime's."""

from __future__ import annotations

import answers as asked
import models
import numpy as np
import pytest
from conftest import needs_genuine

import tessera as ort


@needs_genuine
@pytest.mark.parametrize("name", sorted(asked.CASES))
def test_answer(answers: dict[str, dict], name: str) -> None:
    assert answers["tessera"][name] == answers["onnxruntime"][name]


# Where the genuine package refuses, or reads memory that is gone (byte order, byte strings), Tessera takes what is meant.


def run(array, element: int = models.FLOAT):
    return ort.InferenceSession(models.identity(element)).run(None, {"x": array})[0]


@pytest.mark.parametrize("number", [3, 2.5, np.float32(3), np.int64(4)])
def test_numbers_are_tensors_of_rank_0(number: float) -> None:
    result = run(number)
    assert (result.shape, result.dtype, float(result)) == ((), np.float32, float(number))


def test_other_byte_order_is_swapped() -> None:
    np.testing.assert_array_equal(run(np.arange(4, dtype=">f4")), np.arange(4))


def test_byte_strings() -> None:
    assert run(np.array([b"ab", b"c"]), models.STRING).tolist() == ["ab", "c"]
