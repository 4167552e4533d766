#!/usr/bin/env python3
"""Writes a program in C++ that prints where a header of ONNX Runtime has the members of its structs and what its constants are, for
run.sh to compile with theirs and with ours.

usage: layout_program.py HEADERS OF THEIRS... > program.cpp

Constants, structs and members are those that their header has."""

import re
import sys
from pathlib import Path


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def members(body):
    """Names of data members and of pointers to functions, declared by a macro or not."""
    names = re.findall(r"ORT_API2_STATUS\(\s*(\w+)", body) + re.findall(r"ORT_API_T\([^,]+,\s*(\w+)", body)
    names += re.findall(r"ORT_CLASS_RELEASE\(\s*(\w+)", body)
    release = re.findall(r"ORT_CLASS_RELEASE\(\s*(\w+)", body)
    names = [name for name in names if name not in release] + ["Release" + name for name in release]
    names += re.findall(r"ORT_API_CALL\*\s*(\w+)\s*\)", body)
    names += re.findall(r"^[\w\s*:]*?(\w+)\s*(?:\[\w+\])?\s*(?:=[^;()]*)?;", body, flags=re.M)
    return list(dict.fromkeys(names))


def main():
    text = "".join(without_comments(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
    lines = []
    for body in re.findall(r"enum\s+\w+\s*\{(.*?)\}", text, flags=re.S):
        for name in re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", body):
            lines.append(f'  std::printf("{name} %lld\\n", static_cast<long long>({name}));')
    for name, body in re.findall(r"struct\s+(Ort\w+)\s*\{(.*?)\n\}", text, flags=re.S):
        body = re.sub(r"#if.*?#endif", "", body, flags=re.S)
        # Tables and structs of functions grow from release to release.
        grows = name.endswith("Api") or "ORT_API_CALL" in body or "ORT_API2_STATUS" in body
        if not grows:
            lines.append(f'  std::printf("{name} of %zu bytes\\n", sizeof({name}));')
        for member in members(body):
            lines.append(f'  std::printf("{name}.{member} %zu\\n", offsetof({name}, {member}));')
    print('#include <cstddef>\n#include <cstdio>\n\n#include "onnxruntime_c_api.h"\n')
    print("int main() {")
    print("\n".join(lines))
    print("}")


if __name__ == "__main__":
    main()
