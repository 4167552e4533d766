"""Serves a model over HTTP by the Open Inference Protocol, version 2, with Ray Serve:

    ray_serve.py MODEL [--name NAME] [--replicas N] [--batch ROWS] [--wait SECONDS] [--port PORT] [--address CLUSTER]

    curl localhost:8000/v2/models/NAME/infer \
        -d '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}]}'

Requests that arrive within --wait seconds of each other run as one batch where the model's first dimension is free. The routes
are apart from the sessions: a request whose session dies runs on another one.
"""

import argparse
import asyncio
import pathlib
from typing import Any

import fastapi
import numpy as np
import ray
from ray import serve
from ray.exceptions import RayActorError

import tessera as ort

# ONNX's types, those of numpy, the protocol's.
TYPES = {
    "tensor(bool)": (np.bool_, "BOOL"),
    "tensor(uint8)": (np.uint8, "UINT8"),
    "tensor(uint16)": (np.uint16, "UINT16"),
    "tensor(uint32)": (np.uint32, "UINT32"),
    "tensor(uint64)": (np.uint64, "UINT64"),
    "tensor(int8)": (np.int8, "INT8"),
    "tensor(int16)": (np.int16, "INT16"),
    "tensor(int32)": (np.int32, "INT32"),
    "tensor(int64)": (np.int64, "INT64"),
    "tensor(float16)": (np.float16, "FP16"),
    "tensor(float)": (np.float32, "FP32"),
    "tensor(double)": (np.float64, "FP64"),
    "tensor(string)": (np.object_, "BYTES"),
}
Feed = dict[str, np.ndarray]
TRIES = 5  # of a request, where sessions die


@serve.deployment
class Model:
    """A session, and the batches that it runs."""

    def __init__(self, model: bytes, batch: int, wait: float) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(model, options)
        firsts = [value.shape[0] if value.shape else None for value in self.session.get_inputs()]
        outputs = [value.shape[0] if value.shape else None for value in self.session.get_outputs()]
        # One free dimension leads all inputs and outputs: rows go through together and come out together.
        self.joins = isinstance(firsts[0], str) and set(firsts) == set(outputs) == {firsts[0]}
        self.runs = self.requests = 0
        self.infer.set_max_batch_size(batch)
        self.infer.set_batch_wait_timeout_s(wait)

    def description(self) -> dict[str, list[dict[str, Any]]]:
        """Inputs and outputs, as the protocol describes them."""
        return {
            side: [{"name": value.name, "datatype": datatype(value), "shape": shape_of(value)} for value in values]
            for side, values in (("inputs", self.session.get_inputs()), ("outputs", self.session.get_outputs()))
        }

    def counts(self) -> tuple[int, int]:
        """Runs of the session, and the requests that they answered."""
        return self.runs, self.requests

    @serve.batch
    async def infer(self, feeds: list[Feed]) -> list[Feed | str]:
        """For each request its outputs, or what was wrong with it."""
        return await asyncio.to_thread(self.answer, feeds)

    def answer(self, feeds: list[Feed]) -> list[Feed | str]:
        """The same, on a thread of its own: the session needs no lock of Python's."""
        self.requests += len(feeds)
        groups: dict[Any, list[int]] = {}
        for i, feed in enumerate(feeds):
            alike = tuple((name, array.shape[1:]) for name, array in sorted(feed.items()))
            rows = {array.shape[:1] for array in feed.values()}
            groups.setdefault(alike if self.joins and len(rows) == 1 and () not in rows else i, []).append(i)
        answers: list[Feed | str] = [""] * len(feeds)
        for members in groups.values():
            for i, result in zip(members, self.together([feeds[i] for i in members])):
                answers[i] = result
        return answers

    def together(self, feeds: list[Feed]) -> list[Feed | str]:
        """Runs requests of one shape at once; if that fails, each for itself, so that one does not spoil the others."""
        try:
            if len(feeds) == 1:
                return [self.run(feeds[0])]
            joined = self.run({name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]})
            ends = np.cumsum([len(next(iter(feed.values()))) for feed in feeds])
            parts = {name: np.split(array, ends[:-1]) for name, array in joined.items()}
            return [{name: part[i] for name, part in parts.items()} for i in range(len(feeds))]
        except Exception as error:
            return [str(error)] if len(feeds) == 1 else [self.together([feed])[0] for feed in feeds]

    def run(self, feed: Feed) -> Feed:
        """The outputs by their names."""
        self.runs += 1
        names = [value.name for value in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, feed)))


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


def datatype(value: ort.NodeArg) -> str:
    """A value's type by the protocol's name."""
    if value.type not in TYPES:
        raise ValueError(f"'{value.name}' is a {value.type}, for which the protocol has no name")
    return TYPES[value.type][1]


def shape_of(value: ort.NodeArg) -> list[int]:
    """A value's dimensions, -1 for those that are free."""
    return [dim if isinstance(dim, int) else -1 for dim in value.shape]


def feed_of(request: Any, wanted: list[dict[str, Any]]) -> Feed:
    """A request's inputs as arrays."""
    given = request.get("inputs") if isinstance(request, dict) else None
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Refused(400, "the request has no list 'inputs'")
    named = {one.get("name"): one for one in given}
    if set(named) != {value["name"] for value in wanted}:
        raise Refused(400, f"given are {sorted(map(str, named))}, the model takes {[value['name'] for value in wanted]}")
    return {value["name"]: array_of(named[value["name"]], value) for value in wanted}


def array_of(given: dict[str, Any], wanted: dict[str, Any]) -> np.ndarray:
    """One input as an array."""
    name, kind = wanted["name"], wanted["datatype"]
    if given.get("datatype") != kind:
        raise Refused(400, f"'{name}' is {kind} in the model and {given.get('datatype')} in the request")
    element = next(element for element, known in TYPES.values() if known == kind)
    try:
        array = np.array(given["data"], element).reshape(given["shape"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Refused(400, f"'{name}' has no data of its shape and datatype: {error}") from error
    if len(wanted["shape"]) != array.ndim or any(w not in (-1, d) for w, d in zip(wanted["shape"], array.shape)):
        raise Refused(400, f"'{name}' is {wanted['shape']} in the model and {list(array.shape)} in the request")
    return array


def outputs_of(results: Feed, described: list[dict[str, Any]], asked: Any) -> list[dict[str, Any]]:
    """Those outputs that were asked for, or all."""
    kinds = {value["name"]: value["datatype"] for value in described}
    names = [one.get("name") for one in asked] if asked else list(kinds)
    unknown = [name for name in names if name not in kinds]
    if unknown:
        raise Refused(400, f"the model has no outputs {unknown}; it has {list(kinds)}")
    return [
        {"name": name, "datatype": kinds[name], "shape": list(results[name].shape), "data": results[name].ravel().tolist()}
        for name in names
    ]


app = fastapi.FastAPI()


@app.exception_handler(Refused)
async def refuse(_: fastapi.Request, error: Refused) -> fastapi.responses.JSONResponse:
    """An error, as the protocol has it."""
    return fastapi.responses.JSONResponse({"error": str(error)}, error.status)


@serve.deployment(ray_actor_options={"num_cpus": 0})
@serve.ingress(app)
class Routes:
    """The protocol's routes before one model."""

    def __init__(self, name: str, model: serve.handle.DeploymentHandle) -> None:
        self.name = name
        self.model = model
        self.described: dict[str, list[dict[str, Any]]] = {}

    async def ask(self, method: str, *arguments: Any) -> Any:
        """Calls a session's method, on another one where that one died."""
        for tried in range(TRIES):
            try:
                return await getattr(self.model, method).remote(*arguments)
            except RayActorError:
                if tried == TRIES - 1:
                    raise
                await asyncio.sleep(0.1 * 2**tried)
        return None

    async def description(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """The model's inputs and outputs."""
        if name != self.name:
            raise Refused(404, f"no model '{name}' is served here; '{self.name}' is")
        self.described = self.described or await self.ask("description")
        return self.described

    @app.get("/v2")
    async def server(self) -> dict[str, Any]:
        return {"name": "tessera", "version": ort.tessera_version(), "extensions": []}

    @app.get("/v2/health/live")
    async def live(self) -> dict[str, bool]:
        return {"live": True}

    @app.get("/v2/health/ready")
    async def ready(self) -> dict[str, bool]:
        await self.description(self.name)
        return {"ready": True}

    @app.get("/v2/models/{name}")
    async def metadata(self, name: str) -> dict[str, Any]:
        return {"name": name, "versions": ["1"], "platform": "onnx_onnxv1", **await self.description(name)}

    @app.get("/v2/models/{name}/ready")
    async def model_ready(self, name: str) -> dict[str, Any]:
        await self.description(name)
        return {"name": name, "ready": True}

    @app.post("/v2/models/{name}/infer")
    async def infer(self, name: str, request: fastapi.Request) -> dict[str, Any]:
        described = await self.description(name)
        try:
            body = await request.json()
        except ValueError as error:
            raise Refused(400, f"the request is no JSON: {error}") from error
        results = await self.ask("infer", feed_of(body, described["inputs"]))
        if isinstance(results, str):
            raise Refused(400, results)
        outputs = outputs_of(results, described["outputs"], body.get("outputs"))
        answer = {"model_name": name, "model_version": "1", "outputs": outputs}
        return {**answer, "id": body["id"]} if "id" in body else answer


def served(model: bytes, name: str, replicas: int = 2, batch: int = 32, wait: float = 0.005) -> serve.Application:
    """The application, for serve.run."""
    return Routes.bind(name, Model.options(num_replicas=replicas).bind(model, batch, wait))


def main() -> None:
    """The command line."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("model", type=pathlib.Path)
    asked.add_argument("--name", help="the file's, where none is given")
    asked.add_argument("--replicas", type=int, default=2)
    asked.add_argument("--batch", type=int, default=32)
    asked.add_argument("--wait", type=float, default=0.005)
    asked.add_argument("--port", type=int, default=8000)
    asked.add_argument("--address", help="of a cluster; without one it is this machine alone")
    given = asked.parse_args()
    ray.init(address=given.address)
    serve.start(http_options={"port": given.port})
    name = given.name or given.model.stem
    serve.run(served(given.model.read_bytes(), name, given.replicas, given.batch, given.wait), blocking=True)


if __name__ == "__main__":
    main()
