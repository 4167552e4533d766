"""Transformers for text: encoders, and decoders at their two working points, the prompt and one further token."""

import torch
import transformers

from .exportable import Exportable, Input
from .llama import Llama, LlamaSizes


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *tensors):
        return self.model(*tensors, return_dict=False)[0]


def bert():
    return Encoder(transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False))


def distilbert():
    return Encoder(transformers.DistilBertModel(transformers.DistilBertConfig()))


class Gpt2(torch.nn.Module):
    """GPT-2 with its key and value caches as flat inputs and outputs."""

    def __init__(self):
        super().__init__()
        self.model = transformers.GPT2LMHeadModel(transformers.GPT2Config())

    def forward(self, input_ids, *past):
        pairs = tuple(zip(past[::2], past[1::2])) or None
        logits, present = self.model(input_ids, past_key_values=pairs, use_cache=True, return_dict=False)
        return (logits, *(tensor for pair in present for tensor in pair))


def tokens(length, vocabulary=30522):
    return Input("input_ids", ["batch", length], "int64", 0, vocabulary)


def encoder_inputs(types):
    more = [Input("token_type_ids", ["batch", "sequence"], "int64", 0, 2)] if types else []
    return [tokens("sequence"), Input("attention_mask", ["batch", "sequence"], "int64", 1, 2), *more]


def caches(role, layers, heads, size):
    return [Input(f"{role}.{i}.{kind}", ["batch", heads, "past", size]) for i in range(layers) for kind in ("key", "value")]


def cache_names(layers):
    return [f"present.{i}.{kind}" for i in range(layers) for kind in ("key", "value")]


ENCODED = {"batch": 1, "sequence": 128}
PROMPT = {"batch": 1, "sequence": 128}
STEP = {"batch": 1, "past": 128}
SIZES = LlamaSizes()

MODELS = [
    Exportable("bert_base", bert, encoder_inputs(True), ["hidden"], dims=ENCODED),
    Exportable("distilbert", distilbert, encoder_inputs(False), ["hidden"], dims=ENCODED),
    Exportable("gpt2_prefill", Gpt2, [tokens("sequence", 50257)], ["logits", *cache_names(12)], dims=PROMPT),
    Exportable("gpt2_step", Gpt2, [tokens(1, 50257), *caches("past", 12, 12, 64)], ["logits", *cache_names(12)], dims=STEP),
    Exportable("llama_prefill", Llama, [tokens("sequence", SIZES.vocabulary)], ["logits", *cache_names(SIZES.layers)], dims=PROMPT),
    Exportable("llama_step", Llama, [tokens(1, SIZES.vocabulary), *caches("past", SIZES.layers, SIZES.key_heads, SIZES.head_size)],
               ["logits", *cache_names(SIZES.layers)], dims=STEP),
]
