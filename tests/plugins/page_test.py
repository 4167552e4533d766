#!/usr/bin/env python3
"""What docs/plugin_providers.md shows of the teaching provider ("```cpp FILE") is what its files say.

usage: page_test.py PAGE.md FOLDER
"""

import pathlib
import re
import sys


def main() -> None:
    page, folder = map(pathlib.Path, sys.argv[1:])
    excerpts = re.findall(r"^```cpp (\S+)\n(.*?)^```$", page.read_text(), re.M | re.S)
    if len(excerpts) < 10:
        sys.exit(f"{page} shows {len(excerpts)} excerpts, ten or more are expected")
    stale = [f"{file}: {code.splitlines()[0].strip()}" for file, code in excerpts if code not in (folder / file).read_text()]
    if stale:
        sys.exit(f"{page} shows what the files do not have:\n" + "\n".join(stale))


if __name__ == "__main__":
    main()
