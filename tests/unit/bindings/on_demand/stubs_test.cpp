// Functions that come out of libraries which are opened when they are called.

#include "bindings/on_demand/stubs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "error_of.h"

// Two Bessel functions, whose numbers and whole numbers go by different registers, and one of a library that is not there.
extern "C" {
double jn(int order, double x);  // NOLINT
double yn(int order, double x);  // NOLINT
int tessera_of_no_library(int x);
int tessera_of_no_function(int x);
}

namespace mathematics {
constexpr const char* kNames[] = {"jn", "yn", "tessera_of_no_function"};
constexpr size_t kCount = 3;
constinit tessera::on_demand::Library the_library{"libm.so.6", kNames};
ON_DEMAND_ENTRY(mathematics);
ON_DEMAND_FUNCTION(mathematics, 0, jn);
ON_DEMAND_FUNCTION(mathematics, 1, yn);
ON_DEMAND_FUNCTION(mathematics, 2, tessera_of_no_function);
}  // namespace mathematics

namespace absent {
constexpr const char* kNames[] = {"tessera_of_no_library"};
constexpr size_t kCount = 1;
constinit tessera::on_demand::Library the_library{"libtessera_of_nobody.so.1", kNames};
ON_DEMAND_ENTRY(absent);
ON_DEMAND_FUNCTION(absent, 0, tessera_of_no_library);
}  // namespace absent

namespace tessera::testing {
namespace {

TEST(OnDemand, ACallReachesTheLibraryWithItsArguments) {
  volatile double x = 1.5;  // nothing that a compiler works out
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(jn(2, x), 0.23208767214421472, 1e-12);
    EXPECT_NEAR(yn(1, x), -0.41230862697391129, 1e-12);
  }
  EXPECT_NE(mathematics::the_library.handle.load(), nullptr);
}

TEST(OnDemand, WhatIsNotThereIsAnErrorThatNamesIt) {
  EXPECT_THAT(ErrorOf([] { tessera_of_no_library(1); }), ::testing::HasSubstr("libtessera_of_nobody.so.1"));
  EXPECT_THAT(ErrorOf([] { tessera_of_no_library(1); }), ::testing::HasSubstr("libtessera_of_nobody.so.1"));
  EXPECT_THAT(ErrorOf([] { tessera_of_no_function(1); }),
              ::testing::HasSubstr("libm.so.6 has no function tessera_of_no_function"));
}

}  // namespace
}  // namespace tessera::testing
