#include "base/value_type.h"

#include <gtest/gtest.h>

#include "error_of.h"

namespace tessera {
namespace {

const TypeInfo kFloats = TypeInfo::OfTensor(ElementType::kFloat), kIntegers = TypeInfo::OfTensor(ElementType::kInt64),
               kTensors = TypeInfo::OfTensor(ElementType::kUndefined);

TypeInfo Of(ValueKind kind, const TypeInfo& inner, ElementType key = ElementType::kUndefined) {
  return {kind, key, std::nullopt, std::make_shared<const TypeInfo>(inner)};
}

Value Numbers(ElementType type = ElementType::kFloat) { return Tensor(type, Shape{2}); }

TEST(ValueType, IsCompleteWhereNothingIsLeftToTell) {
  for (const TypeInfo& type :
       {kFloats, Of(ValueKind::kSequence, kFloats), Of(ValueKind::kOptional, Of(ValueKind::kSequence, kIntegers)),
        Of(ValueKind::kMap, kFloats, ElementType::kString)}) {
    EXPECT_TRUE(IsComplete(type)) << type.ToString();
  }
  for (const TypeInfo& type :
       {TypeInfo(), kTensors, Of(ValueKind::kSequence, kTensors), Of(ValueKind::kOptional, TypeInfo()),
        Of(ValueKind::kMap, kFloats), Of(ValueKind::kMap, kTensors, ElementType::kInt64),
        TypeInfo{ValueKind::kSequence, {}, {}, nullptr}}) {
    EXPECT_FALSE(IsComplete(type)) << type.ToString();
  }
}

TEST(ValueType, FitsWhatIsStated) {
  const Value numbers = Numbers(), sequence = Sequence{kFloats, {Numbers()}}, nothing;
  EXPECT_TRUE(Fits(numbers, kFloats));
  EXPECT_TRUE(Fits(numbers, kTensors));
  EXPECT_TRUE(Fits(numbers, TypeInfo()));
  EXPECT_TRUE(Fits(numbers, Of(ValueKind::kOptional, kFloats)));
  EXPECT_FALSE(Fits(numbers, kIntegers));
  EXPECT_FALSE(Fits(numbers, Of(ValueKind::kOptional, kIntegers)));
  EXPECT_FALSE(Fits(numbers, Of(ValueKind::kSequence, kFloats)));
  EXPECT_TRUE(Fits(sequence, Of(ValueKind::kSequence, kFloats)));
  EXPECT_TRUE(Fits(sequence, Of(ValueKind::kOptional, Of(ValueKind::kSequence, kTensors))));
  EXPECT_FALSE(Fits(sequence, Of(ValueKind::kSequence, kIntegers)));
  EXPECT_FALSE(Fits(sequence, Of(ValueKind::kSequence, Of(ValueKind::kSequence, kFloats))));
  EXPECT_FALSE(Fits(sequence, kFloats));
  EXPECT_TRUE(Fits(nothing, kFloats));  // whoever needs it says so
}

TEST(ValueType, MapsFitByKeysAndValues) {
  const Value map = Map{Tensor(ElementType::kInt64, Shape{0}), kFloats, {}};
  EXPECT_TRUE(Fits(map, Of(ValueKind::kMap, kFloats, ElementType::kInt64)));
  EXPECT_FALSE(Fits(map, Of(ValueKind::kMap, kFloats, ElementType::kString)));
  EXPECT_FALSE(Fits(map, Of(ValueKind::kMap, kIntegers, ElementType::kInt64)));
  EXPECT_FALSE(Fits(map, kIntegers));
}

TEST(ValueType, AtRunTimeSequencesThatSayNothingAreOfTheirElements) {
  EXPECT_EQ(RunTimeType(Sequence{{}, {Numbers(), Numbers()}}).ToString(), "seq(tensor(float))");
  EXPECT_EQ(RunTimeType(Sequence{kIntegers, {}}).ToString(), "seq(tensor(int64))");
  EXPECT_FALSE(IsComplete(RunTimeType(Sequence{{}, {}})));
  EXPECT_FALSE(RunTimeType(Numbers()).shape.has_value());
  EXPECT_EQ(testing::ErrorOf([] { RunTimeType(Sequence{{}, {Numbers(), Numbers(ElementType::kInt8)}}); }),
            "elements of a sequence are tensor(float) and tensor(int8)");
}

}  // namespace
}  // namespace tessera
