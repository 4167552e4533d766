"""Memory, devices and files that are none of a session's."""

from __future__ import annotations

import models
import numpy as np
from asking import FOUR, TWO, each, in_folder, session, settings, state_module

BYTES = np.arange(16, dtype=np.uint8).reshape(4, 4)

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
    indices = np.array([1, 5], np.int64)[:count]
    return ort.SparseTensor.sparse_coo_from_numpy([3, 3], FOUR[:count], indices, ort.OrtDevice.make(device, 0))


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
