"""What a model is to export_models.py, and how one becomes a file."""

import dataclasses
import json
import typing
import warnings

import torch


@dataclasses.dataclass
class Input:
    """A graph input. A dimension that is a string is dynamic; `Exportable.dims` says how large it is when measured.

    Values are drawn from [low, high); integers that count positions or pick from a table need their own range.
    """

    name: str
    shape: list
    dtype: str = "float32"
    low: float = -1.0
    high: float = 1.0

    def example(self, dims):
        shape = [dims.get(d, d) for d in self.shape]
        if self.dtype.startswith("float"):
            return torch.empty(shape).uniform_(self.low, self.high).to(getattr(torch, self.dtype))
        return torch.randint(int(self.low), int(self.high), shape, dtype=getattr(torch, self.dtype))


@dataclasses.dataclass
class Exportable:
    """A torch module made by `make`, exported with these inputs. Weights are random, by a fixed seed."""

    name: str
    make: typing.Callable
    inputs: list
    outputs: list
    dims: dict = dataclasses.field(default_factory=dict)
    opset: int = 17
    settle: bool = True

    def export(self, folder):
        torch.manual_seed(0)
        module = self.make()
        examples = tuple(i.example(self.dims) for i in self.inputs)
        if self.settle:
            settle(module, examples)
        module.eval()
        dynamic = {i.name: {axis: d for axis, d in enumerate(i.shape) if isinstance(d, str)} for i in self.inputs}
        # Not under no_grad: there torch takes its fused attention, which it cannot export.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, examples, str(folder / f"{self.name}.onnx"), opset_version=self.opset,
                              input_names=[i.name for i in self.inputs], output_names=self.outputs,
                              dynamic_axes={name: axes for name, axes in dynamic.items() if axes})
        describe(folder / f"{self.name}.json", self.inputs, self.dims)


@dataclasses.dataclass
class Derived:
    """A model made from another one's file, such as a quantized one; `transform(source, target, description)`."""

    name: str
    source: str
    transform: typing.Callable

    def export(self, folder):
        description = json.loads((folder / f"{self.source}.json").read_text())
        self.transform(folder / f"{self.source}.onnx", folder / f"{self.name}.onnx", description)
        (folder / f"{self.name}.json").write_text(json.dumps(description, indent=1) + "\n")


def describe(path, inputs, dims):
    """How to feed a model, for compare.py."""
    path.write_text(json.dumps({"dims": dims, "inputs": [dataclasses.asdict(i) for i in inputs]}, indent=1) + "\n")


def train_where_measurable(norm, given):
    norm.train(given[0].numel() > given[0].shape[1])


def settle(module, examples):
    """Gives batch normalizations the statistics of random data: with the initial ones activations grow from layer to layer."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    module.eval()
    for norm in norms:
        torch.nn.init.uniform_(norm.weight, 0.5, 1.0)
        torch.nn.init.uniform_(norm.bias, -0.2, 0.2)
        norm.momentum = None  # the average over all batches seen
        norm.train()
        # One value a channel (behind a global pool) has no variance to measure.
        norm.register_forward_pre_hook(train_where_measurable)
    with torch.no_grad():
        for _ in range(2):
            module(*examples)
    for norm in norms:
        norm._forward_pre_hooks.clear()
