"""Runs a model over a table with Ray Data: ray_batch.py MODEL INPUT.parquet OUTPUT

Each worker of a pool of actors has a session; Ray hands batches to whichever is free, and those of a worker that dies
to another one. Columns of the table that have the names of the model's inputs are fed, results are added under the
outputs' names.
"""

from __future__ import annotations

import sys

import numpy as np
import ray

import tessera as ort


class Worker:
    """A session, made once in its process."""

    def __init__(self, model: str) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # the pool has a worker for each core
        self.session = ort.InferenceSession(model, options)
        self.inputs = {value.name for value in self.session.get_inputs()}
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        feed = {name: np.stack(column) for name, column in batch.items() if name in self.inputs}
        return {**batch, **dict(zip(self.outputs, self.session.run(self.outputs, feed)))}


def predict(table: ray.data.Dataset, model: str, workers: int = 2, batch_size: int = 64) -> ray.data.Dataset:
    """The table with the model's results."""
    return table.map_batches(
        Worker,
        fn_constructor_args=(model,),
        concurrency=workers,
        batch_size=batch_size,
        max_restarts=-1,
        max_task_retries=-1,
    )


if __name__ == "__main__":
    predict(ray.data.read_parquet(sys.argv[2]), sys.argv[1]).write_parquet(sys.argv[3])
