#!/usr/bin/env python3
"""Compares our header of the C ABI with bindings that were made from ONNX Runtime's own: the crate ort-sys.

usage: bindings_test.py HEADER ENTRIES CLIENT

HEADER: onnxruntime_c_api.h; ENTRIES: the table of entries; CLIENT: a folder with a Cargo.toml that needs the crate. Each entry has
the place that the crate gives it, and as many arguments. Skipped where the crate cannot be had."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
CRATE = "ort-sys-2.0.0-rc.15"
# Tables that the crate has whole; of the compile table it has the first entries.
TABLES = ("OrtApi", "OrtModelEditorApi", "OrtCompileApi", "OrtModelPackageApi")
# The header calls it otherwise.
OTHER_NAMES = {"AddExternalInitializersFromMemory": "AddExternalInitializersFromFilesInMemory"}


def crate_source(client):
    """The text of the crate, which cargo fetches where it is not there yet."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for fetch in (False, True):
        if fetch:
            if shutil.which("cargo") is None:
                return None
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(shutil.copytree(client, Path(folder) / "client"))
                subprocess.run(["cargo", "fetch", "--quiet"], cwd=copy, timeout=240, check=False)
        for path in home.glob(f"registry/src/*/{CRATE}/src/lib.rs"):
            return path.read_text(encoding="utf-8")
    return None


def number_of_arguments(text):
    """Of a list in parentheses, which may hold function types."""
    depth = 0
    count = 1 if text.strip().rstrip(",").strip() not in ("", "void") else 0
    for letter in text.strip().rstrip(","):
        depth += (letter in "(<[") - (letter in ")>]")
        count += letter == "," and depth == 0
    return count


def arguments_at(text, start):
    """What stands between the parenthesis at `start` and the one that closes it."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return text[start + 1 : i]
    return ""


def crate_table(source, table):
    """Names and numbers of arguments, in order; entries that differ by the target stand there twice."""
    body = re.search(rf"pub struct {table} \{{(.*?)\n\}}", source, re.DOTALL)
    if body is None:
        return []
    body = "\n".join(line for line in body[1].splitlines() if not line.strip().startswith("#["))
    found = {}
    for match in re.finditer(r"pub (\w+):\s+(?:Option<)?unsafe extern \"\w+\" fn(?=\()", body):
        name = OTHER_NAMES.get(match[1], match[1])
        found.setdefault(name, number_of_arguments(re.sub(r"\w+:", "", arguments_at(body, match.end()))))
    return list(found.items())


def header_table(header, table):
    """The same of our header."""
    body = re.search(rf"struct {table} \{{(.*?)\n\}};", header, re.DOTALL)[1]
    found = {}
    for match in re.finditer(r"ORT_API2_STATUS\((\w+),|\(ORT_API_CALL\* ?(\w+)\)(?=\()", body):
        if match[1]:
            start = body.index("(", match.start())
            found[match[1]] = number_of_arguments(arguments_at(body, start).split(",", 1)[1])
        else:
            found[match[2]] = number_of_arguments(arguments_at(body, match.end()))
    return found


def pinned_tables(path):
    tables = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            table, _, name, _ = line.split("\t")
            tables.setdefault(table, []).append(name)
    return tables


def main():
    header = re.sub(r"//.*", "", Path(sys.argv[1]).read_text(encoding="utf-8"))
    source = crate_source(Path(sys.argv[3]))
    if source is None:
        print(f"skipped: the crate {CRATE} is not there, and cannot be fetched")
        return SKIPPED
    pinned = pinned_tables(sys.argv[2])
    wrong = compared = 0
    for table in TABLES:
        ours = header_table(header, table)
        for place, (name, arguments) in enumerate(crate_table(source, table)):
            compared += 1
            if pinned[table][place] != name:
                print(f"{table} {place}: {pinned[table][place]}, the crate has {name}")
                wrong += 1
            elif ours.get(name) != arguments:
                print(f"{table}::{name}: {ours.get(name)} arguments, the crate has {arguments}")
                wrong += 1
    print(f"{compared} entries compared, {wrong} wrong")
    return 1 if wrong or compared < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
