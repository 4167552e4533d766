"""What can be borrowed is borrowed: inputs, results and values share memory, which lives as long as who looks at it."""

from __future__ import annotations

import gc
import pathlib
import sys
import weakref

import models
import numpy as np
import pytest
from conftest import run_python

import tessera as ort

FOUR = np.arange(4, dtype=np.float32)


def session(model: bytes | None = None) -> ort.InferenceSession:
    return ort.InferenceSession(model or models.identity())


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_value_looks_at_the_array() -> None:
    array = FOUR.copy()
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert value.data_ptr() == address(array)
    assert address(value.numpy()) == address(array)


def test_value_keeps_the_array() -> None:
    array = FOUR.copy()
    seen = weakref.ref(array)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    del array
    gc.collect()
    assert seen() is not None
    np.testing.assert_array_equal(value.numpy(), FOUR)
    del value
    gc.collect()
    assert seen() is None


def test_strided_array_is_copied() -> None:
    array = np.arange(8, dtype=np.float32)[::2]
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert value.data_ptr() != address(array)
    np.testing.assert_array_equal(value.numpy(), array)


GROWTH = """
import models, tessera

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) // 1024

tessera.InferenceSession(models.identity())
model = models.table(megabytes=64)
before = resident()
session = tessera.InferenceSession(model)
del model
print(resident() - before, session.run(None, {"i": [3, 65535]})[0][:, 0].tolist())
"""


def test_model_of_bytes_is_not_copied() -> None:
    grown, values = run_python("-c", GROWTH).split(maxsplit=1)
    assert int(grown) < 32, "a model of 64 MB that is copied takes that much more"
    assert values.strip() == "[3.0, 65535.0]"


def test_run_writes_into_a_bound_array() -> None:
    s, result = session(models.add()), np.zeros((2, 4), np.float32)
    binding = s.io_binding()
    binding.bind_cpu_input("x", np.ones((2, 4), np.float32))
    binding.bind_cpu_input("y", FOUR)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_numpy(result))
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(result, 1 + np.tile(FOUR, (2, 1)))
    assert binding.get_outputs()[0].data_ptr() == address(result)


def test_bound_input_is_read_where_it_lies() -> None:
    s, given = session(models.add()), np.ones((1, 4), np.float32)
    binding = s.io_binding()
    binding.bind_cpu_input("x", given)
    binding.bind_cpu_input("y", FOUR)
    binding.bind_output("z")
    s.run_with_iobinding(binding)
    given += 1  # seen by the next run, as nothing was copied
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], 2 + FOUR[None])


def test_binding_by_address() -> None:
    s, given, result = session(), FOUR.copy(), np.zeros(4, np.float32)
    binding = s.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, [4], address(given))
    binding.bind_output("y", "cpu", 0, np.float32, [4], address(result))
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(result, FOUR)


def test_result_is_the_run_s_own_buffer() -> None:
    (value,) = session(models.add()).run_with_ort_values(
        None,
        {
            "x": ort.OrtValue.ortvalue_from_numpy(np.ones((1, 4), np.float32)),
            "y": ort.OrtValue.ortvalue_from_numpy(FOUR),
        },
    )
    assert address(value.numpy()) == value.data_ptr()
    assert not value.numpy().flags.owndata


def test_results_outlive_session_and_are_writeable() -> None:
    s = session()
    (result,) = s.run(None, {"x": FOUR})
    del s
    gc.collect()
    result += 1
    np.testing.assert_array_equal(result, FOUR + 1)
    np.testing.assert_array_equal(FOUR, np.arange(4, dtype=np.float32))


def test_runs_leave_no_references() -> None:
    s, array, feed_name = session(), FOUR.copy(), "x"
    before = sys.getrefcount(array)
    for _ in range(100):
        s.run(None, {feed_name: array})
    assert sys.getrefcount(array) == before


def test_failing_runs_leave_no_references() -> None:
    s, array = session(), FOUR.astype(np.float64)
    before = sys.getrefcount(array)
    for _ in range(10):
        with pytest.raises(ort.InvalidArgument):
            s.run(None, {"x": array})
    assert sys.getrefcount(array) == before


def read_only(tmp_path: pathlib.Path, kind: str) -> np.ndarray:
    if kind == "bytes":
        return np.frombuffer(FOUR.tobytes(), np.float32)
    if kind == "flag":
        array = FOUR.copy()
        array.setflags(write=False)
        return array
    FOUR.tofile(tmp_path / "four.bin")
    return np.memmap(tmp_path / "four.bin", np.float32, mode="r")


@pytest.mark.parametrize("kind", ["bytes", "flag", "memmap"])
def test_read_only_array_stays_as_it_is(tmp_path: pathlib.Path, kind: str) -> None:
    array = read_only(tmp_path, kind)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert value.data_ptr() == address(array)
    vector = ort.OrtValueVector()
    vector.push_back(value)
    looks = [value, ort.OrtValue(value), vector[0], ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, models.FLOAT)]
    for look in looks:
        assert address(look.numpy()) == address(array)
        for seen in (look.numpy(), np.asarray(look)):
            assert not seen.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                seen.setflags(write=True)
        with pytest.raises(ort.InvalidArgument, match="read-only"):
            look.update_inplace(FOUR + 1)
        with pytest.raises(ort.InvalidArgument, match="read-only"):
            session().io_binding().bind_ortvalue_output("y", look)
        with pytest.raises(ort.InvalidArgument, match="read-only"):
            ort.copy_tensors([ort.OrtValue.ortvalue_from_numpy(FOUR + 1)], [look])
    given = ort.OrtValueVector()
    given.push_back(ort.OrtValue.ortvalue_from_numpy(FOUR + 1))
    with pytest.raises(ort.InvalidArgument, match="read-only"):
        session().run_with_ortvaluevector(ort.RunOptions(), ["x"], given, ["y"], vector, [])
    shared = np.from_dlpack(value)  # a copy, as the protocol does not say what is read-only
    assert address(shared) != address(array)
    np.testing.assert_array_equal(shared, FOUR)
    np.testing.assert_array_equal(array, FOUR)


def test_read_only_array_of_another_layout_is_copied() -> None:
    array = np.frombuffer(np.arange(8, dtype=np.float32).tobytes(), np.float32)[::2]
    value = ort.OrtValue.ortvalue_from_numpy(array)
    value.update_inplace(FOUR)
    np.testing.assert_array_equal(value.numpy(), FOUR)
    assert value.numpy().flags.writeable


def test_read_only_array_as_feed() -> None:
    array = np.frombuffer(FOUR.tobytes(), np.float32)
    (result,) = session().run(None, {"x": array})
    result += 1
    np.testing.assert_array_equal(array, FOUR)


def test_dlpack_to_numpy_shares() -> None:
    value = ort.OrtValue.ortvalue_from_numpy(FOUR.copy())
    array = np.from_dlpack(value)
    assert address(array) == value.data_ptr()


def test_dlpack_from_numpy_shares() -> None:
    array = FOUR.copy()
    value = ort.OrtValue.from_dlpack(array)
    assert value.data_ptr() == address(array)
    np.testing.assert_array_equal(value.numpy(), FOUR)


def test_dlpack_capsule_is_taken_once() -> None:
    capsule = FOUR.copy().__dlpack__()
    ort.OrtValue.from_dlpack(capsule)
    with pytest.raises(ValueError, match="holds no tensor"):
        ort.OrtValue.from_dlpack(capsule)


def test_dlpack_of_truth_values() -> None:
    array = np.array([1, 0], np.uint8)
    assert ort.OrtValue.from_dlpack(array, is_bool_tensor=True).data_type() == "tensor(bool)"


def test_dlpack_tensor_as_feed() -> None:
    class Tensor:
        """Has the protocol and nothing else, as tensors of other libraries."""

        def __init__(self) -> None:
            self.array = FOUR.copy()

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    (result,) = session().run(None, {"x": Tensor()})
    np.testing.assert_array_equal(result, FOUR)


def test_torch_shares_both_ways() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4, dtype=torch.float32)
    value = ort.OrtValue.from_dlpack(tensor)
    assert value.data_ptr() == tensor.data_ptr()
    assert torch.from_dlpack(value).data_ptr() == tensor.data_ptr()
    (result,) = session().run(None, {"x": tensor})
    np.testing.assert_array_equal(result, tensor.numpy())


@pytest.mark.parametrize(
    "name",
    ["bfloat16", "float16", "float64", "int8", "uint8", "bool", "complex64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"],
)
def test_torch_types(name: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2, 3, dtype=getattr(torch, name))
    back = torch.from_dlpack(ort.OrtValue.from_dlpack(tensor))
    assert (back.dtype, back.shape, back.data_ptr()) == (tensor.dtype, tensor.shape, tensor.data_ptr())


def test_vectors() -> None:
    vector = ort.OrtValueVector()
    vector.push_back(ort.OrtValue.ortvalue_from_numpy(FOUR))
    vector.push_back(np.array([1, 0], np.uint8).__dlpack__(), True)
    assert [vector.element_type_at(i) for i in range(len(vector))] == [1, 9]
    assert list(vector.bool_tensor_indices()) == [1]
    assert [value.shape() for value in vector] == [[4], [2]]
    results = ort.OrtValueVector()
    one = ort.OrtValueVector()
    one.push_back(vector[0])
    session().run_with_ortvaluevector(ort.RunOptions(), ["x"], one, ["y"], results, [])
    np.testing.assert_array_equal(results[0].numpy(), FOUR)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
def test_types_of_ml_dtypes(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([0, 1, 2, 3, 4], getattr(ml_dtypes, name))
    value = ort.OrtValue.ortvalue_from_numpy(array)
    back = value.numpy()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.astype(np.float32), array.astype(np.float32))
