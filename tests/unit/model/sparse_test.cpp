#include <gmock/gmock.h>

#include "loading.h"
#include "model/model.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;

TEST(Sparse, InitializersBecomeDense) {
  for (const bool by_coordinates : {false, true}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3});
    model.Node("Add", {"x", "w"}, {"y"});
    auto* sparse = model.proto().mutable_graph()->add_sparse_initializer();
    for (const int64_t dim : {2, 3}) sparse->add_dims(dim);
    sparse->mutable_values()->set_name("w");
    sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    sparse->mutable_values()->add_dims(2);
    for (const float value : {5.0f, 7.0f}) sparse->mutable_values()->add_float_data(value);
    sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    sparse->mutable_indices()->add_dims(2);
    if (by_coordinates) sparse->mutable_indices()->add_dims(2);
    for (const int64_t index : by_coordinates ? std::vector<int64_t>{0, 1, 1, 2} : std::vector<int64_t>{1, 5}) {
      sparse->mutable_indices()->add_int64_data(index);
    }
    EXPECT_THAT(RunOnce(model.Session(OnCpu()), {Floats({2, 3}, {1, 1, 1, 1, 1, 1})}), ElementsAre(1, 6, 1, 1, 1, 8));
    sparse->mutable_indices()->set_int64_data(by_coordinates ? 3 : 1, 6);
    EXPECT_NE(LoadError(model), "no error");
    sparse->mutable_indices()->set_int64_data(by_coordinates ? 3 : 1, -1);
    EXPECT_NE(LoadError(model), "no error");
    sparse->set_dims(0, int64_t{1} << 62);
    EXPECT_NE(LoadError(model), "no error");
  }
}

/// The bytes of a Constant that is the dense form of [5] with `values` at 1 and 4.
std::vector<uint8_t> DenseOf(ElementType type, const std::vector<int>& values) {
  ModelBuilder model;
  model.Output("y", type, {5});
  auto* attribute = model.Node("Constant", {}, {"y"}).add_attribute();
  attribute->set_name("sparse_value");
  attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  auto* sparse = attribute->mutable_sparse_tensor();
  sparse->add_dims(5);
  sparse->mutable_values()->set_data_type(static_cast<int32_t>(type));
  sparse->mutable_values()->add_dims(2);
  for (const int value : values) sparse->mutable_values()->add_int32_data(value);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(2);
  for (const int64_t index : {1, 4}) sparse->mutable_indices()->add_int64_data(index);
  const std::string bytes = model.bytes();
  const Model loaded = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
  const Tensor* y = loaded.graph->constant(loaded.graph->outputs()[0]);
  return {y->data<uint8_t>(), y->data<uint8_t>() + y->byte_size()};
}

TEST(Sparse, TensorsOfEveryWidth) {
  for (const ElementType type : {ElementType::kUInt4, ElementType::kInt4, ElementType::kFloat4E2M1}) {
    EXPECT_THAT(DenseOf(type, {0xd5}), ElementsAre(0x50, 0x00, 0x0d)) << ElementTypeName(type);
  }
  for (const ElementType type : {ElementType::kUInt2, ElementType::kInt2}) {
    EXPECT_THAT(DenseOf(type, {0b1001}), ElementsAre(0b0100, 0b10)) << ElementTypeName(type);
  }
  for (const ElementType type : {ElementType::kInt8, ElementType::kFloat8E4M3FN, ElementType::kFloat6E2M3}) {
    EXPECT_THAT(DenseOf(type, {1, 33}), ElementsAre(0, 1, 0, 0, 33)) << ElementTypeName(type);
  }
  EXPECT_THAT(DenseOf(ElementType::kBool, {1, 33}), ElementsAre(0, 1, 0, 0, 1));  // all but 0 is true
  EXPECT_THAT(DenseOf(ElementType::kBFloat16, {0x102, 0x304}), ElementsAre(0, 0, 2, 1, 0, 0, 0, 0, 4, 3));
}

TEST(Sparse, TensorsThatAreTooLargeDense) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Gather", {"w", "i"}, {"y"});
  model.Ints("i", {7});
  auto* sparse = model.proto().mutable_graph()->add_sparse_initializer();
  sparse->add_dims(int64_t{1} << 33);
  sparse->mutable_values()->set_name("w");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(5);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(7);
  EXPECT_THAT(
      LoadError(model),
      HasSubstr("sparse tensor 'w': shape [8589934592] takes 34359738368 bytes, more than 10000 times the 12 bytes"));
  sparse->set_dims(0, int64_t{4} << 20);  // 16 MiB
  EXPECT_THAT(RunOnce(model.Session(OnCpu()), {Floats({1}, {0})}), ElementsAre(5));
}

}  // namespace
}  // namespace tessera
