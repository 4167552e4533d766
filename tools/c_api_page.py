#!/usr/bin/env python3
"""Writes docs/c_api.md: what is behind each entry of the C ABI, from the tables in src/bindings/c.

usage: c_api_page.py [--check]

--check: changes nothing, and ends with 1 where the page is not what it would write."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYER = ROOT / "src" / "bindings" / "c"
PAGE = ROOT / "docs" / "c_api.md"
TABLES = [
    ("OrtApi", "ort_api"),
    ("OrtModelEditorApi", "model_editor_api"),
    ("OrtCompileApi", "compile_api"),
    ("OrtEpApi", "ep_api"),
    ("OrtInteropApi", "interop_api"),
    ("OrtModelPackageApi", "model_package_api"),
]

INTRODUCTION = """# The C ABI

Programs and bindings that were written for ONNX Runtime run on Tessera with its file `libonnxruntime.so.1.31.1` in the place of
theirs. It lies in a folder of its own below the library's (`lib/tessera/onnxruntime`), so that no linker finds it by accident:
name that folder, or copy the file over a client's own where Tessera is installed. The headers are in `include/onnxruntime`.

Each table has all entries of version 31. One with nothing behind it answers `ORT_NOT_IMPLEMENTED` with a text that says what
to use instead; those of providers that are not in the build fail as they do in a build of ONNX Runtime without them.
Operators that programs and libraries bring [run](custom_operators.md), and providers from libraries [join sessions](plugin_providers.md).

Where Tessera answers otherwise than ONNX Runtime does:

- Configuration entries are kept and can be read, known or not. Those of ONNX Runtime's that stand for an option or have an effect
  here are in `src/bindings/c/config_keys.inc`, as are those without; Tessera's own have theirs
  (see [session configuration](session_configuration.md)). A value that one of ONNX Runtime's
  does not take is logged and has no effect; of Tessera's own it is an error when the session is made. `ep.context_*`
  writes models of what [plugins](plugin_providers.md#compiled-models) compiled, as there; where none did, a line in the log says so.
- Models in ONNX Runtime's own format (`.ort`) are read, and told by their bytes; optimized models are written as ONNX.
- Weights that are inside of a model can be replaced, as external ones can (`AddExternalInitializers`).
- Results that no memory was bound for lie in host memory. Their strings, sequences and maps share memory with what they were
  taken out of.
- `GetAvailableProviders` lists names of ONNX Runtime's vocabulary alone, as bindings know no others; OpenCL is taken by its name.
- Operators read sparse tensors of coordinates and of compressed rows, not of blocks.
- Models that a program builds (`OrtModelEditorApi`) have inputs and outputs of every type, and weights of texts, too. Weights whose data
  is external are read where they lie, however large; others are copied. A change of a loaded model that fails leaves it as it was, and
  its operators are looked for when the session is finished.
- Packages of models (`OrtModelPackageApi`) are read within limits: 16 MiB of JSON, 64 levels, 16384 members of a file. Of a session's
  options they set those that write nothing, name no file outside of the package, lift no limit and start no more threads than there are
  cores (`src/bindings/c/package/package_options.cpp`); contexts, profiles, limits and log ids are errors, others are warnings without
  effect. Options of providers that name files, folders or libraries are errors, too, as are those of OpenCL and oneDNN that do not
  choose how they compute. That a package is `installed`, so that its files may lie elsewhere, the program has to say, too: by the entry
  `session.trust_installed_packages` = `1` in the session options that its package options are made of.

This page is written by `tools/c_api_page.py`.
"""


def rows(name):
    """Entries of a table: version, name, state, and what is said of it."""
    version = 0
    for line in (LAYER / f"{name}.inc").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"// Since version (\d+)\.", line):
            version = int(match[1])
        elif match := re.match(r"(ENTRY|LATER|ABSENT)\((\w+)(?:, \"?([^)\"]+)\"?)?\)", line):
            yield version, match[2], match[1], match[3]


def advice():
    """What each constant of advice.h says."""
    text = (LAYER / "advice.h").read_text(encoding="utf-8")
    found = {}
    for name, parts in re.findall(r"inline constexpr char (\w+)\[\] =((?:\s*\"[^\"]*\")+);", text):
        found[name] = "".join(re.findall(r"\"([^\"]*)\"", parts))
    return found


def page():
    """The text of the page."""
    texts = advice()
    out = [INTRODUCTION]
    entries = [(table, *row) for table, name in TABLES for row in rows(name)]
    answered = sum(state != "LATER" for _, _, _, state, _ in entries)
    out.append("| table | entries | here | follow |\n|---|---|---|---|")
    for table, _ in TABLES:
        own = [row for row in entries if row[0] == table]
        later = sum(row[3] == "LATER" for row in own)
        out.append(f"| `{table}` | {len(own)} | {len(own) - later} | {later} |")
    out.append("")
    out.append(
        f"There are {len(entries)} entries, {answered} of them ({100 * answered // len(entries)} %) with something behind "
        "them.\n"
    )
    for table, name in TABLES:
        out.append(f"## {table}\n")
        out.append("| entry | since | state |\n|---|---|---|")
        for version, entry, state, what in rows(name):
            says = {
                "ENTRY": "yes",
                "LATER": f"`ORT_NOT_IMPLEMENTED`: {texts.get(what, '')}",
                "ABSENT": f"{what} is not in this build",
            }[state]
            out.append(f"| `{entry}` | {version} | {says} |")
        out.append("")
    return "\n".join(out).rstrip() + "\n"


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/c_api.md is not what the tables say: run tools/c_api_page.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
