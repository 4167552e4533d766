"""Execution providers as programs name them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Union

from tessera import _core

Provider = Union[str, tuple[str, dict[Any, Any]]]

# Names that programs may ask for, whether there is such a provider here or not, best first.
_VOCABULARY = (
    "NvTensorRTRTXExecutionProvider",
    "TensorrtExecutionProvider",
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "OpenVINOExecutionProvider",
    "OpenCLExecutionProvider",
    "DnnlExecutionProvider",
    "VitisAIExecutionProvider",
    "QNNExecutionProvider",
    "NnapiExecutionProvider",
    "VSINPUExecutionProvider",
    "JsExecutionProvider",
    "CoreMLExecutionProvider",
    "ACLExecutionProvider",
    "DmlExecutionProvider",
    "RknpuExecutionProvider",
    "WebNNExecutionProvider",
    "WebGpuExecutionProvider",
    "XnnpackExecutionProvider",
    "CANNExecutionProvider",
    "AzureExecutionProvider",
    "CPUExecutionProvider",
)


def get_all_providers() -> list[str]:
    """Names of all providers that a program may ask for, best first, CPU last; those that are not here are left out."""
    return list(_VOCABULARY)


def compiled_in() -> set[str]:
    """Those that a session can have, OpenCL on a processor and oneDNN among them."""
    return set(_core.get_all_providers())


def normalized(
    providers: Sequence[Provider] | None, provider_options: Sequence[dict[Any, Any]] | None
) -> tuple[list[str], list[dict[str, str]]]:
    """Names and options, each provider once; ValueError for what is no such list."""
    if providers is None:
        return [], []
    if provider_options is not None and len(provider_options) != len(providers):
        raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
    wanted: dict[str, dict[str, str]] = {}
    available = _core.get_available_providers()
    for position, provider in enumerate(providers):
        name, options = _name_and_options(provider)
        if provider_options is not None and provider_options[position]:
            if options:
                raise ValueError(f"options of '{name}' stand in 'providers' and in 'provider_options': give them once.")
            options = provider_options[position]
        if name not in available and name not in compiled_in():
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names. "
                f"Available providers: '{', '.join(available)}'",
                stacklevel=4,
            )
        if name in wanted:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
            continue
        wanted[name] = {str(key): str(value) for key, value in options.items()}
    return list(wanted), list(wanted.values())


def present(names: Sequence[str], options: Sequence[dict[str, str]]) -> tuple[list[str], list[dict[str, str]]]:
    """Those that this build has; RuntimeError for a name that is nobody's."""
    here = compiled_in()
    for name in names:
        if name not in here and name not in _VOCABULARY:
            raise RuntimeError(f"Unknown Provider Type: {name}")
    kept = [(name, given) for name, given in zip(names, options) if name in here]
    return [name for name, _ in kept], [given for _, given in kept]


def _name_and_options(provider: object) -> tuple[str, dict[Any, Any]]:
    if isinstance(provider, str):
        return provider, {}
    if isinstance(provider, tuple) and len(provider) == 2:
        name, options = provider
        if isinstance(name, str) and isinstance(options, dict):
            return name, options
    raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
