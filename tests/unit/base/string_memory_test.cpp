#include "base/string_memory.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

const std::string kLongText(1000, 'x');

TEST(StringMemory, CountsAsLongAsTheStringsLive) {
  const auto budget = std::make_shared<MemoryBudget>("some.limit", 10'000);
  const auto allocator = MakeBudgetedAllocator(HostAllocator(), budget);
  Tensor copy = Tensor::Of<std::string>(Shape{4}, std::vector<std::string>(4, kLongText)).Clone(*allocator);
  const Tensor other = copy.Reshaped({2, 2});
  EXPECT_GT(budget->used(), 4000);
  EXPECT_LT(budget->used(), 5000);
  copy = Tensor();
  EXPECT_GT(budget->used(), 4000);
  EXPECT_THAT(ErrorOf([&] { other.Clone(*allocator).Clone(*allocator); }), HasSubstr("some.limit exceeded"));
  EXPECT_LT(budget->used(), 5000);
  EXPECT_EQ(other.data<std::string>()[3], kLongText);
}

TEST(StringMemory, OfACallersBufferCountsWhileItIsWritten) {
  const auto budget = std::make_shared<MemoryBudget>("some.limit", 3000);
  const auto allocator = MakeBudgetedAllocator(HostAllocator(), budget);
  std::vector<std::string> buffer(2);
  Tensor target = Tensor::View<std::string>(Shape{2}, buffer);
  const std::vector<std::string> texts = {kLongText, kLongText};
  CopyStrings(texts, target, 0, *allocator);
  EXPECT_EQ(budget->used(), 0);
  EXPECT_EQ(buffer, texts);
  EXPECT_NE(ErrorOf([&] { CopyStrings(std::vector<std::string>(1, std::string(5000, 'x')), target, 0, *allocator); }),
            "no error");
  EXPECT_EQ(buffer, texts);
}

}  // namespace
}  // namespace tessera
