"""Tessera runs ONNX models; ``import tessera as ort`` in place of ``import onnxruntime as ort`` is all a program needs.

Names and answers are those of ONNX Runtime's Python package; docs/python.md lists what Tessera adds.
"""

from tessera._core import (
    DeviceReset,
    EngineError,
    EPFail,
    ExecutionMode,
    ExecutionOrder,
    Fail,
    GraphOptimizationLevel,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    LoraAdapter,
    ModelLoadCanceled,
    ModelLoaded,
    ModelMetadata,
    ModelRequiresCompilation,
    NodeArg,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    OrtAllocatorType,
    OrtDevice,
    OrtDeviceMemoryType,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpDevice,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDevice,
    OrtHardwareDeviceType,
    OrtMemoryInfo,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
    OrtValue,
    OrtValueVector,
    RunOptions,
    RuntimeException,
    SessionIOBinding,
    SessionOptions,
    SparseTensor,
    copy_tensors,
    disable_telemetry_events,
    enable_telemetry_events,
    get_available_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_hardware_devices,
    get_version_string,
    has_collective_ops,
    register_execution_provider_library,
    session_config_schema,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_log_sink,
    set_seed,
    tessera_version,
    unregister_execution_provider_library,
)
from tessera._left_out import AdapterFormat, ModelCompiler, create_and_register_allocator, preload_dlls
from tessera._providers import get_all_providers
from tessera._session import InferenceSession, IOBinding, Placement, Report

# What this package is installed as. get_version_string() is the release of ONNX Runtime whose interface it has; programs
# that ask for `onnxruntime` see that as its __version__.
__version__ = tessera_version()

__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
