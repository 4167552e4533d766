#pragma once

// What clients of the C ABI share that fuzzers' inputs drive: the environment, memory of theirs, shapes and types.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "choices.h"
#include "onnxruntime/onnxruntime_c_api.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::fuzz {

inline const OrtApi& Api() {
  static const OrtApi& api = *TesseraGetOrtApiBase()->GetApi(ORT_API_VERSION);
  return api;
}

/// An error is a good answer; its text can be read.
inline bool Good(OrtStatusPtr status) {
  if (status == nullptr) return true;
  if (Api().GetErrorMessage(status) == nullptr || Api().GetErrorCode(status) == ORT_OK) std::abort();
  Api().ReleaseStatus(status);
  return false;
}

/// What a client has as long as it lives, and the choices that its program makes. What it makes ends before.
class ClientParts {
 public:
  explicit ClientParts(std::span<const uint8_t> program) : choices_(program), memory_(4096) {
    if (!Good(Api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "fuzz", &env_))) std::abort();
    if (!Good(Api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory_info_))) std::abort();
    if (!Good(Api().GetAllocatorWithDefaultOptions(&allocator_))) std::abort();
  }
  ~ClientParts() {
    Api().ReleaseMemoryInfo(memory_info_);
    Api().ReleaseEnv(env_);
  }
  ClientParts(const ClientParts&) = delete;
  ClientParts& operator=(const ClientParts&) = delete;

 protected:
  std::vector<int64_t> AnyShape() {
    std::vector<int64_t> shape(choices_.Below(4));
    for (int64_t& dim : shape)
      dim = choices_.Below(12) == 0 ? choices_.Number<int64_t>() : static_cast<int64_t>(choices_.Below(5));
    return shape;
  }

  /// A tensor in memory of the library's, unless it were large.
  void MakeTensor(const std::vector<int64_t>& shape, ONNXTensorElementDataType element, OrtValue*& value) {
    int64_t count = 1;
    for (const int64_t dim : shape) count = dim >= 0 && dim < 64 ? count * dim : 64 * 64;
    if (count < 4096) Good(Api().CreateTensorAsOrtValue(allocator_, shape.data(), shape.size(), element, &value));
  }
  /// One in the client's.
  void ViewMemory(const std::vector<int64_t>& shape, ONNXTensorElementDataType element, OrtValue*& value) {
    const size_t offset = 16 * choices_.Below(8);
    Good(Api().CreateTensorWithDataAsOrtValue(memory_info_, memory_.data() + offset, memory_.size() - offset, shape.data(),
                                              shape.size(), element, &value));
  }

  Choices choices_;
  std::vector<std::byte> memory_;  // the client's: it outlives what looks at it
  OrtEnv* env_ = nullptr;
  OrtMemoryInfo* memory_info_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
};

}  // namespace tessera::fuzz
