"""Models with an output for every place of the image: detection, segmentation, super-resolution."""

import torch
import torchvision
from torch import nn

from .exportable import Exportable, Input

detection, segmentation = torchvision.models.detection, torchvision.models.segmentation


class Ssdlite(nn.Module):
    """Backbone and heads with decoded boxes and scores; what comes after, suppression by class, is left to the caller."""

    def __init__(self):
        super().__init__()
        self.model = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
        # Boxes are decoded against fixed anchors: a constant of the model for one size of image.
        images = detection.image_list.ImageList(torch.zeros(1, 3, 320, 320), [(320, 320)])
        self.model.eval()
        with torch.no_grad():
            features = list(self.model.backbone(images.tensors).values())
            self.register_buffer("anchors", self.model.anchor_generator(images, features)[0])

    def forward(self, image):
        found = self.model.head(list(self.model.backbone(image).values()))
        sizes = self.anchors[:, 2:] - self.anchors[:, :2]
        middles = self.anchors[:, :2] + sizes / 2
        moved = middles + found["bbox_regression"][..., :2] / 10 * sizes
        scaled = torch.exp(torch.clamp(found["bbox_regression"][..., 2:] / 5, max=4.0)) * sizes
        boxes = torch.cat((moved - scaled / 2, moved + scaled / 2), dim=-1).clamp(0, 320)
        return boxes, torch.softmax(found["cls_logits"], dim=-1)


class Segmented(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        return self.model(image)["out"]


def lraspp():
    return Segmented(segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None))


def deeplab():
    return Segmented(segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None))


def double(a, b):
    return nn.Sequential(*(layer for i, o in ((a, b), (b, b)) for layer in (
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())))


class Unet(nn.Module):
    """Of images, or of volumes where their layers are given."""

    def __init__(self, widths=(32, 64, 128, 256), channels=3, classes=4, block=double, pool=nn.MaxPool2d, grow=nn.ConvTranspose2d,
                 head=nn.Conv2d):
        super().__init__()
        self.down = nn.ModuleList(block(a, b) for a, b in zip((channels, *widths), widths))
        self.pool = pool(2)
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.grow = nn.ModuleList(grow(a, b, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(block(2 * b, b) for _, b in pairs)
        self.head = head(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(self.pool(x) if i else x)
            kept.append(x)
        for grow, up, beside in zip(self.grow, self.up, kept[-2::-1]):
            x = up(torch.cat((beside, grow(x)), dim=1))
        return self.head(x)


class Espcn(nn.Module):
    """Super-resolution: convolutions at the small size, then channels become pixels (DepthToSpace)."""

    def __init__(self, factor=3):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(),
                                  nn.Conv2d(32, factor * factor, 3, padding=1), nn.PixelShuffle(factor))

    def forward(self, x):
        return self.body(x)


def image(size):
    return [Input("input", [1, 3, size, size])]


MODELS = [
    Exportable("ssdlite320", Ssdlite, image(320), ["boxes", "scores"]),
    Exportable("lraspp", lraspp, image(320), ["classes"]),
    Exportable("deeplabv3", deeplab, image(320), ["classes"]),
    Exportable("unet", Unet, [Input("input", ["batch", 3, 256, 256])], ["classes"], dims={"batch": 1}),
    Exportable("espcn", Espcn, [Input("input", ["batch", 1, "height", "width"], low=0.0)], ["output"],
               dims={"batch": 1, "height": 224, "width": 224}),
]
