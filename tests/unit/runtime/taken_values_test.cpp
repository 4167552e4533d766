// Sequences that kernels edit are moved out of the run where nobody reads them later, and stay where somebody does.

#include <gmock/gmock.h>

#include "model_builder.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using testing::ModelBuilder;

void DeclareSequence(onnx::ValueInfoProto& info, const char* name) {
  info.set_name(name);
  info.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::FLOAT);
}

Value Numbers(std::vector<float> numbers) {
  Sequence sequence{TypeInfo::OfTensor(ElementType::kFloat), {}};
  for (const float number : numbers) sequence.elements.push_back(Floats({1}, {number}));
  return sequence;
}

std::vector<float> NumbersIn(const Value& value) {
  std::vector<float> numbers;
  for (const Value& element : value.sequence().elements) numbers.push_back(element.tensor().data<float>()[0]);
  return numbers;
}

std::vector<Value> OutputsOf(const Session& session, const Value& given, float x) {
  std::vector<Value> results(session.outputs().size());
  session.Run(std::vector<Value>{given, Floats({1}, {x})}, results);
  return results;
}

ModelBuilder WithSequence() {
  ModelBuilder model;
  DeclareSequence(*model.proto().mutable_graph()->add_input(), "given");
  model.Input("x", ElementType::kFloat, {1});
  return model;
}

TEST(TakenValues, EveryReaderSeesTheSequenceAsItWas) {
  ModelBuilder model = WithSequence();
  for (const char* output : {"twice", "front", "shorter", "once", "given_again"})
    DeclareSequence(*model.proto().mutable_graph()->add_output(), output);
  model.Ints("first", {0});
  model.Node("SequenceInsert", {"given", "x"}, {"once"});
  model.Node("SequenceInsert", {"once", "x"}, {"twice"});            // "once" is an output
  model.Node("SequenceInsert", {"twice", "x", "first"}, {"front"});  // "twice" is an output, too
  model.Node("SequenceInsert", {"given", "x", "first"}, {"inner"});
  model.Node("SequenceErase", {"inner"}, {"shorter"});  // nobody else reads "inner"
  model.Node("Identity", {"given"}, {"given_again"});
  const Session session = model.Session();
  const Value given = Numbers({1, 2});
  for (const float x : {5.0f, 6.0f}) {
    const std::vector<Value> results = OutputsOf(session, given, x);
    EXPECT_THAT(NumbersIn(results[0]), ElementsAre(1, 2, x, x));
    EXPECT_THAT(NumbersIn(results[1]), ElementsAre(x, 1, 2, x, x));
    EXPECT_THAT(NumbersIn(results[2]), ElementsAre(x, 1));
    EXPECT_THAT(NumbersIn(results[3]), ElementsAre(1, 2, x));
    EXPECT_THAT(NumbersIn(results[4]), ElementsAre(1, 2));
  }
  EXPECT_THAT(NumbersIn(given), ElementsAre(1, 2));
}

TEST(TakenValues, LoopsGrowWhatTheyCarryAndNotWhatTheyWereGiven) {
  ModelBuilder model = WithSequence();
  for (const char* output : {"all", "given_longer"}) DeclareSequence(*model.proto().mutable_graph()->add_output(), output);
  model.Ints("trips", {3});
  model.Node("SequenceInsert", {"given", "x"}, {"longer"});
  onnx::NodeProto& loop = model.Node("Loop", {"trips", "", "longer"}, {"all"});
  model.Node("SequenceErase", {"longer"}, {"given_longer"});  // read after the loop
  onnx::AttributeProto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attribute.mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "at", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "go_in", ElementType::kBool, {});
  DeclareSequence(*body.add_input(), "so_far");
  ModelBuilder::AddNode(body, "Identity", {"go_in"}, {"go"});
  ModelBuilder::AddNode(body, "Cast", {"at"}, {"number"}).add_attribute()->CopyFrom([] {
    onnx::AttributeProto to;
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(onnx::TensorProto::FLOAT);
    return to;
  }());
  ModelBuilder::AddNode(body, "SequenceInsert", {"so_far", "number"}, {"next"});
  ModelBuilder::Declare(body.add_output(), "go", ElementType::kBool, {});
  DeclareSequence(*body.add_output(), "next");
  const Session session = model.Session();
  const Value given = Numbers({7});
  for (const float x : {5.0f, 6.0f}) {
    const std::vector<Value> results = OutputsOf(session, given, x);
    EXPECT_THAT(NumbersIn(results[0]), ElementsAre(7, x, 0, 1, 2));
    EXPECT_THAT(NumbersIn(results[1]), ElementsAre(7));
  }
  EXPECT_THAT(NumbersIn(given), ElementsAre(7));
}

}  // namespace
}  // namespace tessera
