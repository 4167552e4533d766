"""Sessions and values by the module that ONNX Runtime defines them in."""

from onnxruntime.capi import onnxruntime_pybind11_state as C  # noqa: F401, N812
from tessera import (  # noqa: F401
    AdapterFormat,
    InferenceSession,
    IOBinding,
    ModelCompiler,
    OrtDevice,
    OrtDeviceVendorId,
    OrtValue,
    SparseTensor,
    copy_tensors,
)
from tessera._compiler import Place as GetInitializerLocationFunc  # noqa: F401
from tessera._providers import normalized as check_and_normalize_provider_args  # noqa: F401

Session = InferenceSession
