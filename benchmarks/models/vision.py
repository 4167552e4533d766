"""Image classifiers of torchvision."""

from unittest import mock

import torch
import torchvision

from .exportable import Exportable, Input

IMAGE = [Input("input", ["batch", 3, 224, 224])]


def classifier(name, make, **changed):
    return Exportable(name, make, IMAGE, ["logits"], dims={"batch": 1}, **changed)


def fixed_size(name, make):
    """Swin's windows are cut by sizes that the exporter takes from the example, the batch among them."""
    return Exportable(name, make, [Input("input", [1, 3, 224, 224])], ["logits"])


def vit():
    module = torchvision.models.vit_b_16()
    # It starts with a head of zeros, which would make every output zero.
    torch.nn.init.normal_(module.heads.head.weight, std=0.02)
    return module


def convnext():
    """With layer scales as training leaves them; they start at 1e-6, which would hide every block."""
    module = torchvision.models.convnext_tiny()
    for name, parameter in module.named_parameters():
        if name.endswith("layer_scale"):
            torch.nn.init.uniform_(parameter, 0.1, 0.5)
    return module


class Swin(torch.nn.Module):
    """Without the dropout (of rate 0) that torchvision 0.14 calls as if in training, and so exports."""

    def __init__(self):
        super().__init__()
        self.model = torchvision.models.swin_t()

    def forward(self, x):
        with mock.patch("torch.nn.functional.dropout", lambda x, *_, **__: x):
            return self.model(x)


models = torchvision.models
MODELS = [
    classifier("resnet50", models.resnet50),
    classifier("mobilenet_v2", models.mobilenet_v2),
    classifier("mobilenet_v3_large", models.mobilenet_v3_large),
    classifier("efficientnet_b0", models.efficientnet_b0),
    classifier("densenet121", models.densenet121),
    classifier("squeezenet1_1", models.squeezenet1_1),
    classifier("shufflenet_v2", models.shufflenet_v2_x1_0),
    classifier("convnext_tiny", convnext),
    classifier("vit_b_16", vit),
    fixed_size("swin_t", Swin),
]
