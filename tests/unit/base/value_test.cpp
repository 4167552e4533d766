#include "tessera/value.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

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

TEST(TensorData, AnotherTypeIsAnError) {
  Tensor floats(ElementType::kFloat, {2});
  EXPECT_THAT(ErrorOf([&] { floats.data<int32_t>(); }),
              HasSubstr("elements of type int32 are asked for, the tensor has float"));
  EXPECT_THROW(floats.mutable_data<double>(), Error);
  EXPECT_THROW(floats.unaligned_data<Float16>(), Error);
  EXPECT_THROW(Tensor().data<float>(), Error);
  EXPECT_EQ(floats.data<uint8_t>(), floats.raw());  // bytes of any type
}

TEST(TensorView, ShowsTheMemoryGiven) {
  std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  Tensor view = Tensor::View<float>({2, 3}, memory);
  EXPECT_EQ(view.raw(), memory.data());
  EXPECT_EQ(view.shape(), (Shape{2, 3}));
  view.mutable_data<float>()[5] = 7;
  EXPECT_EQ(memory[5], 7);
  EXPECT_EQ(Tensor::View({6}, std::span(memory)).num_elements(), 6);  // the type is that of the span
}

TEST(TensorView, RefusesMemoryThatIsNotThere) {
  EXPECT_THAT(ErrorOf([] { Tensor::View(ElementType::kFloat, {2, 3}, nullptr); }),
              HasSubstr("shape [2,3] needs 24 bytes, but its memory is null"));
  EXPECT_THROW(Tensor::Share(ElementType::kInt4, {1}, nullptr, nullptr), Error);
  EXPECT_THROW(Tensor::ShareUnaligned(ElementType::kFloat, {1}, nullptr, nullptr), Error);
  EXPECT_EQ(Tensor::View(ElementType::kFloat, {0, 3}, nullptr).num_elements(), 0);
  EXPECT_EQ(Tensor::View<float>({0}, {}).values<float>().size(), 0u);
}

TEST(TensorView, RefusesWhatDoesNotFit) {
  std::vector<float> memory(6);
  EXPECT_THAT(ErrorOf([&] { Tensor::View<float>({2, 2}, memory); }), HasSubstr("shape [2,2] does not hold 6 elements"));
  EXPECT_THROW(Tensor::View<float>({7}, memory), Error);
  EXPECT_THROW(Tensor::View<float>({-6}, memory), Error);
  EXPECT_THROW(Tensor::View<float>({int64_t{1} << 40, int64_t{1} << 40}, memory), Error);
  EXPECT_THROW(Tensor::View(ElementType::kUndefined, {6}, memory.data()), Error);
  EXPECT_THROW(Tensor::View(static_cast<ElementType>(99), {6}, memory.data()), Error);
  std::vector<Float4E2M1> quantized(2);
  EXPECT_THAT(ErrorOf([&] { Tensor::View<Float4E2M1>({2}, quantized); }),
              HasSubstr("elements of type float4e2m1 are packed"));
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
