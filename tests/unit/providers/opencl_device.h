#pragma once

// What the tests of the OpenCL provider share.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model_builder.h"
#include "random_numbers.h"
#include "tessera/session.h"

namespace tessera::testing {

inline constexpr char kOpencl[] = "OpenCLExecutionProvider";

/// For a session on one provider, which must start.
inline SessionOptions On(const char* provider, ProviderOptions options = {}) {
  SessionOptions session;
  session.providers = {{provider, std::move(options)}};
  session.error_on_failure = true;
  return session;
}

/// The same, with each node as the model has it.
inline SessionOptions PlainOn(const char* provider, ProviderOptions options = {}) {
  SessionOptions session = On(provider, std::move(options));
  session.optimization_level = OptimizationLevel::kNone;
  return session;
}

/// Skips the test that calls it where there is no OpenCL device.
inline void NeedDevice() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Relu", {"x"}, {"y"});
  try {
    model.Session(On(kOpencl));
  } catch (const Error& error) {
    if (std::string(error.what()).find("there is no OpenCL device") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
}

}  // namespace tessera::testing
