"""What the tools print of hostile names and files: nothing that a terminal obeys, and nothing is waited for."""

import json
import os
import unittest

import numpy as np
from onnx import helper

from tool_test import ToolTest, model_of, run

HOSTILE = "a\x1b[2Jb\n9 passed, 0 failed, 0 skipped\u202ec\u009bd\x7f"


class Terminal(ToolTest):
    def setUp(self):
        super().setUp()
        x = np.asarray([-1, 2], np.float32)
        node = helper.make_node("Relu", ["x"], ["h"], name="node" + HOSTILE)
        second = helper.make_node("Softmax", ["h"], ["out" + HOSTILE], axsi=1)
        model = model_of([node, second], [("x", x)], [("out" + HOSTILE, x)])
        self.case = self.write_case("case", model, [x], [x])
        self.model = self.case / "model.onnx"

    def check(self, text):
        for line in text.splitlines():
            self.assertTrue(all(c == "\t" or c.isprintable() for c in line), repr(line))
        self.assertEqual([line for line in text.split("\n") if line.startswith("9 passed")], [])

    def run_all(self, *arguments, code=0):
        status, output, errors = run(*arguments)
        self.assertEqual(status, code, output + errors)
        self.check(output)
        self.check(errors)
        return output

    def test_runner(self):
        for more in ((), ("--isolate",), ("-v", "-v"), ("-s",)):
            output = self.run_all("onnx_test_runner", "-e", "cpu", self.cases, *more, code=1)
            self.assertIn("\\x1b[2Jb", output)
            self.assertIn("warning: case: Softmax", output)
            self.assertIn("no attribute 'axsi'", output)
            self.assertEqual(output.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_inspect(self):
        for more in ((), ("--placement",), ("--placement", "--verbose"), ("--dot",), ("-o", "0", "--placement", "--verbose")):
            output = self.run_all("tessera_inspect", self.model, "-e", "cpu", *more)
        self.assertIn("\\u202e", output)
        self.assertIn("warning: Softmax", self.run_all("tessera_inspect", self.model, "-e", "cpu"))

    def test_json_keeps_the_names(self):
        output = self.run_all("tessera_inspect", self.model, "-e", "cpu", "-o", "0", "--json")
        self.assertIn("node" + HOSTILE, [node["name"] for node in json.loads(output)["nodes"]])

    def test_perf(self):
        self.run_all("tessera_perf", self.model, "-r", 2)
        trace = self.model.parent / "trace.json"
        profile = self.run_all("tessera_perf", self.model, "-r", 2, "--json", "--trace", trace)
        self.assertEqual(json.loads(profile)["profile"]["trace"], str(trace))
        self.check(trace.read_text(encoding="utf-8"))

    def test_errors(self):
        data = self.model.read_bytes()
        self.model.write_bytes(data.replace(b"Relu", b"R\x1b\n\xff"))
        self.run_all("tessera_inspect", self.model, code=1)
        self.run_all("onnx_test_runner", self.cases, code=1)

    def test_fifos_are_not_waited_for(self):
        data_set = self.case / "test_data_set_0"
        (data_set / "input_0.pb").unlink()
        os.mkfifo(data_set / "input_0.pb")
        self.assertIn("not a regular file", self.run_all("onnx_test_runner", "-e", "cpu", self.cases, code=1))
        status, _, errors = run("tessera_perf", self.model, "--inputs", data_set)
        self.assertEqual(status, 1)
        self.assertIn("not a regular file", errors)
        os.mkfifo(self.case / "tolerance.json")
        status, _, errors = run("onnx_test_runner", "-e", "cpu", self.cases)
        self.assertEqual(status, 2)
        self.assertIn("not a regular file", errors)
        fifo = self.root / "fifo.onnx"
        os.mkfifo(fifo)
        for tool in ("tessera_inspect", "tessera_perf"):
            status, _, errors = run(tool, fifo)
            self.assertEqual(status, 1)
            self.assertIn("not a regular file", errors)


if __name__ == "__main__":
    unittest.main()
