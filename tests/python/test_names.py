"""Each public name of ONNX Runtime's package is one of ours, but for those that are left out."""

from __future__ import annotations

import json

import pytest
from conftest import needs_genuine, run_python

from tessera.onnxruntime import STAND_IN

LISTING = """
import enum, importlib, json
listed = {}
for module in ("onnxruntime", "onnxruntime.capi.onnxruntime_pybind11_state"):
    names = [name for name in dir(importlib.import_module(module)) if not name.startswith("_")]
    for name in names:
        found = getattr(importlib.import_module(module), name)
        listed.setdefault(module, []).append(name)
        if isinstance(found, type) and not issubclass(found, Exception):
            members = {member for member in dir(found) if not member.startswith("_")}
            if issubclass(found, enum.Enum):
                members |= {"name", "value", *found.__members__}  # dir() may leave out what only its members have
            listed[name] = sorted(members.union(listed.get(name, ())))
print(json.dumps(listed))
"""

# What there is no use for: ONNX Runtime's own operators and kernels, and what its Python files import for themselves.
LEFT_OUT = {
    "onnxruntime": {"contextlib", "import_capi_exception"},
    "onnxruntime.capi.onnxruntime_pybind11_state": {
        "SessionObjectInitializer",
        "get_all_operator_schema",
        "get_all_opkernel_def",
        "get_registered_ep_kernel_defs",
        "get_session_initializer",
        "opkernel",
        "schemadef",
    },
}


@needs_genuine
def test_names() -> None:
    genuine = json.loads(run_python("-c", LISTING))
    ours = json.loads(run_python("-c", f"import sys; sys.path.insert(0, {STAND_IN!r})\n{LISTING}"))
    missing = {
        place: sorted(set(names) - set(ours.get(place, ())) - LEFT_OUT.get(place, set()))
        for place, names in genuine.items()
        if place not in {"SessionObjectInitializer"}
    }
    assert {place: names for place, names in missing.items() if names} == {}


@pytest.mark.parametrize("place", sorted(LEFT_OUT))
def test_nothing_is_left_out_that_is_there(place: str) -> None:
    code = f"import sys; sys.path.insert(0, {STAND_IN!r})\nimport importlib\nprint(dir(importlib.import_module({place!r})))"
    assert not LEFT_OUT[place] & set(json.loads(run_python("-c", code).replace("'", '"')))
