#include "kernels/vector/processor_targets.h"

#include <gtest/gtest.h>

#include "kernels/vector/targets.h"
// After it.
#include <hwy/targets.h>

namespace tessera::cpu {
namespace {

TEST(ProcessorTargets, AreThoseThatHighwayFinds) {
  EXPECT_EQ(ProcessorTargets() & HWY_TARGETS, hwy::SupportedTargets() & HWY_TARGETS);
}

}  // namespace
}  // namespace tessera::cpu
