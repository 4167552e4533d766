#include "runtime/memory/prepack_cache.h"

#include <gtest/gtest.h>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

/// Numbers that bfloat16 holds, so that matmuls pack them in 16 bits.
std::vector<float> ShortNumbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(static_cast<int>(i * 7 % 31) - 15) / 8;
  return numbers;
}

SessionOptions OnCpu(bool shares) {
  SessionOptions options;
  options.providers = {{"CPUExecutionProvider", {}}};
  if (!shares) options.config.emplace("session.disable_prepacking", "1");
  return options;
}

void ExpectSharingChangesNothing(const ModelBuilder& model, const std::vector<std::string>& names,
                                 const std::vector<Value>& inputs) {
  const Session sharing = model.Session(OnCpu(true)), alone = model.Session(OnCpu(false));
  const std::vector<Value> with = sharing.Run(names, inputs), without = alone.Run(names, inputs);
  for (size_t i = 0; i < with.size(); ++i) EXPECT_EQ(ToVector(with[i]), ToVector(without[i])) << "output " << i;
}

TEST(PrepackCache, OneWeightInTwoShapes) {
  ModelBuilder model(17);
  model.Input("a", ElementType::kFloat, {3, 64}).Input("b", ElementType::kFloat, {3, 32});
  model.Output("y", ElementType::kFloat, {3, 32}).Output("z", ElementType::kFloat, {3, 64});
  model.Floats("w", {64, 32}, ShortNumbers(64 * 32)).Ints("shape", {32, 64});
  model.Node("Reshape", {"w", "shape"}, {"turned"});
  model.Node("MatMul", {"a", "w"}, {"y"});
  model.Node("MatMul", {"b", "turned"}, {"z"});
  ExpectSharingChangesNothing(model, {"a", "b"},
                              {Floats({3, 64}, ShortNumbers(3 * 64)), Floats({3, 32}, ShortNumbers(3 * 32))});
}

TEST(PrepackCache, OneWeightInFormsOfTwoTypes) {
  ModelBuilder model(17);
  model.Input("a", ElementType::kFloat, {3, 64}).Input("image", ElementType::kFloat, {1, 64, 5, 5});
  model.Output("y", ElementType::kFloat, {3, 32}).Output("z", ElementType::kFloat, {1, 32, 5, 5});
  model.Floats("w", {32, 64}, ShortNumbers(32 * 64)).Ints("shape", {32, 64, 1, 1});
  model.Node("Reshape", {"w", "shape"}, {"kernel"});
  Int(model.Node("Gemm", {"a", "w"}, {"y"}), "transB", 1);
  model.Node("Conv", {"image", "kernel"}, {"z"});
  ExpectSharingChangesNothing(model, {"a", "image"},
                              {Floats({3, 64}, ShortNumbers(3 * 64)), Floats({1, 64, 5, 5}, ShortNumbers(64 * 25))});
}

TEST(PrepackCache, TypeAndShapeArePartOfTheKey) {
  const Tensor floats = Tensor::Of<float>({2, 3}, std::vector<float>(6));
  const auto view = [&](ElementType type, const Shape& shape) {
    return Tensor::Share(type, shape, const_cast<void*>(floats.raw()), std::const_pointer_cast<void>(floats.owner()));
  };
  int made = 0;
  const auto make = [&]() -> std::shared_ptr<const void> { return std::make_shared<int>(++made); };
  PrepackCache& cache = PrepackCache::Process();
  const auto first = cache.GetOrMake(floats, "form", make);
  EXPECT_EQ(cache.GetOrMake(view(ElementType::kFloat, {2, 3}), "form", make), first);
  EXPECT_NE(cache.GetOrMake(view(ElementType::kFloat, {3, 2}), "form", make), first);
  EXPECT_NE(cache.GetOrMake(view(ElementType::kInt32, {2, 3}), "form", make), first);
  EXPECT_NE(cache.GetOrMake(floats, "another form", make), first);
}

TEST(PrepackCache, EntriesGoWithTheLastUserOfTheirValue) {
  const Tensor floats = Tensor::Of<float>({2, 3}, std::vector<float>(6));
  PrepackCache& cache = PrepackCache::Process();
  const size_t before = cache.entries();
  int made = 0;
  const auto make = [&]() -> std::shared_ptr<const void> { return std::make_shared<int>(++made); };
  {
    const auto first = cache.GetOrMake(floats, "short-lived", make),
               second = cache.GetOrMake(floats, "short-lived, too", make);
    EXPECT_EQ(*static_cast<const int*>(first.get()), 1);
    EXPECT_EQ(cache.entries(), before + 2);
  }
  EXPECT_EQ(cache.entries(), before);
  EXPECT_THROW(cache.GetOrMake(floats, "fails", []() -> std::shared_ptr<const void> { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(cache.GetOrMake(floats, "nothing", []() -> std::shared_ptr<const void> { return nullptr; }), nullptr);
  EXPECT_EQ(cache.entries(), before);
  EXPECT_EQ(*static_cast<const int*>(cache.GetOrMake(floats, "short-lived", make).get()), 3);
}

}  // namespace
}  // namespace tessera::testing
