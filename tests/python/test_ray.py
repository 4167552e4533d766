"""docs/examples/ray_batch.py and ray_serve.py on a Ray cluster of a head and two workers; engines.sh runs it."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import HERE

ray = pytest.importorskip("ray", reason="engines.sh installs it")
pa = pytest.importorskip("pyarrow", reason="engines.sh installs it")
pq = pytest.importorskip("pyarrow.parquet", reason="engines.sh installs it")
requests = pytest.importorskip("requests", reason="engines.sh installs it")
EXAMPLES = HERE.parent.parent / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))
# Workers import the examples, too.
os.environ["PYTHONPATH"] = os.pathsep.join([str(EXAMPLES), str(HERE), os.environ.get("PYTHONPATH", "")])

import models  # noqa: E402
import ray_batch  # noqa: E402
import ray_serve  # noqa: E402
from ray import serve  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

import tessera  # noqa: E402

ROWS, WIDTH, BATCH = 4000, 16, 100
URL = "http://127.0.0.1:8000/v2"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def model() -> bytes:
    return models.perceptron().SerializeToString()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    numbers = np.random.default_rng(3).standard_normal((ROWS, WIDTH)).astype(np.float32)
    return pa.table({"row": np.arange(ROWS), "x": pa.FixedSizeListArray.from_arrays(numbers.ravel(), WIDTH)})


def in_this_process(model: bytes, table: pa.Table) -> np.ndarray:
    """By the same batches: the last bits of a row depend on how many rows are computed with it."""
    session = tessera.InferenceSession(model)
    x = np.stack(table.column("x").to_numpy())
    return np.concatenate([session.run(None, {"x": x[i : i + BATCH]})[0] for i in range(0, ROWS, BATCH)])


def results(rows: ray.data.Dataset) -> np.ndarray:
    """The outputs in the order of the rows, each of which is there once."""
    frame = rows.to_pandas().sort_values("row")
    assert list(frame["row"]) == list(range(ROWS))
    return np.stack(frame["y"].to_list())


def eventually(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


class Slow(ray_batch.Predictor):
    """Leaves a file of each batch's process in a folder."""

    folder = pathlib.Path(os.environ.get("TESSERA_TEST_BATCHES", "."))

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        (self.folder / f"{os.getpid()}.{time.monotonic_ns()}").touch()
        time.sleep(0.2)
        return super().__call__(batch)


def test_batch_from_parquet_to_parquet(cluster: Cluster, model: bytes, table: pa.Table, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(4):
        pq.write_table(table.slice(i * ROWS // 4, ROWS // 4), tmp_path / "in" / f"{i}.parquet")
    rows = ray.data.read_parquet(str(tmp_path / "in"))
    ray_batch.predict(rows, model, workers=2, batch=BATCH).write_parquet(str(tmp_path / "out"))
    np.testing.assert_array_equal(results(ray.data.read_parquet(str(tmp_path / "out"))), in_this_process(model, table))


def test_batch_loses_nothing_with_a_worker(cluster: Cluster, model: bytes, table: pa.Table, tmp_path: pathlib.Path) -> None:
    slow = type("Slow", (Slow,), {"folder": tmp_path})
    rows = ray.data.from_arrow(table).repartition(40)
    answers = ThreadPoolExecutor(1).submit(lambda: results(ray_batch.predict(rows, model, batch=BATCH, predictor=slow)))

    def batches() -> dict[int, int]:
        pids = [int(path.name.split(".")[0]) for path in tmp_path.iterdir()]
        return {pid: pids.count(pid) for pid in set(pids)}

    eventually(lambda: len(batches()) >= 2 and min(batches().values()) >= 2)
    first = min(batches())
    os.kill(first, signal.SIGKILL)
    expected = in_this_process(model, table)
    np.testing.assert_array_equal(answers.result(300), expected)
    assert len(batches()) >= 3, "another process took the place of the killed one"


def request_of(x: np.ndarray) -> dict:
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": list(x.shape), "data": x.ravel().tolist()}]}


def infer(x: np.ndarray) -> np.ndarray:
    answer = requests.post(f"{URL}/models/two/infer", json=request_of(x), timeout=120)
    assert answer.status_code == 200, answer.text
    (output,) = answer.json()["outputs"]
    assert output["name"] == "y"
    return np.array(output["data"], np.float32).reshape(output["shape"])


@pytest.fixture(scope="module")
def server(cluster: Cluster, model: bytes) -> Iterator[serve.handle.DeploymentHandle]:
    serve.run(ray_serve.served(model, "two", replicas=2, batch=16, wait=0.05), name="two")
    yield serve.get_deployment_handle("Model", "two")
    serve.shutdown()


def test_serve_routes(server: serve.handle.DeploymentHandle) -> None:
    assert requests.get(URL, timeout=60).json()["name"] == "tessera"
    assert requests.get(f"{URL}/health/live", timeout=60).json() == {"live": True}
    assert requests.get(f"{URL}/health/ready", timeout=60).json() == {"ready": True}
    assert requests.get(f"{URL}/models/two/ready", timeout=60).json() == {"name": "two", "ready": True}
    described = requests.get(f"{URL}/models/two", timeout=60).json()
    assert described["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, WIDTH]}]
    assert described["platform"] == "onnx_onnxv1"
    x = np.ones((1, WIDTH), np.float32)
    answer = requests.post(f"{URL}/models/two/infer", json={"id": "7", **request_of(x)}, timeout=60).json()
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("7", "two", "1")


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (lambda request: request["inputs"][0].update(name="z"), 400, "the model takes ['x']"),
        (lambda request: request["inputs"][0].update(datatype="INT8"), 400, "'x' is FP32 in the model and INT8"),
        (lambda request: request["inputs"][0].update(shape=[2, WIDTH]), 400, "no data of its shape"),
        (lambda request: request["inputs"][0].update(shape=[4, 4]), 400, f"'x' is [-1, {WIDTH}] in the model"),
        (lambda request: request["inputs"][0].update(data=["a"] * WIDTH), 400, "no data of its shape and datatype"),
        (lambda request: request.update(outputs=[{"name": "nothing"}]), 400, "no outputs ['nothing']"),
        (lambda request: request.pop("inputs"), 400, "no list 'inputs'"),
    ],
)
def test_serve_refuses(
    server: serve.handle.DeploymentHandle, change: Callable[[dict], None], status: int, said: str
) -> None:
    request = request_of(np.ones((1, WIDTH), np.float32))
    change(request)
    answer = requests.post(f"{URL}/models/two/infer", json=request, timeout=60)
    assert answer.status_code == status
    assert said in answer.json()["error"]


def test_serve_knows_one_model(server: serve.handle.DeploymentHandle) -> None:
    answer = requests.get(f"{URL}/models/three", timeout=60)
    assert (answer.status_code, "'two' is" in answer.json()["error"]) == (404, True)
    answer = requests.post(f"{URL}/models/two/infer", data="{", timeout=60)
    assert (answer.status_code, "no JSON" in answer.json()["error"]) == (400, True)


def test_serve_batches(server: serve.handle.DeploymentHandle, model: bytes) -> None:
    session = tessera.InferenceSession(model)
    numbers = np.random.default_rng(5)
    given = [numbers.standard_normal((1 + i % 3, WIDTH)).astype(np.float32) for i in range(200)]
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(infer, given))
    for x, y in zip(given, answers):
        np.testing.assert_allclose(y, session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)
    runs, answered = server.counts.remote().result()
    assert 0 < runs < answered, "requests run together"


def test_serve_loses_nothing_with_a_worker(server: serve.handle.DeploymentHandle, model: bytes) -> None:
    from ray._private.state import actors  # ray.util.state needs the dashboard, which takes half a minute to start

    session = tessera.InferenceSession(model)
    given = [np.full((1, WIDTH), i / 100, np.float32) for i in range(300)]
    done = threading.Semaphore(0)

    def client(x: np.ndarray) -> np.ndarray:
        y = infer(x)
        done.release()
        return y

    with ThreadPoolExecutor(8) as clients:
        answers = [clients.submit(client, x) for x in given]
        for _ in range(60):
            assert done.acquire(timeout=120)
        alive = [actor for actor in actors().values() if actor["State"] == "ALIVE"]
        replicas = [actor["Pid"] for actor in alive if actor["ActorClassName"].endswith(":Model")]
        assert len(replicas) == 2
        os.kill(replicas[0], signal.SIGKILL)
        assert not all(answer.done() for answer in answers), "it was killed in the middle"
    for x, answer in zip(given, answers):
        np.testing.assert_allclose(answer.result(), session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)
