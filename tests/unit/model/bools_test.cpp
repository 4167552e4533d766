// Bytes other than 0 and 1 in tensors of bool, which C++ does not know as values of it: all but 0 is true, however they
// come in.

#include "base/bools.h"

#include <gmock/gmock.h>

#include <atomic>

#include "attributes.h"
#include "base/cancellation.h"
#include "model/loading.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

const std::vector<uint8_t> kBytes = {0, 1, 2, 255};
const bool kTruth[] = {false, true, true, true};

/// Whether each of `b` is true, as counts; and `b` itself.
ModelBuilder Counting() {
  ModelBuilder model;
  model.Output("same", ElementType::kBool, {4}).Output("y", ElementType::kBool, {4}).Output("n", ElementType::kInt32, {4});
  const std::vector<uint8_t> truth = {1, 1, 1, 1};
  model.Constant("true", {4}, std::span<const uint8_t>(truth), onnx::TensorProto::BOOL);
  model.Node("Identity", {"b"}, {"same"});
  model.Node("Equal", {"b", "true"}, {"y"});
  Int(model.Node("Cast", {"b"}, {"n"}), "to", onnx::TensorProto::INT32);
  return model;
}

void ExpectTruth(const std::vector<Value>& results) {
  const auto bytes = [](const Value& value) {
    return std::vector<uint8_t>(value.tensor().data<uint8_t>(), value.tensor().data<uint8_t>() + 4);
  };
  EXPECT_THAT(bytes(results[0]), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(bytes(results[1]), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(results[2].tensor().values<int32_t>(), ElementsAre(0, 1, 1, 1));
}

std::vector<Value> ResultsFor(const ModelBuilder& model, const std::vector<Value>& inputs = {},
                              OptimizationLevel level = OptimizationLevel::kAll) {
  SessionOptions options = OnCpu();
  options.optimization_level = level;
  const Session session = model.Session(options);
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return results;
}

TEST(Bools, Spans) {
  EXPECT_TRUE(ArePlainBools({}));
  for (const uint8_t byte : {0, 1, 2, 3, 128}) {
    for (size_t at = 0; at < 200; ++at) {
      std::vector<std::byte> bytes(200, std::byte{1});
      bytes[at] = std::byte{byte};
      EXPECT_EQ(ArePlainBools(bytes), byte < 2) << at;
      CopyAsPlainBools(bytes, bytes.data());
      std::vector<std::byte> expected(200, std::byte{1});
      expected[at] = std::byte{byte != 0};
      EXPECT_EQ(bytes, expected) << at;
    }
  }
}

TEST(Bools, LongSpansLookWhetherTheirRunEnds) {
  const std::vector<std::byte> bytes(40 << 20, std::byte{1});
  EXPECT_TRUE(ArePlainBools(bytes));
  const std::atomic<bool> ends = true;
  const StopSignal stop(&ends);
  const CancelScope scope(&stop);
  EXPECT_THROW(ArePlainBools(bytes), Error);
}

TEST(Bools, OfModels) {
  for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
    for (const bool raw : {true, false}) {
      ModelBuilder model = Counting();
      if (raw) {
        model.Constant("b", {4}, std::span<const uint8_t>(kBytes), onnx::TensorProto::BOOL);
      } else {
        auto& tensor = *model.proto().mutable_graph()->add_initializer();
        tensor.set_name("b");
        tensor.set_data_type(onnx::TensorProto::BOOL);
        tensor.add_dims(4);
        for (const int32_t code : {0, 1, 2, 256}) tensor.add_int32_data(code);
      }
      ExpectTruth(ResultsFor(model, {}, level));
    }
  }
}

TEST(Bools, OfInputs) {
  ModelBuilder model = Counting();
  model.Input("b", ElementType::kBool, {4});
  std::vector<uint8_t> bytes = kBytes;
  const Value given = Tensor::View(ElementType::kBool, Shape{4}, bytes.data());
  ExpectTruth(ResultsFor(model, {given}));
  EXPECT_EQ(bytes, kBytes);  // the caller's stay as they are
  const Session session = model.Session(OnCpu());
  IoBinding binding(session);
  binding.BindInput("b", given);
  for (const char* output : {"same", "y", "n"}) binding.BindOutput(output);
  session.Run(binding);
  ExpectTruth({binding.outputs().begin(), binding.outputs().end()});
}

TEST(Bools, InSequences) {
  ModelBuilder model = Counting();
  auto* input = model.proto().mutable_graph()->add_input();
  input->set_name("s");
  input->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::BOOL);
  const std::vector<int64_t> last = {-1};
  model.Constant("last", {}, last);
  model.Node("SequenceAt", {"s", "last"}, {"b"});
  std::vector<uint8_t> bytes = kBytes;
  const std::vector<Value> elements = {Tensor::Of<bool>(Shape{4}, std::span(kTruth)),
                                       Tensor::View(ElementType::kBool, Shape{4}, bytes.data())};
  ExpectTruth(ResultsFor(model, {Sequence{TypeInfo::OfTensor(ElementType::kBool), elements}}));
}

TEST(Bools, OfOtherBits) {
  ModelBuilder model(26);
  ModelBuilder counting = Counting();
  *model.proto().mutable_graph() = counting.proto().graph();
  model.Input("bits", ElementType::kUInt8, {4});
  Int(model.Node("BitCast", {"bits"}, {"b"}), "to", onnx::TensorProto::BOOL);
  ExpectTruth(ResultsFor(model, {Tensor::Of<uint8_t>(Shape{4}, kBytes)}));
}

}  // namespace
}  // namespace tessera::testing
