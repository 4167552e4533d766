"""Sessions and values by the module that ONNX Runtime defines them in."""

from onnxruntime.capi import onnxruntime_pybind11_state as C  # noqa: F401, N812
from tessera import InferenceSession, IOBinding, ModelCompiler, OrtDevice, OrtValue, SparseTensor, copy_tensors  # noqa: F401
from tessera._providers import normalized as check_and_normalize_provider_args  # noqa: F401

Session = InferenceSession
