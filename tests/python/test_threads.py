"""Many threads at once, with and without the interpreter's lock: what they share stays whole."""

from __future__ import annotations

import contextlib
import pickle
import sysconfig
import threading
from collections.abc import Callable

import models
import numpy as np
import pytest
from conftest import run_python

import tessera as ort

FOUR = np.arange(4, dtype=np.float32)
THREADS = 8
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def together(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Calls work(number) on that many threads, which begin at once; the first failure is raised."""
    begin, failures = threading.Barrier(threads), []

    def guarded(number: int) -> None:
        begin.wait()
        try:
            work(number)
        except BaseException as failure:
            failures.append(failure)

    all_threads = [threading.Thread(target=guarded, args=(number,)) for number in range(threads)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in all_threads), "threads wait for each other"
    if failures:
        raise failures[0]


def one_thread() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return options


@pytest.mark.skipif(not FREE_THREADED, reason="this interpreter has a lock")
def test_the_lock_stays_off() -> None:
    """Alone in a process, as other packages that these tests import turn the lock on."""
    program = (
        "import sys, numpy, tessera; tessera.OrtValue.ortvalue_from_numpy(numpy.zeros(2)); print(sys._is_gil_enabled())"
    )
    assert run_python("-W", "error", "-c", program, PYTHON_GIL="").strip() == "False"


LEAVING = """
import sys, threading, time
import models, numpy, tessera

model, x = models.add_chain(20), numpy.zeros(1 << 18, numpy.float32)
options = tessera.SessionOptions()
options.intra_op_num_threads = 1
session = tessera.InferenceSession(model, options)
begun = threading.Semaphore(0)

def work():
    while True:
        {call}
        begun.release()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(6):
    begun.acquire()
print("leaving")
"""


@pytest.mark.parametrize(
    "call", ["session.run(None, {'x': x})", "tessera.InferenceSession(model, options)"], ids=["runs", "loads"]
)
def test_interpreter_ends_while_daemons_are_at_work(call: str) -> None:
    for _ in range(5):
        assert run_python("-c", LEAVING.format(call=call)).strip() == "leaving"


def test_one_session() -> None:
    s = ort.InferenceSession(models.add())

    def work(number: int) -> None:
        x = np.full((1, 4), number, np.float32)
        for _ in range(200):
            np.testing.assert_array_equal(s.run(None, {"x": x, "y": FOUR})[0], x + FOUR)

    together(work)


def test_sessions_made_and_ended() -> None:
    model = models.perceptron().SerializeToString()
    expected = ort.InferenceSession(model).run(None, {"x": np.ones((1, 16), np.float32)})[0]

    def work(number: int) -> None:
        for _ in range(10):
            s = ort.InferenceSession(model, one_thread())
            np.testing.assert_array_equal(s.run(None, {"x": np.ones((1, 16), np.float32)})[0], expected)
            assert s.get_inputs()[0].name == "x"
            assert s.placement()["nodes"]

    together(work)


def test_one_name_for_sessions_of_many_threads() -> None:
    """The last owner of a session may be any thread, also while another one uses it."""
    shared = [ort.InferenceSession(models.identity(), one_thread())]

    def work(number: int) -> None:
        for _ in range(20):
            if number == 0:
                shared[0] = ort.InferenceSession(models.identity(), one_thread())
            else:
                np.testing.assert_array_equal(shared[0].run(None, {"x": FOUR})[0], FOUR)

    together(work)


def test_providers_set_by_many_threads() -> None:
    s = ort.InferenceSession(models.identity(), one_thread())

    def work(number: int) -> None:
        for _ in range(10):
            if number % 4 == 0:
                s.set_providers(["CPUExecutionProvider"])
            np.testing.assert_array_equal(s.run(None, {"x": FOUR})[0], FOUR)

    together(work)


def test_shared_values() -> None:
    s, value = ort.InferenceSession(models.identity()), ort.OrtValue.ortvalue_from_numpy(FOUR.copy())

    def work(number: int) -> None:
        for _ in range(200):
            assert value.shape() == [4]
            np.testing.assert_array_equal(value.numpy(), FOUR)
            np.testing.assert_array_equal(np.from_dlpack(value), FOUR)
            (result,) = s.run_with_ort_values(["y"], {"x": value})
            np.testing.assert_array_equal(result.numpy(), FOUR)

    together(work)


def test_values_let_go_by_other_threads() -> None:
    s = ort.InferenceSession(models.identity())
    held: list = [None] * 16

    def work(number: int) -> None:
        for i in range(300):
            held[(number + i) % 16] = s.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(FOUR + number)})[0]

    together(work)
    assert all(value.numpy()[0] in range(THREADS) for value in held)


def test_strings() -> None:
    s, texts = ort.InferenceSession(models.identity(models.STRING)), np.array(["a", "é" * 100, "日本"], object)

    def work(number: int) -> None:
        for _ in range(100):
            assert s.run(None, {"x": texts})[0].tolist() == texts.tolist()

    together(work)


def test_vector_that_all_fill() -> None:
    vector, value = ort.OrtValueVector(), ort.OrtValue.ortvalue_from_numpy(FOUR)

    def work(number: int) -> None:
        for _ in range(200):
            vector.push_back(value)
            assert vector[-1].shape() == [4]
            assert len(list(vector)) > 0

    together(work)
    assert len(vector) == THREADS * 200


def test_runs_with_a_vector_that_others_change() -> None:
    s, feeds, results = ort.InferenceSession(models.identity()), ort.OrtValueVector(), ort.OrtValueVector()
    feeds.push_back(ort.OrtValue.ortvalue_from_numpy(FOUR))

    def work(number: int) -> None:
        for _ in range(100):
            if number % 2:
                results.push_back(ort.OrtValue.ortvalue_from_numpy(FOUR.copy()))
            else:
                s.run_with_ortvaluevector(ort.RunOptions(), ["x"], feeds, ["y"], results, [])

    together(work)


def test_options_that_others_change() -> None:
    options = one_thread()

    def work(number: int) -> None:
        for i in range(50):
            options.add_session_config_entry(f"my.key.{number}.{i}", "x" * i)
            options.logid = "name " * number
            assert options.get_session_config_entry(f"my.key.{number}.{i}") == "x" * i
            if i % 10 == 0:
                ort.InferenceSession(models.identity(), options).run(None, {"x": FOUR})
                pickle.loads(pickle.dumps(options))

    together(work)


def test_a_load_that_another_thread_cancels() -> None:
    options, model = one_thread(), models.add_chain(30_000)
    timer = threading.Timer(0.02, lambda: options.set_load_cancellation_flag(True))
    timer.start()
    with pytest.raises(ort.ModelLoadCanceled, match="cancelled"):
        ort.InferenceSession(model, options)
    timer.join()
    options.set_load_cancellation_flag(False)
    ort.InferenceSession(models.identity(), options).run(None, {"x": FOUR})


def test_run_options_that_others_change() -> None:
    s, options = ort.InferenceSession(models.identity()), ort.RunOptions()

    def work(number: int) -> None:
        for i in range(100):
            if number == 0:
                options.terminate = bool(i % 2)
                options.add_run_config_entry(f"my.key.{i}", "1")
                continue
            try:
                s.run(None, {"x": FOUR}, options)
            except ort.Fail as error:
                assert "terminat" in str(error).lower() or "cancel" in str(error).lower(), error

    together(work)


def test_binding_of_each_thread() -> None:
    s = ort.InferenceSession(models.add())

    def work(number: int) -> None:
        binding, x = s.io_binding(), np.full((1, 4), number, np.float32)
        out = np.empty((1, 4), np.float32)
        binding.bind_cpu_input("x", x)
        binding.bind_cpu_input("y", FOUR)
        binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_numpy(out))
        for i in range(100):
            x[...] = number + i
            s.run_with_iobinding(binding)
            np.testing.assert_array_equal(out, x + FOUR)

    together(work)


def test_one_binding() -> None:
    """Its users wait for each other; whose inputs a run sees is not said."""
    s = ort.InferenceSession(models.identity())
    binding = s.io_binding()
    binding.bind_cpu_input("x", FOUR)
    binding.bind_output("y")

    def work(number: int) -> None:
        for _ in range(100):
            binding.bind_cpu_input("x", np.full(4 + number, number, np.float32))
            if number == 0:
                binding.clear_binding_outputs()
            binding.bind_output("y")
            s.run_with_iobinding(binding)
            for result in binding.copy_outputs_to_cpu():
                # None: another user has bound the output anew since, and has not run yet.
                assert result is None or (result == result.size - 4).all()

    together(work)


def test_run_async() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    s, done = ort.InferenceSession(models.add(), options), threading.Semaphore(0)
    wrong: list = []

    def finished(results: list, x: np.ndarray, error: str) -> None:
        if error or not np.array_equal(results[0], x + FOUR):
            wrong.append(error or results[0])
        done.release()

    def work(number: int) -> None:
        for i in range(20):
            x = np.full((1, 4), number + i, np.float32)
            s.run_async(None, {"x": x, "y": FOUR}, finished, x)

    together(work)
    for _ in range(THREADS * 20):
        assert done.acquire(timeout=60)
    assert not wrong


def test_run_async_of_sessions_that_are_gone() -> None:
    done = threading.Semaphore(0)

    def work(number: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 2
        for _ in range(5):
            s = ort.InferenceSession(models.identity(), options)
            s.run_async(None, {"x": FOUR}, lambda results, data, error: done.release(), None)
            del s

    together(work, 4)
    for _ in range(20):
        assert done.acquire(timeout=60)


def test_log_sinks() -> None:
    options = one_thread()
    options.log_severity_level = 0
    lines: list = []

    def work(number: int) -> None:
        for _ in range(10):
            if number == 0:
                ort.set_log_sink(lambda level, who, text: lines.append(text))
            else:
                ort.InferenceSession(models.identity(), options).run(None, {"x": FOUR})

    ort.set_log_sink(lambda level, who, text: lines.append(text))
    try:
        together(work)
    finally:
        ort.set_log_sink(None)
    assert lines


def test_delegate_that_chooses() -> None:
    options = one_thread()
    options.set_provider_selection_policy_delegate(
        lambda devices, model, runtime, most: [device for device in devices if "CPU" in device.ep_name]
    )

    def work(number: int) -> None:
        for _ in range(5):
            assert ort.InferenceSession(models.identity(), options).get_providers() == ["CPUExecutionProvider"]

    together(work)


def test_capsule_is_taken_by_one() -> None:
    for _ in range(50):
        capsule, taken = FOUR.copy().__dlpack__(), []

        def work(number: int, capsule=capsule, taken=taken) -> None:
            with contextlib.suppress(ValueError):
                taken.append(ort.OrtValue.from_dlpack(capsule))

        together(work)
        assert len(taken) == 1


def test_feeds_and_names_that_others_change() -> None:
    s = ort.InferenceSession(models.add())
    feed, names = {"x": np.ones((1, 4), np.float32), "y": FOUR}, ["z"]

    def work(number: int) -> None:
        for i in range(300):
            if number == 0:
                feed["".join(["w", str(i % 3)])] = FOUR
                feed.pop("".join(["w", str(i % 3)]), None)
                names[:] = ["".join("z") for _ in range(1 + i % 3)]
                continue
            try:
                for result in s.run(names, feed):
                    np.testing.assert_array_equal(result, 1 + FOUR[None])
            except (ort.InvalidArgument, RuntimeError) as error:
                assert "'w" in str(error) or "another thread" in str(error), error

    together(work)


def test_questions() -> None:
    s = ort.InferenceSession(models.add())

    def work(number: int) -> None:
        for _ in range(20):
            assert [value.name for value in s.get_inputs()] == ["x", "y"]
            assert s.get_providers()[-1] == ort.get_available_providers()[-1]
            assert len(ort.get_ep_devices()) >= 1
            assert ort.session_config_schema()
            ort.set_default_logger_severity(2)
            again = pickle.loads(pickle.dumps(s))
            assert again.get_modelmeta().graph_name == s.get_modelmeta().graph_name

    together(work)
