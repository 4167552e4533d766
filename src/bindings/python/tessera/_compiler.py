"""Compiling models ahead of time: what is easier said in Python than in the extension module."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any, Optional

from tessera import _core

Place = Callable[
    [str, _core.OrtValue, Optional[_core.OrtExternalInitializerInfo]], Optional[_core.OrtExternalInitializerInfo]
]


class ModelCompiler(_core.ModelCompiler):
    """Writes a model with what the providers of the session options compiled of it, for sessions that load faster.

    One compiler may be used any number of times, and by several threads.
    """

    def __init__(
        self,
        sess_options: _core.SessionOptions,
        input_model_path_or_bytes: str | os.PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = _core.OrtCompileApiFlags.NONE,
        graph_optimization_level: _core.GraphOptimizationLevel = _core.GraphOptimizationLevel.ORT_DISABLE_ALL,
        get_initializer_location_func: Place | None = None,
    ) -> None:
        """Takes the model of a file or of bytes.

        embed_compiled_data_into_model: what providers compiled is part of the model, else it lies beside it.
        external_initializers_file_path: a file for the weights that have more bytes than the threshold.
        flags: OrtCompileApiFlags, joined by |.
        get_initializer_location_func: called with the name, the value and the present place of each weight; it returns the
        place where it has put the weight, or None for one that is to be in the model.
        """
        model, from_file = _model_of(input_model_path_or_bytes)
        weights = ""
        if external_initializers_file_path:
            weights = _path(external_initializers_file_path, "the path of the weights' file")
        if weights and get_initializer_location_func is not None:
            raise ValueError("give external_initializers_file_path or get_initializer_location_func, not both")
        super().__init__(
            sess_options,
            model,
            from_file,
            embed_compiled_data_into_model,
            weights,
            external_initializers_size_threshold,
            operator.index(flags),
            graph_optimization_level,
            get_initializer_location_func,
        )

    def compile_to_file(self, output_model_path: str | os.PathLike[str] | None = None) -> None:
        """Writes the compiled model to a file; without a path beside the model, as NAME_ctx.onnx."""
        path = output_model_path
        super().compile_to_file(None if path is None else _path(path, "the compiled model's path"))


def _path(given: Any, what: str) -> str:
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"{what} is of type '{type(given)}', expected str or os.PathLike")
    path = os.fsdecode(given)
    if "\0" in path:
        raise ValueError(f"{what} has a character 0")
    return path


def _model_of(given: Any) -> tuple[str | bytes, bool]:
    if not isinstance(given, (str, os.PathLike, bytes)):
        raise TypeError(f"Unable to load from type '{type(given)}'")
    if not given:
        raise ValueError("the path of the model, or its bytes, are empty")
    return (given, False) if isinstance(given, bytes) else (_path(given, "the model's path"), True)
