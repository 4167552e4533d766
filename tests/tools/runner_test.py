"""onnx_test_runner: what it compares, what it counts, what it writes."""

import importlib.util
import pathlib
import unittest
import xml.etree.ElementTree

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool_test import ToolTest, model_of, run


def sequence(arrays):
    return numpy_helper.from_list(arrays)


def table(entries):
    """A map from numbers to floats."""
    proto = onnx.MapProto(key_type=TensorProto.INT64, keys=list(entries))
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    proto.values.tensor_values.extend(numpy_helper.from_array(np.asarray(value, np.float32)) for value in entries.values())
    return onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP, map_values=[proto])


class RunnerTest(ToolTest):
    def expect(self, counts, *arguments, says=()):
        """The last line, and the exit code that follows from it."""
        code, output, errors = run("onnx_test_runner", "-e", "cpu", self.cases, *arguments)
        self.assertEqual(output.splitlines()[-1], "{} passed, {} failed, {} skipped".format(*counts), output + errors)
        self.assertEqual(code, 1 if counts[1] else 0, output)
        for text in says:
            self.assertIn(text, output)
        return output


class Comparison(RunnerTest):
    def test_equal(self):
        self.write_relu("relu")
        self.expect((1, 0, 0))

    def test_values(self):
        self.write_relu("within", expected=[0, 2.0019])
        self.write_relu("beyond", expected=[0, 2.0021])
        self.expect((1, 1, 0), says=["FAILED beyond [values]", "1 of 2 elements differ, first at [1]: 2 instead of 2.0021; largest error 0.0021, allowed 1e-07 + 0.001 of the expected value"])

    def test_the_largest_error_is_told_of(self):
        self.write_relu("within", expected=[0, 2.0019])
        self.expect((1, 0, 0), "-v", says=["largest error 0.0019)"])
        self.expect((1, 0, 0), "-v", "--isolate", says=["largest error 0.0019)"])
        self.expect((0, 1, 0), "-t", "1e-4", says=["allowed 1e-07 + 0.0001 of the expected value"])

    def test_special_values(self):
        x = np.ones((1, 1, 4), np.float32)
        model = model_of([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2])], [("x", x)], [("y", x[:, :, :3])])
        self.write_case("pool", model, [x], [0 * x[:, :, :3]])  # what is stored does not count
        self.expect((1, 0, 0), "--special-values")

    def test_not_a_number_and_infinity(self):
        self.write_identity("same", np.asarray([np.nan, np.inf], np.float32), np.asarray([np.nan, np.inf], np.float32))
        self.write_identity("number", np.asarray([np.nan], np.float32), np.asarray([0], np.float32))
        self.write_identity("infinity", np.asarray([np.inf], np.float32), np.asarray([-np.inf], np.float32))
        self.expect((1, 2, 0), says=["FAILED number [values]", "FAILED infinity [values]"])

    def test_shape(self):
        self.write_relu("relu", expected=[[0, 2]])
        self.expect((0, 1, 0), says=["FAILED relu [shape]"])

    def test_type(self):
        self.write_identity("type", np.ones(2, np.float32), np.ones(2, np.int32))
        self.expect((0, 1, 0), says=["FAILED type ["])

    def test_strings(self):
        self.write_identity("same", np.asarray(["a"], object), np.asarray(["a"], object))
        self.write_identity("other", np.asarray(["a"], object), np.asarray(["b"], object))
        self.expect((1, 1, 0), says=["FAILED other [values]"])

    def test_only_narrow_integers_may_differ_by_whole_units(self):
        for dtype in (np.uint8, np.int8, np.uint16, np.int16):
            self.write_identity(f"one_{dtype.__name__}", np.asarray([4], dtype), np.asarray([5], dtype), tolerance='{"atol": 1}')
            self.write_identity(f"two_{dtype.__name__}", np.asarray([4], dtype), np.asarray([6], dtype), tolerance='{"atol": 1}')
            self.write_identity(f"none_{dtype.__name__}", np.asarray([4], dtype), np.asarray([5], dtype))
        for dtype in (np.bool_, np.int32, np.uint32, np.int64, np.uint64):
            self.write_identity(f"wide_{dtype.__name__}", np.asarray([0], dtype), np.asarray([1], dtype), tolerance='{"atol": 1}')
        self.expect((4, 13, 0), says=["FAILED wide_bool", "FAILED wide_int64"])

    def test_halves_get_two_units_unless_told_otherwise(self):
        one, second_next = np.asarray([1], np.float16), np.asarray([1 + 2**-9], np.float16)
        self.write_identity("default", one, second_next)
        self.write_identity("stated", one, second_next, tolerance='{"rtol": 1e-3}')
        self.expect((1, 1, 0), says=["FAILED stated"])
        for isolate in ([], ["--isolate"]):
            self.expect((0, 2, 0), "-t", "1e-3", *isolate)
            self.expect((0, 2, 0), "-a", "1e-4", *isolate)
            self.expect((2, 0, 0), "-t", "2e-3", *isolate)


class Data(RunnerTest):
    def write_split(self, name):
        x = np.arange(4, dtype=np.float32)
        model = model_of([helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2)], [("x", x)], [("a", x[:2]), ("b", x[2:])])
        return self.write_case(name, model, [x], [x[:2], x[2:]]) / "test_data_set_0"

    def test_missing_outputs(self):
        self.write_split("whole")
        (self.write_split("last") / "output_1.pb").unlink()
        (self.write_split("first") / "output_0.pb").unlink()
        self.expect((1, 2, 0), says=["FAILED last [data]", "output_1.pb is missing", "FAILED first [data]"])

    def test_names_inside_the_files(self):
        x, y = np.asarray([3], np.float32), np.asarray([5, 7], np.float32)
        model = model_of([helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["y"], ["b"])], [("x", x), ("y", y)], [("a", x), ("b", y)])
        named = numpy_helper.from_array
        self.write_case("turned", model, [named(y, "y"), named(x, "x")], [named(-y, "b"), named(-x, "a")])
        self.write_case("unknown", model, [named(x, "data"), named(y, "more")], [-x, -y])
        self.write_case("twice", model, [named(x, "x"), named(x, "x")], [-x, -y])
        self.expect((2, 1, 0), says=["FAILED twice [data]", "is the second file for input 'x'"])

    def test_initializers_that_inputs_may_replace(self):
        x, bias = np.asarray([1, 2], np.float32), np.asarray([10, 20], np.float32)
        model = model_of([helper.make_node("Add", ["x", "bias"], ["y"])], [("x", x), ("bias", bias)], [("y", x)])
        model.graph.initializer.append(numpy_helper.from_array(0 * bias, "bias"))
        self.write_case("own", model, [x], [x])
        self.write_case("by_name", model, [numpy_helper.from_array(bias, "bias"), numpy_helper.from_array(x, "x")], [x + bias])
        self.write_case("by_number", model, [x, bias], [x + bias])
        self.expect((3, 0, 0))

    def test_missing_inputs(self):
        (self.write_split("none") / "input_0.pb").unlink()
        self.expect((0, 1, 0))

    def test_damaged_files(self):
        (self.write_split("data") / "output_0.pb").write_bytes(b"\xff\xff")
        (self.write_split("model").parent / "model.onnx").write_bytes(b"\xff\xff")
        self.expect((0, 2, 0), says=["FAILED data [data]", "FAILED model [load]"])

    def test_sequences(self):
        x = np.ones(2, np.float32)
        y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
        model = model_of([helper.make_node("SequenceConstruct", ["x", "x"], ["y"])], [("x", x)], [y])
        self.write_case("same", model, [x], [sequence([x, x])])
        self.write_case("value", model, [x], [sequence([x, 2 * x])])
        self.write_case("count", model, [x], [sequence([x])])
        self.expect((1, 2, 0), says=["FAILED value [values]", "element 1", "FAILED count [shape]"])

    def test_maps(self):
        x = np.asarray([[1, 2]], np.float32)
        node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[7, 8])
        value_type = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        y = helper.make_value_info("y", helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, value_type)))
        model = model_of([node], [("x", x)], [y])
        self.write_case("same", model, [x], [table({8: 2, 7: 1})])
        self.write_case("value", model, [x], [table({7: 1, 8: 3})])
        self.write_case("key", model, [x], [table({7: 1, 9: 2})])
        self.expect((1, 2, 0), says=["FAILED value [values]", "FAILED key [values]"])

    def test_optionals(self):
        x = np.ones(2, np.float32)
        y = helper.make_value_info("y", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2])))
        model = model_of([helper.make_node("Optional", ["x"], ["y"])], [("x", x)], [y])
        self.write_case("same", model, [x], [numpy_helper.from_optional(x)])
        self.write_case("value", model, [x], [numpy_helper.from_optional(2 * x)])
        self.write_case("none", model, [x], [numpy_helper.from_optional(None)])
        self.expect((1, 2, 0), says=["FAILED value [values]", "FAILED none [type]"])


class Report(RunnerTest):
    def setUp(self):
        super().setUp()
        self.write_relu("good")
        self.write_relu("bad", expected=[0, 3])
        self.write_relu("left_out")
        self.skips = self.root / "skips.txt"
        self.skips.write_text("# why\nleft_out: not today\n")

    def test_junit(self):
        for isolate in ([], ["--isolate"]):
            junit = self.root / "junit.xml"
            self.expect((1, 1, 1), "--skip", self.skips, "--junit", junit, *isolate, says=["skipped left_out: not today"])
            suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
            self.assertEqual([suite.get(key) for key in ("tests", "failures", "skipped")], ["3", "1", "1"])
            cases = {case.get("name"): case for case in suite.iter("testcase")}
            self.assertEqual(sorted(cases), ["bad", "good", "left_out"])
            self.assertEqual(cases["bad"].find("failure").get("message"), "values")
            self.assertEqual(cases["left_out"].find("skipped").get("message"), "not today")
            self.assertEqual(len(cases["good"]), 0)

    def test_junit_that_cannot_be_written_is_told_of_before_anything_runs(self):
        code, output, errors = run("onnx_test_runner", self.cases, "--junit", self.root / "none" / "junit.xml")
        self.assertEqual((code, output), (2, ""))
        self.assertIn("junit.xml", errors)

    def test_junit_that_fails_later_leaves_the_summary(self):
        code, output, _ = run("onnx_test_runner", self.cases, "-n", "good", "--junit", "/dev/full")
        self.assertEqual((code, output.splitlines()[-1]), (1, "1 passed, 0 failed, 0 skipped"))
        self.assertIn("cannot write /dev/full", output)

    def test_skips_of_no_case(self):
        self.skips.write_text("left_out: not today\nbad: known\ngone: once\n")
        self.expect((1, 0, 2), "--skip", self.skips, says=["no case is called 'gone'"])

    def test_no_case(self):
        code, output, _ = run("onnx_test_runner", self.cases, "-n", "nothing")
        self.assertEqual((code, output.splitlines()[-1]), (1, "0 passed, 0 failed, 0 skipped"))

    def test_expected_number_of_passed_cases(self):
        for number, expected in ((2, 0), (1, 1), (3, 1)):
            code, output, _ = run("onnx_test_runner", self.cases, "-n", "good|left", "--expect-passed", number)
            self.assertEqual((code, output.splitlines()[-1]), (expected, "2 passed, 0 failed, 0 skipped"))
            self.assertEqual("--expect-passed" in output, bool(expected))

    def test_least_share_of_the_provider(self):
        x = np.ones(2, np.float32)
        constant = helper.make_node("Constant", [], ["y"], value=numpy_helper.from_array(x))
        self.write_case("folded", model_of([constant], [], [("y", x)]), [], [x])
        for share, expected in ((50, 0), (51, 1)):
            code, output, _ = run("onnx_test_runner", "-e", "CPU", self.cases, "-n", "good|folded", "--least-share", share)
            self.assertEqual((code, output.splitlines()[-1]), (expected, "2 passed, 0 failed, 0 skipped"), output)
            self.assertEqual("in 1 of 2 cases (50.0 %)" in output, bool(expected))


class ConformanceData(unittest.TestCase):
    def test_the_marker_counts_for_nothing_when_cases_are_missing(self):
        path = pathlib.Path(__file__).parent.parent / "conformance" / "make_data.py"
        spec = importlib.util.spec_from_file_location("make_data", path)
        make_data = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(make_data)
        test = ToolTest()
        test.setUp()
        self.addCleanup(test.doCleanups)
        marker = test.root / "marker"
        self.assertFalse(make_data.is_complete(test.root, marker))
        marker.touch()
        self.assertFalse(make_data.is_complete(test.root, marker))
        case = test.root / "node" / "a" / "model.onnx"
        case.parent.mkdir(parents=True)
        case.touch()
        marker.write_text('{"node": 1, "simple": 0, "light": 0}')
        self.assertTrue(make_data.is_complete(test.root, marker))
        case.unlink()
        self.assertFalse(make_data.is_complete(test.root, marker))


if __name__ == "__main__":
    unittest.main()
