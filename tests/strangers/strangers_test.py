"""Each model of a stranger in a process of its own: what a program with default options takes for it, and how long, before it ends with a
result or an error.

strangers_test.py RUN_MODEL [NAME...]: those of cases.tsv, which make_models.py writes; all, or those of these names.
strangers_test.py RUN_MODEL --models FOLDER [NAME...]: a folder with models of its own and a README.tsv of name, load or run, MB, seconds and
text; those whose name begins with cancel_ are cancelled after two seconds.
"""

import dataclasses
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
CANCEL_AFTER_MS = 2000
MOST_AFTER_CANCEL_MS = int(os.environ.get("TESSERA_CANCEL_LIMIT_MS", "2000"))
# So much that a failure is seen as one and leaves the machine alive.
ADDRESS_SPACE = 16 << 30


@dataclasses.dataclass
class Case:
    name: str
    run: bool
    megabytes: int
    seconds: float
    cancel_after_ms: int
    outlives_cancel: bool  # nothing but the cancellation ends it

    @classmethod
    def parse(cls, line):
        name, what, megabytes, seconds, *rest = line.rstrip("\n").split("\t")
        own = len(rest) == 2
        cancel = int(rest[0]) if own else CANCEL_AFTER_MS if name.startswith("cancel_") else 0
        return cls(name, what == "run", int(megabytes), float(seconds), cancel, own and cancel > 0)


def cases(table, names):
    lines = [line for line in table.read_text().splitlines() if line and not line.startswith("#")]
    return [case for case in map(Case.parse, lines) if not names or case.name in names]


def measure(program, model, case):
    """Output, megabytes at the peak, seconds and how it ended."""
    command = [program, str(model)] + ["--run"] * case.run
    if case.cancel_after_ms:
        command += ["--cancel-after", str(case.cancel_after_ms)]
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit)
    output = []
    reader = threading.Thread(target=lambda: output.append(child.stdout.read()))
    reader.start()
    killer = threading.Timer(2 * case.seconds, child.kill)
    killer.start()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - start
    killer.cancel()
    reader.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    return output[0].decode(errors="replace"), usage.ru_maxrss / 1e3 * 1.024, seconds, child.returncode


def faults(case, output, megabytes, seconds, code):
    if code == -signal.SIGKILL:
        yield "it was ended after twice its time"
    elif code != 0:
        yield f"it ended by code {code}"
    if megabytes > case.megabytes:
        yield f"{megabytes:.0f} MB, {case.megabytes} are allowed"
    if seconds > case.seconds:
        yield f"{seconds:.1f} s, {case.seconds:.0f} are allowed"
    since = after_cancel(output)
    if since is not None and since > MOST_AFTER_CANCEL_MS:
        yield f"it ended {since} ms after it was cancelled"
    if since is None and case.outlives_cancel:
        yield "it ended before it was cancelled"


def after_cancel(output):
    words = output.split("\n")[-2].split() if output.count("\n") else []
    return int(words[1]) if words[:1] == ["ended"] else None


def main():
    program, *arguments = sys.argv[1:]
    folder, table = None, HERE / "cases.tsv"
    if arguments[:1] == ["--models"]:
        folder = pathlib.Path(arguments[1])
        table = folder / "README.tsv"
        arguments = arguments[2:]
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        chosen = cases(table, arguments)
        if folder is None:
            folder = pathlib.Path(made)
        for case in chosen:
            if folder == pathlib.Path(made):
                subprocess.run([sys.executable, HERE / "make_models.py", made, case.name], check=True)
            output, megabytes, seconds, code = measure(program, folder / case.name / "model.onnx", case)
            found = list(faults(case, output, megabytes, seconds, code))
            failed += bool(found)
            print(f"{'FAIL' if found else 'ok':4} {case.name:28} {megabytes:7.0f} MB {seconds:7.2f} s  {' | '.join(output.split(chr(10)))[:300]}")
            for fault in found:
                print(f"     {fault}")
            sys.stdout.flush()
    print(f"{failed} of {len(chosen)} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
