"""The command lines: options may stand before what is positional, and mistakes are told of."""

import json
import unittest

from tool_test import ToolTest, run


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


if __name__ == "__main__":
    unittest.main()
