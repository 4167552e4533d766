"""Sessions: what is easier said in Python than in the extension module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Union

from tessera import _core, _options, _providers

Model = Union[str, bytes, os.PathLike]


class Report(dict):
    """What a session says of itself: a dict, and as str() a text to read."""

    def __init__(self, content: str, text: str) -> None:
        import json

        super().__init__(json.loads(content))
        self.text = text

    def __str__(self) -> str:
        return self.text


class Placement(Report):
    """Which provider runs which node, and why others refused it."""

    def __init__(self, content: str, text: str, dot: str) -> None:
        super().__init__(content, text)
        self.dot = dot
        """The graph in Graphviz's language."""


class IOBinding(_core.SessionIOBinding):
    """Inputs and outputs bound once for many runs of a session, on one thread at a time."""


class InferenceSession(_core.InferenceSession):
    """A loaded model. Any number of threads may run it at once; sessions pickle, and load again where they arrive."""

    def __init__(
        self,
        path_or_bytes: Model,
        sess_options: _core.SessionOptions | None = None,
        providers: Sequence[_providers.Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Loads the model of a file or of bytes.

        providers: names, or names with options, in priority order; CPU is always last, and alone where none is given.
        Providers that this build lacks are left out with a warning.
        """
        model, from_file = _model_of(path_or_bytes)
        self._sess_options = sess_options
        self._sess_options_initial = sess_options
        self._model_path = model if from_file else None
        self._model_bytes = None if from_file else model
        self._disabled_optimizers = list(kwargs.get("disabled_optimizers") or [])
        self._enable_fallback = bool(int(kwargs.get("enable_fallback", 1)))
        self._fallback_providers = ["CPUExecutionProvider"]
        super().__init__(sess_options if sess_options is not None else _core.SessionOptions(), model, from_file, False)
        self._initialize(providers, provider_options)

    def _initialize(
        self,
        providers: Sequence[_providers.Provider] | None,
        provider_options: Sequence[dict[Any, Any]] | None,
    ) -> None:
        try:
            names, options = _providers.normalized(providers, provider_options)
            self._load(names, options)
        except (ValueError, RuntimeError) as error:
            if not self._enable_fallback or self._function_failed():
                raise
            print("*************** EP Error ***************")
            print(f"EP Error {error} when using {providers}")
            print(f"Falling back to {self._fallback_providers} and retrying.")
            print("****************************************")
            self._load(self._fallback_providers, [{}])
            self.disable_fallback()

    def _load(self, names: list[str], options: list[dict[str, str]]) -> None:
        here, given = _providers.present(names, options)
        try:
            self.initialize_session(here, given, self._disabled_optimizers)
        except _core.InvalidArgument as error:
            whole = not any("\0" in text for options in given for pair in options.items() for text in pair)
            if any(given) and whole and not self._function_failed():  # an option that the provider does not have
                raise ValueError(str(error)) from error
            raise
        self._requested = here, given
        self._providers = self.get_providers()
        self._provider_options = self.get_provider_options()

    # What the model wants and gives.

    @property
    def _sess(self) -> InferenceSession:
        return self

    @property
    def _inputs_meta(self) -> list[_core.NodeArg]:
        return self.inputs_meta

    @property
    def _outputs_meta(self) -> list[_core.NodeArg]:
        return self.outputs_meta

    @property
    def _model_meta(self) -> _core.ModelMetadata:
        return self.model_meta

    def get_inputs(self) -> list[_core.NodeArg]:
        """What a run must be given."""
        return self.inputs_meta

    def get_outputs(self) -> list[_core.NodeArg]:
        """What a run gives."""
        return self.outputs_meta

    def get_overridable_initializers(self) -> list[_core.NodeArg]:
        """Inputs that the model has values for, which a run may replace."""
        return self.overridable_initializers

    def get_modelmeta(self) -> _core.ModelMetadata:
        """What the model says of itself."""
        return self.model_meta

    def get_input_memory_infos(self) -> list[_core.OrtMemoryInfo]:
        """Where inputs are best put."""
        return self.input_meminfos

    def get_output_memory_infos(self) -> list[_core.OrtMemoryInfo]:
        """Where results lie that no memory was bound for."""
        return self.output_meminfos

    def get_input_epdevices(self) -> list[_core.OrtEpDevice | None]:
        """The devices that inputs are best put on; None for a provider that lists none."""
        return self.input_epdevices

    def get_session_options(self) -> _core.SessionOptions:
        """A copy of the options that the session was made with."""
        return self._options()

    # Providers.

    def set_providers(
        self,
        providers: Sequence[_providers.Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
    ) -> None:
        """Loads the model once more, with other providers. Runs under way end with those that they began with."""
        self._initialize(providers, provider_options)

    def disable_fallback(self) -> None:
        """From now on providers that cannot be used are an error."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """From now on, where providers cannot be used, the session is made with CPU alone."""
        self._enable_fallback = True

    # Runs: run, run_async, run_with_ort_values, ... are the extension module's.

    def io_binding(self) -> IOBinding:
        """A binding for run_with_iobinding."""
        return IOBinding(self)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str, device_id: int = 0, vendor_id: int = -1
    ) -> _core.OrtValue:
        """A new tensor, whose elements are not set; element_type is numpy's, or TensorProto's number."""
        return self._create_value(shape, element_type, _core.OrtDevice.make(device_type, device_id, vendor_id))

    def get_tuning_results(self) -> list[Any]:
        """Nothing: Tessera's tuning is the configuration entry "session.tuning"."""
        return []

    def set_tuning_results(self, results: list[Any], *, error_on_invalid: bool = False) -> None:
        """Accepted: Tessera's tuning is the configuration entry "session.tuning"."""

    # What only Tessera has; memory_use() and warnings() are the extension module's.

    def placement(self) -> Placement:
        """Which provider runs which node of the model, and why others refused it."""
        return Placement(self._placement("json"), self._placement("text"), self._placement("dot"))

    def optimization(self) -> Report:
        """What the optimizer did to the graph."""
        return Report(self._optimization("json"), self._optimization("text"))

    def profile(self) -> list[dict[str, Any]]:
        """Ends profiling (SessionOptions.enable_profiling) and returns the events of the trace that it wrote."""
        import json

        path = self.end_profiling()
        if not path:
            raise RuntimeError("the session does not profile: set SessionOptions.enable_profiling before it is made")
        with open(path, encoding="utf-8") as trace:
            events = json.load(trace)
        found: list[dict[str, Any]] = events["traceEvents"] if isinstance(events, dict) else events
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        model = self._model_bytes if self._model_path is None else os.path.abspath(self._model_path)
        names, options = self._requested
        return _restored, (
            type(self),
            model,
            _options.state_of(self._options()),
            names,
            options,
            self._disabled_optimizers,
        )


def _restored(
    kind: type[InferenceSession],
    model: Model,
    state: dict[str, Any],
    names: list[str],
    options: list[dict[str, str]],
    disabled_optimizers: list[str],
) -> InferenceSession:
    return kind(
        model,
        sess_options=_options.restored(state),
        providers=list(zip(names, options)),
        disabled_optimizers=disabled_optimizers,
    )


def _model_of(path_or_bytes: Model) -> tuple[str | bytes, bool]:
    if isinstance(path_or_bytes, (str, os.PathLike)):
        path = os.fspath(path_or_bytes)
        return (os.fsdecode(path), True)
    if isinstance(path_or_bytes, bytes):
        return path_or_bytes, False
    raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
