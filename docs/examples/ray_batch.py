"""Runs a model over the rows of Parquet files, on every worker of a Ray cluster:

    ray_batch.py MODEL INPUT OUTPUT [--workers N] [--rows N] [--address CLUSTER]

INPUT, a file or a folder, has a column for each input of MODEL, with what one row of a batch is; OUTPUT, a folder, gets the
same rows with a column more for each output. Workers have a session each. Ray runs again what a worker was at when it died.
"""

from __future__ import annotations

import argparse
import pathlib

import numpy as np
import ray

import tessera as ort

ELEMENTS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


class Predictor:
    """A session in a process of its own."""

    def __init__(self, model: bytes) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # there are as many of these as cores
        self.session = ort.InferenceSession(model, options)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        wanted = self.session.get_inputs()
        missing = [value.name for value in wanted if value.name not in batch]
        if missing:
            raise ValueError(f"the model's inputs {missing} are no columns of the rows, which have {sorted(batch)}")
        feed = {value.name: column(batch[value.name], value.type) for value in wanted}
        names = [value.name for value in self.session.get_outputs()]
        results = self.session.run(names, feed)
        return {**batch, **dict(zip(names, results))}


def column(values: np.ndarray, kind: str) -> np.ndarray:
    """A column as a tensor; lists arrive as an array of arrays."""
    rows = np.stack(values) if values.dtype == np.object_ and isinstance(values[0], np.ndarray) else values
    return np.ascontiguousarray(rows, ELEMENTS[kind])


def predict(
    rows: ray.data.Dataset, model: bytes, workers: int = 2, batch: int = 256, predictor: type[Predictor] = Predictor
) -> ray.data.Dataset:
    """The rows with the model's outputs. Nothing runs until they are asked for."""
    pool = ray.data.ActorPoolStrategy(size=workers)
    return rows.map_batches(
        predictor, fn_constructor_args=(model,), batch_size=batch, batch_format="numpy", compute=pool, num_cpus=1
    )


def main() -> None:
    """The command line."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("model", type=pathlib.Path)
    asked.add_argument("input")
    asked.add_argument("output")
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--rows", type=int, default=256, help="of a batch")
    asked.add_argument("--address", help="of a cluster; without one it is this machine alone")
    given = asked.parse_args()
    ray.init(address=given.address)
    rows = ray.data.read_parquet(given.input)
    predict(rows, given.model.read_bytes(), given.workers, given.rows).write_parquet(given.output)


if __name__ == "__main__":
    main()
