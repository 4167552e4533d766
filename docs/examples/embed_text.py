"""Finds the texts that mean most nearly what a question asks: embed_text.py MODEL TOKENIZER QUESTION TEXT...

MODEL is an encoder of sentences as sentence-transformers exports them (input_ids and attention_mask in, a vector for each
token out), TOKENIZER its tokenizer.json.
"""

from __future__ import annotations

import sys

import numpy as np
from tokenizers import Tokenizer

import tessera as ort

LONGEST = 256  # tokens


class Embedder:
    """Vectors of length 1 for texts: the nearer the meaning, the nearer to 1 is the product."""

    def __init__(self, model: str, tokenizer: str) -> None:
        self.session = ort.InferenceSession(model)
        self.tokenizer = Tokenizer.from_file(tokenizer)
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.enable_padding()

    def __call__(self, texts: list[str]) -> np.ndarray:
        encoded = self.tokenizer.encode_batch(texts)
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        tokens = {
            "input_ids": np.array([one.ids for one in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([one.type_ids for one in encoded], np.int64),
        }
        feed = {value.name: tokens[value.name] for value in self.session.get_inputs()}
        vectors = self.session.run(None, feed)[0]
        means = (vectors * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def main(model: str, tokenizer: str, question: str, texts: list[str]) -> None:
    """Prints the texts, nearest first."""
    asked, *given = Embedder(model, tokenizer)([question, *texts])
    nearness = np.stack(given) @ asked
    for best in np.argsort(nearness)[::-1]:
        print(f"{nearness[best]:.3f} {texts[best]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
