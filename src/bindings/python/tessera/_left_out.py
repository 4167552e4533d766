"""Names of ONNX Runtime's package with nothing behind them here: they say what to do instead."""

from __future__ import annotations

from typing import Any

from tessera import _core


def _refused(what: str, instead: str) -> _core.NotImplemented:
    return _core.NotImplemented(f"[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : {what} is not in this build; {instead}")


class ModelCompiler:
    """Not in this build."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _refused(
            "ModelCompiler", 'the configuration entry "ep.context_enable" keeps a compiled model for the next load'
        )


class AdapterFormat:
    """Not in this build."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _refused("writing adapters", "LoraAdapter reads them")

    @staticmethod
    def read_adapter(file_path: str) -> AdapterFormat:
        """Not in this build."""
        raise _refused("reading an adapter's tensors", "LoraAdapter gives them to a run")


def create_and_register_allocator(*args: Any, **kwargs: Any) -> None:
    """Not in this build."""
    raise _refused("an allocator that sessions share", 'set the configuration entry "session.use_env_allocators" to "1"')


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Accepted: Tessera has no libraries of other vendors to load."""
