"""Models that export_models.py writes, by family. Each family lists `MODELS`: Exportable or Derived."""

import os

# ONNX Runtime sends telemetry and writes to the home folder unless it is told not to, before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
