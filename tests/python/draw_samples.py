"""Draws what programs.py shows to programs, the same each time: draw_samples.py FOLDER"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

PAGE = "Every line of this page\nis read by a machine.\nInvoice 4711 of 2026\nTotal: 1234.50 EUR"
PIECE = [(300, 140), (325, 140), (330, 125), (340, 125), (345, 140), (370, 140), (370, 210), (300, 210)]


def written(text: str, size: tuple[int, int], font: int, colour: str) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((20, 8), text, fill=colour, font_size=font)
    return image


def puzzle(picture: Image.Image) -> Image.Image:
    """A picture with a piece on the left and its hole on the right."""
    image = picture.filter(ImageFilter.GaussianBlur(6))
    draw = ImageDraw.Draw(image, "RGBA")
    draw.polygon(PIECE, fill=(0, 0, 0, 140), outline=(255, 255, 255, 200))
    draw.rectangle((20, 140, 90, 210), fill=(255, 255, 255, 90), outline=(0, 0, 0, 255))
    return image


def voice(numbers: np.random.Generator) -> np.ndarray:
    """Three seconds of a buzz whose pitch and formants move, with pauses."""
    t = np.arange(48000) / 16000
    pitch = np.cumsum(120 + 30 * np.sin(2 * np.pi * 1.3 * t)) / 16000
    formant = 700 + 400 * np.sin(2 * np.pi * 2 * t)
    buzz = sum(np.sin(2 * np.pi * k * pitch) / k * np.exp(-(((120 * k - formant) / 500) ** 2)) for k in range(1, 30))
    spoken = np.sin(2 * np.pi * 3 * t) > -0.5
    return (0.3 * buzz * spoken + 0.002 * numbers.standard_normal(48000)).astype(np.float32)


def main(folder: str) -> None:
    numbers = np.random.default_rng(11)
    written(PAGE, (640, 320), 48, "black").save(f"{folder}/page.png")
    written("aB3xK", (160, 60), 40, "navy").save(f"{folder}/captcha.png")
    spots = Image.fromarray(numbers.integers(0, 255, (30, 40, 3), np.uint8))
    picture = spots.resize((480, 360), Image.Resampling.BICUBIC)
    picture.save(f"{folder}/picture.png")
    puzzle(picture).save(f"{folder}/slider.png")
    np.save(f"{folder}/speech.npy", voice(numbers))


main(sys.argv[1])
