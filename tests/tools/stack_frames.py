"""Says which functions of a library take more of the stack than allowed: stack_frames.py LIBRARY BYTES.

Applications call the library on threads with stacks of 64 and 128 KiB, where one function with a large array is a crash. Arrays of kernels are
WorkArrays (src/base/work_array.h). Frames are read from the code: what the compiler made of it is what counts.
"""
import re
import shutil
import subprocess
import sys

SKIPPED = 77
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# A frame is taken by one subtraction; of large ones the end is computed first, and the pages up to there are touched.
FRAME = re.compile(r"\bsub +\$0x([0-9a-f]+),%rsp|\blea +-0x([0-9a-f]+)\(%rsp\),%r1?[0-9a-z]+$")


def frames(library, least):
    """(bytes, function) of each frame of `least` bytes or more."""
    found = []
    command = ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", library]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        function = ""
        for line in process.stdout:
            line = line.rstrip()
            if line.endswith(">:"):
                match = FUNCTION.match(line)
                function = match.group(1) if match else line
            elif "%rsp" in line:
                match = FRAME.search(line)
                if match:
                    size = int(match.group(1) or match.group(2), 16)
                    if least <= size < 1 << 31:  # a larger one is a negative number: memory given back
                        found.append((size, function))
    if process.returncode != 0:
        raise SystemExit(f"objdump failed on {library}")
    return found


def main():
    library, limit = sys.argv[1], int(sys.argv[2])
    if shutil.which("objdump") is None:
        print("skipped: objdump (Debian's binutils) is not installed")
        return SKIPPED
    large = sorted({(size, name) for size, name in frames(library, limit + 1)}, reverse=True)
    for size, name in large:
        print(f"{size} bytes: {name}")
    if not large:
        print(f"no function takes more than {limit} bytes")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
