#include "bindings/c/key_values.h"

#include <gtest/gtest.h>

#include <utility>

namespace {

TEST(KeyValues, CopiesShowTheirOwnTexts) {
  OrtKeyValuePairs original;
  original.Set("key", "a text that is too long to lie inside of its string");
  const OrtKeyValuePairs copied = original;
  OrtKeyValuePairs assigned;
  assigned = original;
  for (const OrtKeyValuePairs* copy : {&copied, &std::as_const(assigned)}) {
    ASSERT_EQ(copy->keys.size(), 1u);
    EXPECT_EQ(copy->keys[0], copy->entries.begin()->first.c_str());
    EXPECT_EQ(copy->values[0], copy->entries.begin()->second.c_str());
  }
}

TEST(KeyValues, MovedOnesTakeTheirTextsAlong) {
  OrtKeyValuePairs original;
  original.Set("key", "value");
  const OrtKeyValuePairs moved = std::move(original);
  ASSERT_EQ(moved.values.size(), 1u);
  EXPECT_EQ(moved.values[0], moved.entries.begin()->second.c_str());
}

}  // namespace
