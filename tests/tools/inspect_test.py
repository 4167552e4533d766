"""tessera_inspect: what it says of a model, and the optimized model that it writes."""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool_test import ToolTest, run


class LinearModel(ToolTest):
    """y = x weight + bias, on the CPU."""

    def setUp(self):
        super().setUp()
        values = {"x": ["batch", 3], "y": ["batch", 2]}
        info = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in values.items()}
        bias = helper.make_tensor_value_info("bias", TensorProto.FLOAT, [2])
        nodes = [helper.make_node("MatMul", ["x", "weight"], ["product"]), helper.make_node("Add", ["product", "bias"], ["y"])]
        weights = [numpy_helper.from_array(np.ones((3, 2), np.float32), "weight"), numpy_helper.from_array(np.ones(2, np.float32), "bias")]
        graph = helper.make_graph(nodes, "linear", [info["x"], bias], [info["y"]], weights, doc_string="of the graph")
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=10,
                                  producer_name="a test", model_version=7, doc_string="of the model")
        helper.set_model_props(model, {"author": "nobody"})
        self.model = self.root / "linear.onnx"
        onnx.save(model, self.model)

    def inspect(self, *arguments):
        code, output, errors = run("tessera_inspect", self.model, "-e", "cpu", "--json", *arguments)
        self.assertEqual(code, 0, errors)
        return json.loads(output)


class Json(LinearModel):
    def test_what_the_model_says_of_itself(self):
        said = self.inspect()
        self.assertEqual(said["opsets"], {"ai.onnx": 21, "ai.onnx.ml": 3})
        self.assertEqual(said["metadata"], {
            "ir_version": 10, "producer_name": "a test", "producer_version": "", "domain": "", "version": 7, "description": "of the model",
            "graph_name": "linear", "graph_description": "of the graph", "custom": {"author": "nobody"}})
        self.assertEqual(said["inputs"], [{"name": "x", "type": "tensor(float)", "shape": ["batch", 3]}])
        self.assertEqual(said["outputs"], [{"name": "y", "type": "tensor(float)", "shape": ["batch", 2]}])
        self.assertEqual(said["overridable_initializers"], [{"name": "bias", "type": "tensor(float)", "shape": [2]}])
        self.assertEqual(said["warnings"], [])

    def test_sizes_are_the_models_own(self):
        for level in (0, 99):
            sizes = self.inspect("-o", level)["sizes"]
            self.assertEqual(sizes["file_bytes"], self.model.stat().st_size)
            self.assertEqual((sizes["nodes"], sizes["weights"], sizes["weight_values"], sizes["weight_bytes"]), (2, 2, 8, 32))
            self.assertIn("Cpu", sizes["bytes_in_use"])

    def test_placement_is_part_of_the_object(self):
        said = self.inspect("-o", 0)
        self.assertEqual([node["op_type"] for node in said["nodes"]], ["MatMul", "Add"])
        self.assertEqual(said["providers"][0]["name"], "CPUExecutionProvider")
        self.assertNotIn("optimization", said)

    def test_the_models_own_nodes_are_part_of_it(self):
        for level in (0, 99):
            said = self.inspect("-o", level)
            self.assertEqual([(node["op_type"], node["output"]) for node in said["model_nodes"]], [("MatMul", "product"), ("Add", "y")])
            for i, node in enumerate(said["model_nodes"]):
                self.assertEqual(node["provider"], "CPUExecutionProvider")
                for runs in node["runs_in"]:
                    self.assertIn(i, said["nodes"][runs]["model_nodes"])
            self.assertEqual(said["providers"][0]["model_nodes"], 2)

    def test_placement_names_nodes_without_a_name_by_their_output(self):
        _, output, _ = run("tessera_inspect", self.model, "-e", "cpu", "--placement", "--verbose")
        self.assertIn("MatMul -> 'product' (version 13): CPUExecutionProvider", output)
        self.assertIn("Add -> 'y' (version 14): CPUExecutionProvider", output)
        _, summary, _ = run("tessera_inspect", self.model, "-e", "cpu", "--placement")
        self.assertIn("CPUExecutionProvider: 2 nodes", summary)

    def test_passes_that_found_nothing_are_in_json_only(self):
        passes = self.inspect("--optimization")["optimization"]["passes"]
        idle = [one["name"] for one in passes if one["changes"] == 0]
        self.assertGreater(len(idle), 1)
        _, output, _ = run("tessera_inspect", self.model, "-e", "cpu", "--optimization")
        self.assertIn(f"{len(idle)} others found nothing", output)
        for name in idle:
            self.assertNotIn(f"  {name} ", output)


class OptimizedModel(LinearModel):
    def results(self, model):
        inputs = self.root / "inputs"
        inputs.mkdir(exist_ok=True)
        x = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "x")
        (inputs / "input_0.pb").write_bytes(x.SerializeToString())
        outputs = self.root / f"{model.stem}_outputs"
        code, _, errors = run("tessera_perf", model, "-r", 1, "--inputs", inputs, "--outputs", outputs)
        self.assertEqual(code, 0, errors)
        return numpy_helper.to_array(onnx.load_tensor(str(outputs / "output_0.pb")))

    def test_it_is_onnx_and_computes_the_same(self):
        for level in (0, 1, 2, 99):
            written = self.root / f"written_{level}.onnx"
            self.inspect("-o", level, "--write-optimized", written)
            onnx.checker.check_model(str(written), full_check=True)
            self.assertEqual([value.name for value in onnx.load(written).graph.output], ["y"])
            np.testing.assert_array_equal(self.results(written), self.results(self.model))

    def test_a_place_that_cannot_be_written_to(self):
        code, _, errors = run("tessera_inspect", self.model, "--write-optimized", self.root / "none" / "model.onnx")
        self.assertEqual(code, 1)
        self.assertIn("cannot write", errors)


if __name__ == "__main__":
    unittest.main()
