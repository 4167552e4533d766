"""Runs the snippets of docs/python.md, one after another, and the examples."""

from __future__ import annotations

import pathlib
import re

import models
import pytest
from conftest import HERE

DOCS = HERE.parent.parent / "docs"


def test_snippets(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("model.onnx").write_bytes(models.add())
    page = (DOCS / "python.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(snippets) >= 10
    names: dict = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/python.md", "exec"), names)


def test_migration_page_has_every_option() -> None:
    import tessera

    page = (DOCS / "migration_from_onnxruntime.md").read_text()
    for options in (tessera.SessionOptions(), tessera.RunOptions()):
        for name in dir(options):
            if not name.startswith("_") and not callable(getattr(options, name)):
                assert f"`{name}`" in page, f"docs/migration_from_onnxruntime.md says nothing of {name}"
