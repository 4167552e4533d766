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
from tessera._providers import normalized as _normalized

Session = InferenceSession


def get_ort_device_type(device_type: str) -> int:
    """The number of a kind of device, by the names that OrtDevice.make takes."""
    return OrtDevice.make(device_type, 0).device_type()


def check_and_normalize_provider_args(providers, provider_options, available_provider_names=()):
    """Names and options, each provider once; the available ones are those of the build."""
    return _normalized(providers, provider_options)
