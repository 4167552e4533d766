"""The command lines: options may stand before what is positional, and mistakes are told of."""

import json
import unittest

import numpy as np
from onnx import helper

from tool_test import ToolTest, model_of, run


class OptionsBeforeTheModel(ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.write_relu("relu") / "model.onnx"

    def test_perf(self):
        model = self.write_open_relu()
        for options in (["-e", "cpu"], ["--config", "session.tuning=0"], ["--dim", "n=2"], ["-e", "cpu", "-i", ""]):
            code, output, errors = run("tessera_perf", "-r", 1, *options, model)
            self.assertEqual(code, 0, errors)
            self.assertIn("latency", output)

    def test_inspect(self):
        code, output, errors = run("tessera_inspect", "-e", "cpu", self.model)
        self.assertEqual(code, 0, errors)
        self.assertIn("graph 'g'", output)

    def test_options_of_a_provider_before_several_folders(self):
        self.write_relu("another")
        folders = [self.cases / "relu", self.cases / "another"]
        for provider, options in self.providers_with_options().items():
            for isolate in ([], ["--isolate"]):
                code, output, errors = run("onnx_test_runner", "-e", provider, *isolate, "-i", options, *folders)
                self.assertEqual((code, output.splitlines()[-1]), (0, "2 passed, 0 failed, 0 skipped"), output + errors)

    def providers_with_options(self):
        """Of those that start here; CPU has none."""
        options = {"cpu": "", "dnnl": "claims|all", "opencl": "tuning|0 kernels|auto"}
        _, output, _ = run("tessera_inspect", "--providers")
        return {name: text for name, text in options.items() if f"(-e {name}): available" in output}

    def test_an_option_given_twice_keeps_both_values(self):
        code, _, errors = run("tessera_perf", "-r", 1, "--config", "session.tuning=0", "--config", "no.such=1", self.model)
        self.assertNotEqual(code, 0)
        self.assertIn("no.such", errors)


class Mistakes(ToolTest):
    def test_inspect_without_a_model(self):
        code, output, errors = run("tessera_inspect", "-e", "cpu")
        self.assertNotEqual(code, 0)
        self.assertIn("model", errors + output)
        self.assertEqual(run("tessera_inspect")[0], 0)

    def test_dimensions(self):
        model = self.write_open_relu()
        for text in ("n=abc", "n=3x", "n=-4", "n=", "n", "n=99999999999999999999"):
            code, output, errors = run("tessera_perf", "-r", 1, "--dim", text, model)
            self.assertNotEqual(code, 0, text)
            self.assertIn("--dim", errors)
            self.assertIn(text, errors)
        code, output, errors = run("tessera_perf", "-r", 1, "--dim", "n=2", "--json", model)
        self.assertEqual(code, 0, errors)
        json.loads(output)

    def test_ranges(self):
        model = self.write_relu("relu") / "model.onnx"
        for arguments in (["-r", "-5"], ["--seconds", "-1"], ["-t", "-1"], ["--callers", "0"]):
            code, _, errors = run("tessera_perf", model, *arguments)
            self.assertNotEqual(code, 0, arguments)
            self.assertIn(arguments[0], errors)

    def test_timeout_needs_isolation(self):
        self.write_relu("relu")
        code, _, errors = run("onnx_test_runner", "--timeout", 5, self.cases)
        self.assertNotEqual(code, 0)
        self.assertIn("--isolate", errors)


class WhatEveryToolHas(ToolTest):
    TOOLS = ("onnx_test_runner", "tessera_perf", "tessera_inspect")

    def setUp(self):
        super().setUp()
        self.model = self.write_relu("relu") / "model.onnx"

    def test_version(self):
        for tool in self.TOOLS:
            code, output, _ = run(tool, "--version")
            self.assertEqual(code, 0)
            self.assertRegex(output, r"^Tessera \d+\.\d+\.\d+\n$")

    def test_help_names_providers_and_statuses(self):
        for tool in self.TOOLS:
            code, output, _ = run(tool, "--help")
            self.assertEqual(code, 0)
            self.assertIn("cpu", output)
            self.assertIn("Exit status: 0 done", output)

    def expect(self, status, tool, *arguments, says):
        code, _, errors = run(tool, *arguments)
        self.assertEqual(code, status, errors)
        for text in says:
            self.assertIn(text, errors)

    def test_statuses(self):
        (self.root / "broken.onnx").write_bytes(b"\xff\xff")
        for tool in ("tessera_perf", "tessera_inspect"):
            self.assertEqual(run(tool, self.model)[0], 0)
            self.expect(1, tool, self.root / "broken.onnx", says=["broken.onnx"])
            self.expect(1, tool, self.root / "none.onnx", says=["none.onnx"])
            self.expect(2, tool, self.model, "-o", "7", says=["-o"])
            self.expect(2, tool, self.model, "-e", "dnnl", "-i", "claims|al", says=["claims", "faster"])
        self.expect(2, "tessera_perf", self.model, "--config", "session.tuning=banana", says=["session.tuning", "banana"])
        self.expect(2, "tessera_perf", self.model, "--dim", "batch=2", says=["--dim", "no input has a dimension 'batch'"])
        self.expect(2, "tessera_perf", self.model, "--inputs", self.root / "none", says=["--inputs", "no folder"])
        self.expect(2, "tessera_perf", self.model, "--outputs", self.model, says=["--outputs", "cannot make"])
        self.expect(1, "tessera_perf", self.root / "broken.onnx", "--config", "session.tuning=0", says=["broken.onnx"])
        self.expect(2, "onnx_test_runner", self.root / "none", says=["none"])
        self.expect(2, "onnx_test_runner", self.cases, "--timeout", 5, says=["--isolate"])

    def test_did_you_mean(self):
        for tool in self.TOOLS:
            subject = self.cases if tool == "onnx_test_runner" else self.model
            self.expect(2, tool, subject, "-e", "cpuu", says=["no provider 'cpuu'", "did you mean 'cpu'?"])
            self.expect(2, tool, subject, "-e", "cpu", "-i", "presicion|f32", says=["no option 'presicion'", "did you mean 'precision'?"])
        self.expect(2, "tessera_perf", self.model, "--profil", says=["did you mean '--profile'?"])
        self.expect(2, "tessera_inspect", self.model, "--placment", says=["did you mean '--placement'?"])
        self.expect(2, "onnx_test_runner", self.cases, "--isolated", says=["did you mean '--isolate'?"])
        self.expect(2, "tessera_perf", self.model, "--config", "sesion.tuning=0", says=["did you mean 'session.tuning'?"])
        code, _, errors = run("tessera_perf", self.model, "-e", "something_else")
        self.assertEqual(code, 2)
        self.assertNotIn("did you mean", errors)


class Placement(ToolTest):
    def test_ten_lines_or_node_by_node(self):
        model = self.write_relu("relu") / "model.onnx"
        _, bare, _ = run("tessera_inspect", model, "-e", "cpu")
        code, output, errors = run("tessera_inspect", model, "-e", "cpu", "--placement")
        self.assertEqual(code, 0, errors)
        summary = output[len(bare):].strip().splitlines()
        self.assertLessEqual(len(summary), 10)
        self.assertIn("CPUExecutionProvider: 1 node", summary[0])
        _, output, _ = run("tessera_inspect", model, "-e", "cpu", "--placement", "--verbose")
        self.assertIn("Relu", output[len(bare):])

    def test_reasons_are_counted(self):
        if "(-e dnnl): available" not in run("tessera_inspect", "--providers")[1]:
            self.skipTest("built without oneDNN")
        x = np.zeros(2, np.float32)
        names = ["x", *(f"v{i}" for i in range(40)), "y"]
        nodes = [helper.make_node("Erf", [a], [b]) for a, b in zip(names, names[1:])]
        model = self.write_case("chain", model_of(nodes, [("x", x)], [("y", x)]), [x], [x]) / "model.onnx"
        _, output, _ = run("tessera_inspect", model, "-e", "dnnl", "--placement", "-o", "0")
        self.assertIn("    41x refused by DnnlExecutionProvider: oneDNN has no lowering for this operator", output)
        self.assertIn("CPUExecutionProvider: 41 nodes", output)


if __name__ == "__main__":
    unittest.main()
