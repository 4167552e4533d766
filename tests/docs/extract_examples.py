#!/usr/bin/env python3
"""Writes each fenced block "```cpp NAME" of a Markdown page to FOLDER/NAME.cpp and prints the names, one a line.

usage: extract_examples.py PAGE.md FOLDER
"""

import pathlib
import re
import sys


def main() -> None:
    page, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in re.findall(r"^```cpp (\w+)\n(.*?)^```$", page.read_text(), re.M | re.S):
        file = folder / f"{name}.cpp"
        if not file.exists() or file.read_text() != code:
            file.write_text(code)
        print(name)


if __name__ == "__main__":
    main()
