"""Models of sequences that are not transformers."""

import torch
from torch import nn

from .exportable import Exportable, Input


class Lstm(nn.Module):
    """Two layers over a batch of feature sequences, classified by their last step."""

    def __init__(self, features=128, hidden=256, classes=64):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class CausalBlock(nn.Module):
    def __init__(self, channels, dilation, kernel=3):
        super().__init__()
        self.pad = nn.ConstantPad1d(((kernel - 1) * dilation, 0), 0.0)
        self.first = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.second = nn.Conv1d(channels, channels, kernel, dilation=dilation)

    def forward(self, x):
        inner = torch.relu(self.first(self.pad(x)))
        return torch.relu(x + self.second(self.pad(inner)))


class Tcn(nn.Module):
    """Residual blocks of causal convolutions whose dilation doubles from block to block."""

    def __init__(self, features=32, channels=128, blocks=8, classes=16):
        super().__init__()
        self.enter = nn.Conv1d(features, channels, 1)
        self.blocks = nn.Sequential(*(CausalBlock(channels, 2**i) for i in range(blocks)))
        self.head = nn.Conv1d(channels, classes, 1)

    def forward(self, x):
        return self.head(self.blocks(self.enter(x)))


MODELS = [
    Exportable("lstm", Lstm, [Input("input", ["batch", "time", 128])], ["logits"], dims={"batch": 4, "time": 100}),
    Exportable("tcn", Tcn, [Input("input", ["batch", 32, "time"])], ["scores"], dims={"batch": 1, "time": 512}),
]
