#pragma once

// Tests that are clients of the C ABI.

#include <gtest/gtest.h>
#include <onnxruntime_c_api.h>

#include <cstddef>
#include <cstring>
#include <string>

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::testing {

/// An environment with the library of the test's, under this name.
class ClientTest : public ::testing::Test {
 protected:
  ClientTest(const char* library, const char* file) : library_(library) {
    Ok(api_.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env_));
    Ok(api_.RegisterExecutionProviderLibrary(env_, library, file));
  }
  ~ClientTest() override {
    if (registered_) Unregister();
    api_.ReleaseEnv(env_);
  }
  void Unregister() {
    Ok(api_.UnregisterExecutionProviderLibrary(env_, library_));
    registered_ = false;
  }

  void Ok(OrtStatus* status) const { EXPECT_EQ(ErrorOf(status), "none"); }
  std::string ErrorOf(OrtStatus* status) const {
    if (status == nullptr) return "none";
    std::string text = api_.GetErrorMessage(status);
    api_.ReleaseStatus(status);
    return text;
  }

  /// The first device of the provider, which may be given an option of its own.
  void Append(OrtSessionOptions* options, const char* provider, const char* key = nullptr) const {
    const OrtEpDevice* const* devices = nullptr;
    size_t count = 0;
    Ok(api_.GetEpDevices(env_, &devices, &count));
    const char* value = "1";
    for (size_t i = 0; i < count; ++i) {
      if (std::strcmp(api_.EpDevice_EpName(devices[i]), provider) != 0) continue;
      return Ok(api_.SessionOptionsAppendExecutionProvider_V2(options, env_, &devices[i], 1, &key, &value,
                                                              key == nullptr ? 0 : 1));
    }
  }

  const OrtApi& api_ = *TesseraGetOrtApiBase()->GetApi(31);
  OrtEnv* env_ = nullptr;

 private:
  const char* library_;
  bool registered_ = true;
};

}  // namespace tessera::testing
