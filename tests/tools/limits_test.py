"""Processes that may start few threads, or have little address space: an error that says so, whatever library wanted the thread."""

import os
import resource
import subprocess
import unittest

import numpy as np
from onnx import helper, numpy_helper

from tool_test import BIN, ToolTest, model_of, run

NOBODY = 61234  # of nobody else on the machine


class Limits(ToolTest):
    def setUp(self):
        super().setUp()
        x = np.ones((64, 128), np.float32)
        weights = numpy_helper.from_array(np.ones((128, 256), np.float32), "w")
        y = np.ones((64, 256), np.float32)
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])], [("x", x)], [("y", y)])
        model.graph.initializer.append(weights)
        self.model = self.root / "model.onnx"
        self.model.write_bytes(model.SerializeToString())
        self.root.chmod(0o755)
        self.model.chmod(0o644)

    def start_limited(self, threads, *arguments):
        """tessera_perf as a user who may have so many threads; root may have any number."""

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        process = subprocess.run([BIN / "tessera_perf", self.model, "-r", "3", "--seconds", "0.1", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                                 preexec_fn=limit)
        return process.returncode, process.stdout + process.stderr

    def has(self, provider):
        return f"(-e {provider}): available" in run("tessera_inspect", "--providers")[1]

    def expect_error(self, threads, *arguments):
        code, output = self.start_limited(threads, *arguments)
        self.assertEqual(code, 1, output)
        self.assertIn("cannot start", output)
        self.assertNotIn("libgomp", output)

    def test_workers_of_a_session(self):
        self.expect_error(2, "-t", 8)

    def test_openmp(self):
        if not self.has("dnnl"):
            self.skipTest("oneDNN is not in this build")
        self.expect_error(2, "-t", 8, "-e", "dnnl", "-i", "claims|all")

    @unittest.skipIf(os.cpu_count() < 2, "on one core there is one thread between operators")
    def test_threads_between_operators(self):
        self.expect_error(1, "-t", 1, "-x")

    def test_address_space(self):
        for provider in ("cpu", "dnnl"):
            if not self.has(provider):
                continue
            limit = 1 << 30
            process = subprocess.run([BIN / "tessera_perf", self.model, "-r", "3", "-t", "512", "-e", provider], capture_output=True, text=True, timeout=120,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
            self.assertNotIn("libgomp", process.stderr)


if __name__ == "__main__":
    unittest.main()
