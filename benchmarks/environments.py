"""Virtual environments that the benchmarks make for themselves."""

import os
import pathlib
import subprocess
import sys

# ONNX Runtime sends telemetry and writes to the home folder unless it is told not to, before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def enter(folder, packages, python="/usr/bin/python3", system_packages=False):
    """Goes on in the environment `folder`, made here when it is missing or holds other packages."""
    folder = pathlib.Path(folder).absolute()
    interpreter = folder / "bin/python"
    if pathlib.Path(sys.prefix) == folder:
        return
    mark, wanted = folder / "packages.txt", "\n".join(packages) + "\n"
    if not (mark.exists() and mark.read_text() == wanted):
        print(f"setting up {folder}", file=sys.stderr)
        subprocess.run([python, "-m", "venv", *(["--system-site-packages"] if system_packages else []), folder], check=True)
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *packages], check=True)
        mark.write_text(wanted)
    os.execv(interpreter, [str(interpreter), *sys.argv])
