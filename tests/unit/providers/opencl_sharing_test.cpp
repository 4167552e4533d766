// What the OpenCL provider uses in place where device and host share memory: nobody sees the difference, whichever buffers
// are given. Skipped where there is no device; on a device with memory of its own the same holds through copies.

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <optional>

#include "model_builder.h"
#include "providers/opencl_device.h"
#include "providers/opencl_models.h"
#include "temporary_folder.h"
#include "tessera/session.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

class OpenclSharing : public OnDevice<> {
 protected:
  /// y = relu(-x) and z = x + 1, kernels that may write where they read.
  static ModelBuilder Elementwise() {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4}).Output("z", ElementType::kFloat, {4});
    model.Floats("one", {1}, {1});
    model.Node("Neg", {"x"}, {"n"});
    model.Node("Relu", {"n"}, {"y"});
    model.Node("Add", {"x", "one"}, {"z"});
    return model;
  }
  static Value X() { return Floats({4}, {1, -2, 3, -4}); }
};

/// Initializers of one external file may overlap: what each of them is decides, not where it lies.
TEST_F(OpenclSharing, ConstantsAtOneAddressAreToldApart) {
  const TemporaryFolder folder;
  ModelBuilder model;
  const auto external = [&](const char* name, ElementType type, std::initializer_list<int64_t> dims) {
    auto* tensor = model.proto().mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(static_cast<onnx::TensorProto::DataType>(type));
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    int64_t bytes = sizeof(float);
    for (const int64_t dim : dims) bytes *= dim;
    for (const auto& [key, value] :
         {std::pair<std::string, std::string>("location", "data.bin"), {"length", std::to_string(bytes)}}) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  };
  external("all", ElementType::kFloat, {4, 2});
  external("row", ElementType::kFloat, {1, 2});
  external("table", ElementType::kInt32, {4, 2});
  model.Input("x", ElementType::kFloat, {4, 2})
      .Output("y", ElementType::kFloat, {4, 2})
      .Output("z", ElementType::kInt32, {4, 2});
  model.Input("i", ElementType::kInt32, {4, 2});
  model.Node("Add", {"x", "all"}, {"a"});
  model.Node("Add", {"a", "row"}, {"y"});
  model.Node("Add", {"i", "table"}, {"z"});
  const std::vector<float> data = {1, 2, 3, 4, 5, 6, 7, 8};
  std::ofstream(folder.path() / "data.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(data.data()), sizeof(float) * 8);
  std::ofstream(folder.path() / "model.onnx", std::ios::binary) << model.bytes();
  const std::vector<int32_t> zeros(8, 0);
  const std::vector<Value> inputs = {Floats({4, 2}, std::vector<float>(8, 0.5f)), Tensor::Of<int32_t>(Shape{4, 2}, zeros)};
  for (const bool arena : {true, false}) {
    SessionOptions options = PlainOn(kOpencl);
    options.enable_arena = arena;
    options.config["session.min_island_nodes"] = "0";
    const Session session(folder.path() / "model.onnx", options);
    std::vector<Value> results(2);
    session.Run(inputs, results);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(2.5f, 4.5f, 4.5f, 6.5f, 6.5f, 8.5f, 8.5f, 10.5f));
    EXPECT_EQ(std::bit_cast<float>(results[1].tensor().data<int32_t>()[7]), 8.0f);
    for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, kOpencl);
  }
}

TEST_F(OpenclSharing, InputsAreNotWritten) {
  for (const SessionOptions& options : {On(kOpencl), PlainOn(kOpencl)}) {
    for (const bool pattern : {true, false}) {
      SessionOptions with = options;
      with.enable_memory_pattern = pattern;
      const Session session = Elementwise().Session(with);
      const Value x = X();
      for (int i = 0; i < 4; ++i) {
        std::vector<Value> results(2);
        session.Run(std::span(&x, 1), results);
        EXPECT_THAT(ToVector(results[0]), ElementsAre(0, 2, 0, 4));
        EXPECT_THAT(ToVector(results[1]), ElementsAre(2, -1, 4, -3));
        EXPECT_THAT(ToVector(x), ElementsAre(1, -2, 3, -4));
      }
    }
  }
}

TEST_F(OpenclSharing, InputsAreNotWrittenThroughViews) {
  ModelBuilder model(11);
  model.Input("x", ElementType::kFloat, {2, 6})
      .Output("y", ElementType::kFloat, {3, 4})
      .Output("m", ElementType::kFloat, {1, 1});
  model.Ints("dims", {3, 4}).Floats("ones", {3, 4}, std::vector<float>(12, 1));
  model.Node("Reshape", {"x", "dims"}, {"r"});
  model.Node("ReduceMean", {"x"}, {"m"});
  model.Node("Add", {"r", "ones"}, {"y"});
  const Session session = model.Session(On(kOpencl));
  const Value x = Floats({2, 6}, std::vector<float>(12, 1));
  for (int i = 0; i < 5; ++i) {
    std::vector<Value> results(2);
    session.Run(std::span(&x, 1), results);
    EXPECT_THAT(ToVector(results[0]), ::testing::Each(2));
    EXPECT_THAT(ToVector(x), ::testing::Each(1));
  }
}

TEST_F(OpenclSharing, ResultsStayAsTheyAreAndOutliveTheSession) {
  for (const bool arena : {true, false}) {
    SessionOptions options = On(kOpencl);
    options.enable_arena = arena;
    std::vector<std::vector<Value>> kept;
    {
      const Session session = Elementwise().Session(options);
      for (int i = 0; i < 5; ++i) {
        const Value x = Floats({4}, std::vector<float>(4, static_cast<float>(i)));
        kept.emplace_back(2);
        session.Run(std::span(&x, 1), kept.back());
      }
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_THAT(ToVector(kept[static_cast<size_t>(i)][1]), ::testing::Each(static_cast<float>(i + 1)));
      EXPECT_TRUE(kept[static_cast<size_t>(i)][1].tensor().memory().host_accessible);
    }
  }
}

TEST_F(OpenclSharing, AResultMayBeTheNextInput) {
  const Session session = Elementwise().Session(On(kOpencl));
  Value x = Floats({4}, {0, 0, 0, 0});
  for (int i = 0; i < 10; ++i) {
    std::vector<Value> results(2);
    session.Run(std::span(&x, 1), results);
    x = results[1];
    x.tensor().mutable_data<float>()[0] += 1;  // by the host
  }
  EXPECT_THAT(ToVector(x), ElementsAre(20, 10, 10, 10));
}

TEST_F(OpenclSharing, ResultsGoToTheCallersBuffers) {
  const Session session = Elementwise().Session(On(kOpencl));
  alignas(64) float memory[64];
  for (const size_t offset : {0, 1, 16}) {  // aligned for a device, or not
    for (int i = 0; i < 3; ++i) {
      std::fill_n(memory, 64, -7.0f);
      const Value x = X();
      std::vector<Value> results = {Value(Tensor::View(ElementType::kFloat, Shape{4}, memory + offset)),
                                    Value(Tensor::View(ElementType::kFloat, Shape{4}, memory + 32 + offset))};
      session.Run(std::span(&x, 1), results);
      EXPECT_THAT(std::span(memory + offset, 4), ElementsAre(0, 2, 0, 4));
      EXPECT_THAT(std::span(memory + 32 + offset, 4), ElementsAre(2, -1, 4, -3));
      EXPECT_EQ(memory[offset + 4], -7);
    }
  }
}

TEST_F(OpenclSharing, OneBufferForInputAndOutputs) {
  const Session session = Elementwise().Session(On(kOpencl));
  alignas(64) float memory[16] = {1, -2, 3, -4};
  const Value x(Tensor::View(ElementType::kFloat, Shape{4}, memory));
  std::vector<Value> results(2);
  results[0] = x;
  session.Run(std::span(&x, 1), results);
  EXPECT_THAT(std::span(memory, 4), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(ToVector(results[1]), ElementsAre(2, -1, 4, -3));
}

TEST_F(OpenclSharing, OneTensorForSeveralInputs) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {4}).Input("b", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Node("Mul", {"a", "b"}, {"y"});
  const Session session = model.Session(On(kOpencl));
  const std::vector<Value> inputs = {X(), X()}, same(2, X());
  for (const auto& given : {inputs, same}) {
    std::vector<Value> results(1);
    session.Run(given, results);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(1, 4, 9, 16));
  }
}

/// A branch's result goes to the device by itself, without a plan that knows how long it is read there.
TEST_F(OpenclSharing, WhatTheDeviceReadsIsNotOverwritten) {
  ModelBuilder model;
  model.Input("c", ElementType::kBool, {}).Input("x", ElementType::kFloat, {4});
  model.Output("y", ElementType::kFloat, {4}).Output("z", ElementType::kFloat, {4});
  auto& branches = model.Node("If", {"c"}, {"v"});
  for (const auto& [name, op] : {std::pair("then_branch", "Relu"), std::pair("else_branch", "Neg")}) {
    auto* attribute = branches.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute->mutable_g();
    graph.set_name(op);
    ModelBuilder::AddNode(graph, op, {"x"}, {op});
    auto* output = graph.add_output();
    output->set_name(op);
    output->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  model.Node("Exp", {"v"}, {"e"});
  model.Node("Sqrt", {"e"}, {"y"});
  model.Node("Sub", {"v", "x"}, {"z"});  // alone beside copies: the CPU provider's
  const Session session = model.Session(On(kOpencl));
  const bool yes = true;
  const std::vector<Value> inputs = {Tensor::Of<bool>({}, std::span(&yes, 1)), Floats({4}, {0, 2, 4, 6})};
  for (int i = 0; i < 10; ++i) {
    std::vector<Value> results(2);
    session.Run(inputs, results);
    EXPECT_THAT(ToVector(results[0]),
                ::testing::Pointwise(::testing::FloatNear(1e-3f), {1.0f, std::exp(1.0f), std::exp(2.0f), std::exp(3.0f)}));
    EXPECT_THAT(ToVector(results[1]), ElementsAre(0, 0, 0, 0));
  }
}

TEST_F(OpenclSharing, AnInputThatIsHandedThroughIsACopy) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2})
      .Output("y", ElementType::kFloat, {4})
      .Output("z", ElementType::kFloat, {2, 2});
  const std::vector<int64_t> flat = {4};
  model.Ints("flat", flat);
  model.Node("Reshape", {"x", "flat"}, {"y"});
  model.Node("Neg", {"x"}, {"z"});
  const Session session = model.Session(PlainOn(kOpencl));
  const Value x = Floats({2, 2}, {1, 2, 3, 4});
  for (int i = 0; i < 3; ++i) {
    std::vector<Value> results(2);
    session.Run(std::span(&x, 1), results);
    results[0].tensor().mutable_data<float>()[0] = 9;
    EXPECT_THAT(ToVector(x), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(ToVector(results[1]), ElementsAre(-1, -2, -3, -4));
  }
}

}  // namespace
}  // namespace tessera::testing
