"""Files of LoRA parameters, which are FlatBuffers: programs make and read them here, LoraAdapter gives them to runs."""

from __future__ import annotations

import ctypes
import math
import os
import struct
from collections.abc import Mapping

from tessera import _core

_IDENTIFIER = b"TORT"
_FORMAT = 1
_MOST = 2**31 - 1  # bytes of a file, whose signed offsets end there

# Both tables have fields of four bytes: three numbers of 32 bits and the vector of parameters, and of each parameter its
# name, its dimensions, the number of its element type and its bytes.
_FIELDS = 4
_FORMAT_VERSION, _ADAPTER_VERSION, _MODEL_VERSION, _PARAMETERS = range(_FIELDS)
_NAME, _DIMS, _TYPE, _DATA = range(_FIELDS)

# Bytes of an element, by TensorProto's number of the type: what ONNX Runtime takes as a parameter.
_SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2, 17: 1, 18: 1, 19: 1, 20: 1}


class AdapterFormat:
    """What a file of LoRA parameters has, to be written or as it was read."""

    def __init__(self, adapter: AdapterFormat | None = None) -> None:
        """Has nothing yet, or what another one has."""
        self._adapter_version, self._model_version = 0, 0
        self._parameters: dict[str, _core.OrtValue] = {}
        if adapter is not None:
            self.adapter_version, self.model_version = adapter.adapter_version, adapter.model_version
            self.parameters = dict(adapter.parameters)

    @staticmethod
    def read_adapter(file_path: str | os.PathLike[str]) -> AdapterFormat:
        """Reads a file."""
        path = os.fspath(file_path)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise RuntimeError(f"the adapter cannot be read: {error}") from error
        try:
            return _read(content)
        except (struct.error, ValueError) as error:
            raise RuntimeError(f"'{path}' is no LoRA adapter, or it is damaged: {error}") from error

    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Writes the file."""
        content = _written(self)
        try:
            with open(os.fspath(file_path), "wb") as file:
                file.write(content)
        except OSError as error:
            raise RuntimeError(f"the adapter cannot be written: {error}") from error

    @property
    def format_version(self) -> int:
        """Of the file."""
        return _FORMAT

    @property
    def adapter_version(self) -> int:
        """A number of the program's."""
        return self._adapter_version

    @adapter_version.setter
    def adapter_version(self, version: int) -> None:
        self._adapter_version = _int32(version)

    @property
    def model_version(self) -> int:
        """The number of the model that the parameters are for."""
        return self._model_version

    @model_version.setter
    def model_version(self, version: int) -> None:
        self._model_version = _int32(version)

    @property
    def parameters(self) -> dict[str, _core.OrtValue]:
        """The tensors by name."""
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: Mapping[str, _core.OrtValue]) -> None:
        self._parameters = {name: value._get_c_value() for name, value in parameters.items()}

    # The same by the names that ONNX Runtime's package has in place of properties.

    def get_format_version(self) -> int:
        """Of the file."""
        return self.format_version

    def get_adapter_version(self) -> int:
        """A number of the program's."""
        return self.adapter_version

    def set_adapter_version(self, adapter_version: int) -> None:
        """Sets the program's number."""
        self.adapter_version = adapter_version

    def get_model_version(self) -> int:
        """The number of the model that the parameters are for."""
        return self.model_version

    def set_model_version(self, model_version: int) -> None:
        """Sets the number of the model that the parameters are for."""
        self.model_version = model_version

    def get_parameters(self) -> dict[str, _core.OrtValue]:
        """The tensors by name."""
        return dict(self.parameters)

    def set_parameters(self, params: Mapping[str, _core.OrtValue]) -> None:
        """Sets the tensors by name."""
        self.parameters = dict(params.items())


def _int32(version: int) -> int:
    if not isinstance(version, int):
        raise TypeError(f"a version is a whole number, not '{type(version)}'")
    if not -(2**31) <= version < 2**31:
        raise TypeError(f"a version has 32 bits, which {version} does not fit in")
    return int(version)


class _Writer:
    """A FlatBuffer from its beginning to its end: what refers to something comes before it."""

    def __init__(self) -> None:
        self.content = bytearray(4) + _IDENTIFIER  # the root's offset first

    def _align(self, alignment: int, before: int = 0) -> None:
        self.content += bytes(-(len(self.content) + before) % alignment)

    def _refer(self, offset: int) -> None:
        if len(self.content) > _MOST:
            raise RuntimeError("the adapter is larger than 2 GiB, which no file of the format is")
        struct.pack_into("<I", self.content, offset, len(self.content) - offset)

    def table(self, offset: int, *fields: int) -> int:
        """A table, that `offset` refers to from now on; where its first field is."""
        self._align(4)
        size = 2 * (2 + _FIELDS)
        self.content += struct.pack(f"<{2 + _FIELDS}H", size, 4 * (1 + _FIELDS), *(4 * (1 + i) for i in range(_FIELDS)))
        self._refer(offset)
        self.content += struct.pack(f"<i{_FIELDS}i", size, *fields)
        return len(self.content) - 4 * _FIELDS

    def vector(self, offset: int, elements: bytes, width: int, alignment: int) -> int:
        """A vector, its number of elements before them; where the first is."""
        self._align(max(alignment, 4), before=4)
        self._refer(offset)
        self.content += struct.pack("<I", len(elements) // width)
        self.content += elements
        return len(self.content) - len(elements)


def _written(adapter: AdapterFormat) -> bytes:
    writer = _Writer()
    parameters = list(adapter.parameters.items())
    fields = writer.table(0, _FORMAT, adapter.adapter_version, adapter.model_version, 0)
    offsets = writer.vector(fields + 4 * _PARAMETERS, bytes(4 * len(parameters)), 4, 4)
    for i, (name, value) in enumerate(parameters):
        if not isinstance(name, str):
            raise TypeError(f"a parameter's name is a str, not '{type(name)}'")
        element = value.element_type()
        if element not in _SIZES:
            raise RuntimeError(f"parameter '{name}' is {value.data_type()}, which adapters do not have")
        dims, size = value.shape(), value.tensor_size_in_bytes()
        fields = writer.table(offsets + 4 * i, 0, 0, element, 0)
        writer.vector(fields + 4 * _NAME, name.encode(), 1, 1)
        writer.content.append(0)  # ends a string
        writer.vector(fields + 4 * _DIMS, struct.pack(f"<{len(dims)}q", *dims), 8, 8)
        writer.vector(fields + 4 * _DATA, ctypes.string_at(value.data_ptr(), size) if size else b"", 1, 8)
    return bytes(writer.content)


class _Reader:
    """A FlatBuffer that strangers may have written: struct.error or ValueError for what lies outside of it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def number(self, form: str, at: int) -> int:
        """Of Python's places, those before the beginning would count from the end."""
        if at < 0:
            raise ValueError(f"byte {at} is before the file")
        return int(struct.unpack_from(form, self._content, at)[0])

    def follow(self, at: int) -> int:
        """Where the offset that stands there leads to."""
        return at + self.number("<I", at)

    def field(self, table: int, number: int) -> int:
        """Where a table has a field; 0 where it is left out."""
        fields = table - self.number("<i", table)
        if 4 + 2 * number + 2 > self.number("<H", fields):
            return 0
        offset = self.number("<H", fields + 4 + 2 * number)
        return table + offset if offset else 0

    def integer(self, table: int, number: int) -> int:
        """A field; 0 where it is left out."""
        place = self.field(table, number)
        return self.number("<i", place) if place else 0

    def vector(self, table: int, number: int, width: int) -> tuple[int, int]:
        """Where the elements of a field begin and how many there are; none where it is left out."""
        place = self.field(table, number)
        if not place:
            return 0, 0
        start = self.follow(place) + 4
        count = self.number("<I", start - 4)
        if start + count * width > len(self._content):
            raise ValueError(f"{count} elements at byte {start} reach beyond the end")
        return start, count


def _read(content: bytes) -> AdapterFormat:
    if content[4:8] != _IDENTIFIER:
        raise ValueError("another mark is at its beginning")
    reader = _Reader(content)
    root = reader.follow(0)
    version = reader.integer(root, _FORMAT_VERSION)
    if version != _FORMAT:
        raise ValueError(f"its format is {version}, only {_FORMAT} can be read")
    adapter = AdapterFormat()
    adapter.adapter_version = reader.integer(root, _ADAPTER_VERSION)
    adapter.model_version = reader.integer(root, _MODEL_VERSION)
    start, count = reader.vector(root, _PARAMETERS, 4)
    left = len(content)  # parameters may share bytes, and so ask for any multiple of the file
    for i in range(count):
        name, value = _parameter(reader, content, reader.follow(start + 4 * i))
        left -= len(name.encode()) + value.tensor_size_in_bytes()
        if left < 0:
            raise ValueError("its names and parameters overlap: together they are larger than the file")
        adapter.parameters[name] = value
    return adapter


def _parameter(reader: _Reader, content: bytes, table: int) -> tuple[str, _core.OrtValue]:
    import numpy as np

    start, count = reader.vector(table, _NAME, 1)
    name = content[start : start + count].decode()
    start, count = reader.vector(table, _DIMS, 8)
    dims = struct.unpack_from(f"<{count}q", content, start)
    element = reader.integer(table, _TYPE)
    if element not in _SIZES:
        raise ValueError(f"parameter '{name}' has element type {element}, which adapters do not have")
    start, count = reader.vector(table, _DATA, 1)
    if min(dims, default=0) < 0 or math.prod(dims) * _SIZES[element] != count:
        raise ValueError(f"parameter '{name}' has {count} bytes, which are no tensor of shape {list(dims)}")
    elements = np.frombuffer(content[start : start + count], f"u{_SIZES[element]}")
    return name, _core.OrtValue.ortvalue_from_numpy_with_onnx_type(elements.reshape(dims), element)
