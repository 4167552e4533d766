#!/usr/bin/env python3
"""No call with a handle that was released, is of another type or was never made ends a process that ONNX Runtime's library would
have let live.

usage: handle_calls_test.py HANDLE_CALLS OUR_LIBRARY

HANDLE_CALLS calls each entry of both libraries. Skipped where ONNX Runtime's library cannot be had."""

import sys

from null_calls_test import compare


def main():
    program, ours = sys.argv[1:]
    return compare(program, ours, lambda entry, place, kind: f"{entry} with argument {place} {kind}")


if __name__ == "__main__":
    sys.exit(main())
