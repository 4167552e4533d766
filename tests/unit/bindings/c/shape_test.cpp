// Shapes that clients of the C ABI give.

#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "bindings/c/table.h"

namespace tessera::testing {
namespace {

/// No dimension of theirs is read.
TEST(ShapesOfClients, HaveFewDimensions) {
  OrtAllocator* allocator = nullptr;
  RequireOk(Api().GetAllocatorWithDefaultOptions(&allocator));
  std::array<int64_t, 65> dims;
  dims.fill(1);
  constexpr size_t kTopBit = size_t{1} << 63;
  for (const size_t rank : {size_t{65}, size_t{1} << 40, kTopBit, kTopBit + 1, std::numeric_limits<size_t>::max()}) {
    OrtValue* value = nullptr;
    EXPECT_EQ(
        CodeOf(Api().CreateTensorAsOrtValue(allocator, dims.data(), rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value)),
        ORT_INVALID_ARGUMENT);
    EXPECT_EQ(value, nullptr);
  }
  OrtValue* value = nullptr;
  RequireOk(Api().CreateTensorAsOrtValue(allocator, dims.data(), 64, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  Api().ReleaseValue(value);
}

}  // namespace
}  // namespace tessera::testing
