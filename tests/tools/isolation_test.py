"""onnx_test_runner --isolate: cases that crash or hang fail alone, and no worker outlives the runner."""

import os
import pathlib
import signal
import time
import unittest

from tool_test import ToolTest, endless_loop, run, start


def children(pid):
    """Processes that any thread of `pid` started."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def end(pid):
    if is_running(pid):
        os.kill(pid, signal.SIGKILL)


def processor_ticks(pid):
    return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


class Isolation(ToolTest):
    def setUp(self):
        super().setUp()
        self.write_relu("a")
        self.write_case("endless", *endless_loop())
        self.write_relu("z")

    def start_and_reach_the_endless_case(self, *arguments):
        process = start("onnx_test_runner", "-e", "cpu", "--isolate", "--intra-op-threads", 1, *arguments, self.cases)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        wait_until(lambda: children(process.pid))
        worker = children(process.pid)[0]
        self.addCleanup(end, worker)
        wait_until(lambda: processor_ticks(worker) > 50)  # half a second: the cases before took none
        return process, worker

    def test_a_crash_fails_one_case(self):
        for number, name in ((signal.SIGSEGV, "Segmentation fault"), (signal.SIGKILL, "Killed")):
            process, worker = self.start_and_reach_the_endless_case()
            os.kill(worker, number)
            output, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, output.splitlines()[-1]), (1, "2 passed, 1 failed, 0 skipped"), output)
            self.assertIn("FAILED endless [crash]", output)
            self.assertIn(f"was killed by signal {int(number)} ({name})", output)

    def test_a_case_that_hangs_is_ended(self):
        code, output, _ = run("onnx_test_runner", "-e", "cpu", "--isolate", "--timeout", 2, self.cases)
        self.assertEqual((code, output.splitlines()[-1]), (1, "2 passed, 1 failed, 0 skipped"), output)
        self.assertIn("FAILED endless [timeout] no result after 2 s", output)

    def test_workers_end_with_the_runner(self):
        process, worker = self.start_and_reach_the_endless_case()
        process.terminate()
        process.wait(timeout=60)
        wait_until(lambda: not is_running(worker))


if __name__ == "__main__":
    unittest.main()
