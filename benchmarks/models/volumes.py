"""Models of volumes: video classifiers and a segmenter of scans. Their convolutions have three spatial axes."""

import torchvision
from torch import nn

from .dense import Unet
from .exportable import Exportable, Input


def double(channels, outputs):
    """Two convolutions, each normalized for its scan, as in nnU-Net (arXiv:1809.10486)."""
    return nn.Sequential(*(layer for a in (channels, outputs)
                           for layer in (nn.Conv3d(a, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True), nn.LeakyReLU())))


def unet3d():
    return Unet((16, 32, 64), channels=1, classes=3, block=double, pool=nn.MaxPool3d, grow=nn.ConvTranspose3d, head=nn.Conv3d)


class Depthwise3d(nn.Module):
    """Widened, filtered channel by channel and narrowed again, as in X3D (arXiv:2004.04730)."""

    def __init__(self, channels, outputs, stride):
        super().__init__()
        inner = 2 * channels
        self.body = nn.Sequential(
            nn.Conv3d(channels, inner, 1, bias=False), nn.BatchNorm3d(inner), nn.ReLU(),
            nn.Conv3d(inner, inner, 3, (1, stride, stride), 1, groups=inner, bias=False), nn.BatchNorm3d(inner), nn.SiLU(),
            nn.Conv3d(inner, outputs, 1, bias=False), nn.BatchNorm3d(outputs))
        self.residual = stride == 1 and channels == outputs

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


def x3d(classes=400):
    widths = (24, 24, 48, 48, 96, 96, 192)
    return nn.Sequential(
        nn.Conv3d(3, widths[0], (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False), nn.BatchNorm3d(widths[0]), nn.ReLU(),
        *(Depthwise3d(a, b, 1 if a == b else 2) for a, b in zip(widths, widths[1:])),
        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(widths[-1], classes))


def clip(name, make):
    return Exportable(name, make, [Input("clip", ["batch", 3, 8, 112, 112])], ["logits"], dims={"batch": 1})


MODELS = [
    clip("r2plus1d_18", lambda: torchvision.models.video.r2plus1d_18()),
    clip("r3d_18", lambda: torchvision.models.video.r3d_18()),
    clip("x3d", x3d),
    Exportable("unet3d", unet3d, [Input("scan", ["batch", 1, 32, 64, 64])], ["classes"], dims={"batch": 1}),
]
