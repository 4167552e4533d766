#include "tessera/value.h"

#include <gtest/gtest.h>

#include "model_builder.h"

namespace tessera::testing {
namespace {

TEST(ShapeMoves, LeaveNoRankWithoutDimensions) {
  Shape many(size_t{12}, 3);
  const Shape moved = std::move(many);
  EXPECT_EQ(moved, Shape(size_t{12}, 3));
  EXPECT_EQ(many.rank(), 0u);  // NOLINT: what is left is a scalar
  const Shape copy = many;
  EXPECT_EQ(copy.num_elements(), 1);
  Shape target{1, 2};
  target = Shape{4, 5, 6};
  EXPECT_EQ(target, (Shape{4, 5, 6}));
  Shape& itself = target;
  target = std::move(itself);
  EXPECT_EQ(target, (Shape{4, 5, 6}));
}

TEST(TensorValues, PackedTypesAreReadByBytes) {
  Tensor packed(ElementType::kInt4, {5});
  EXPECT_EQ(packed.values<uint8_t>().size(), 3u);
  EXPECT_EQ(packed.mutable_values<uint8_t>().size(), 3u);
  EXPECT_THROW(Tensor::Of<Float4E2M1>({5}, std::vector<Float4E2M1>(5)), Error);
}

TEST(TensorValues, AnotherTypeIsAnError) {
  Tensor floats(ElementType::kFloat, {2});
  EXPECT_THROW(floats.values<double>(), Error);
  EXPECT_THROW(floats.mutable_values<int32_t>(), Error);
  EXPECT_EQ(floats.values<uint8_t>().size(), 8u);
  EXPECT_THROW(Tensor(ElementType::kString, {2}).values<uint8_t>(), Error);
}

TEST(TensorValues, ABindingWithoutOutputsIsAnError) {
  const Session session = AddModel().Session();
  IoBinding binding(session);
  for (const char* name : {"a", "b"}) binding.BindInput(name, Floats({2}, {1, 2}));
  EXPECT_THROW(session.Run(binding), Error);
  binding.BindOutput("y");
  session.Run(binding);
  EXPECT_EQ(ToVector(binding.outputs()[0]), (std::vector<float>{2, 4}));
}

}  // namespace
}  // namespace tessera::testing
