// Null in place of one argument among good ones.

#include <gmock/gmock.h>

#include <array>

#include "bindings/c/table.h"

namespace tessera::testing {
namespace {

TEST(NullArguments, AreNoTextsOfASparseTensor) {
  OrtAllocator* allocator = nullptr;
  RequireOk(Api().GetAllocatorWithDefaultOptions(&allocator));
  OrtMemoryInfo* memory = nullptr;
  RequireOk(Api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  const std::array<int64_t, 2> dense = {2, 2};
  const std::array<int64_t, 1> count = {2};
  const std::array<int64_t, 2> indices = {0, 3};
  const std::array<const char*, 2> texts = {"a", nullptr};
  OrtValue* value = nullptr;
  RequireOk(Api().CreateSparseTensorAsOrtValue(allocator, dense.data(), dense.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                                               &value));
  for (const void* given : {static_cast<const void*>(nullptr), static_cast<const void*>(texts.data())}) {
    EXPECT_EQ(
        CodeOf(Api().FillSparseTensorCoo(value, memory, count.data(), count.size(), given, indices.data(), indices.size())),
        ORT_INVALID_ARGUMENT);
  }
  Api().ReleaseValue(value);
  Api().ReleaseMemoryInfo(memory);
}

// Nothing is made then that nobody could release: a sanitizer sees it.
TEST(NullArguments, AreNoPlacesForResults) {
  OrtSessionOptions* options = nullptr;
  RequireOk(Api().CreateSessionOptions(&options));
  EXPECT_EQ(CodeOf(Api().CloneSessionOptions(options, nullptr)), ORT_INVALID_ARGUMENT);
  Api().ReleaseSessionOptions(options);
}

}  // namespace
}  // namespace tessera::testing
