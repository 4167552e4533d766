"""Tessera under ONNX Runtime's name, for programs that import it."""

import os as _os
import sys as _sys

from tessera import *  # noqa: F403
from tessera import get_version_string as _get_version_string
from tessera.onnxruntime import STAND_IN as _STAND_IN

package_name = "tessera-onnxruntime"
__version__ = version = _get_version_string()
cuda_version = ""


def _pure_python_parts(own: str) -> list[str]:
    """Folders of ONNX Runtime's own package, for what is written in Python there."""
    found = [_os.path.join(folder or ".", "onnxruntime") for folder in _sys.path if folder != _STAND_IN]
    return [
        folder
        for folder in found
        if _os.path.isfile(_os.path.join(folder, "quantization", "__init__.py")) and not _os.path.samefile(folder, own)
    ]


__path__ += _pure_python_parts(__path__[0])


def print_debug_info() -> None:
    """Says which library and which providers are at work."""
    from tessera import get_available_providers, get_build_info

    print(get_build_info())
    print("providers:", ", ".join(get_available_providers()))


# As attributes, too: programs read onnxruntime.capi.onnxruntime_pybind11_state and import nothing for it.
from onnxruntime.capi import (  # noqa: E402, F401
    _pybind_state,
    build_and_package_info,
    onnxruntime_inference_collection,
    onnxruntime_validation,
)
