"""Models compiled ahead of time: what functions of the program's throw, keep and get, from any thread, and of any kind."""

from __future__ import annotations

import gc
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import weakref

import models
import numpy as np
import onnx
import pytest
from onnx import helper

import tessera as ort

MODEL = models.perceptron().SerializeToString()

# A library whose provider compiles each Neg, where the tests are run by CTest.
PROVIDER = os.environ.get("TESSERA_COMPILING_PROVIDER", "")
NAME = "CompilingExecutionProvider"
needs_provider = pytest.mark.skipif(not PROVIDER, reason="TESSERA_COMPILING_PROVIDER names no library")


class Unexpected(BaseException):
    """No Exception: it has to come through all the same."""


@pytest.fixture(scope="module")
def devices() -> list[ort.OrtEpDevice]:
    ort.register_execution_provider_library("compiling", PROVIDER)
    return [device for device in ort.get_ep_devices() if device.ep_name == NAME]


def negations() -> bytes:
    """-|-x|, of which the provider compiles two parts."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Abs", ["a"], ["b"]),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    return models.model(nodes, [models.tensor("x", shape=[3])], [models.tensor("y", shape=[3])]).SerializeToString()


def options_for(devices: list[ort.OrtEpDevice]) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices, {})
    return options


def compiler(model: object = MODEL, **given: object) -> ort.ModelCompiler:
    return ort.ModelCompiler(ort.SessionOptions(), model, **given)


def raising(error: BaseException):
    def function(*_: object) -> None:
        raise error

    return function


ERRORS = [KeyError("k"), ValueError("v"), RuntimeError("r"), ort.InvalidArgument("i"), Unexpected(), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_exceptions_of_functions_come_out(error: BaseException) -> None:
    placing = compiler(get_initializer_location_func=raising(error))
    for call in (placing.compile_to_bytes, lambda: compiler().compile_to_stream(raising(error))):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error
        assert any(entry.name == "function" for entry in caught.traceback), "the traceback shows the function"


@pytest.mark.parametrize("wrong", [3, "w.bin", b"", (), object()])
def test_places_that_are_none(wrong: object) -> None:
    with pytest.raises(TypeError):
        compiler(get_initializer_location_func=lambda *_: wrong).compile_to_bytes()


def test_functions_that_take_other_arguments() -> None:
    with pytest.raises(TypeError):
        compiler(get_initializer_location_func=lambda name: None).compile_to_bytes()
    with pytest.raises(TypeError):
        compiler().compile_to_stream(lambda: None)


@pytest.mark.parametrize("wrong", [None, 3, "f"])
def test_functions_that_are_none(wrong: object) -> None:
    with pytest.raises(TypeError):
        compiler().compile_to_stream(wrong)
    with pytest.raises((TypeError, RuntimeError)):
        compiler().set_ep_context_data_write_func(wrong)
    if wrong is not None:
        with pytest.raises(TypeError):
            compiler(get_initializer_location_func=wrong)


def test_weights_that_functions_keep() -> None:
    kept = {}

    def place(name: str, value: ort.OrtValue, now: object) -> None:
        kept[name] = value, value.numpy()

    compiler(get_initializer_location_func=place).compile_to_bytes()
    for weight in models.perceptron().graph.initializer:
        value, array = kept[weight.name]
        np.testing.assert_array_equal(array, onnx.numpy_helper.to_array(weight))
        np.testing.assert_array_equal(value.numpy(), array)


def test_places_go_on(tmp_path: pathlib.Path) -> None:
    """A function is shown where a weight lies by now, and may return just that."""
    model, name, content = models.outside()
    (tmp_path / "m.onnx").write_bytes(model)
    (tmp_path / name).write_bytes(content)
    seen = []

    def place(_: str, value: ort.OrtValue, now: ort.OrtExternalInitializerInfo | None):
        seen.append((now.filepath, now.file_offset, now.byte_size))
        return now

    compiler(str(tmp_path / "m.onnx"), get_initializer_location_func=place).compile_to_file(tmp_path / "c.onnx")
    assert seen == [("w.bin", 4, 16)]
    (result,) = ort.InferenceSession(tmp_path / "c.onnx").run(None, {"x": np.zeros(4, np.float32)})
    np.testing.assert_array_equal(result, [1, 2, 3, 4])


def test_name_of_the_compiled_model(tmp_path: pathlib.Path) -> None:
    (tmp_path / "m.onnx").write_bytes(MODEL)
    compiler(tmp_path / "m.onnx").compile_to_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "m_ctx.onnx"]
    with pytest.raises((ort.Fail, ort.InvalidArgument)):
        compiler().compile_to_file()  # bytes have no name


def test_paths_with_a_zero() -> None:
    for call in (
        lambda: compiler("m\0.onnx"),
        lambda: compiler(external_initializers_file_path="w\0"),
        lambda: compiler().compile_to_file("c\0.onnx"),
    ):
        with pytest.raises(ValueError, match="character 0"):
            call()


def test_threads_share_a_compiler() -> None:
    asked, results, failures = [], [], []
    shared = compiler(get_initializer_location_func=lambda name, value, now: asked.append(name))

    def work() -> None:
        try:
            for _ in range(5):
                shared.set_ep_context_data_write_func(lambda name, data: None)
                results.append(shared.compile_to_bytes())
                shared.clear_ep_context_data_write_func()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failures, len(set(results)), len(asked)) == ([], 1, 40)


def test_other_threads_run_while_a_model_is_compiled() -> None:
    """The function waits for another thread, which therefore has the interpreter."""
    reached, answered = threading.Event(), threading.Event()

    def place(*_: object) -> None:
        reached.set()
        assert answered.wait(30)

    helped = threading.Thread(target=lambda: (reached.wait(30), answered.set()))
    helped.start()
    compiler(get_initializer_location_func=place).compile_to_bytes()
    helped.join()


def test_functions_may_compile_themselves() -> None:
    inner = []

    def place(*_: object) -> None:
        inner.append(compiler().compile_to_bytes())

    compiler(get_initializer_location_func=place).compile_to_bytes()
    assert len(set(inner)) == 1


class Owner:
    """Refers to what refers to it."""

    def __init__(self) -> None:
        self.compiler = compiler(get_initializer_location_func=self.place)
        self.compiler.set_ep_context_data_write_func(self.write)
        self.options = ort.SessionOptions()
        self.options.set_ep_context_data_read_func(self.read, 100)
        self.options.set_provider_selection_policy_delegate(self.choose)
        self.session = ort.InferenceSession(MODEL, self.options)

    def place(self, *_: object) -> None: ...

    def write(self, *_: object) -> None: ...

    def read(self, *_: object) -> None: ...

    def choose(self, devices: list, *_: object) -> list:
        return [device for device in devices if device.ep_name == "CPUExecutionProvider"]


def test_cycles_through_functions_end() -> None:
    owner = weakref.ref(Owner())
    gc.collect()
    assert owner() is None


def test_nothing_is_said_when_the_process_ends(tmp_path: pathlib.Path) -> None:
    """Functions of a program's refer to all that it has."""
    program = tmp_path / "program.py"
    program.write_text(
        "import tessera as ort\n"
        "def choose(devices, *_): return devices[:1]\n"
        "options = ort.SessionOptions()\n"
        "options.set_provider_selection_policy_delegate(choose)\n"
        "options.set_ep_context_data_read_func(lambda *_: options, 10)\n"
        f"session = ort.InferenceSession({models.identity()!r}, options)\n"
        f"compiler = ort.ModelCompiler(options, {models.identity()!r})\n"
        "compiler.set_ep_context_data_write_func(lambda *_: compiler)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def read_nothing(name: str, buffer: object) -> None:
    """In a module, so that it pickles."""


def test_options_pickle_with_their_function() -> None:
    options = ort.SessionOptions()
    options.set_ep_context_data_read_func(read_nothing, 7)
    assert pickle.loads(pickle.dumps(options))._state()["context_source"] == (read_nothing, 7)


# With a provider that compiles.


@needs_provider
@pytest.mark.parametrize("embed", [True, False])
def test_compiled_models_load(devices: list, tmp_path: pathlib.Path, embed: bool) -> None:
    (tmp_path / "m.onnx").write_bytes(negations())
    ort.ModelCompiler(options_for(devices), tmp_path / "m.onnx", embed).compile_to_file(tmp_path / "c.onnx")
    assert [node.op_type for node in onnx.load(tmp_path / "c.onnx").graph.node] == ["EPContext", "Abs", "EPContext"]
    session = ort.InferenceSession(tmp_path / "c.onnx", options_for(devices))
    np.testing.assert_array_equal(session.run(None, {"x": np.array([1, -2, 3], np.float32)})[0], [-1, -2, -3])


@needs_provider
def test_what_is_outside_goes_through_functions(devices: list) -> None:
    stored, kept = {}, []

    def write(name: str, data: ort.OrtEpContextData) -> None:
        stored[name] = data.read()
        assert b"".join(data.read(i, 1) for i in range(data.size)) == data.read(length=data.size) == stored[name]
        assert data.read(data.size) == b""
        for beyond in ((data.size + 1,), (0, data.size + 1), (2, data.size)):
            with pytest.raises(RuntimeError):
                data.read(*beyond)
        for wrong in (-1, "a", None):
            with pytest.raises(TypeError):
                data.read(wrong)
        kept.append(data)

    def read(name: str, buffer: ort.OrtEpContextDataBuffer) -> None:
        with pytest.raises(ValueError, match="allocate"):
            buffer.write(b"a")
        with pytest.raises(ValueError, match="101"):
            buffer.allocate(101)
        with pytest.raises(TypeError):
            buffer.allocate(-1)
        assert (buffer.size, buffer.max_size, buffer.is_allocated) == (0, 100, False)
        content = stored[name]
        buffer.allocate(len(content))
        assert (buffer.size, buffer.is_allocated) == (len(content), True)
        with pytest.raises(ValueError, match="once"):
            buffer.allocate(1)
        for beyond in ((content, 1), (b"", len(content) + 1)):
            with pytest.raises(ValueError, match="beyond"):
                buffer.write(*beyond)
        for wrong in ("a", 3, None):
            with pytest.raises(TypeError):
                buffer.write(wrong)
        buffer.write(bytearray(content[:3]))
        buffer.write(np.frombuffer(content[3:], np.uint8), 3)
        kept.append(buffer)

    compiling = ort.ModelCompiler(options_for(devices), negations())
    compiling.set_ep_context_data_write_func(write)
    model = compiling.compile_to_bytes()
    assert sorted(stored) == ["a.bin", "y.bin"]
    options = options_for(devices)
    options.set_ep_context_data_read_func(read, 100)
    session = ort.InferenceSession(model, options)
    np.testing.assert_array_equal(session.run(None, {"x": np.array([1, -2, 3], np.float32)})[0], [-1, -2, -3])
    for data in kept[:2]:
        assert data.size == len(stored["a.bin"])
        with pytest.raises(RuntimeError):
            data.read()
    for buffer in kept[2:]:
        for call in (lambda buffer=buffer: buffer.write(b"a"), lambda buffer=buffer: buffer.allocate(1)):
            with pytest.raises(RuntimeError):
                call()


@needs_provider
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_exceptions_of_what_is_outside(devices: list, error: BaseException) -> None:
    compiling = ort.ModelCompiler(options_for(devices), negations())
    compiling.set_ep_context_data_write_func(raising(error))
    with pytest.raises(type(error)) as caught:
        compiling.compile_to_bytes()
    assert caught.value is error
    compiling.set_ep_context_data_write_func(lambda name, data: None)
    model = compiling.compile_to_bytes()
    options = options_for(devices)
    options.set_ep_context_data_read_func(raising(error), 100)
    with pytest.raises(type(error)) as caught:
        ort.InferenceSession(model, options)  # and no second try with CPU alone
    assert caught.value is error


@needs_provider
def test_memory_that_is_not_allocated(devices: list) -> None:
    compiling = ort.ModelCompiler(options_for(devices), negations())
    compiling.set_ep_context_data_write_func(lambda name, data: None)
    options = options_for(devices)
    options.set_ep_context_data_read_func(read_nothing, 100)
    with pytest.raises(ort.InvalidArgument, match="allocate"):
        ort.InferenceSession(compiling.compile_to_bytes(), options)
    compiling = ort.ModelCompiler(options, compiling.compile_to_bytes())
    with pytest.raises(ort.InvalidArgument, match="allocate"):
        compiling.compile_to_bytes()
