#pragma once

// Tests of values that every provider has to give, with nodes as the model has them and rewritten.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "providers_here.h"

namespace tessera::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN(),
                       kMost = std::numeric_limits<float>::max();

inline Value Numbers(const std::vector<int64_t>& dims, const std::vector<float>& values) { return Floats(dims, values); }

/// The parameter is the provider: cpu, dnnl or opencl.
class OnEachProvider : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!IsCompiledIn(GetParam())) GTEST_SKIP() << "not compiled in";
    if (GetParam() == "opencl") NeedDevice();
  }

  static void Expect(const ModelBuilder& model, const std::vector<Value>& inputs, const std::vector<Value>& expected,
                     float tolerance = 1e-5f) {
    for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
      SCOPED_TRACE(level == OptimizationLevel::kNone ? "as it is" : "rewritten");
      SessionOptions options = OnProvider(GetParam());
      options.optimization_level = level;
      ExpectClose(ResultsOf(model.Session(options), inputs), expected, tolerance);
    }
  }
};

}  // namespace tessera::testing
