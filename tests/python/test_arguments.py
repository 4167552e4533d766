"""What is no feed, name or option: an exception that says so, and never the end of the process."""

from __future__ import annotations

import ctypes
from typing import Any

import models
import numpy as np
import pytest

import tessera as ort

FOUR = np.arange(4, dtype=np.float32)


def session(element: int = models.FLOAT) -> ort.InferenceSession:
    return ort.InferenceSession(models.identity(element))


@pytest.mark.parametrize("feed", [None, 3, [3], "x", FOUR])
def test_feeds_that_are_no_mapping(feed: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        session().run(None, feed)


@pytest.mark.parametrize("value", [None, "abc", {}, {1}, b"ab", object(), [[1], [1, 2]], 1j, (i for i in range(2))])
def test_values_that_are_no_tensor(value: object) -> None:
    with pytest.raises((TypeError, ValueError, ort.InvalidArgument)):
        session().run(None, {"x": value})


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]", "V3", [("a", "f4")], [("\ud800", "f4")], np.longdouble, object])
def test_arrays_of_what_no_tensor_has(dtype: object) -> None:
    with pytest.raises(ort.InvalidArgument):
        session().run(None, {"x": np.zeros(2, dtype)})


class SaysASurrogate:
    def __init__(self, dtype: object) -> None:
        self.dtype = np.dtype(dtype)

    def __str__(self) -> str:
        return "\ud800"


@pytest.mark.parametrize("dtype", ["\ud800", SaysASurrogate("V4")])
def test_types_whose_text_is_no_unicode(dtype: object) -> None:
    with pytest.raises(UnicodeEncodeError):
        ort.OrtValue.ortvalue_from_shape_and_type([1], dtype)


@pytest.mark.parametrize("dtype", ["float\0", "no type"])
def test_types_that_are_none(dtype: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        ort.OrtValue.ortvalue_from_shape_and_type([1], dtype)


@pytest.mark.parametrize("names", [3, [3], [None], "y", ["\udcff"]])
def test_names_that_are_none(names: object) -> None:
    with pytest.raises((TypeError, UnicodeEncodeError)):
        session().run(names, {"x": FOUR})


def test_names_with_a_zero() -> None:
    with pytest.raises(ort.InvalidArgument, match="character 0"):
        session().run(["y\0z"], {"x": FOUR})
    with pytest.raises(ort.InvalidArgument, match="character 0"):
        session().run(None, {"x": FOUR, "x\0z": FOUR})


def test_options_with_a_zero() -> None:
    options = ort.SessionOptions()
    for call in (
        lambda: options.add_session_config_entry("session.tuning\0", "1"),
        lambda: options.add_session_config_entry("session.context_file_path", "a\0b"),
        lambda: options.add_provider("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested\0"}),
        lambda: options.add_free_dimension_override_by_name("batch\0", 1),
        lambda: ort.RunOptions().add_run_config_entry("key", "a\0b"),
        lambda: ort.InferenceSession(models.identity(models.FLOAT), providers=[("CPUExecutionProvider", {"a": "b\0"})]),
        lambda: ort.InferenceSession("model\0.onnx"),
    ):
        with pytest.raises(ort.InvalidArgument, match="character 0"):
            call()


@pytest.mark.parametrize("key", ["session.run_memory_limit", "session.load_memory_limit"])
def test_limits_that_are_no_number_of_bytes(key: str) -> None:
    def load(value: str) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.add_session_config_entry(key, value)
        return ort.InferenceSession(models.identity(), options)

    for value in ("512MB", "512 M", "0.5G", "1e6", "-1", " 1000", "9223372036854775808"):
        with pytest.raises(ort.InvalidArgument, match=key):
            load(value)
    for value in ("512M", "1g", "0", ""):
        load(value)


def test_values_that_entries_of_onnxruntime_do_not_take() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "maybe")
    ort.InferenceSession(models.identity(), options)


@pytest.mark.parametrize("options", [3, "a", ort.SessionOptions()])
def test_options_of_a_run_that_are_none(options: object) -> None:
    with pytest.raises(TypeError, match="RunOptions"):
        session().run(None, {"x": FOUR}, options)
    with pytest.raises(TypeError, match="RunOptions"):
        session().run_async(None, {"x": FOUR}, print, None, options)


@pytest.mark.parametrize("value", ["x", "", [], {}])
def test_switches_that_are_none(value: object) -> None:
    for name in ("enable_profiling", "enable_mem_pattern", "use_per_session_threads"):
        with pytest.raises(TypeError):
            setattr(ort.SessionOptions(), name, value)


def test_switch_of_none_is_off() -> None:
    options = ort.SessionOptions()
    options.enable_mem_pattern = None
    assert options.enable_mem_pattern is False


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 0, 2), np.float32),
        np.broadcast_to(np.float32(1), (2, 3)),
        FOUR[::-1],
        np.asfortranarray(FOUR.reshape(2, 2)),
        FOUR.astype(">f4"),
        np.frombuffer(b"\0" + FOUR.tobytes(), np.uint8)[1:].view(np.float32),
        np.ma.masked_array(FOUR),
        np.zeros((1,) * 64, np.float32),
    ],
    ids=["empty", "broadcast", "reversed", "fortran", "big-endian", "unaligned", "subclass", "64 dimensions"],
)
def test_arrays_of_every_layout(array: np.ndarray) -> None:
    (result,) = session().run(None, {"x": array})
    np.testing.assert_array_equal(result, np.asarray(array, np.float32))
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert (value.shape(), value.numpy().tolist()) == (list(array.shape), np.asarray(array).tolist())


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_floats_of_16_bits(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype, element = {"float16": (np.float16, 10), "bfloat16": (ml_dtypes.bfloat16, 16)}[name]
    for array in (np.array([[1.5, 2], [3, -4]], dtype).T, np.array(1.5, dtype), np.zeros((0, 2), dtype)):
        (result,) = session(element).run(None, {"x": array})
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("texts", [["a\0b", "\0", "c\0"], ["a" * 100000], [], ["é", "\U0001f600"]])
def test_texts(texts: list[str]) -> None:
    (result,) = session(models.STRING).run(None, {"x": np.array(texts, object)})
    assert result.tolist() == texts


def test_text_that_resizes_its_array() -> None:
    class Resizes:
        def __str__(self) -> str:
            array.resize((1,), refcheck=False)
            return "first"

    texts = [f"{i} of many" for i in range(10000)]
    array = np.array([Resizes(), *texts], object)
    (result,) = session(models.STRING).run(None, {"x": array})
    assert array.shape == (1,)
    assert result.tolist() == ["first", *texts]


class DlTensor(ctypes.Structure):
    """A DLManagedTensor without a deleter."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class Capsule:
    """Four floats, and what is said of them."""

    NAME = b"dltensor"

    def __init__(self, **said: Any) -> None:
        self.elements = (ctypes.c_float * 4)(*FOUR)
        values = {"data": ctypes.addressof(self.elements), "rank": 1, "shape": [4], **said}
        for name in ("shape", "strides"):
            dims = values.pop(name, None)
            if dims is not None:
                values[name] = (ctypes.c_int64 * len(dims))(*dims)
        self.tensor = DlTensor(device=(1, 0), code=2, bits=32, lanes=1, **values)

    def __dlpack__(self, **_: Any) -> Any:
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self.tensor), self.NAME, None)


@pytest.mark.parametrize(
    "said",
    [
        {"rank": -1},
        {"rank": 65, "shape": [1] * 65},
        {"shape": None},
        {"shape": [-4]},
        {"shape": [2**62]},
        {"rank": 2, "shape": [2**40, 2**40]},
        {"rank": 3, "shape": [0, 2**40, 2**40]},
        {"rank": 2, "shape": [2**62, 4], "strides": [4, 1]},
        {"data": 0},
        {"data": 0, "offset": 4096},
        {"offset": 2**64 - 8},
        {"strides": [2]},
        {"strides": [-1]},
    ],
    ids=str,
)
def test_dlpack_tensors_that_are_none(said: dict[str, Any]) -> None:
    given = Capsule(**said)
    with pytest.raises(ort.InvalidArgument):
        ort.OrtValue.from_dlpack(given)
    with pytest.raises(ort.InvalidArgument):
        session().run(None, {"x": given})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, FOUR),
        ({"rank": 0, "shape": None}, FOUR[0]),
        ({"rank": 64, "shape": [1] * 63 + [4]}, FOUR.reshape((1,) * 63 + (4,))),
        ({"rank": 2, "shape": [1, 4], "strides": [999, 1]}, FOUR[None]),
        ({"shape": [2], "offset": 8}, FOUR[2:]),
        ({"data": 0, "shape": [0]}, FOUR[:0]),
        ({"rank": 3, "shape": [4, 0, 2]}, np.zeros((4, 0, 2))),
    ],
    ids=str,
)
def test_dlpack_tensors_of_every_layout(said: dict[str, Any], expected: np.ndarray) -> None:
    given = Capsule(**said)
    np.testing.assert_array_equal(ort.OrtValue.from_dlpack(given).numpy(), expected)


def test_dlpack_of_no_elements() -> None:
    value = ort.OrtValue.from_dlpack(np.zeros((0, 2), np.float32))
    assert value.shape() == [0, 2]
    assert np.from_dlpack(value).shape == (0, 2)


def test_messages_name_the_class() -> None:
    for error, kind in ((ort.Fail, "Fail"), (ort.InvalidArgument, "InvalidArgument")):
        assert (error.__module__, error.__qualname__, error.__bases__) == ("tessera", kind, (Exception,))


def test_help_says_what_there_is() -> None:
    import pydoc

    text = pydoc.render_doc(ort.InferenceSession, renderer=pydoc.plaintext)
    for name in ("run(", "io_binding(", "set_providers(", "placement(", "Loads the model"):
        assert name in text
