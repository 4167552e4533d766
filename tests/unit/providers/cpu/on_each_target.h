#pragma once

// Tests of vector code on each instruction set that it is compiled for and this processor has. Some tables of micro-kernels
// are made once in a process: CTest runs each test in its own.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/vector/targets.h"

#include <hwy/targets.h>

namespace tessera::testing {

/// Kernels of one instruction set instead of the best one, as long as this lives.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) { Choose(target); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
  ~OnlyTarget() { Choose(0); }

 private:
  /// 0: all of them.
  static void Choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// Calls check() on each.
template <class Check>
void OnEachTarget(const Check& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTarget only(target);
    check();
  }
}

/// Fixture of tests that are one for each: INSTANTIATE_TEST_SUITE_P(On, Suite, EachTarget(), NameOfTarget).
class TestOfTarget : public ::testing::TestWithParam<int64_t> {
 private:
  OnlyTarget only_{GetParam()};
};

inline auto EachTarget() { return ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()); }
inline std::string NameOfTarget(const ::testing::TestParamInfo<int64_t>& info) { return hwy::TargetName(info.param); }

}  // namespace tessera::testing
