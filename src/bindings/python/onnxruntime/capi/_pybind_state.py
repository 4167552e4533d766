"""The extension module's names."""

from onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403
