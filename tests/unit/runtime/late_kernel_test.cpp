// Operators on values whose types show only when the model runs: they come out of Toy's Untyped, of which no type is
// inferred.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "toy_provider.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A model whose inputs named in `open` are untyped for all that reads them.
class OpenModel : public ModelBuilder {
 public:
  explicit OpenModel(int opset = 21) : ModelBuilder(opset) {
    auto& import = *proto().add_opset_import();
    import.set_domain("toy");
    import.set_version(1);
  }

  OpenModel& Open(const std::string& name, ElementType type, const std::vector<int64_t>& dims) {
    Input(name + ".given", type, dims);
    Node("Untyped", {name + ".given"}, {name}).set_domain("toy");
    return *this;
  }
  OpenModel& OpenConstant(const std::string& name, const Tensor& tensor) {
    *proto().mutable_graph()->add_initializer() = ToProto(tensor, name + ".given");
    Node("Untyped", {name + ".given"}, {name}).set_domain("toy");
    return *this;
  }

  static SessionOptions Options(bool optimized = true) {
    SessionOptions options = OnToy({{"ops", "Untyped"}});
    options.intra_op_threads = 1;
    options.optimization_level = optimized ? OptimizationLevel::kAll : OptimizationLevel::kNone;
    return options;
  }

  std::vector<Value> Run(const std::vector<Value>& inputs, bool optimized = true) const {
    const auto session = Session(Options(optimized));
    std::vector<Value> results(session.outputs().size());
    session.Run(inputs, results);
    return results;
  }

  /// The same with and without the optimizer.
  std::string Error(const std::vector<Value>& inputs) const {
    const std::string optimized = ErrorOf([&] { Run(inputs); }), plain = ErrorOf([&] { Run(inputs, false); });
    return optimized == plain ? plain : optimized + " // " + plain;
  }
};

template <class T>
Value Of(const std::vector<int64_t>& dims, std::vector<T> values) {
  Tensor tensor(ElementTypeOf<T>, Shape(dims));
  std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
  return tensor;
}

TEST(LateKernel, RunsForTheTypesThatCome) {
  OpenModel model;
  model.Open("a", ElementType::kInt64, {3}).Open("b", ElementType::kInt64, {3}).Output("y", ElementType::kInt64, {3});
  model.Node("Add", {"a", "b"}, {"sum"});
  model.Node("Neg", {"sum"}, {"y"});
  for (const bool optimized : {false, true}) {
    const auto results = model.Run({Of<int64_t>({3}, {1, 2, 3}), Of<int64_t>({3}, {10, 20, 30})}, optimized);
    EXPECT_THAT(results[0].tensor().values<int64_t>(), ElementsAre(-11, -22, -33));
  }
}

TEST(LateKernel, InputsOfOneTypeParameterMustAgree) {
  OpenModel model;
  model.Open("a", ElementType::kFloat, {3}).Open("b", ElementType::kInt64, {3}).Output("y", ElementType::kFloat, {3});
  model.Node("Add", {"a", "b"}, {"y"}, "sum");
  EXPECT_THAT(
      model.Error({Of<float>({3}, {1, 2, 3}), Of<int64_t>({3}, {1, 2, 3})}),
      AllOf(HasSubstr("'sum'"), HasSubstr("input 1 ('b') is tensor(int64)"), HasSubstr("tensor(float) is expected")));
}

TEST(LateKernel, TypesThatTheOperatorDoesNotTakeAreRefused) {
  OpenModel model;
  model.Open("a", ElementType::kString, {3}).Output("y", ElementType::kFloat, {3});
  model.Node("Sqrt", {"a"}, {"y"}, "root");
  EXPECT_THAT(model.Error({Of<std::string>({3}, {"1", "2", "3"})}),
              AllOf(HasSubstr("'root'"), HasSubstr("tensor(string)")));
}

/// Its kernel copies as many bytes an element as the input has, into what is declared to have fewer.
TEST(LateKernel, OutputsDeclaredOfAnotherTypeAreRefused) {
  for (const ElementType declared : {ElementType::kUInt8, ElementType::kString, ElementType::kUInt4}) {
    OpenModel model;
    std::vector<int64_t> numbers(64, 0x4141414141414141);
    model.OpenConstant("x", Tensor::Of<int64_t>(Shape{64}, numbers))
        .Input("chosen", ElementType::kBool, {64})
        .Output("y", declared, {-1});
    Int(model.Node("Compress", {"x", "chosen"}, {"y"}, "compress"), "axis", 0);
    EXPECT_THAT(model.Error({Of<bool>({64}, std::vector<bool>(64, true))}),
                AllOf(HasSubstr("'compress'"), HasSubstr(declared == ElementType::kUInt4 ? "uint4" : "int64")));
  }
}

TEST(LateKernel, AttentionsPastIsOfItsKeysType) {
  OpenModel model(23);
  model.Input("q", ElementType::kFloat, {1, 2, 3, 8})
      .Input("k", ElementType::kFloat, {1, 2, 3, 8})
      .Input("v", ElementType::kFloat, {1, 2, 3, 8});
  model.Open("pk", ElementType::kUInt8, {1, 2, 40, 8}).Open("pv", ElementType::kUInt8, {1, 2, 40, 8});
  model.AnyOutput("y", ElementType::kFloat).AnyOutput("nk", ElementType::kFloat).AnyOutput("nv", ElementType::kFloat);
  model.Node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv"}, "attend");
  const Value numbers = Of<float>({1, 2, 3, 8}, std::vector<float>(48)),
              bytes = Of<uint8_t>({1, 2, 40, 8}, std::vector<uint8_t>(640));
  EXPECT_THAT(model.Error({numbers, numbers, numbers, bytes, bytes}), AllOf(HasSubstr("'attend'"), HasSubstr("uint8")));
}

TEST(LateKernel, ValuesOfOneHotAreNoStrings) {
  OpenModel model;
  model.Input("i", ElementType::kInt64, {2}).Output("y", ElementType::kString, {2, 3});
  model.Open("values", ElementType::kInt64, {2});
  model.Ints("depth", {3});
  model.Node("OneHot", {"i", "depth", "values"}, {"y"}, "hot");
  EXPECT_THAT(model.Error({Of<int64_t>({2}, {0, 1}), Of<int64_t>({2}, {7, 9})}), HasSubstr("'hot'"));
}

TEST(LateKernel, OutputsThatNothingDeclaresAreOfTheTypeThatIsInferredThen) {
  OpenModel model;
  model.Open("x", ElementType::kFloat16, {3}).Input("shape", ElementType::kInt64, {2});
  model.Node("Relu", {"x"}, {"positive"});
  Int(model.Node("Cast", {"positive"}, {"wide"}), "to", onnx::TensorProto::DOUBLE);
  model.Node("Expand", {"wide", "shape"}, {"spread"});
  model.Node("ReduceMax", {"spread"}, {"y"});
  model.proto().mutable_graph()->add_output()->set_name("y");
  const std::vector<Value> inputs = {Of<Float16>({3}, {Float16(-1.0f), Float16(0.5f), Float16(2.0f)}),
                                     Of<int64_t>({2}, {2, 3})};
  for (const bool optimized : {false, true})
    EXPECT_THAT(model.Run(inputs, optimized)[0].tensor().values<double>(), ElementsAre(2));
}

/// A branch whose type is not inferred: `name` comes out of Untyped.
void AddBranch(onnx::NodeProto& node, const std::string& attribute_name, const std::string& name) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(attribute_name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& graph = *attribute.mutable_g();
  graph.set_name(attribute_name);
  ModelBuilder::AddNode(graph, "Untyped", {name}, {"result"}).set_domain("toy");
  graph.add_output()->set_name("result");
}

/// y = twice what the condition chooses.
OpenModel Choice() {
  OpenModel model;
  model.Input("c", ElementType::kBool, {})
      .Input("floats", ElementType::kFloat, {2})
      .Input("integers", ElementType::kInt64, {2});
  auto& choice = model.Node("If", {"c"}, {"chosen"});
  AddBranch(choice, "then_branch", "floats");
  AddBranch(choice, "else_branch", "integers");
  model.Node("Add", {"chosen", "chosen"}, {"y"});
  model.proto().mutable_graph()->add_output()->set_name("y");
  return model;
}

std::vector<Value> Chosen(bool first) {
  return {Of<bool>({}, std::vector<bool>{first}), Of<float>({2}, {0.5f, 1.5f}), Of<int64_t>({2}, {3, 4})};
}

TEST(LateKernel, OneSessionTakesOneTypeAfterTheOther) {
  const Session session = Choice().Session(OpenModel::Options());
  for (int run = 0; run < 4; ++run) {
    std::vector<Value> results(1);
    session.Run(Chosen(run % 2 == 0), results);
    if (run % 2 == 0) {
      EXPECT_THAT(results[0].tensor().values<float>(), ElementsAre(1, 3));
    } else {
      EXPECT_THAT(results[0].tensor().values<int64_t>(), ElementsAre(6, 8));
    }
  }
}

TEST(LateKernel, ManyThreadsBringTheirTypesAtOnce) {
  const Session session = Choice().Session(OpenModel::Options());
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const bool floats = i % 2 == 0;
      for (int run = 0; run < 50; ++run) {
        std::vector<Value> results(1);
        session.Run(Chosen(floats), results);
        const Tensor& y = results[0].tensor();
        wrong += floats ? y.values<float>()[1] != 3 : y.values<int64_t>()[1] != 8;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(LateKernel, ASequenceHoldsNoElementsOfAnotherType) {
  OpenModel model;
  model.Open("x", ElementType::kInt64, {5}).Output("y", ElementType::kFloat, {-1});
  Int(model.Node("SequenceEmpty", {}, {"empty"}), "dtype", 1);
  model.Node("SequenceInsert", {"empty", "x"}, {"sequence"}, "insert");
  Int(model.Node("ConcatFromSequence", {"sequence"}, {"y"}), "axis", 0);
  EXPECT_THAT(model.Error({Of<int64_t>({5}, {1, 2, 3, 4, 5})}), AllOf(HasSubstr("'insert'"), HasSubstr("int64")));
}

TEST(LateKernel, ASequenceStandsNotForOneOfAnotherType) {
  OpenModel model;
  model.Open("x", ElementType::kInt64, {5}).Output("y", ElementType::kFloat, {-1});
  model.Node("SequenceConstruct", {"x", "x"}, {"made"}, "construct");
  model.Node("Untyped", {"made"}, {"sequence"}).set_domain("toy");
  auto& declared = *model.proto().mutable_graph()->add_value_info();
  declared.set_name("sequence");
  declared.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::FLOAT);
  Int(model.Node("ConcatFromSequence", {"sequence"}, {"y"}), "axis", 0);
  EXPECT_THAT(model.Error({Of<int64_t>({5}, {1, 2, 3, 4, 5})}),
              AllOf(HasSubstr("'sequence'"), HasSubstr("seq(tensor(int64))"), HasSubstr("declares seq(tensor(float))")));
}

TEST(LateKernel, BodiesOfLoopsAreMadeForWhatTheyAreGiven) {
  OpenModel model;
  model.Open("x", ElementType::kInt64, {2}).Ints("trips", {3}).Output("y", ElementType::kInt64, {2});
  auto& loop = model.Node("Loop", {"trips", "", "x"}, {"y"}, "loop");
  auto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attribute.mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "go", ElementType::kBool, {});
  body.add_input()->set_name("before");
  ModelBuilder::AddNode(body, "Add", {"before", "x"}, {"after"});
  ModelBuilder::AddNode(body, "Identity", {"go"}, {"goes"});
  body.add_output()->set_name("goes");
  body.add_output()->set_name("after");
  EXPECT_THAT(model.Run({Of<int64_t>({2}, {1, 5})})[0].tensor().values<int64_t>(), ElementsAre(4, 20));
  // The body states floats: what stands for them is no other type.
  ModelBuilder::Declare(body.mutable_input(2), "before", ElementType::kFloat, {2});
  EXPECT_THAT(model.Error({Of<int64_t>({2}, {1, 5})}), HasSubstr("int64"));
}

TEST(UntypedInputs, AreRefusedAtLoad) {
  const auto error = [](auto&& change) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
    model.Node("Identity", {"x"}, {"y"});
    change(*model.proto().mutable_graph()->mutable_input(0));
    return ErrorOf([&] { model.Session(); });
  };
  const auto told = AllOf(HasSubstr("input 'x'"), HasSubstr("element type is missing"));
  EXPECT_THAT(error([](auto& input) { input.clear_type(); }), told);
  EXPECT_THAT(error([](auto& input) { input.mutable_type()->mutable_tensor_type()->clear_elem_type(); }), told);
  EXPECT_THAT(error([](auto& input) { input.mutable_type()->mutable_sequence_type(); }), told);
  EXPECT_THAT(
      error([](auto& input) { input.mutable_type()->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type(); }),
      told);
  EXPECT_THAT(error([](auto& input) { input.mutable_type()->mutable_tensor_type()->set_elem_type(301); }),
              HasSubstr("element type 301"));
}

}  // namespace
}  // namespace tessera::testing
