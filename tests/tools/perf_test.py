"""tessera_perf: its JSON, by the keys that others read, and the values that it writes."""

import json
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tool_test import ToolTest, model_of, run


class PerfTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.write_relu("relu") / "model.onnx"

    def measure(self, *arguments, model=None):
        code, output, errors = run("tessera_perf", model or self.model, "-t", 1, "--json", *arguments)
        self.assertEqual(code, 0, errors)
        return json.loads(output)

    def test_keys_and_values(self):
        result = self.measure("-r", 50)
        keys = {"latency_ms", "runs_per_second", "load_ms", "peak_rss_mib", "allocations_per_run", "providers", "runs"}
        self.assertEqual(set(result), keys)
        latency = result["latency_ms"]
        self.assertEqual(set(latency), {"median", "min", "p90", "p99"})
        self.assertTrue(0 < latency["min"] <= latency["median"] <= latency["p90"] <= latency["p99"] < 1000, latency)
        self.assertEqual((result["runs"], result["providers"], result["allocations_per_run"]), (50, {"CPUExecutionProvider": 1}, 0))
        self.assertGreater(result["runs_per_second"], 0)
        self.assertGreater(result["load_ms"], 0)
        self.assertTrue(1 < result["peak_rss_mib"] < 4096, result)

    def test_percentiles_are_of_the_nearest_rank(self):
        latency = self.measure("-r", 2)["latency_ms"]
        self.assertEqual(latency["median"], latency["min"])
        self.assertEqual(latency["p90"], latency["p99"])
        self.assertGreater(latency["p99"], 0)

    def test_allocations(self):
        x = np.ones(2, np.float32)
        both = helper.make_tensor_sequence_value_info("y", onnx.TensorProto.FLOAT, None)
        model = model_of([helper.make_node("SequenceConstruct", ["x", "x"], ["y"])], [("x", x)], [both])
        sequence = self.write_case("sequence", model, [], []) / "model.onnx"
        for callers in (1, 2):
            # What runs at the same time for the first time allocates once more.
            self.assertLess(self.measure("-r", 50, "--callers", callers)["allocations_per_run"], 1)
            result = self.measure("-r", 50, "--callers", callers, model=sequence)
            self.assertGreaterEqual(result["allocations_per_run"], 1)
            self.assertEqual(result["runs"], 50 * callers)

    def test_outputs(self):
        for callers in (1, 2):
            folder = self.root / f"results_{callers}"
            self.measure("-r", 2, "--callers", callers, "--inputs", self.model.parent / "test_data_set_0", "--outputs", folder)
            result = numpy_helper.to_array(onnx.load_tensor(folder / "output_0.pb"))
            np.testing.assert_array_equal(result, np.asarray([0, 2], np.float32))

    def test_inputs_go_by_the_names_inside(self):
        x, bias = np.asarray([1, 2], np.float32), np.asarray([10, 20], np.float32)
        model = model_of([helper.make_node("Sub", ["x", "bias"], ["y"])], [("x", x), ("bias", bias)], [("y", x)])
        self.check_difference(model, x - bias)
        model.graph.initializer.append(numpy_helper.from_array(0 * bias, "bias"))  # which inputs may replace
        self.check_difference(model, x - bias)

    def check_difference(self, model, expected):
        x, bias = np.asarray([1, 2], np.float32), np.asarray([10, 20], np.float32)
        number = len(model.graph.initializer)
        folder = self.write_case(f"turned_{number}", model, [numpy_helper.from_array(bias, "bias"), numpy_helper.from_array(x, "x")], [])
        results = self.root / f"differences_{number}"
        self.measure("-r", 2, "--inputs", folder / "test_data_set_0", "--outputs", results, model=folder / "model.onnx")
        np.testing.assert_array_equal(numpy_helper.to_array(onnx.load_tensor(results / "output_0.pb")), expected)

    def test_a_missing_input_is_told_of(self):
        code, _, errors = run("tessera_perf", self.model, "-r", 1, "--inputs", self.root)
        self.assertEqual(code, 1)
        self.assertIn("has no value for input 'x'", errors)

    def test_open_dimensions_that_became_one(self):
        model = self.write_open_relu()
        _, output, _ = run("tessera_perf", model, "-r", 1)
        self.assertIn("n = 1: give --dim NAME=N for another size", output)
        self.assertEqual(self.measure("-r", 1, model=model)["dims_of_one"], ["n"])
        self.assertNotIn("dims_of_one", self.measure("-r", 1, "--dim", "n=3", model=model))

    def test_a_profile_is_part_of_the_object(self):
        profile = self.measure("-r", 3, "--profile")["profile"]
        self.assertEqual((profile["runs"], len(profile["operators"])), (3, 1))
        self.assertEqual(profile["operators"][0]["operator"], "Relu (CPUExecutionProvider)")
        self.assertEqual(profile["operators"][0]["calls_per_run"], 1)
        self.assertGreater(profile["operators"][0]["ms_per_run"], 0)
        elements = profile["operators"][0]["flops_per_run"]
        self.assertGreater(elements, 0)
        self.assertEqual(profile["operators"][0]["bytes_per_run"], 8 * elements)

    def test_a_profile_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, TMPDIR=folder):
            self.assertNotIn("trace", self.measure("-r", 3, "--profile")["profile"])
            self.assertEqual(os.listdir(folder), [])
            trace = pathlib.Path(folder) / "kept.json"
            self.assertEqual(self.measure("-r", 3, "--trace", trace)["profile"]["trace"], str(trace))
            self.assertEqual(os.listdir(folder), ["kept.json"])

    def test_a_precision_that_onednn_may_not_use_is_float32(self):
        x, w = np.ones((4, 64), np.float32), np.ones((64, 8), np.float32)
        weights = numpy_helper.from_array(w, "w")
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", x)], [("y", x @ w)])
        model.graph.initializer.append(weights)
        path = self.write_case("product", model, [x], []) / "model.onnx"
        with unittest.mock.patch.dict(os.environ, DNNL_MAX_CPU_ISA="AVX2"):
            code, _, errors = run("tessera_perf", path, "-e", "dnnl", "-i", "precision|bf16 claims|all", "-r", 2)
        if "DnnlExecutionProvider" not in errors and code != 0:
            self.skipTest("built without oneDNN")
        self.assertEqual(code, 0, errors)
        # oneDNN says so, or before it the session, where the processor lacks the instructions.
        self.assertRegex(errors, "DnnlExecutionProvider runs at f32: precision bf16 needs|"
                                 "option precision of DnnlExecutionProvider is bf16, which needs .*: all runs at f32")

    def test_a_caller_that_fails_ends_the_measurement(self):
        data_set = self.model.parent / "test_data_set_0"
        (data_set / "input_0.pb").write_bytes(numpy_helper.from_array(np.ones(3, np.float32)).SerializeToString())
        code, _, errors = run("tessera_perf", self.model, "--callers", 3, "--inputs", data_set)
        self.assertEqual(code, 1, errors)


if __name__ == "__main__":
    unittest.main()
