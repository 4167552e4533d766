// Buffers that the caller gives for results: where they overlap what the run reads or another of them, it says so.

#include <gmock/gmock.h>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::OnToy;
using testing::ToVector;

/// y = a * b, z = -a.
ModelBuilder MatMulAndNegative() {
  ModelBuilder model;
  for (const char* name : {"a", "b"}) model.Input(name, ElementType::kFloat, {2, 2});
  for (const char* name : {"y", "z"}) model.Output(name, ElementType::kFloat, {2, 2});
  model.Node("MatMul", {"a", "b"}, {"y"}, "product");
  model.Node("Neg", {"a"}, {"z"});
  return model;
}

Tensor Four(float* memory) { return Tensor::View(ElementType::kFloat, Shape{2, 2}, memory); }

TEST(ResultBuffers, MayNotOverlapInputs) {
  const Session session = MatMulAndNegative().Session();
  alignas(64) float memory[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<Value> inputs = {Floats({2, 2}, {1, 2, 3, 4}), Four(memory)};
  std::vector<Value> results(2);
  for (float* begin : {memory, memory + 3}) {  // all of it, or a part
    results[0] = Four(begin);
    EXPECT_EQ(ErrorOf([&] { session.Run(inputs, results); }),
              "the buffer given for output 'y' overlaps input 'b', which the run would overwrite while it reads; give "
              "another one, or none");
  }
  EXPECT_EQ(memory[0], 1);
  results[0] = Four(memory + 4);  // right behind it
  session.Run(inputs, results);
  EXPECT_THAT(std::span(memory + 4, 4), ElementsAre(7, 10, 15, 22));
}

TEST(ResultBuffers, AResultThatBecomesAnInputNeedsAnother) {
  const Session session = MatMulAndNegative().Session();
  std::vector<Value> inputs(2, Value(Floats({2, 2}, {1, 2, 3, 4}))), results(2);
  session.Run(inputs, results);
  inputs[1] = results[1];
  EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results); }), HasSubstr("output 'z' overlaps input 'b'"));
  results[1] = Value();
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(-7, -10, -15, -22));
}

TEST(ResultBuffers, MayNotOverlapEachOther) {
  const Session session = MatMulAndNegative().Session();
  alignas(64) float memory[16];
  const std::vector<Value> inputs(2, Value(Floats({2, 2}, {1, 2, 3, 4})));
  std::vector<Value> results = {Four(memory), Four(memory + 2)};
  EXPECT_EQ(ErrorOf([&] { session.Run(inputs, results); }),
            "the buffers given for outputs 'y' and 'z' overlap; give each its own");
}

/// With so many outputs that no longer each pair of them is looked at.
TEST(ResultBuffers, MayNotOverlapAMapsNumbers) {
  constexpr int kOutputs = 300;
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(1);
  auto* input = model.proto().mutable_graph()->add_input();
  input->set_name("map");
  auto& map = *input->mutable_type()->mutable_map_type();
  map.set_key_type(onnx::TensorProto::INT64);
  map.mutable_value_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  model.Input("x", ElementType::kFloat, {1});
  model.Output("y", ElementType::kFloat, {1, -1});
  onnx::NodeProto& cast = model.Node("CastMap", {"map"}, {"y"});
  cast.set_domain("ai.onnx.ml");
  auto& attribute = *cast.add_attribute();
  attribute.set_name("cast_to");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s("TO_FLOAT");
  for (int i = 1; i < kOutputs; ++i) {
    const std::string name = "y" + std::to_string(i);
    model.Output(name, ElementType::kFloat, {1}).Node("Neg", {"x"}, {name});
  }
  const Session session = model.Session();
  Map numbers;
  numbers.keys = Tensor::Of<int64_t>(Shape{3}, std::vector<int64_t>{0, 1, 2});
  numbers.scalars = Floats({3}, {10, 20, 30});
  numbers.value_type = TypeInfo::OfTensor(ElementType::kFloat, SymbolicShape());
  std::vector<Value> results(kOutputs);
  results[0] = Tensor::View(ElementType::kFloat, Shape{1, 3}, numbers.scalars.mutable_raw());
  const std::vector<Value> inputs = {Value(numbers), Floats({1}, {1})};
  EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results); }), HasSubstr("output 'y' overlaps input 'map'"));
}

TEST(ResultBuffers, BoundOnesAreToldApartToo) {
  const Session session = MatMulAndNegative().Session();
  IoBinding binding(session);
  const Tensor a = Floats({2, 2}, {1, 2, 3, 4});
  binding.BindInput("a", a);
  binding.BindInput("b", Floats({2, 2}, {1, 0, 0, 1}));
  binding.BindOutput("z");
  binding.BindOutput("y", a);
  EXPECT_THAT(ErrorOf([&] { session.Run(binding); }), HasSubstr("output 'y' overlaps input 'a'"));
  binding.BindOutput("y", Floats({2, 2}, {0, 0, 0, 0}));
  session.Run(binding);
  EXPECT_THAT(ToVector(binding.outputs()[1]), ElementsAre(1, 2, 3, 4));
}

TEST(ResultBuffers, OnADeviceToo) {
  ModelBuilder model = testing::AddModel();
  model.Output("n", ElementType::kFloat, {2}).Node("Neg", {"y"}, {"n"});
  const Session session = model.Session(OnToy({{"device", "1"}}));
  Allocator& device = session.allocator({testing::kToyMemory, DeviceType::kGpu, 0, false});
  const Shape two = {2};
  Tensor a(ElementType::kFloat, two, device), y(ElementType::kFloat, two, device);
  session.Copy(Floats({2}, {1, 2}), a);
  IoBinding binding(session);
  binding.BindInput("a", a);
  binding.BindInput("b", a);
  binding.BindOutput("y", a);
  EXPECT_THAT(ErrorOf([&] { session.Run(binding); }), HasSubstr("output 'y' overlaps input 'b'"));
  binding.BindOutput("y", y);
  binding.BindOutput("n", y);
  EXPECT_THAT(ErrorOf([&] { session.Run(binding); }), HasSubstr("outputs 'y' and 'n' overlap"));
}

/// What a node says that it may do in place, callers may ask for: a state that the run replaces.
TEST(ResultBuffers, MayBeTheInputThatTheirNodeWorksOnInPlace) {
  const Session session = testing::AddModel().Session(OnToy());
  alignas(64) float state[2] = {1, 2};
  const Value view(Tensor::View(ElementType::kFloat, Shape{2}, state));
  std::vector<Value> results = {view};
  for (int i = 0; i < 3; ++i) session.Run(std::vector<Value>{view, Floats({2}, {10, 20})}, results);
  EXPECT_THAT(state, ElementsAre(31, 62));
}

/// The cache of a decoder lies in one buffer for the past and the present.
TEST(ResultBuffers, MayBeTheCacheThatAttentionExtends) {
  ModelBuilder model;
  for (const char* name : {"q", "k", "v"}) model.Input(name, ElementType::kFloat, {1, 1, 8});
  for (const char* name : {"past_k", "past_v"}) model.Input(name, ElementType::kFloat, {1, 1, 4, 8});
  model.Input("length", ElementType::kInt32, {1}).Input("total", ElementType::kInt32, {});
  model.Output("y", ElementType::kFloat, {1, 1, 8});
  for (const char* name : {"present_k", "present_v"}) model.Output(name, ElementType::kFloat, {1, 1, 4, 8});
  auto& node = model.Node("GroupQueryAttention", {"q", "k", "v", "past_k", "past_v", "length", "total"},
                          {"y", "present_k", "present_v"});
  node.set_domain("com.microsoft");
  for (const char* name : {"num_heads", "kv_num_heads"}) testing::Int(node, name, 1);
  const Session session = model.Session();
  const auto decode = [&](bool shared) {
    std::vector<Value> caches = {Floats({1, 1, 4, 8}, std::vector<float>(32)),
                                 Floats({1, 1, 4, 8}, std::vector<float>(32))};
    std::vector<float> ys;
    for (int32_t step = 0; step < 4; ++step) {
      const auto token = [&](float scale) {
        return Floats({1, 1, 8}, std::vector<float>(8, scale * static_cast<float>(step + 1)));
      };
      std::vector<Value> results(3);
      if (shared) std::copy(caches.begin(), caches.end(), results.begin() + 1);
      session.Run(
          std::vector<Value>{token(0.1f), token(0.2f), token(3), caches[0], caches[1],
                             Tensor::Of<int32_t>({1}, std::vector{step}), Tensor::Of<int32_t>({}, std::vector{int32_t{4}})},
          results);
      caches = {results[1], results[2]};
      ys.push_back(ToVector(results[0])[0]);
    }
    return ys;
  };
  EXPECT_EQ(decode(true), decode(false));
}

}  // namespace
}  // namespace tessera
