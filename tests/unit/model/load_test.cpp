#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/sanitizers.h"
#include "error_of.h"
#include "loading.h"
#include "model/model.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;
using testing::TemporaryFolder;
using testing::ToVector;

namespace fs = std::filesystem;

/// y = x + w, w = {1, 2}.
ModelBuilder Sum(bool w_is_input = false) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  if (w_is_input) model.Input("w", ElementType::kFloat, {2});
  model.Floats("w", {2}, {1, 2});
  model.Node("Add", {"x", "w"}, {"y"}, "sum");
  return model;
}

int64_t StatusKib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1));
  }
  return -1;
}

/// Starts the peak of the resident memory anew.
bool ResetPeak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << 5;
  refs.flush();
  return refs.good();
}

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

/// y = w[i], with a w of 1 GiB of zeros: in the file itself, or beside it.
ModelBuilder GatherModel() {
  ModelBuilder model;
  model.Input("i", ElementType::kInt64, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Gather", {"w", "i"}, {"y"});
  return model;
}

constexpr int64_t kGibibyte = int64_t{1} << 30;

fs::path WriteLargeModel(const fs::path& folder, bool aligned) {
  ModelBuilder model = GatherModel();
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(kGibibyte / 4);
  // The data at the end of each message, so that the end of the file need not be written.
  const std::string w = tensor.SerializeAsString() + "\x4a" + Varint(kGibibyte);
  std::string graph = model.proto().graph().SerializeAsString();
  graph += "\x2a" + Varint(w.size() + kGibibyte) + w;
  model.proto().clear_graph();
  std::string bytes;
  do {
    model.proto().set_doc_string(model.proto().doc_string() + "-");
    bytes = model.bytes() + "\x3a" + Varint(graph.size() + kGibibyte) + graph;
  } while ((bytes.size() % 4 == 0) != aligned);
  const fs::path path = folder / (aligned ? "aligned.onnx" : "unaligned.onnx");
  std::ofstream(path, std::ios::binary) << bytes;
  fs::resize_file(path, bytes.size() + kGibibyte);
  return path;
}

fs::path WriteModelWithLargeData(const fs::path& folder) {
  ModelBuilder model = GatherModel();
  auto* tensor = model.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(kGibibyte / 4);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("large.bin");
  std::ofstream(folder / "large.bin").close();
  fs::resize_file(folder / "large.bin", kGibibyte);
  std::ofstream(folder / "external.onnx", std::ios::binary) << model.bytes();
  return folder / "external.onnx";
}

TEST(Load, LargeWeightsStayInTheFile) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own memory counts too";
#endif
  const TemporaryFolder folder;
  const auto peak_mib = [&](const fs::path& path) -> int64_t {
    if (!ResetPeak()) return -1;
    const int64_t before = StatusKib("VmRSS");
    const Session session(path, OnCpu());
    const std::vector<int64_t> index = {12345};
    EXPECT_THAT(RunOnce(session, {Tensor::Of<int64_t>({1}, index)}), ElementsAre(0));
    return (StatusKib("VmHWM") - before) >> 10;
  };
  EXPECT_LT(peak_mib(WriteLargeModel(folder.path(), true)), 100);
  EXPECT_LT(peak_mib(WriteModelWithLargeData(folder.path())), 100);
  EXPECT_LT(peak_mib(WriteLargeModel(folder.path(), false)), 1200);  // the copy, and not the file's pages as well
}

TEST(Load, SessionsShareTheMapping) {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {512}).Output("y", ElementType::kFloat, {512});
  model.Node("Add", {"x", "w"}, {"y"});
  auto* tensor = model.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(512);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  folder.Write("w.bin", std::string(2048, 'w'));
  const fs::path path = folder.Write("model.onnx", model.bytes());
  const Model first = LoadModel(path), second = LoadModel(path);
  const auto data = [](const Model& loaded) { return loaded.graph->constant(loaded.graph->FindValue("w"))->raw(); };
  EXPECT_EQ(data(first), data(second));
  folder.Write("new.bin", std::string(2048, 'v'));
  fs::rename(folder.path() / "new.bin", folder.path() / "w.bin");  // another file of that name
  EXPECT_NE(data(first), data(LoadModel(path)));
}

TEST(Load, EveryIrVersion) {
  for (int64_t version = 3; version <= 14; ++version) {
    ModelBuilder model = Sum(/*w_is_input=*/true);
    model.proto().set_ir_version(version);
    const Session session = model.Session(OnCpu());
    EXPECT_THAT(RunOnce(session, {Floats({2}, {10, 20})}), ElementsAre(11, 22)) << version;
    // Initializers that are inputs too can be overridden since version 4.
    EXPECT_EQ(session.overridable_initializers().size(), version < 4 ? 0u : 1u) << version;
    if (version < 4) continue;
    model = Sum();
    model.proto().set_ir_version(version);
    EXPECT_TRUE(model.Session(OnCpu()).overridable_initializers().empty());
  }
  ModelBuilder model = Sum();
  model.proto().set_ir_version(15);
  EXPECT_THAT(LoadError(model), HasSubstr("IR version 15 is not supported"));
  model.proto().set_ir_version(-1);
  EXPECT_THAT(LoadError(model), HasSubstr("IR version -1 is not supported"));
}

/// v' = v + 1, three times; the body gives v' as its state and to be collected.
TEST(Load, NestedGraphsMayGiveAValueTwice) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1})
      .Output("y", ElementType::kFloat, {1})
      .Output("all", ElementType::kFloat, {3, 1});
  model.Ints("count", {3}).Floats("one", {1}, {1});
  auto* attribute = model.Node("Loop", {"count", "", "x"}, {"y", "all"}).add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "more", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_input(), "v", ElementType::kFloat, {1});
  ModelBuilder::AddNode(body, "Identity", {"more"}, {"still"});
  ModelBuilder::AddNode(body, "Add", {"v", "one"}, {"w"});
  ModelBuilder::Declare(body.add_output(), "still", ElementType::kBool, {});
  for (int i = 0; i < 2; ++i) ModelBuilder::Declare(body.add_output(), "w", ElementType::kFloat, {1});
  for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
    SessionOptions options = OnCpu();
    options.optimization_level = level;
    std::vector<Value> results(2);
    model.Session(options).Run(std::vector<Value>{Floats({1}, {10})}, results);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(13));
    EXPECT_THAT(ToVector(results[1]), ElementsAre(11, 12, 13));
  }
}

TEST(Load, FreeDimensionsThatTheModelDoesNotHave) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
  model.Node("Neg", {"x"}, {"y"});
  model.NameDim("x", 0, "sequence").NameDim("x", 1, "batch");
  SessionOptions options = OnCpu();
  options.free_dimensions = {{"batch", 2}, {"sequenz", 3}};
  EXPECT_THAT(ErrorOf([&] { model.Session(options); }),
              HasSubstr("the model has no free dimension 'sequenz' (its dimensions: batch, sequence)"));
  options.free_dimensions = {{"batch", 2}, {"sequence", 3}};
  EXPECT_EQ((*model.Session(options).inputs()[0].type.shape)[1].value, 2);
}

onnx::FunctionProto* AddFunction(ModelBuilder& model, const std::string& name, const std::string& overload = "") {
  if (model.proto().opset_import_size() == 1) {
    auto* import = model.proto().add_opset_import();
    import->set_domain("mine");
    import->set_version(1);
  }
  auto* function = model.proto().add_functions();
  function->set_domain("mine");
  function->set_name(name);
  function->set_overload(overload);
  function->add_input("p");
  function->add_output("q");
  for (const auto& [domain, version] : {std::pair("", 21), {"mine", 1}}) {
    auto* import = function->add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  return function;
}

void AddCall(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes, const std::string& op, const std::string& from,
             const std::string& to, const std::string& domain = "") {
  auto* node = nodes->Add();
  node->set_op_type(op);
  node->set_domain(domain);
  node->add_input(from);
  node->add_output(to);
}

TEST(Load, FunctionsOfTheModel) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  auto* leaky = AddFunction(model, "Leaky");
  leaky->add_attribute("slope");
  AddCall(leaky->mutable_node(), "LeakyRelu", "p", "q");
  auto* alpha = leaky->mutable_node(0)->add_attribute();
  alpha->set_name("alpha");
  alpha->set_ref_attr_name("slope");
  alpha->set_type(onnx::AttributeProto::FLOAT);
  auto* twice = AddFunction(model, "Twice");
  AddCall(twice->mutable_node(), "Neg", "p", "x");  // names inside are of no concern outside
  AddCall(twice->mutable_node(), "Leaky", "x", "q", "mine");
  auto* slope = twice->mutable_node(1)->add_attribute();
  slope->set_name("slope");
  slope->set_type(onnx::AttributeProto::FLOAT);
  slope->set_f(0.5f);
  auto* other = AddFunction(model, "Twice", "other");
  AddCall(other->mutable_node(), "Exp", "p", "q");
  AddCall(model.proto().mutable_graph()->mutable_node(), "Twice", "x", "y", "mine");
  EXPECT_THAT(RunOnce(model.Session(OnCpu()), {Floats({2}, {1, -2})}), ElementsAre(-0.5f, 2));
  model.proto().mutable_graph()->mutable_node(0)->set_overload("other");
  EXPECT_THAT(RunOnce(model.Session(OnCpu()), {Floats({2}, {0, 0})}), ElementsAre(1, 1));
}

TEST(Load, FunctionsThatCallThemselves) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  AddCall(AddFunction(model, "A")->mutable_node(), "B", "p", "q", "mine");
  AddCall(AddFunction(model, "B")->mutable_node(), "A", "p", "q", "mine");
  AddCall(model.proto().mutable_graph()->mutable_node(), "A", "x", "y", "mine");
  EXPECT_THAT(LoadError(model), HasSubstr("calls itself"));
}

TEST(Load, FunctionsThatMultiply) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  for (int i = 0; i < 40; ++i) {  // each calls the next one twice
    auto* function = AddFunction(model, "F" + std::to_string(i));
    const std::string next = "F" + std::to_string(i + 1);
    AddCall(function->mutable_node(), next, "p", "r", "mine");
    AddCall(function->mutable_node(), next, "r", "q", "mine");
  }
  AddCall(AddFunction(model, "F40")->mutable_node(), "Neg", "p", "q");
  AddCall(model.proto().mutable_graph()->mutable_node(), "F0", "x", "y", "mine");
  EXPECT_THAT(LoadError(model), HasSubstr("grows to more than"));
}

/// onnx's own inference of these equations does not come to an end.
TEST(Load, EinsumEquationsWithOtherThanLetters) {
  const auto einsum = [](const std::string& equation) {
    ModelBuilder model;
    model.Input("a", ElementType::kFloat, {1, 2})
        .Input("b", ElementType::kFloat, {2, 1})
        .Output("y", ElementType::kFloat, {1, 1});
    auto* attribute = model.Node("Einsum", {"a", "b"}, {"y"}).add_attribute();
    attribute->set_name("equation");
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(equation);
    return model;
  };
  const std::vector<Value> inputs = {Floats({1, 2}, {2, 3}), Floats({2, 1}, {5, 7})};
  std::vector<Value> results(1);
  einsum(" i j , j k -> i k ").Session(OnCpu()).Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(31));
  for (const std::string equation : {"i!,jk->ik", "i.j,jk->ik", "......,jk", "ij,jk\xff->ik"}) {
    EXPECT_THAT(ErrorOf([&] { einsum(equation).Session(OnCpu()).Run(inputs, results); }), HasSubstr("Einsum")) << equation;
  }
}

TEST(Load, HugeDimensions) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{int64_t{1} << 62, 4}, {int64_t{1} << 40}, {-3}, {1 << 20, 1 << 20, 1 << 20, 1 << 20}}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {});
    auto* tensor = model.proto().mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data("abcd");
    model.Node("Add", {"x", "w"}, {"y"});
    EXPECT_THAT(LoadError(model), HasSubstr("w")) << dims[0];
  }
  // What is only declared takes no memory.
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {int64_t{1} << 62, 4}).Output("y", ElementType::kFloat, {int64_t{1} << 62, 4});
  model.Node("Neg", {"x"}, {"y"});
  const Session session = model.Session(OnCpu());
  std::vector<Value> results(1);
  EXPECT_THAT(ErrorOf([&] { session.Run(std::vector<Value>{Floats({1}, {1})}, results); }), HasSubstr("x"));
}

struct BrokenCase {
  std::string name, error;
  std::function<void(ModelBuilder&)> break_it;
};

const BrokenCase kBroken[] = {
    {"Cycle", "cycle through Add 'a'",
     [](ModelBuilder& m) {
       m.Node("Add", {"x", "q"}, {"p"}, "a");
       m.Node("Neg", {"p"}, {"q"}, "b");
     }},
    {"SelfCycle", "cycle", [](ModelBuilder& m) { m.Node("Add", {"x", "p"}, {"p"}); }},
    {"ValueTwice", "value 'p' is defined twice",
     [](ModelBuilder& m) {
       m.Node("Neg", {"x"}, {"p"});
       m.Node("Exp", {"x"}, {"p"});
     }},
    {"OutputTwice", "defined twice", [](ModelBuilder& m) { m.Node("Split", {"x"}, {"p", "p"}); }},
    {"InputComputed", "value 'x' is defined twice", [](ModelBuilder& m) { m.Node("Neg", {"w"}, {"x"}); }},
    {"InitializerComputed", "value 'w' is defined twice", [](ModelBuilder& m) { m.Node("Neg", {"x"}, {"w"}); }},
    {"InitializerTwice", "initializer 'w' is defined twice", [](ModelBuilder& m) { m.Floats("w", {1}, {1}); }},
    {"InputTwice", "value 'x' is defined twice", [](ModelBuilder& m) { m.Input("x", ElementType::kFloat, {2}); }},
    {"NoSuchValue", "input 'nowhere' is not defined", [](ModelBuilder& m) { m.Node("Neg", {"nowhere"}, {"p"}); }},
    {"NoSuchOutput", "output 'nowhere' of graph 'test' is never computed",
     [](ModelBuilder& m) { m.Output("nowhere", ElementType::kFloat, {}); }},
    {"NoSuchOperator", "has no operator 'Nonsense'", [](ModelBuilder& m) { m.Node("Nonsense", {"x"}, {"p"}); }},
    {"TooManyInputs", "it has 3 inputs", [](ModelBuilder& m) { m.Node("Neg", {"x", "x", "x"}, {"p"}); }},
    {"WrongTypes", "is tensor(int64)",
     [](ModelBuilder& m) {
       m.Ints("i", {1});
       m.Node("Add", {"x", "i"}, {"p"});
     }},
    {"AttributeOfAnotherField", "attribute 'axis' is declared INT and holds STRING",
     [](ModelBuilder& m) {
       auto* axis = m.Node("Softmax", {"x"}, {"p"}).add_attribute();
       axis->set_name("axis");
       axis->set_type(onnx::AttributeProto::INT);
       axis->set_s("1");
     }},
    {"ListOfAnotherField", "attribute 'axes' is declared INTS and holds INT",
     [](ModelBuilder& m) {
       auto* axes = m.Node("ReduceSumSquare", {"x"}, {"p"}).add_attribute();
       axes->set_name("axes");
       axes->set_type(onnx::AttributeProto::INTS);
       axes->set_i(1);
     }},
    {"TensorTwice", "tensor 'twice' is given twice, as raw_data and as a list",
     [](ModelBuilder& m) {
       m.Floats("twice", {1}, {1});
       m.proto().mutable_graph()->mutable_initializer()->rbegin()->set_raw_data("abcd");
       m.proto().mutable_graph()->mutable_initializer()->rbegin()->add_float_data(1);
     }},
    {"AttributeTwice", "attribute 'axis' is given twice",
     [](ModelBuilder& m) {
       auto& node = m.Node("Softmax", {"x"}, {"p"});
       for (int i = 0; i < 2; ++i) {
         auto* axis = node.add_attribute();
         axis->set_name("axis");
         axis->set_type(onnx::AttributeProto::INT);
       }
     }},
    {"NoImports", "imports no operator set", [](ModelBuilder& m) { m.proto().clear_opset_import(); }},
    {"ImportsTwice", "domain 'ai.onnx' is imported twice, as version 21 and 17",
     [](ModelBuilder& m) {
       auto* import = m.proto().add_opset_import();
       import->set_domain("ai.onnx");
       import->set_version(17);
     }},
    {"GraphOutputTwice", "output 'y' of graph 'test' is listed twice",
     [](ModelBuilder& m) { m.Output("y", ElementType::kFloat, {2}); }},
    {"DefaultOfOtherShape", "initializer 'w' has shape [2]; the input of that name is declared as [3]",
     [](ModelBuilder& m) { m.Input("w", ElementType::kFloat, {3}); }},
    {"DefaultOfOtherRank", "initializer 'w' has shape [2]; the input of that name is declared as [",
     [](ModelBuilder& m) { m.Input("w", ElementType::kFloat, {2, -1}); }},
    {"FutureOpset", "is not supported", [](ModelBuilder& m) { m.proto().mutable_opset_import(0)->set_version(1000); }},
};

class BrokenModel : public ::testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenModel, SaysWhatIsWrong) {
  ModelBuilder model = Sum();
  GetParam().break_it(model);
  EXPECT_THAT(LoadError(model), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(Models, BrokenModel, ::testing::ValuesIn(kBroken),
                         [](const auto& info) { return info.param.name; });

/// y, a Constant's `attribute`.
Value ConstantOf(const onnx::AttributeProto& attribute, ElementType type) {
  ModelBuilder model;
  model.Output("y", type, {-1});
  *model.Node("Constant", {}, {"y"}).add_attribute() = attribute;
  const Session session = model.Session(OnCpu());
  std::vector<Value> results(1);
  session.Run(std::vector<Value>(), results);
  return results[0];
}

onnx::AttributeProto List(const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

/// Lists too large to go through the parser give the same as those that do.
TEST(Load, LargeListsOfAttributes) {
  for (const int64_t count : {3, 30000}) {
    auto ints = List("value_ints", onnx::AttributeProto::INTS), floats = List("value_floats", onnx::AttributeProto::FLOATS);
    auto strings = List("value_strings", onnx::AttributeProto::STRINGS);
    std::vector<int64_t> numbers;
    std::vector<float> reals;
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) {
      ints.add_ints(numbers.emplace_back(i % 2 == 0 ? i * 1000003 : -i));
      floats.add_floats(reals.emplace_back(static_cast<float>(i) / 3));
      strings.add_strings(texts.emplace_back(std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i)));
    }
    EXPECT_THAT(ConstantOf(ints, ElementType::kInt64).tensor().values<int64_t>(), ::testing::ElementsAreArray(numbers));
    EXPECT_THAT(ConstantOf(floats, ElementType::kFloat).tensor().values<float>(), ::testing::ElementsAreArray(reals));
    EXPECT_THAT(ConstantOf(strings, ElementType::kString).tensor().values<std::string>(),
                ::testing::ElementsAreArray(texts));
  }
}

/// An attribute whose list is one length-delimited field: numbers without tags of their own.
std::string Packed(const char* name, onnx::AttributeProto::AttributeType type, int field, const std::string& numbers) {
  return List(name, type).SerializeAsString() + static_cast<char>(field << 3 | 2) + Varint(numbers.size()) + numbers;
}

TEST(Load, PackedListsOfAttributes) {
  std::string ints, floats(80000, '\0');
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 40000; ++i) ints += Varint(static_cast<uint64_t>(numbers.emplace_back(i * 77)));
  const std::string packed = Packed("value_ints", onnx::AttributeProto::INTS, onnx::AttributeProto::kIntsFieldNumber, ints);
  // By hand: messages would write the list without packing.
  const auto put = [](const std::string& node_attribute) {
    onnx::ModelProto model;
    const std::string node =
        "\x12\x01y\x22\x08"
        "Constant\x2a" +
        Varint(node_attribute.size()) + node_attribute;
    onnx::GraphProto rest;
    rest.set_name("g");
    ModelBuilder::Declare(rest.add_output(), "y", ElementType::kInt64, {-1});
    const std::string graph = "\x0a" + Varint(node.size()) + node + rest.SerializeAsString();
    model.set_ir_version(8);
    model.add_opset_import()->set_version(21);
    return model.SerializeAsString() + "\x3a" + Varint(graph.size()) + graph;
  };
  const std::string bytes = put(packed);
  const Session session(std::as_bytes(std::span(bytes)), OnCpu());
  std::vector<Value> results(1);
  session.Run(std::vector<Value>(), results);
  EXPECT_THAT(results[0].tensor().values<int64_t>(), ::testing::ElementsAreArray(numbers));

  const std::string odd =
      put(Packed("value_floats", onnx::AttributeProto::FLOATS, onnx::AttributeProto::kFloatsFieldNumber, floats + "x"));
  EXPECT_THAT(ErrorOf([&] { Session(std::as_bytes(std::span(odd)), OnCpu()); }), HasSubstr("in the middle"));
  const std::string open =
      put(Packed("value_ints", onnx::AttributeProto::INTS, onnx::AttributeProto::kIntsFieldNumber, ints + "\x80"));
  EXPECT_THAT(ErrorOf([&] { Session(std::as_bytes(std::span(open)), OnCpu()); }), HasSubstr("in the middle"));
}

TEST(Load, DamagedBytes) {
  const std::string bytes = Sum().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto part = std::as_bytes(std::span(bytes)).first(size);
    EXPECT_NE(ErrorOf([&] { Session(part, OnCpu()); }), "no error") << size;
  }
  EXPECT_THAT(ErrorOf([] { Session(std::as_bytes(std::span("no model at all", 15)), OnCpu()); }),
              HasSubstr("not a valid protobuf"));
  EXPECT_THAT(ErrorOf([] { Session(fs::path("/nowhere/model.onnx"), OnCpu()); }), HasSubstr("/nowhere/model.onnx"));
  EXPECT_THAT(ErrorOf([] { Session(fs::path("/"), OnCpu()); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace tessera
