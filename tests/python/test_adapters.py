"""Files of LoRA parameters: each package reads the other's, runs use them, and what is no such file is an error."""

from __future__ import annotations

import pathlib
import struct

import models
import numpy as np
import pytest
from conftest import needs_genuine, run_python
from onnx import helper, numpy_helper

import tessera as ort
from tessera import _adapters

EXCHANGE = """
import ctypes, importlib, sys
import numpy as np
ort = importlib.import_module(sys.argv[1])
if sys.argv[2] == "write":
    made = ort.AdapterFormat()
    made.set_adapter_version(7)
    made.set_model_version(-8)
    numbers = np.arange(6)
    values = {kind: ort.OrtValue.ortvalue_from_numpy(numbers.astype(kind).reshape(2, 3)) for kind in
              ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")}
    values["bfloat16"] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(numbers.astype("uint16"), 16)
    values["none"] = ort.OrtValue.ortvalue_from_numpy(np.zeros((0, 4), np.float32))
    values["a name of \\u65e5\\u672c"] = values["int8"]
    made.set_parameters(values)
    made.export_adapter(sys.argv[3])
else:
    def bytes_of(value):
        return ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()) if 0 not in value.shape() else b""
    read = ort.AdapterFormat.read_adapter(sys.argv[3])
    print(read.get_format_version(), read.get_adapter_version(), read.get_model_version())
    for name, value in sorted(read.get_parameters().items()):
        print(ascii(name), value.data_type(), value.shape(), bytes_of(value))
    ort.LoraAdapter().Load(sys.argv[3])
"""


def exported(path: pathlib.Path, **arrays: np.ndarray) -> str:
    made = ort.AdapterFormat()
    made.set_parameters({name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
    made.export_adapter(path)
    return str(path)


@needs_genuine
@pytest.mark.parametrize("writer", ["tessera", "onnxruntime"])
def test_files_are_the_same_to_both(tmp_path: pathlib.Path, writer: str) -> None:
    file = str(tmp_path / "a.onnx_adapter")
    run_python("-c", EXCHANGE, writer, "write", file)
    read = {package: run_python("-c", EXCHANGE, package, "read", file) for package in ("tessera", "onnxruntime")}
    assert read["tessera"] == read["onnxruntime"]
    assert read["tessera"].splitlines()[0] == "1 7 -8"
    assert len(read["tessera"].splitlines()) == 15


def test_runs_use_what_was_written(tmp_path: pathlib.Path) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    weight = numpy_helper.from_array(np.zeros(3, np.float32), "w")
    inputs = [models.tensor("x", shape=[3]), models.tensor("w", shape=[3])]
    model = models.model([node], inputs, [models.tensor("y", shape=[3])], initializers=[weight]).SerializeToString()
    adapter = ort.LoraAdapter()
    adapter.Load(exported(tmp_path / "a", w=np.array([1, 2, 3], np.float32)))
    options = ort.RunOptions()
    options.add_active_adapter(adapter)
    (result,) = ort.InferenceSession(model).run(None, {"x": np.ones(3, np.float32)}, options)
    np.testing.assert_array_equal(result, [2, 3, 4])


def test_properties_and_methods_are_one() -> None:
    made = ort.AdapterFormat()
    made.adapter_version = 5
    made.set_model_version(6)
    made.parameters = {"a": ort.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))}
    again = ort.AdapterFormat(made)
    assert (again.get_adapter_version(), again.model_version, list(again.get_parameters())) == (5, 6, ["a"])
    assert again.format_version == 1


def test_files_that_are_cut_off(tmp_path: pathlib.Path) -> None:
    whole = pathlib.Path(exported(tmp_path / "a", first=np.zeros(3, np.float32), second=np.zeros(2, np.int8))).read_bytes()
    file = tmp_path / "b"
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(RuntimeError):
            ort.AdapterFormat.read_adapter(file)


def test_files_with_any_number_anywhere(tmp_path: pathlib.Path) -> None:
    """It reads something or says what is wrong, and never anything else."""
    whole = pathlib.Path(exported(tmp_path / "a", first=np.zeros(3, np.float32))).read_bytes()
    file = tmp_path / "b"
    for place in range(len(whole) - 3):
        for number in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
            file.write_bytes(whole[:place] + struct.pack("<I", number) + whole[place + 4 :])
            try:
                for value in ort.AdapterFormat.read_adapter(file).get_parameters().values():
                    value.numpy().sum()
            except RuntimeError:
                continue


@pytest.mark.parametrize("count", [1, 20])
def test_parameters_that_share_bytes(tmp_path: pathlib.Path, count: int) -> None:
    """Together they are no larger than the file."""
    writer = _adapters._Writer()
    fields = writer.table(0, 1, 0, 0, 0)
    offsets = writer.vector(fields + 4 * _adapters._PARAMETERS, bytes(4 * count), 4, 4)
    data = []
    for i in range(count):
        fields = writer.table(offsets + 4 * i, 0, 0, 2, 0)
        writer.vector(fields + 4 * _adapters._NAME, b"abcdefghijklmnopqrst"[i : i + 1], 1, 1)
        writer.vector(fields + 4 * _adapters._DIMS, struct.pack("<q", 1000), 8, 8)
        data.append(fields + 4 * _adapters._DATA)
    writer.vector(data[-1], bytes(1000), 1, 8)
    shared = data[-1] + struct.unpack_from("<I", writer.content, data[-1])[0]
    for place in data:
        struct.pack_into("<I", writer.content, place, shared - place)
    file = tmp_path / "a"
    file.write_bytes(writer.content)
    if count == 1:
        ort.AdapterFormat.read_adapter(file)
        ort.LoraAdapter().Load(str(file))
        return
    for load in (ort.AdapterFormat.read_adapter, ort.LoraAdapter().Load):
        with pytest.raises((RuntimeError, ort.Fail)):
            load(str(file))


def test_parameters_that_are_none(tmp_path: pathlib.Path) -> None:
    texts, numbers = (ort.OrtValue.ortvalue_from_numpy(array) for array in (np.array(["a"], object), np.zeros(1)))
    for parameters, error in (({"a": texts}, RuntimeError), ({3: numbers}, TypeError)):
        made = ort.AdapterFormat()
        made.set_parameters(parameters)
        with pytest.raises(error):
            made.export_adapter(tmp_path / "a")
    assert not (tmp_path / "a").exists()
