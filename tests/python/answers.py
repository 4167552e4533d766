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

import models
import numpy as np
import onnx

CASES = {}


def case(function):
    """Registers what is asked; it gets the package and a session of `x -> y`, whose elements are floats of any shape."""
    CASES[function.__name__] = function
    return function


def session(ort, model: bytes, **options):
    options.setdefault("providers", ["CPUExecutionProvider"])
    return ort.InferenceSession(model, **options)


def each(**asked):
    """Registers several at once."""
    for name, function in asked.items():
        CASES[name] = function


FOUR = np.arange(4, dtype=np.float32)

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


# Models compiled ahead of time: with CPU alone nothing is compiled, and the model is written.

TWO = models.perceptron().SerializeToString()


def compiler(ort, model: object = TWO, **given):
    return ort.ModelCompiler(ort.SessionOptions(), model, **given)


def flags(ort):
    return ort.OrtCompileApiFlags


each(
    compiled_bytes=lambda ort, s: in_folder(lambda: written(ort, compiler(ort).compile_to_bytes())),
    compiled_bytes_of_file=lambda ort, s: in_folder(lambda: written(ort, compiler(ort, "m.onnx").compile_to_bytes())),
    compiled_file=lambda ort, s: in_folder(lambda: compiled_file(ort, "o.onnx")),
    compiled_pathlib=lambda ort, s: in_folder(lambda: compiled_file(ort, pathlib.Path("o.onnx"))),
    compiled_stream=lambda ort, s: compiled_stream(ort),
    compiled_again=lambda ort, s: (lambda c: c.compile_to_bytes() == c.compile_to_bytes())(compiler(ort)),
    compiled_at_level=lambda ort, s: in_folder(
        lambda: compiled_with(ort, graph_optimization_level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    ),
    compiled_to_no_path=lambda ort, s: compiler(ort).compile_to_file(""),
    compiled_to_number=lambda ort, s: compiler(ort).compile_to_file(3),
    compiled_to_bytes_path=lambda ort, s: compiler(ort).compile_to_file(b"x.onnx"),
    compiled_over=lambda ort, s: in_folder(lambda: compiler(ort).compile_to_file("m.onnx")),
    compiled_not_over=lambda ort, s: in_folder(
        lambda: compiler(ort, flags=flags(ort).ERROR_IF_OUTPUT_FILE_EXISTS).compile_to_file("m.onnx")
    ),
    compiled_nothing=lambda ort, s: compiler(ort, flags=flags(ort).ERROR_IF_NO_NODES_COMPILED).compile_to_bytes(),
    compiled_flags_joined=lambda ort, s: compiler(
        ort, flags=flags(ort).ERROR_IF_NO_NODES_COMPILED | flags(ort).ERROR_IF_OUTPUT_FILE_EXISTS
    ).compile_to_bytes(),
    compiled_weights=lambda ort, s: in_folder(
        lambda: compiled_with(ort, external_initializers_file_path="w.bin", external_initializers_size_threshold=1100)
    ),
    compiled_weights_below=lambda ort, s: in_folder(
        lambda: compiled_with(ort, external_initializers_file_path="w.bin", external_initializers_size_threshold=9999)
    ),
    compiled_weights_placed=lambda ort, s: in_folder(lambda: weights_placed(ort)),
    compiled_weights_left=lambda ort, s: in_folder(lambda: weights_left(ort)),
    compiled_weights_both=lambda ort, s: compiler(
        ort, external_initializers_file_path="w.bin", get_initializer_location_func=lambda *_: None
    ),
    compiled_garbage=lambda ort, s: compiler(ort, b"abc").compile_to_bytes(),
    compiled_no_file=lambda ort, s: compiler(ort, "no-such-file.onnx").compile_to_bytes(),
    compiled_no_writer=lambda ort, s: compiler(ort).set_ep_context_data_write_func(None),
    compiled_no_function=lambda ort, s: compiler(ort).set_ep_context_data_write_func(3),
    compiled_cleared=lambda ort, s: compiler(ort).clear_ep_context_data_write_func(),
    compiled_to_no_stream=lambda ort, s: compiler(ort).compile_to_stream(3),
    compile_flags=lambda ort, s: flag_facts(ort),
    weight_place=lambda ort, s: (lambda i: [i.filepath, i.file_offset, i.byte_size])(
        ort.OrtExternalInitializerInfo("a/b.bin", -3, 4)
    ),
    weight_place_read_only=lambda ort, s: setattr(ort.OrtExternalInitializerInfo("a", 0, 4), "filepath", "b"),
    context_data=lambda ort, s: ort.OrtEpContextData(),
    context_buffer=lambda ort, s: ort.OrtEpContextDataBuffer(),
    context_reader=lambda ort, s: context_reader(ort, lambda name, buffer: None, 100),
    context_reader_none=lambda ort, s: context_reader(ort, None, 100),
    context_reader_number=lambda ort, s: context_reader(ort, 3, 100),
    context_reader_of_nothing=lambda ort, s: context_reader(ort, lambda name, buffer: None, 0),
    context_reader_below=lambda ort, s: context_reader(ort, lambda name, buffer: None, -1),
    context_reader_alone=lambda ort, s: ort.SessionOptions().set_ep_context_data_read_func(lambda name, buffer: None),
)
for name, wrong in {
    "model": {"model": 3},
    "no_model": {"model": None},
    "empty_path": {"model": ""},
    "empty_bytes": {"model": b""},
    "bytearray": {"model": bytearray(TWO)},
    "embed_text": {"embed_compiled_data_into_model": "a"},
    "embed_none": {"embed_compiled_data_into_model": None},
    "weights_number": {"external_initializers_file_path": 3},
    "weights_empty": {"external_initializers_file_path": ""},
    "threshold_negative": {"external_initializers_size_threshold": -1},
    "threshold_text": {"external_initializers_size_threshold": "a"},
    "flags_number": {"flags": 7},
    "flags_high": {"flags": 1 << 31},
    "flags_huge": {"flags": 1 << 40},
    "flags_negative": {"flags": -1},
    "flags_none": {"flags": None},
    "flags_text": {"flags": "1"},
    "flags_float": {"flags": 1.0},
    "level_number": {"graph_optimization_level": 1},
    "level_none": {"graph_optimization_level": None},
}.items():
    CASES[f"compiler_{name}"] = lambda ort, s, wrong=wrong: type(compiler(ort, **wrong)).__name__
CASES["compiler_options_none"] = lambda ort, s: ort.ModelCompiler(None, TWO)
CASES["compiler_options_number"] = lambda ort, s: ort.ModelCompiler(3, TWO)


# Memory, devices and files that are none of a session's.

each(
    arena=lambda ort, s: settings(ort.OrtArenaCfg(1, 2, 3, 4)),
    arena_defaults=lambda ort, s: settings(ort.OrtArenaCfg({})),
    arena_settings=lambda ort, s: settings(
        ort.OrtArenaCfg({"max_mem": 5, "arena_extend_strategy": 1, "max_power_of_two_extend_bytes": 7})
    ),
    arena_unknown=lambda ort, s: ort.OrtArenaCfg({"size": 1}),
    arena_text=lambda ort, s: ort.OrtArenaCfg({"max_mem": "a"}),
    arena_negative=lambda ort, s: ort.OrtArenaCfg(-1, 0, 0, 0),
    arena_of_three=lambda ort, s: ort.OrtArenaCfg(1, 2, 3),
    arena_none=lambda ort, s: ort.OrtArenaCfg(None),
    arena_set=lambda ort, s: changed(ort.OrtArenaCfg({}), "max_mem", 7),
    arena_set_strategy=lambda ort, s: changed(
        ort.OrtArenaCfg({}), "arena_extend_strategy", state_module(ort).ArenaExtendStrategy.kSameAsRequested
    ),
    arena_set_text=lambda ort, s: changed(ort.OrtArenaCfg({}), "max_mem", "a"),
    arena_strategies=lambda ort, s: [repr(state_module(ort).kNextPowerOfTwo), repr(state_module(ort).kSameAsRequested)],
    shared_arena=lambda ort, s: shared_arena(ort),
    shared_arena_elsewhere=lambda ort, s: ort.create_and_register_allocator(memory(ort, "Cuda"), ort.OrtArenaCfg({})),
    shared_arena_of_nobody=lambda ort, s: ort.create_and_register_allocator_v2(
        "Nobody", memory(ort), {}, ort.OrtArenaCfg({})
    ),
    shared_arena_of_cuda=lambda ort, s: ort.create_and_register_allocator_v2(
        "CUDAExecutionProvider", memory(ort, "Cuda"), {}, None
    ),
    shared_arena_nowhere=lambda ort, s: ort.create_and_register_allocator(None, ort.OrtArenaCfg({})),
    memory_of_device=lambda ort, s: (
        lambda m: [m.name, m.device_id, str(m.allocator_type), str(m.device_mem_type), m.device_vendor_id]
    )(memory_of_device(ort)),
    vendors=lambda ort, s: {vendor.name: int(vendor) for vendor in ort.OrtDeviceVendorId},
    vendor_of_device=lambda ort, s: ort.OrtDevice.make("gpu", 1, ort.OrtDeviceVendorId.INTEL).device_vendor_id(),
    stream_of_cpu=lambda ort, s: ort.get_ep_devices()[0].create_sync_stream(),
    stream_made=lambda ort, s: ort.OrtSyncStream(),
    value_of_session=lambda ort, s: [
        s.create_ortvalue_from_shape_and_type([2, 3], kind, "cpu").data_type() for kind in (np.float16, 7)
    ],
    value_of_session_elsewhere=lambda ort, s: s.create_ortvalue_from_shape_and_type([2, 3], 1, "gpu"),
    value_of_session_nowhere=lambda ort, s: s.create_ortvalue_from_shape_and_type([2, 3], 1),
    value_of_no_memory=lambda ort, s: ort.OrtValue.ortvalue_from_shape_and_type([2], 1, memory_info=3),
    captured_graph=lambda ort, s: [s.release_captured_graph(), s.release_captured_graph(3)],
    captured_graph_text=lambda ort, s: s.release_captured_graph("a"),
    tuning=lambda ort, s: [s.get_tuning_results(), s.set_tuning_results([])],
    default_options=lambda ort, s: settings(state_module(ort).get_default_session_options()),
    compatibility=lambda ort, s: state_module(ort).get_compatibility_info_from_model_bytes(TWO, "CPUExecutionProvider"),
    compatibility_of_buffer=lambda ort, s: state_module(ort).get_compatibility_info_from_model_bytes(bytearray(TWO), "x"),
    compatibility_of_file=lambda ort, s: in_folder(
        lambda: state_module(ort).get_compatibility_info_from_model("m.onnx", "CPUExecutionProvider")
    ),
    compatibility_of_no_file=lambda ort, s: state_module(ort).get_compatibility_info_from_model("no-such-file", "a"),
    compatibility_of_garbage=lambda ort, s: state_module(ort).get_compatibility_info_from_model_bytes(b"abc", "a"),
    compatibility_of_empty=lambda ort, s: state_module(ort).get_compatibility_info_from_model_bytes(b"", "a"),
    compatibility_of_text=lambda ort, s: state_module(ort).get_compatibility_info_from_model_bytes("abc", "a"),
    compatibility_of_nobody=lambda ort, s: state_module(ort).get_compatibility_info_from_model_bytes(TWO, ""),
    compatible=lambda ort, s: repr(state_module(ort).get_model_compatibility_for_ep_devices(ort.get_ep_devices()[:1], "x")),
    compatible_nowhere=lambda ort, s: state_module(ort).get_model_compatibility_for_ep_devices([], "x"),
    compatible_none=lambda ort, s: state_module(ort).get_model_compatibility_for_ep_devices(None, "x"),
    incompatible=lambda ort, s: incompatibility(ort, "CPUExecutionProvider"),
    incompatible_nobody=lambda ort, s: incompatibility(ort, "Nobody"),
    incompatible_reasons=lambda ort, s: {
        name: int(reason) for name, reason in state_module(ort).OrtDeviceEpIncompatibilityReason.__members__.items()
    },
    sparse_rows=lambda ort, s: sparse_rows(ort),
    sparse_rows_as_coordinates=lambda ort, s: rows_of(ort).as_coo_view(),
    sparse_rows_as_blocks=lambda ort, s: rows_of(ort).as_blocksparse_view(),
    sparse_rows_short=lambda ort, s: rows_of(ort, inner=[1, 1]),
    sparse_rows_few=lambda ort, s: rows_of(ort, outer=[0, 1, 2]),
    sparse_rows_of_int32=lambda ort, s: rows_of(ort, kind=np.int32).as_csrc_view().inner(),
    sparse_rows_of_text=lambda ort, s: rows_of(ort, values=np.array(["a", "b", "c"], object)),
    sparse_coordinates_as_rows=lambda ort, s: coordinates_of(ort).as_csrc_view(),
    sparse_coordinates_on_gpu=lambda ort, s: coordinates_of(ort, "gpu"),
    sparse_none=lambda ort, s: str(coordinates_of(ort, count=0).format()),
    sparse_on_cuda=lambda ort, s: coordinates_of(ort).to_cuda(ort.OrtDevice.make("cuda", 0)),
    copied_to_fewer=lambda ort, s: ort.copy_tensors([ort.OrtValue.ortvalue_from_numpy(FOUR)], []),
    copied_nothing=lambda ort, s: ort.copy_tensors([], []),
    fp4_weights=lambda ort, s: state_module(ort).pack_fp4_weights_for_cuda_moe_gemm(BYTES, 4, 8),
    fp4_weights_odd=lambda ort, s: state_module(ort).pack_fp4_weights_for_cuda_moe_gemm(BYTES, 3, 8),
    fp4_weights_wrong=lambda ort, s: state_module(ort).pack_fp4_weights_for_cuda_moe_gemm(BYTES, 4, 6),
    adapter_empty=lambda ort, s: adapter_facts(ort.AdapterFormat()),
    adapter_read=lambda ort, s: in_folder(lambda: adapter_read(ort)),
    adapter_without_tensors=lambda ort, s: in_folder(lambda: adapter_read(ort, {})),
    adapter_version_text=lambda ort, s: ort.AdapterFormat().set_adapter_version("a"),
    adapter_version_huge=lambda ort, s: ort.AdapterFormat().set_model_version(1 << 40),
    adapter_version_float=lambda ort, s: ort.AdapterFormat().set_model_version(1.5),
    adapter_of_arrays=lambda ort, s: ort.AdapterFormat().set_parameters({"a": FOUR}),
    adapter_of_none=lambda ort, s: ort.AdapterFormat().set_parameters(None),
    adapter_not_there=lambda ort, s: ort.AdapterFormat.read_adapter("no-such-file"),
    adapter_of_garbage=lambda ort, s: in_folder(lambda: ort.AdapterFormat.read_adapter("m.onnx")),
    adapter_of_folder=lambda ort, s: ort.AdapterFormat.read_adapter("/"),
    adapter_of_no_path=lambda ort, s: ort.AdapterFormat.read_adapter(None),
    adapter_to_nowhere=lambda ort, s: ort.AdapterFormat().export_adapter("/no/such/folder"),
    adapter_to_no_path=lambda ort, s: ort.AdapterFormat().export_adapter(None),
    adapter_format_set=lambda ort, s: setattr(state_module(ort).AdapterFormat(), "format_version", 3),
)

BYTES = np.arange(16, dtype=np.uint8).reshape(4, 4)


def in_folder(ask):
    """Asks in a folder that has m.onnx and nothing else."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            pathlib.Path("m.onnx").write_bytes(TWO)
            return ask()
        finally:
            os.chdir(before)


def written(ort, model: bytes):
    """What a compiled model has, and what it computes where its weights are found."""
    made = onnx.load_from_string(model)
    weights = [
        [w.name, list(w.dims), w.data_location, [[e.key, e.value] for e in w.external_data if e.key == "location"]]
        for w in made.graph.initializer
    ]
    pathlib.Path("c.onnx").write_bytes(model)
    try:
        results = session(ort, "c.onnx").run(None, {"x": np.ones((2, 16), np.float32)})
    finally:
        pathlib.Path("c.onnx").unlink()
    kinds = [node.op_type for node in made.graph.node]
    return [kinds, sorted(weights), [result.round(3) for result in results], sorted(os.listdir("."))]


def compiled_with(ort, **given):
    return written(ort, compiler(ort, "m.onnx", **given).compile_to_bytes())


def compiled_file(ort, path):
    before = compiler(ort, "m.onnx").compile_to_file(path)
    return [before, written(ort, pathlib.Path(path).read_bytes())]


def compiled_stream(ort):
    parts = []
    compiler(ort).compile_to_stream(parts.append)
    return [sorted({type(part).__name__ for part in parts}), b"".join(parts) == compiler(ort).compile_to_bytes()]


def weights_placed(ort):
    asked = []

    def place(name, value, now):
        asked.append([name, type(value).__name__, value.shape(), value.tensor_size_in_bytes(), now])
        if name == "w1":
            return now
        with open("own.bin", "wb") as file:
            file.write(b"before" + value.numpy().tobytes())
        return ort.OrtExternalInitializerInfo("own.bin", 6, value.tensor_size_in_bytes())

    return [written(ort, compiler(ort, "m.onnx", get_initializer_location_func=place).compile_to_bytes()), sorted(asked)]


def weights_left(ort):
    return written(ort, compiler(ort, get_initializer_location_func=lambda name, value, now: None).compile_to_bytes())


def flag_facts(ort):
    none, nodes, exists = flags(ort).NONE, flags(ort).ERROR_IF_NO_NODES_COMPILED, flags(ort).ERROR_IF_OUTPUT_FILE_EXISTS
    joined = nodes | exists
    return [none == 0, int(nodes), exists.value, str(none), repr(exists), joined, type(joined).__name__, nodes ^ 5, ~nodes]


def context_reader(ort, function, most):
    options = ort.SessionOptions()
    options.set_ep_context_data_read_func(function, most)
    results = session(ort, models.identity(), sess_options=options).run(None, {"x": FOUR})
    options.clear_ep_context_data_read_func()
    return results


def changed(thing, name, value):
    setattr(thing, name, value)
    return getattr(thing, name)


def memory(ort, name: str = "Cpu"):
    return ort.OrtMemoryInfo(name, ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)


def memory_of_device(ort):
    kind = ort.OrtDeviceMemoryType.DEFAULT
    return ort.OrtMemoryInfo.create_v2(
        "Own", ort.OrtMemoryInfoDeviceType.GPU, 0x8086, 2, kind, 256, ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR
    )


def shared_arena(ort):
    ort.create_and_register_allocator(memory(ort), ort.OrtArenaCfg({"max_mem": 1 << 28}))
    options = ort.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    return session(ort, models.identity(), sess_options=options).run(None, {"x": FOUR})


def incompatibility(ort, provider):
    state = state_module(ort)
    return state.get_hardware_device_ep_incompatibility_details(provider, state.get_hardware_devices()[0])


def rows_of(ort, values=FOUR[:3], inner=(1, 2, 0), outer=(0, 1, 2, 3), kind=np.int64):
    device = ort.OrtDevice.make("cpu", 0)
    return ort.SparseTensor.sparse_csr_from_numpy([3, 3], values, np.array(inner, kind), np.array(outer, kind), device)


def coordinates_of(ort, device: str = "cpu", count: int = 2):
    places = np.array([1, 5], np.int64)[:count]
    return ort.SparseTensor.sparse_coo_from_numpy([3, 3], FOUR[:count], places, ort.OrtDevice.make(device, 0))


def sparse_rows(ort):
    rows = rows_of(ort)
    value = ort.OrtValue.ort_value_from_sparse_tensor(rows)
    view = value.as_sparse_tensor().as_csrc_view()
    return [rows.values(), str(rows.format()), list(rows.dense_shape()), rows.data_type(), view.inner(), view.outer()]


def adapter_facts(adapter):
    return [
        adapter.get_format_version(),
        adapter.get_adapter_version(),
        adapter.get_model_version(),
        sorted([name, value.shape(), value.data_type(), value.numpy()] for name, value in adapter.get_parameters().items()),
    ]


def adapter_read(ort, arrays=None):
    if arrays is None:
        arrays = {"b": FOUR.reshape(2, 2), "a": np.array([3], np.int64), "none": np.zeros((0, 2), np.uint8)}
    made = ort.AdapterFormat()
    made.set_adapter_version(3)
    made.set_model_version(-4)
    made.set_parameters({name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
    made.export_adapter("a.onnx_adapter")
    ort.LoraAdapter().Load("a.onnx_adapter")
    return adapter_facts(ort.AdapterFormat.read_adapter("a.onnx_adapter"))


def state_module(ort):
    if ort.__name__ == "tessera":
        importlib.import_module("tessera.onnxruntime").install()
    return importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")


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


def settings(options):
    return {
        name: str(getattr(options, name))
        for name in dir(options)
        if not name.startswith("_") and not callable(getattr(options, name))
    }


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
