// Lists in attributes: those too large to go through the parser give the same as those that do, and packed ones are read.

#include <gmock/gmock.h>

#include <span>
#include <string>
#include <vector>

#include "error_of.h"
#include "loading.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::ElementsAreArray;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::Varint;

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

TEST(AttributeLists, LargeOnesAreReadAsSmallOnes) {
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
    EXPECT_THAT(ConstantOf(ints, ElementType::kInt64).tensor().values<int64_t>(), ElementsAreArray(numbers));
    EXPECT_THAT(ConstantOf(floats, ElementType::kFloat).tensor().values<float>(), ElementsAreArray(reals));
    EXPECT_THAT(ConstantOf(strings, ElementType::kString).tensor().values<std::string>(), ElementsAreArray(texts));
  }
}

/// An attribute whose list is one length-delimited field: numbers without tags of their own.
std::string Packed(const char* name, onnx::AttributeProto::AttributeType type, int field, const std::string& numbers) {
  return List(name, type).SerializeAsString() + static_cast<char>(field << 3 | 2) + Varint(numbers.size()) + numbers;
}

/// The bytes of a model of one Constant, y, of this attribute. By hand: messages would write the list without packing.
std::string ModelOfConstant(const std::string& attribute) {
  const std::string node =
      "\x12\x01y\x22\x08"
      "Constant\x2a" +
      Varint(attribute.size()) + attribute;
  onnx::GraphProto rest;
  rest.set_name("g");
  ModelBuilder::Declare(rest.add_output(), "y", ElementType::kInt64, {-1});
  const std::string graph = "\x0a" + Varint(node.size()) + node + rest.SerializeAsString();
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(21);
  return model.SerializeAsString() + "\x3a" + Varint(graph.size()) + graph;
}

constexpr int64_t kManyNumbers = 40000;  // too many for the parser

std::string ManyVarints() {
  std::string bytes;
  for (int64_t i = 0; i < kManyNumbers; ++i) bytes += Varint(static_cast<uint64_t>(i * 77));
  return bytes;
}

TEST(AttributeLists, PackedOnesAreRead) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < kManyNumbers; ++i) numbers.push_back(i * 77);
  const std::string bytes = ModelOfConstant(
      Packed("value_ints", onnx::AttributeProto::INTS, onnx::AttributeProto::kIntsFieldNumber, ManyVarints()));
  const Session session(std::as_bytes(std::span(bytes)), OnCpu());
  std::vector<Value> results(1);
  session.Run(std::vector<Value>(), results);
  EXPECT_THAT(results[0].tensor().values<int64_t>(), ElementsAreArray(numbers));
}

TEST(AttributeLists, PackedOnesMayNotEndInTheMiddleOfANumber) {
  const std::string odd = ModelOfConstant(Packed("value_floats", onnx::AttributeProto::FLOATS,
                                                 onnx::AttributeProto::kFloatsFieldNumber, std::string(80000, '\0') + "x"));
  EXPECT_THAT(ErrorOf([&] { Session(std::as_bytes(std::span(odd)), OnCpu()); }), HasSubstr("in the middle"));
  const std::string open = ModelOfConstant(
      Packed("value_ints", onnx::AttributeProto::INTS, onnx::AttributeProto::kIntsFieldNumber, ManyVarints() + "\x80"));
  EXPECT_THAT(ErrorOf([&] { Session(std::as_bytes(std::span(open)), OnCpu()); }), HasSubstr("in the middle"));
}

}  // namespace
}  // namespace tessera
