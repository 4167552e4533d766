// Optionals as files of ONNX's test data have them.

#include <gmock/gmock.h>

#include "model_builder.h"
#include "onnx/onnx-data.pb.h"
#include "tessera/serialization.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

TypeInfo OptionalOf(TypeInfo inner) {
  return {ValueKind::kOptional, {}, {}, std::make_shared<const TypeInfo>(std::move(inner))};
}
TypeInfo SequenceOf(TypeInfo inner) {
  return {ValueKind::kSequence, {}, {}, std::make_shared<const TypeInfo>(std::move(inner))};
}

const TypeInfo kReals = TypeInfo::OfTensor(ElementType::kFloat);

Value Parse(const std::string& bytes, const TypeInfo& type) { return ParseValue(std::as_bytes(std::span(bytes)), type); }

/// onnx's helper says of an empty one, too, what could be in it.
TEST(Optional, WithoutAValueIsNone) {
  for (const auto kind : {onnx::OptionalProto::UNDEFINED, onnx::OptionalProto::TENSOR, onnx::OptionalProto::SPARSE_TENSOR,
                          onnx::OptionalProto::SEQUENCE, onnx::OptionalProto::MAP, onnx::OptionalProto::OPTIONAL}) {
    onnx::OptionalProto proto;
    proto.set_elem_type(kind);
    EXPECT_TRUE(Parse(proto.SerializeAsString(), OptionalOf(kReals)).is_none()) << kind;
  }
  onnx::OptionalProto outer;
  outer.set_elem_type(onnx::OptionalProto::OPTIONAL);
  outer.mutable_optional_value()->set_elem_type(onnx::OptionalProto::TENSOR);
  EXPECT_TRUE(Parse(outer.SerializeAsString(), OptionalOf(OptionalOf(kReals))).is_none());
}

TEST(Optional, ComesBackAsItWasWritten) {
  const TypeInfo reals = OptionalOf(kReals), lists = OptionalOf(SequenceOf(kReals));
  EXPECT_TRUE(Parse(SerializeValue(Value(), "x", reals), reals).is_none());
  EXPECT_THAT(ToVector(Parse(SerializeValue(Floats({2}, {1, 2}), "x", reals), reals)), ElementsAre(1, 2));
  const Value list = Sequence{kReals, {Floats({1}, {3})}};
  EXPECT_THAT(ToVector(Parse(SerializeValue(list, "x", lists), lists).sequence().elements.at(0)), ElementsAre(3));
  // A tensor whose type nobody names is written as a tensor.
  EXPECT_THAT(ToVector(Parse(SerializeValue(Floats({2}, {1, 2}), "x"), kReals)), ElementsAre(1, 2));
}

TEST(Optional, InASequence) {
  const TypeInfo type = SequenceOf(OptionalOf(kReals));
  const Value some = Sequence{OptionalOf(kReals), {Value(), Floats({1}, {5})}};
  const Value back = Parse(SerializeValue(some, "x", type), type);
  ASSERT_EQ(back.sequence().elements.size(), 2u);
  EXPECT_TRUE(back.sequence().elements[0].is_none());
  EXPECT_THAT(ToVector(back.sequence().elements[1]), ElementsAre(5));
}

}  // namespace
}  // namespace tessera::testing
