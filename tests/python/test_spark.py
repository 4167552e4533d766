"""PySpark's mapInPandas as docs/python.md shows it, with two workers on this machine; engines.sh runs it."""

from __future__ import annotations

import os
import pathlib
import re
import sys
from collections.abc import Iterator

import models
import numpy as np
import pytest
from conftest import HERE

pyspark = pytest.importorskip("pyspark", reason="engines.sh installs it")
from pyspark.sql import SparkSession  # noqa: E402

import tessera as ort  # noqa: E402

PAGE = HERE.parent.parent / "docs" / "python.md"
ROWS = 1000


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def test_recipe(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(models.perceptron().SerializeToString())
    spark.sparkContext.addFile(str(model))
    x = np.random.default_rng(4).standard_normal((ROWS, 16)).astype(np.float32)
    frame = spark.createDataFrame([(i, row.tolist()) for i, row in enumerate(x)], "row int, x array<float>").repartition(8)

    (recipe,) = re.findall(r"^```py\n(def predict\(tables\).*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    names = {"frame": frame}
    exec(compile(recipe, str(PAGE), "exec"), names)
    rows = names["scored"].collect()

    assert sorted(row["row"] for row in rows) == list(range(ROWS))
    scores = np.array([row["score"] for row in sorted(rows, key=lambda row: row["row"])], np.float32)
    np.testing.assert_allclose(scores, ort.InferenceSession(model).run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)
