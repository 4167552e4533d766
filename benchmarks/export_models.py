#!/usr/bin/env python3
"""Exports the models that compare.py measures: real architectures with random weights, as ONNX files.

    benchmarks/export_models.py OUT_DIR [--only REGEX] [--list] [--again] [--venv FOLDER]

Beside each NAME.onnx, NAME.json says how to feed it. Models that are there already are kept unless --again is given. torch and
torchvision are the system's (Debian: python3-torch, python3-torchvision); what else is needed goes into a virtual environment.
"""

import argparse
import importlib
import os
import pathlib
import re
import sys
import time

from environments import enter

FAMILIES = ("vision", "dense", "language", "temporal", "volumes", "trees", "quantized", "half")
PACKAGES = ("numpy<2", "onnx==1.19.1", "onnx_ir", "onnxruntime==1.31.1", "transformers==4.30.2")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=pathlib.Path("build/models"))
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--again", action="store_true", help="export what is there already, too")
    parser.add_argument("--venv", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "build/models-venv")
    arguments = parser.parse_args()
    enter(arguments.venv, PACKAGES, system_packages=True)

    models = [m for family in FAMILIES for m in importlib.import_module(f"models.{family}").MODELS]
    chosen = [m for m in models if re.search(arguments.only, m.name)]
    if arguments.list:
        print("\n".join(m.name for m in chosen))
        return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for model in chosen:
        # The description is written last: where it is, the model is whole.
        if (arguments.folder / f"{model.name}.json").exists() and not arguments.again:
            print(f"{model.name}: there already")
            continue
        begin = time.monotonic()
        try:
            model.export(arguments.folder)
            size = (arguments.folder / f"{model.name}.onnx").stat().st_size / 2**20
            print(f"{model.name}: {size:.1f} MiB in {time.monotonic() - begin:.1f} s", flush=True)
        except Exception as error:  # one model's failure must not cost the others
            failed += 1
            print(f"{model.name}: FAILED: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
