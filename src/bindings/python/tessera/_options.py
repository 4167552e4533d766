"""Sessions and their options on the way to another process."""

from __future__ import annotations

import copyreg
from typing import Any

from tessera import _core

_SETTINGS = (
    "enable_cpu_mem_arena",
    "enable_mem_pattern",
    "enable_mem_reuse",
    "enable_profiling",
    "execution_mode",
    "execution_order",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
    "log_severity_level",
    "log_verbosity_level",
    "logid",
    "optimized_model_filepath",
    "profile_file_prefix",
    "use_deterministic_compute",
    "use_per_session_threads",
)


def state_of(options: _core.SessionOptions) -> dict[str, Any]:
    """All that was set, as plain objects."""
    return {"settings": {name: _plain(getattr(options, name)) for name in _SETTINGS}, **options._state()}


def restored(state: dict[str, Any]) -> _core.SessionOptions:
    """Options as they were."""
    options = _core.SessionOptions()
    for key, value in state["config"].items():
        options.add_session_config_entry(key, value)
    for name, value in state["settings"].items():
        kind = type(getattr(options, name))
        setattr(options, name, kind(value))
    for name, value in state["dimensions"].items():
        options.add_free_dimension_override_by_name(name, value)
    for denotation, value in state["denotations"].items():
        options.add_free_dimension_override_by_denotation(denotation, value)
    for name, given in state["providers"]:
        options.add_provider(name, given)
    for path in state["custom_op_libraries"]:
        options.register_custom_ops_library(path)
    if state["selection_delegate"] is not None:
        options.set_provider_selection_policy_delegate(state["selection_delegate"])
    if state["context_source"] is not None:
        options.set_ep_context_data_read_func(*state["context_source"])
    for name, content in state["files"]:
        options.add_external_initializers_from_files_in_memory([name], [content], [len(content)])
    for name, value in state["initializers"]:
        options.add_initializer(name, value)
    return options


def _plain(value: Any) -> Any:
    return value.value if hasattr(value, "value") else value


def _reduced(options: _core.SessionOptions) -> tuple[Any, ...]:
    return restored, (state_of(options),)


copyreg.pickle(_core.SessionOptions, _reduced)


def _reduced_method(method: Any) -> tuple[Any, ...]:
    return getattr, (method.__self__, method.__name__)


# So that pools of processes can be given `session.run` itself.
copyreg.pickle(type(_core.SessionOptions().has_providers), _reduced_method)


def get_default_session_options() -> _core.SessionOptions:
    """New options."""
    return _core.SessionOptions()
