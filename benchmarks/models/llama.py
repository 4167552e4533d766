"""A small decoder of Llama's build: RMS norm, rotary positions, grouped-query attention, gated feed-forward."""

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class LlamaSizes:
    layers: int = 8
    hidden: int = 1024
    heads: int = 16
    key_heads: int = 4
    feed_forward: int = 2816
    vocabulary: int = 32000

    @property
    def head_size(self):
        return self.hidden // self.heads


class RmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size).uniform_(0.8, 1.2))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Layer(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        keys = sizes.key_heads * sizes.head_size
        linear = lambda a, b: nn.Linear(a, b, bias=False)
        self.query, self.key, self.value = linear(sizes.hidden, sizes.hidden), linear(sizes.hidden, keys), linear(sizes.hidden, keys)
        self.out = linear(sizes.hidden, sizes.hidden)
        self.gate, self.up = linear(sizes.hidden, sizes.feed_forward), linear(sizes.hidden, sizes.feed_forward)
        self.down = linear(sizes.feed_forward, sizes.hidden)
        self.before_attention, self.before_feed_forward = RmsNorm(sizes.hidden), RmsNorm(sizes.hidden)

    def heads(self, x, count):
        return x.view(x.shape[0], x.shape[1], count, self.sizes.head_size).transpose(1, 2)

    def forward(self, x, cos, sin, mask, past):
        sizes = self.sizes
        normed = self.before_attention(x)
        query = rotate(self.heads(self.query(normed), sizes.heads), cos, sin)
        key = rotate(self.heads(self.key(normed), sizes.key_heads), cos, sin)
        value = self.heads(self.value(normed), sizes.key_heads)
        if past:
            key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
        # Each key head serves a group of query heads.
        group = sizes.heads // sizes.key_heads
        shared = [t[:, :, None].expand(-1, -1, group, -1, -1).reshape(t.shape[0], sizes.heads, -1, sizes.head_size) for t in (key, value)]
        scores = query @ shared[0].transpose(2, 3) / sizes.head_size**0.5 + mask
        attended = (torch.softmax(scores, dim=-1) @ shared[1]).transpose(1, 2).reshape(x.shape)
        x = x + self.out(attended)
        normed = self.before_feed_forward(x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed)), key, value


class Llama(nn.Module):
    """Token ids, then the key and value cache of each layer (none: the prompt) to logits and the grown caches."""

    def __init__(self, sizes=LlamaSizes()):
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.norm = RmsNorm(sizes.hidden)
        self.head = nn.Linear(sizes.hidden, sizes.vocabulary, bias=False)
        frequency = 1.0 / 10000 ** (torch.arange(0, sizes.head_size, 2) / sizes.head_size)
        self.register_buffer("frequency", torch.cat((frequency, frequency)))

    def forward(self, input_ids, *past):
        before = past[0].shape[2] if past else 0
        after = before + input_ids.shape[1]
        positions = torch.arange(before, after)
        angles = positions[:, None].float() * self.frequency
        mask = (torch.arange(after)[None] > positions[:, None]).float() * -1e30
        x = self.embedding(input_ids)
        present = []
        for i, layer in enumerate(self.layers):
            x, key, value = layer(x, angles.cos(), angles.sin(), mask, past[2 * i : 2 * i + 2])
            present += [key, value]
        return (self.head(self.norm(x)), *present)
