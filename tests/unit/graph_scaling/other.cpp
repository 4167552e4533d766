// Kinds with nested graphs, functions, sequences and strings, and wide borders.

#include <array>

#include "graph_scaling/builder.h"

namespace tessera::scaling {
namespace {

using testing::Int;
using testing::Ints;

onnx::GraphProto& Nested(onnx::NodeProto& node, const char* name) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name(name);
  return *attribute->mutable_g();
}

void AddText(onnx::AttributeProto& attribute, int i) { attribute.add_strings("key" + std::to_string(i)); }

void Output(onnx::GraphProto& graph, const std::string& name, ElementType type = ElementType::kFloat,
            std::vector<int64_t> dims = {2, 3}) {
  ModelBuilder::Declare(graph.add_output(), name, type, std::move(dims));
}

void BoolInput(Builder& b) { b.model().Input("condition", ElementType::kBool, {}); }
Case WithCondition(Case made) {
  made.names.push_back("condition");
  made.inputs.push_back(Tensor::Of<bool>({}, std::array{true}));
  return made;
}

/// An If whose branches read all of `values`.
Case Captured(Builder b, const std::vector<std::string>& values) {
  const std::string v = b.Add("If", {"condition"});
  onnx::NodeProto& node = b.last();
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& graph = Nested(node, branch);
    ModelBuilder::AddNode(graph, branch == std::string("then_branch") ? "Sum" : "Max", values, {branch});
    Output(graph, branch);
  }
  return WithCondition(b.Finish(v));
}

Case CapturedByIf(int n) {
  Builder b;
  BoolInput(b);
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) values.push_back(b.Add("Mul", {"x", b.Scalar(1 + static_cast<float>(i) / 1024)}));
  return Captured(std::move(b), values);
}
Case IfOutputs(int n) {
  Builder b;
  BoolInput(b);
  std::vector<std::string> results;
  for (int i = 0; i < n; ++i) results.push_back(Name("r", i));
  onnx::NodeProto& node = b.Node("If", {"condition"}, results);
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& graph = Nested(node, branch);
    for (int i = 0; i < n; ++i) {
      const std::string c = Name("c", i), out = Name(branch, i);
      onnx::NodeProto& constant = ModelBuilder::AddNode(graph, "Constant", {}, {c});
      testing::Float(constant, "value_float", static_cast<float>(i));
      ModelBuilder::AddNode(graph, "Mul", {"x", c}, {out});
      Output(graph, out);
    }
  }
  return WithCondition(b.Finish(b.Add("Sum", results)));
}
Case IdentitiesCapturedByIf(int n) {
  Builder b;
  BoolInput(b);
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i)
    values.push_back(b.Add("Identity", {i % 2 == 0 ? "x" : b.Add("Mul", {"x", b.Scalar(static_cast<float>(i))})}));
  return Captured(std::move(b), values);
}
Case ManyIfs(int n) {
  Builder b;
  BoolInput(b);
  std::string v = "x";
  for (int i = 0; i < n / 4; ++i) {
    const std::string next = b.Add("If", {"condition"});
    onnx::NodeProto& node = b.last();
    for (const char* branch : {"then_branch", "else_branch"}) {
      onnx::GraphProto& graph = Nested(node, branch);
      ModelBuilder::AddNode(graph, branch == std::string("then_branch") ? "Cos" : "Sin", {v}, {"r"});
      Output(graph, "r");
    }
    v = next;
  }
  return WithCondition(b.Finish(v));
}
/// Ifs in Ifs, 30 deep, each with a part of the nodes.
Case NestedIfs(int n) {
  constexpr int kDepth = 30;
  Builder b;
  BoolInput(b);
  onnx::GraphProto* graph = b.model().proto().mutable_graph();
  onnx::NodeProto* outer = nullptr;
  std::string v = "x";
  for (int depth = 0; depth < kDepth; ++depth) {
    for (int i = 0; i < n / kDepth; ++i) {
      const std::string next = Name("d", depth) + Name("_", i);
      ModelBuilder::AddNode(*graph, "Cos", {v}, {next});
      v = next;
    }
    const std::string result = depth == 0 ? "y" : Name("r", depth);
    outer = &ModelBuilder::AddNode(*graph, "If", {"condition"}, {result});
    if (depth == 0) {
      b.model().Output("y", ElementType::kFloat, {2, 3});
    } else {
      Output(*graph, result);
    }
    onnx::GraphProto& other = Nested(*outer, "else_branch");
    ModelBuilder::AddNode(other, "Sin", {v}, {"s"});
    Output(other, "s");
    graph = &Nested(*outer, "then_branch");
  }
  ModelBuilder::AddNode(*graph, "Sin", {v}, {"s"});
  Output(*graph, "s");
  return WithCondition(b.Done());
}
Case CarriedByLoop(int n) {
  Builder b;
  const std::string trips = b.Ints({2});
  b.model().proto().mutable_graph()->mutable_initializer()->rbegin()->clear_dims();
  std::vector<std::string> given = {trips, ""}, results;
  for (int i = 0; i < n; ++i) given.push_back("x"), results.push_back(Name("r", i));
  onnx::NodeProto& node = b.Node("Loop", given, results);
  onnx::GraphProto& body = Nested(node, "body");
  ModelBuilder::Declare(body.add_input(), "at", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "go_in", ElementType::kBool, {});
  ModelBuilder::AddNode(body, "Identity", {"go_in"}, {"go"});
  Output(body, "go", ElementType::kBool, {});
  for (int i = 0; i < n; ++i) {
    ModelBuilder::Declare(body.add_input(), Name("in", i), ElementType::kFloat, {2, 3});
    ModelBuilder::AddNode(body, "Cos", {Name("in", i)}, {Name("out", i)});
    Output(body, Name("out", i));
  }
  return b.Finish(b.Add("Sum", results));
}
Case FunctionCalls(int n) {
  Builder b;
  auto* import = b.model().proto().add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  onnx::FunctionProto& function = *b.model().proto().add_functions();
  function.set_name("Twice");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("c");
  auto* opset = function.add_opset_import();
  opset->set_domain("");
  opset->set_version(21);
  const auto add = [&](const char* op, const char* from, const char* to) {
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type(op);
    node.add_input(from);
    node.add_output(to);
  };
  add("Cos", "a", "b");
  add("Sin", "b", "c");
  std::string v = "x";
  for (int i = 0; i < n / 2; ++i) {
    v = b.Add("Twice", {v});
    b.last().set_domain("mine");
  }
  return b.Finish(v);
}
/// Functions that call each other, 100 deep, from many places.
Case DeepFunctions(int n) {
  constexpr int kDepth = 100;
  Builder b;
  auto& model = b.model().proto();
  auto* import = model.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  for (int i = 0; i < kDepth; ++i) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_name(Name("F", i));
    function.set_domain("mine");
    function.add_input("a");
    function.add_output("c");
    for (const char* domain : {"", "mine"}) {
      auto* opset = function.add_opset_import();
      opset->set_domain(domain);
      opset->set_version(*domain == 0 ? 21 : 1);
    }
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type(i + 1 < kDepth ? Name("F", i + 1) : "Cos");
    if (i + 1 < kDepth) node.set_domain("mine");
    node.add_input("a");
    node.add_output("c");
  }
  std::string v = "x";
  for (int i = 0; i < n; ++i) v = b.Add("Sin", {v});
  for (int i = 0; i < n / kDepth; ++i) {
    v = b.Add("F0", {v});
    b.last().set_domain("mine");
  }
  return b.Finish(v);
}
Case SequenceInserts(int n) {
  Builder b;
  std::string v = b.Add("SequenceEmpty", {});
  for (int i = 0; i < n; ++i) v = b.Add("SequenceInsert", {v, "x"});
  return b.Finish(b.Add("SequenceAt", {v, b.Ints({1})}));
}
/// As exporters write it: a Loop whose body appends to a sequence.
Case GrowingSequence(int n) {
  Builder b;
  const std::string trips = b.Ints({n}), empty = b.Add("SequenceEmpty", {});
  b.model().proto().mutable_graph()->mutable_initializer(0)->clear_dims();
  onnx::NodeProto& node = b.Node("Loop", {trips, "", empty}, {"all"});
  onnx::GraphProto& body = Nested(node, "body");
  ModelBuilder::Declare(body.add_input(), "at", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "go_in", ElementType::kBool, {});
  const auto declare = [](onnx::ValueInfoProto& info, const char* name) {
    info.set_name(name);
    info.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  };
  declare(*body.add_input(), "so_far");
  ModelBuilder::AddNode(body, "Identity", {"go_in"}, {"go"});
  ModelBuilder::AddNode(body, "SequenceInsert", {"so_far", "x"}, {"longer"});
  Output(body, "go", ElementType::kBool, {});
  declare(*body.add_output(), "longer");
  return b.Finish(b.Add("SequenceAt", {"all", b.Ints({1})}));
}
Case LongSequence(int n) {
  Builder b;
  std::string v = b.Add("SequenceConstruct", std::vector<std::string>(static_cast<size_t>(n), "x"));
  std::string sum = "x";
  for (int i = 0; i < n; ++i) sum = b.Add("Add", {sum, b.Add("SequenceAt", {v, b.Ints({i})})});
  return b.Finish(sum);
}
Case GraphInputs(int n) {
  Builder b;
  std::string v = "x";
  for (int i = 0; i < n; ++i) {
    b.model().Input(Name("in", i), ElementType::kFloat, {2, 3});
    v = b.Add("Add", {v, Name("in", i)});
  }
  Case made = b.Finish(v);
  for (int i = 0; i < n; ++i) {
    made.names.push_back(Name("in", i));
    made.inputs.push_back(made.inputs[0]);
  }
  return made;
}
Case OpenDimensions(int n) {
  Builder b;
  std::string v = "x";
  for (int i = 0; i < n; ++i) {
    b.model().Input(Name("in", i), ElementType::kFloat, {-1, 3}).NameDim(Name("in", i), 0, Name("rows", i));
    v = b.Add("Add", {v, b.Add("Neg", {Name("in", i)})});
  }
  Case made = b.Finish(v);
  for (int i = 0; i < n; ++i) {
    made.names.push_back(Name("in", i));
    made.inputs.push_back(made.inputs[0]);
  }
  return made;
}
Case Initializers(int n) {
  Builder b;
  std::string v = "x";
  for (int i = 0; i < n; ++i) {
    const std::string c = b.Floats({3}, {static_cast<float>(i), 1, 2});
    if (i % 2 == 0) v = b.Add("Max", {v, c});
  }
  return b.Finish(v);
}
Case Labels(int n) {
  Builder b;
  auto* import = b.model().proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(2);
  b.model().Input("text", ElementType::kString, {2});
  const std::string labels = b.Add("LabelEncoder", {"text"});
  onnx::NodeProto& node = b.last();
  node.set_domain("ai.onnx.ml");
  auto* keys = node.add_attribute();
  keys->set_name("keys_strings");
  keys->set_type(onnx::AttributeProto::STRINGS);
  auto* values = node.add_attribute();
  values->set_name("values_floats");
  values->set_type(onnx::AttributeProto::FLOATS);
  for (int i = 0; i < n; ++i) {
    AddText(*keys, i);
    values->add_floats(static_cast<float>(i));
  }
  Case made = b.Finish(labels);
  made.names.push_back("text");
  made.inputs.push_back(Tensor::Of<std::string>({2}, std::array<std::string, 2>{"key1", "key2"}));
  return made;
}
Case NGrams(int n) {
  Builder b;
  b.model().Input("text", ElementType::kString, {2});
  const std::string counts = b.Add("TfIdfVectorizer", {"text"});
  onnx::NodeProto& node = b.last();
  testing::Text(node, "mode", "TF");
  Int(Int(Int(node, "min_gram_length", 1), "max_gram_length", 1), "max_skip_count", 0);
  Ints(node, "ngram_counts", {0});
  std::vector<int64_t> columns(static_cast<size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  Ints(node, "ngram_indexes", columns);
  auto* pool = node.add_attribute();
  pool->set_name("pool_strings");
  pool->set_type(onnx::AttributeProto::STRINGS);
  for (int i = 0; i < n; ++i) AddText(*pool, i);
  Case made = b.Finish(counts);
  made.names.push_back("text");
  made.inputs.push_back(Tensor::Of<std::string>({2}, std::array<std::string, 2>{"key1", "key2"}));
  return made;
}
Case Imports(int n) {
  Builder b;
  for (int i = 0; i < n; ++i) {
    auto* import = b.model().proto().add_opset_import();
    import->set_domain(Name("domain", i));
    import->set_version(1);
  }
  std::string v = "x";
  for (int i = 0; i < n; ++i) v = b.Add("Cos", {v});
  return b.Finish(v);
}
Case ManyFunctions(int n) {
  Builder b;
  auto& model = b.model().proto();
  auto* import = model.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  std::string v = "x";
  for (int i = 0; i < n / 2; ++i) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_name(Name("F", i));
    function.set_domain("mine");
    function.add_input("a");
    function.add_output("b");
    auto* opset = function.add_opset_import();
    opset->set_domain("");
    opset->set_version(21);
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type("Cos");
    node.add_input("a");
    node.add_output("b");
    v = b.Add(Name("F", i), {v});
    b.last().set_domain("mine");
  }
  return b.Finish(v);
}
Case Ranks(int n) {
  Builder b({2});
  std::vector<int64_t> ones(64, 1);  // as many as a tensor has
  ones[0] = 2;
  std::string v = b.Add("Reshape", {"x", b.Ints(ones)});
  for (int i = 0; i < n; ++i) v = b.Add("Cos", {v});
  return b.Finish(v);
}
Case Metadata(int n) {
  Builder b;
  for (int i = 0; i < n; ++i) {
    auto* entry = b.model().proto().add_metadata_props();
    entry->set_key(Name("key", i));
    entry->set_value("value");
    auto* info = b.model().proto().mutable_graph()->add_value_info();
    ModelBuilder::Declare(info, Name("unused", i), ElementType::kFloat, {2, 3});
  }
  return b.Finish("x");
}

}  // namespace

const std::vector<Kind>& OtherKinds() {
  static const std::map<std::string, std::string> all = {{"claims", "all"}};
  static const std::vector<Kind> kinds = {
      {"captured_by_if", CapturedByIf},
      {"if_outputs", IfOutputs},
      {"identities_captured_by_if", IdentitiesCapturedByIf},
      {"many_ifs", ManyIfs},
      {"nested_ifs", NestedIfs},
      {"carried_by_loop", CarriedByLoop},
      {"function_calls", FunctionCalls},
      {"deep_functions", DeepFunctions},
      {"many_functions", ManyFunctions},
      {"sequence_inserts", SequenceInserts},
      {"growing_sequence", GrowingSequence},
      {"long_sequence", LongSequence},
      {"graph_inputs", GraphInputs},
      {"open_dimensions", OpenDimensions},
      {"initializers", Initializers},
      {"labels", Labels},
      {"n_grams", NGrams},
      {"imports", Imports},
      {"ranks", Ranks},
      {"metadata", Metadata},
      {"onednn_many_ifs", ManyIfs, 1 << 20, "dnnl", all},
      {"opencl_graph_inputs", GraphInputs, 1 << 20, "opencl"},
  };
  return kinds;
}

}  // namespace tessera::scaling
