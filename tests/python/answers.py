"""Asks a package all that a program may ask: `answers.py MODULE` prints what it answered as JSON.

test_answers.py runs it once with each package and compares. An answer is a value, or an exception's class and code.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import warnings

import answers_of_compiling  # noqa: F401  (adds what it asks)
import answers_of_memory  # noqa: F401
import models
import numpy as np
from asking import CASES, FOUR, each, session, settings, state_module

each(
    dims=lambda ort, s: [v.shape for v in session(ort, models.add()).get_inputs()],
    dims_unknown=lambda ort, s: s.get_inputs()[0].shape,
    unnamed_dim=lambda ort, s: session(ort, models.identity(shape=[None, 3])).get_inputs()[0].shape,
    types=lambda ort, s: [v.type for v in session(ort, models.add()).get_outputs()],
    node_arg_text=lambda ort, s: str(session(ort, models.add()).get_inputs()[0]),
    sequence_type=lambda ort, s: [(v.type, v.shape) for v in session(ort, models.sequence()).get_outputs()],
    missing=lambda ort, s: s.run(None, {}),
    missing_text=lambda ort, s: text_of(ValueError, lambda: s.run(None, {})),
    extra=lambda ort, s: s.run(None, {"x": FOUR, "w": FOUR}),
    wrong_type=lambda ort, s: s.run(None, {"x": FOUR.astype(np.float64)}),
    wrong_rank=lambda ort, s: session(ort, models.add()).run(None, {"x": FOUR, "y": FOUR}),
    wrong_dimension=lambda ort, s: session(ort, models.add()).run(None, {"x": FOUR.reshape(2, 2), "y": FOUR}),
    unknown_output=lambda ort, s: s.run(["q"], {"x": FOUR}),
    outputs_twice=lambda ort, s: s.run(["y", "y"], {"x": FOUR}),
    outputs_tuple=lambda ort, s: s.run(("y",), {"x": FOUR}),
    outputs_empty=lambda ort, s: s.run([], {"x": FOUR}),
    outputs_one_name=lambda ort, s: s.run("y", {"x": FOUR}),
    error_base=lambda ort, s: [c.__name__ for c in type(error_of(lambda: s.run(["q"], {"x": FOUR}))).__mro__],
    error_text=lambda ort, s: str(error_of(lambda: s.run(["q"], {"x": FOUR})))[:43],
    feed_list=lambda ort, s: s.run(None, {"x": [1, 2.5]}),
    feed_nested=lambda ort, s: s.run(None, {"x": [[1, 2], [3, 4]]}),
    feed_fortran=lambda ort, s: s.run(None, {"x": np.asfortranarray(FOUR.reshape(2, 2))}),
    feed_strided=lambda ort, s: s.run(None, {"x": FOUR[::2]}),
    feed_reversed=lambda ort, s: s.run(None, {"x": FOUR[::-1]}),
    feed_scalar_array=lambda ort, s: s.run(None, {"x": np.array(2, np.float32)}),
    feed_empty=lambda ort, s: s.run(None, {"x": np.zeros((0, 3), np.float32)}),
    feed_read_only=lambda ort, s: s.run(None, {"x": read_only(FOUR)}),
    feed_value=lambda ort, s: s.run(None, {"x": ort.OrtValue.ortvalue_from_numpy(FOUR)}),
    feed_sequence=lambda ort, s: session(ort, models.joined_sequence()).run(None, {"s": [FOUR, FOUR]}),
    result_sequence=lambda ort, s: session(ort, models.sequence()).run(None, {"x": FOUR}),
    result_scalar=lambda ort, s: [v.shape for v in s.run(None, {"x": np.array(2, np.float32)})],
    strings_unicode=lambda ort, s: strings(ort, np.array(["a", "é", "日本"])),
    strings_objects=lambda ort, s: strings(ort, np.array(["a", 1, 2.5, None, b"z"], object)),
    strings_list=lambda ort, s: strings(ort, ["a", "b"]),
    strings_zero=lambda ort, s: strings(ort, np.array(["a\0b"], object)),
    no_file=lambda ort, s: ort.InferenceSession("no-such-file.onnx"),
    garbage=lambda ort, s: ort.InferenceSession(b"abc"),
    empty=lambda ort, s: ort.InferenceSession(b""),
    wrong_argument=lambda ort, s: ort.InferenceSession(3),
    pathlib_path=lambda ort, s: from_path(ort),
    provider_names=lambda ort, s: s.get_providers(),
    provider_none=lambda ort, s: ort.InferenceSession(models.identity()).get_providers(),
    provider_empty=lambda ort, s: ort.InferenceSession(models.identity(), providers=[]).get_providers(),
    provider_options=lambda ort, s: s.get_provider_options(),
    provider_tuple=lambda ort, s: session(
        ort, models.identity(), providers=[("CPUExecutionProvider", {"a": "b"})]
    ).get_provider_options(),
    provider_absent=lambda ort, s: warned(
        lambda: session(ort, models.identity(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    ),
    provider_twice=lambda ort, s: warned(
        lambda: session(ort, models.identity(), providers=["CPUExecutionProvider", "CPUExecutionProvider"])
    ),
    provider_unknown=lambda ort, s: printed(lambda: session(ort, models.identity(), providers=["Nobody"])),
    provider_number=lambda ort, s: printed(lambda: session(ort, models.identity(), providers=[1])),
    provider_lengths=lambda ort, s: printed(lambda: session(ort, models.identity(), provider_options=[{}, {}]), lines=2),
    no_fallback=lambda ort, s: without_fallback(s, ["Nobody"]),
    set_providers=lambda ort, s: (s.set_providers(["CPUExecutionProvider"]), s.run(None, {"x": FOUR}))[1],
    every_provider=lambda ort, s: [p for p in ort.get_all_providers() if p != "OpenCLExecutionProvider"],
    last_available=lambda ort, s: ort.get_available_providers()[-1],
    unknown_attribute=lambda ort, s: setattr(ort.SessionOptions(), "foo", 1),
    wrong_option_type=lambda ort, s: setattr(ort.SessionOptions(), "intra_op_num_threads", "a"),
    wrong_option_none=lambda ort, s: setattr(ort.SessionOptions(), "optimized_model_filepath", None),
    level_as_number=lambda ort, s: setattr(ort.SessionOptions(), "graph_optimization_level", 1),
    config_absent=lambda ort, s: ort.SessionOptions().get_session_config_entry("a"),
    config_number=lambda ort, s: ort.SessionOptions().add_session_config_entry("a", 1),
    config_empty=lambda ort, s: ort.SessionOptions().add_session_config_entry("", "1"),
    config_kept=lambda ort, s: config_kept(ort),
    config_unknown=lambda ort, s: config_unknown(ort),
    option_defaults=lambda ort, s: settings(ort.SessionOptions()),
    run_option_defaults=lambda ort, s: settings(ort.RunOptions()),
    switches_by_number=lambda ort, s: switched(ort),
    enum_text=lambda ort, s: [str(ort.GraphOptimizationLevel.ORT_ENABLE_ALL), repr(ort.ExecutionMode.ORT_PARALLEL)],
    enum_number=lambda ort, s: int(ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
    terminate=lambda ort, s: terminated(ort, s),
    terminate_unset=lambda ort, s: s.run(None, {"x": FOUR}, ort.RunOptions()),
    value_facts=lambda ort, s: value_facts(ort.OrtValue.ortvalue_from_numpy(FOUR.reshape(2, 2))),
    value_of_list=lambda ort, s: ort.OrtValue.ortvalue_from_numpy([1, 2]),
    value_from_shape=lambda ort, s: value_facts(ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.int64)),
    value_bfloat16=lambda ort, s: value_facts(ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.uint16), 16)),
    value_in_place=lambda ort, s: in_place(ort),
    value_numpy=lambda ort, s: ort.OrtValue.ortvalue_from_numpy(FOUR).numpy(),
    run_with_values=lambda ort, s: [
        v.numpy() for v in s.run_with_ort_values(["y"], {"x": ort.OrtValue.ortvalue_from_numpy(FOUR)})
    ],
    bind_unknown_input=lambda ort, s: s.io_binding().bind_cpu_input("q", FOUR),
    bind_unknown_output=lambda ort, s: s.io_binding().bind_output("q"),
    run_unknown_output=lambda ort, s: run_unknown_output(s),
    bound=lambda ort, s: bound(s),
    device=lambda ort, s: ort.get_device(),
    devices=lambda ort, s: [device_facts(ort.OrtDevice.make(n, 1)) for n in ("cpu", "cuda", "gpu", "dml", "npu")],
    device_unknown=lambda ort, s: ort.OrtDevice.make("foo", 0).device_type(),
    ep_devices=lambda ort, s: [d.ep_name for d in ort.get_ep_devices()],
    severity=lambda ort, s: ort.set_default_logger_severity(9),
    version=lambda ort, s: ort.get_version_string(),
    chosen=lambda ort, s: chosen(ort, lambda devices, model, runtime, most: [d for d in devices if "CPU" in d.ep_name]),
    chosen_none=lambda ort, s: chosen(ort, lambda devices, model, runtime, most: []),
    chosen_too_many=lambda ort, s: chosen(ort, lambda devices, model, runtime, most: devices[:1] * (most + 1)),
    chosen_wrong=lambda ort, s: chosen(ort, lambda *_: 3),
    chosen_fails=lambda ort, s: chosen(ort, lambda *_: 1 // 0),
    chosen_by_no_function=lambda ort, s: chosen(ort, 3),
    chooses=lambda ort, s: options_that_choose(ort),
    input_devices=lambda ort, s: [device.ep_name for device in s.get_input_epdevices()],
    memories=lambda ort, s: [[m.name, m.device_id] for m in s.get_input_memory_infos() + s.get_output_memory_infos()],
    assigned=lambda ort, s: assigned(ort, models.add()),
    assigned_each=lambda ort, s: assigned(ort, models.perceptron().SerializeToString()),
    assigned_unrecorded=lambda ort, s: s.get_provider_graph_assignment_info(),
    files_in_memory=lambda ort, s: files_in_memory(ort),
    metadata=lambda ort, s: metadata_of(session(ort, models.add())),
    profile_none=lambda ort, s: s.end_profiling(),
    disabled_optimizers=lambda ort, s: session(ort, models.identity(), disabled_optimizers=["ConstantFolding"]).run(
        None, {"x": FOUR}
    ),
    session_options=lambda ort, s: s.get_session_options().intra_op_num_threads,
    sparse=lambda ort, s: sparse_facts(ort),
    names=lambda ort, s: sorted(
        name
        for name in [
            "Fail",
            "InvalidArgument",
            "NoSuchFile",
            "NoModel",
            "EngineError",
            "RuntimeException",
            "InvalidProtobuf",
            "ModelLoaded",
            "NotImplemented",
            "InvalidGraph",
            "EPFail",
            "ModelLoadCanceled",
            "ModelRequiresCompilation",
            "NotFound",
            "DeviceReset",
        ]
        if issubclass(getattr(state_module(ort), name), Exception)
    ),
)


def error_of(function):
    try:
        function()
    except Exception as error:
        return error
    return None


def text_of(kind, function):
    try:
        function()
    except kind as error:
        return str(error)
    return ""


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strings(ort, array):
    return session(ort, models.identity(models.STRING)).run(None, {"x": array})


def from_path(ort):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.onnx"
        path.write_bytes(models.identity())
        return ort.InferenceSession(path).run(None, {"x": FOUR})


def warned(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        providers = function().get_providers()
    return [providers, [warning.category.__name__ for warning in caught], [str(w.message)[:45] for w in caught]]


def printed(function, lines=4):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        providers = function().get_providers()
    return [providers, out.getvalue().splitlines()[:lines]]


def without_fallback(s, providers):
    s.disable_fallback()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s.set_providers(providers)


def config_kept(ort):
    options = ort.SessionOptions()
    options.add_session_config_entry("my.key", "1")
    options.add_session_config_entry("my.key", "2")
    return options.get_session_config_entry("my.key")


def config_unknown(ort):
    options = ort.SessionOptions()
    options.add_session_config_entry("nobody.knows", "1")
    options.add_free_dimension_override_by_name("nobody", 3)
    return session(ort, models.identity(), sess_options=options).run(None, {"x": FOUR})


def switched(ort):
    options = ort.SessionOptions()
    options.enable_profiling, options.enable_mem_pattern, options.enable_cpu_mem_arena = 1, 0, 0
    return settings(options)


def terminated(ort, s):
    options = ort.RunOptions()
    options.terminate = True
    return s.run(None, {"x": FOUR}, options)


def value_facts(value):
    return [
        value.shape(),
        value.data_type(),
        value.element_type(),
        value.device_name(),
        value.is_tensor(),
        value.has_value(),
        value.is_sparse_tensor(),
        value.is_tensor_sequence(),
        value.tensor_size_in_bytes(),
    ]


def in_place(ort):
    value = ort.OrtValue.ortvalue_from_shape_and_type([4], np.float32)
    value.update_inplace(FOUR)
    return value.numpy()


def run_unknown_output(s):
    binding = s.io_binding()
    binding.bind_cpu_input("x", FOUR)
    binding.bind_output("q")
    s.run_with_iobinding(binding)


def bound(s):
    binding = s.io_binding()
    binding.bind_cpu_input("x", FOUR)
    binding.bind_output("y")
    s.run_with_iobinding(binding)
    again = binding.copy_outputs_to_cpu()
    return [again, [value.shape() for value in binding.get_outputs()]]


def device_facts(device):
    return [device.device_type(), device.device_id(), device.device_mem_type()]


def chosen(ort, delegate):
    options = ort.SessionOptions()
    options.set_provider_selection_policy_delegate(delegate)
    s = ort.InferenceSession(models.identity(), options)
    return [s.get_providers(), s.run(None, {"x": FOUR})]


def options_that_choose(ort):
    by_function, by_policy = ort.SessionOptions(), ort.SessionOptions()
    by_function.set_provider_selection_policy_delegate(lambda devices, model, runtime, most: devices)
    by_policy.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
    return [ort.SessionOptions().has_providers(), by_function.has_providers(), by_policy.has_providers()]


def files_in_memory(ort):
    model, name, content = models.outside()
    options = ort.SessionOptions()
    options.add_external_initializers_from_files_in_memory([name], [content], [len(content)])
    return session(ort, model, sess_options=options).run(None, {"x": FOUR})


def assigned(ort, model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    parts = session(ort, model, sess_options=options).get_provider_graph_assignment_info()
    return [[part.ep_name, [[n.name, n.domain, n.op_type] for n in part.get_nodes()]] for part in parts]


def metadata_of(s):
    data = s.get_modelmeta()
    return [data.graph_name, data.version, data.custom_metadata_map, data.producer_name, data.domain, data.description]


def sparse_facts(ort):
    device = ort.OrtDevice.make("cpu", 0)
    sparse = ort.SparseTensor.sparse_coo_from_numpy([3, 3], FOUR[:2], np.array([1, 5], np.int64), device)
    value = ort.OrtValue.ort_value_from_sparse_tensor(sparse)
    return [
        sparse.values(),
        sparse.as_coo_view().indices(),
        list(sparse.dense_shape()),
        sparse.data_type(),
        sparse.device_name(),
        str(sparse.format()),
        value.is_sparse_tensor(),
        value.as_sparse_tensor().values(),
    ]


# A library of operators (docs/examples/custom_operators), where the tests are run by CTest.
OPERATORS = os.environ.get("TESSERA_CUSTOM_OPERATORS", "")


def with_operators(ort, model: bytes = b""):
    options = ort.SessionOptions()
    options.register_custom_ops_library(OPERATORS)
    return session(ort, model or models.distance(), sess_options=options)


POINTS = {"a": np.zeros((2, 2), np.float32), "b": np.array([[3, 4], [1, 0]], np.float32)}

if OPERATORS:
    each(
        own_operator=lambda ort, s: with_operators(ort).run(None, POINTS),
        own_operator_type=lambda ort, s: [(v.name, v.type, v.shape) for v in with_operators(ort).get_outputs()],
        own_operator_providers=lambda ort, s: with_operators(ort).get_providers(),
        own_operator_attribute=lambda ort, s: with_operators(ort, models.distance(p=1)).run(None, POINTS),
        own_operator_bad_attribute=lambda ort, s: with_operators(ort, models.distance(p=7)),
        own_operator_bad_type=lambda ort, s: with_operators(ort, models.distance(models.DOUBLE)),
        own_operator_bad_shape=lambda ort, s: with_operators(ort).run(None, {**POINTS, "b": POINTS["b"][:1]}),
        own_operator_unknown=lambda ort, s: with_operators(ort, models.distance(operator="Nearness")),
        own_operator_unregistered=lambda ort, s: session(ort, models.distance()),
        own_operators_not_there=lambda ort, s: ort.SessionOptions().register_custom_ops_library("/no/such/library.so"),
        own_operators_no_library=lambda ort, s: ort.SessionOptions().register_custom_ops_library("libdl.so.2"),
    )


def plain(value):
    """As JSON has it, with types where they matter."""
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), list(value.shape), [str(v) for v in value.ravel().tolist()]]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return f"object of {type(value).__name__}"


def answer(ort, asked):
    try:
        return plain(asked(ort, session(ort, models.identity())))
    except Exception as error:
        code = re.match(r"\[ONNXRuntimeError\] : (\d+) : (\w+)", str(error))
        return ["raised", type(error).__name__, *(code.groups() if code and type(error) is not RuntimeError else ())]


def main() -> None:
    ort = importlib.import_module(sys.argv[1])
    ort.set_default_logger_severity(4)
    json.dump({name: answer(ort, asked) for name, asked in CASES.items()}, sys.stdout)


if __name__ == "__main__":
    main()
