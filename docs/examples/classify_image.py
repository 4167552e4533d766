"""Says what is on pictures, with a model that classifies them: classify_image.py MODEL LABELS PICTURE...

MODEL takes float [batch, 3, height, width], colours scaled as ImageNet's; LABELS is a text with a line for each class.
"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image

import tessera as ort

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def pixels(path: str, height: int, width: int) -> np.ndarray:
    """A picture as the model takes it, one of a batch."""
    image = Image.open(path).convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
    colours = (np.asarray(image, np.float32) / 255 - MEAN) / DEVIATION
    return np.ascontiguousarray(colours.transpose(2, 0, 1))


def main(model: str, labels: str, pictures: list[str]) -> None:
    """Prints the three likeliest classes of each picture."""
    with open(labels, encoding="utf-8") as lines:
        names = [line.strip() for line in lines]
    session = ort.InferenceSession(model)
    wanted = session.get_inputs()[0]
    height, width = (size if isinstance(size, int) else 224 for size in wanted.shape[2:])
    batch = np.stack([pixels(path, height, width) for path in pictures])
    (scores,) = session.run(None, {wanted.name: batch})
    for path, row in zip(pictures, scores):
        chances = row if row.min() >= 0 and np.isclose(row.sum(), 1) else np.exp(row - row.max())  # some models did that
        chances = chances / chances.sum()
        for best in np.argsort(chances)[::-1][:3]:
            print(f"{path}: {names[best]} {chances[best]:.1%}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
