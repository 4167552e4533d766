"""Sessions beyond one answer: threads, processes, reports, logs."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import models
import numpy as np
import pytest

import tessera as ort

FOUR = np.arange(4, dtype=np.float32)


def one_thread() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return options


def test_pickled_session_of_bytes() -> None:
    options = one_thread()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("my.key", "kept")
    options.add_free_dimension_override_by_name("batch", 1)
    s = ort.InferenceSession(models.add(), options, providers=["CPUExecutionProvider"])
    again = pickle.loads(pickle.dumps(s))
    kept = again.get_session_options()
    assert kept.intra_op_num_threads == 1
    assert kept.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    assert kept.get_session_config_entry("my.key") == "kept"
    assert again.get_inputs()[0].shape == [1, 4]
    np.testing.assert_array_equal(again.run(None, {"x": FOUR[None], "y": FOUR})[0], 2 * FOUR[None])


def weighted() -> bytes:
    """y = x + w, whose w is 0."""
    weights = models.numpy_helper.from_array(np.zeros(4, np.float32), "w")
    node = models.helper.make_node("Add", ["x", "w"], ["y"])
    tensors = [models.tensor(name, models.FLOAT, [4]) for name in ("x", "y")]
    return models.model([node], tensors[:1], tensors[1:], initializers=[weights]).SerializeToString()


@pytest.mark.parametrize("kind", ["array", "value", "own memory", "read-only"])
def test_weight_in_place_of_the_model_s(kind: str) -> None:
    weight = FOUR + 1
    given = weight if kind == "array" else ort.OrtValue.ortvalue_from_numpy(weight)
    if kind == "own memory":
        given = ort.OrtValue.ortvalue_from_shape_and_type([4], np.float32)
        given.update_inplace(weight)
    if kind == "read-only":
        given = ort.OrtValue.ortvalue_from_numpy(np.frombuffer(weight.tobytes(), np.float32))
    options = ort.SessionOptions()
    options.add_initializer("w", given)
    del weight, given
    again = pickle.loads(pickle.dumps(options))
    s = ort.InferenceSession(weighted(), options)
    del options
    gc.collect()
    for each in (s, ort.InferenceSession(weighted(), again)):
        np.testing.assert_array_equal(each.run(None, {"x": FOUR})[0], 2 * FOUR + 1)


def test_weight_is_given_once() -> None:
    options = ort.SessionOptions()
    options.add_initializer("w", FOUR)
    with pytest.raises(ort.InvalidArgument, match="given before"):
        options.add_initializer("w", FOUR + 1)
    again = pickle.loads(pickle.dumps(options))
    for each in (options, again):
        np.testing.assert_array_equal(ort.InferenceSession(weighted(), each).run(None, {"x": FOUR})[0], 2 * FOUR)


def only_cpu(devices: list, model: dict, runtime: dict, most: int) -> list:
    return [device for device in devices if device.ep_name == "CPUExecutionProvider"]


def test_pickled_options_choose_as_before() -> None:
    options = ort.SessionOptions()
    options.set_provider_selection_policy_delegate(only_cpu)
    again = pickle.loads(pickle.dumps(options))
    assert again._selection_delegate() is only_cpu
    assert ort.InferenceSession(models.identity(), again).get_providers() == ["CPUExecutionProvider"]
    again.set_provider_selection_policy_delegate(None)
    assert not again.has_providers()


def test_versions() -> None:
    import importlib.metadata

    assert ort.__version__ == ort.tessera_version() != ort.get_version_string()
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # of the build tree's package
        assert importlib.metadata.version("tessera") == ort.__version__


def test_pickled_session_of_a_path(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(models.identity())
    again = pickle.loads(pickle.dumps(ort.InferenceSession(path)))
    assert again._model_path == str(path)
    np.testing.assert_array_equal(again.run(None, {"x": FOUR})[0], FOUR)


def test_files_in_memory_live_as_long_as_the_session() -> None:
    model, name, content = models.outside()
    options, held = ort.SessionOptions(), bytearray(content)
    options.add_external_initializers_from_files_in_memory([name], [memoryview(held)], [len(held)])
    s = ort.InferenceSession(model, options)
    del options
    with pytest.raises(BufferError):
        held.clear()  # the session may look at it
    again = pickle.loads(pickle.dumps(s))
    for loaded in (s, again):
        np.testing.assert_array_equal(loaded.run(None, {"x": FOUR})[0], 2 * FOUR + 1)
    del s, loaded
    held.clear()
    with pytest.raises(ValueError, match="shorter"):
        ort.SessionOptions().add_external_initializers_from_files_in_memory([name], [b"abc"], [4])


def run_there(session: ort.InferenceSession, array: np.ndarray) -> np.ndarray:
    return session.run(None, {"x": array})[0]


def test_session_in_a_pool_of_processes() -> None:
    s = ort.InferenceSession(models.identity(), one_thread())
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        np.testing.assert_array_equal(pool.submit(run_there, s, FOUR).result(), FOUR)


def test_other_threads_run_meanwhile() -> None:
    s, x = ort.InferenceSession(models.slow(), one_thread()), np.eye(512, dtype=np.float32)
    steps, done = [], threading.Event()

    def count() -> None:
        while not done.is_set():
            steps.append(time.monotonic())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    begin = time.monotonic()
    s.run(None, {"x": x})
    end = time.monotonic()
    done.set()
    other.join()
    inside = [step for step in steps if begin < step < end]
    assert len(inside) >= 2, f"the other thread made {len(inside)} steps in {end - begin:.3f} s"


def test_many_threads_and_one_session() -> None:
    s, wrong = ort.InferenceSession(models.add()), []

    def work(number: int) -> None:
        x = np.full((1, 4), number, np.float32)
        for _ in range(200):
            if not np.array_equal(s.run(None, {"x": x, "y": FOUR})[0], x + FOUR):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_terminate_ends_a_run_under_way() -> None:
    s, options = ort.InferenceSession(models.slow(1024, 400), one_thread()), ort.RunOptions()
    threading.Timer(0.2, lambda: setattr(options, "terminate", True)).start()
    with pytest.raises(ort.Fail):
        s.run(None, {"x": np.eye(1024, dtype=np.float32)}, options)


def test_run_async() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    s, seen, done = ort.InferenceSession(models.identity(), options), [], threading.Event()

    def finished(results, user_data, error) -> None:
        seen.append((results, user_data, error, threading.get_ident()))
        done.set()

    s.run_async(None, {"x": FOUR}, finished, {"my": "data"})
    assert done.wait(30)
    results, user_data, error, thread = seen[0]
    np.testing.assert_array_equal(results[0], FOUR)
    assert (user_data, error) == ({"my": "data"}, "")
    assert thread != threading.get_ident()


def test_run_async_that_fails() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    s, seen, done = ort.InferenceSession(models.identity(), options), [], threading.Event()
    s.run_async(["q"], {"x": FOUR}, lambda results, data, error: (seen.append((results, error)), done.set()), None)
    assert done.wait(30)
    assert seen[0][0] == []
    assert "INVALID_ARGUMENT" in seen[0][1]


def test_run_async_after_the_session_is_gone() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    seen, done = [], threading.Event()
    s = ort.InferenceSession(models.identity(), options)
    s.run_async(None, {"x": FOUR}, lambda results, data, error: (seen.append(results), done.set()), None)
    del s
    assert done.wait(30)
    np.testing.assert_array_equal(seen[0][0], FOUR)


def test_set_providers_while_others_run() -> None:
    s, wrong, done = ort.InferenceSession(models.identity()), [], threading.Event()

    def work() -> None:
        while not done.is_set():
            if not np.array_equal(s.run(None, {"x": FOUR})[0], FOUR):
                wrong.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(5):
        s.set_providers(["CPUExecutionProvider"])
    done.set()
    thread.join()
    assert not wrong


def test_reports() -> None:
    s = ort.InferenceSession(models.perceptron().SerializeToString())
    placement = s.placement()
    assert any(entry["provider"] == "CPUExecutionProvider" for entry in placement["nodes"])
    assert "first" in str(placement)
    assert placement.dot.startswith("digraph")
    assert "passes" in s.optimization()
    assert s.memory_use()[0]["memory"] == "Cpu"
    assert s.warnings() == []


def test_profile(tmp_path) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    s = ort.InferenceSession(models.add(), options)
    s.run(None, {"x": FOUR[None], "y": FOUR})
    assert any("sum" in event["name"] for event in s.profile())
    assert len(list(tmp_path.glob("trace*.json"))) == 1


def test_profile_that_was_not_asked_for() -> None:
    with pytest.raises(RuntimeError, match="enable_profiling"):
        ort.InferenceSession(models.add()).profile()


def test_config_schema() -> None:
    schema = {entry["name"]: entry for entry in ort.session_config_schema()}
    assert schema["session.tuning"]["type"]
    assert all(entry["description"] for entry in schema.values())


def test_log_sink() -> None:
    lines = []
    ort.set_log_sink(lambda level, who, text: lines.append((level, who, text)))
    try:
        options = ort.SessionOptions()
        options.logid, options.log_severity_level = "mine", 0
        ort.InferenceSession(models.add(), options)
    finally:
        ort.set_log_sink(None)
    assert any(who == "mine" for _, who, _ in lines)
    count = len(lines)
    ort.InferenceSession(models.add(), options)
    assert len(lines) == count


def test_log_sink_that_is_no_function() -> None:
    with pytest.raises(TypeError):
        ort.set_log_sink(3)


def test_optimized_model(tmp_path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "o.onnx")
    ort.InferenceSession(models.perceptron().SerializeToString(), options)
    ort.InferenceSession(tmp_path / "o.onnx")


def test_left_out_parts_say_so() -> None:
    device = ort.OrtDevice.make("cpu", 0)
    sparse = ort.SparseTensor.sparse_coo_from_numpy([4], FOUR[:1], np.array([1]), device)
    with pytest.raises(RuntimeError, match="CUDA is not in this build"):
        sparse.to_cuda(ort.OrtDevice.make("cuda", 0))
    with pytest.raises(RuntimeError, match="processor's memory"):
        ort.SparseTensor.sparse_coo_from_numpy([4], FOUR[:1], np.array([1]), ort.OrtDevice.make("cuda", 0))
    with pytest.raises(RuntimeError, match="bind the output to the device"):
        ort.InferenceSession(models.identity()).create_ortvalue_from_shape_and_type([2], np.float32, "cuda")


def test_missing_custom_op_library() -> None:
    with pytest.raises((ort.Fail, ort.NotImplemented)):
        ort.SessionOptions().register_custom_ops_library("/no/such/library.so")


@pytest.mark.skipif("TESSERA_CUSTOM_OPERATORS" not in os.environ, reason="CTest says where the library is")
def test_sessions_with_operators_of_a_library_pickle() -> None:
    options = ort.SessionOptions()
    options.register_custom_ops_library(os.environ["TESSERA_CUSTOM_OPERATORS"])
    session = ort.InferenceSession(models.distance(), options)
    given = {"a": np.zeros((1, 2), np.float32), "b": np.array([[3, 4]], np.float32)}
    assert pickle.loads(pickle.dumps(session)).run(None, given)[0] == [5]
    assert "CustomOperators" in str(session.placement())


def test_stub_names_what_is_there() -> None:
    """The stub names what the module has, and nothing else."""
    import ast
    import pathlib

    stub = pathlib.Path(ort.__file__).parent / "_core.pyi"
    tree = ast.parse(stub.read_text())
    stubbed = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            stubbed |= {name.asname for name in node.names if name.asname == name.name}
    there = {name for name in dir(ort._core) if not name.startswith("_")}
    assert {name for name in stubbed if not name.startswith("_")} == there


def test_all_names_are_exported() -> None:
    import types

    there = {name for name, value in vars(ort).items() if name[0] != "_" and not isinstance(value, types.ModuleType)}
    assert set(ort.__all__) == there | {"__version__"}
    assert len(ort.__all__) == len(set(ort.__all__))
