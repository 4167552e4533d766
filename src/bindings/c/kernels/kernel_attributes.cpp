// Attributes of a kernel's node.

#include <algorithm>
#include <cstring>
#include <ranges>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/kernels/kernel_info.h"

namespace tessera::c_abi {
namespace {

template <class T>
const T& AttributeIn(const OrtKernelInfo* info, const char* name, std::string_view type) {
  const KernelNode& node = *Given(info, "the kernel info").node;
  const std::string_view wanted = &Given(name, "the attribute's name");
  const auto found = std::ranges::find(node.attributes, wanted, &Attribute::name);
  if (found == node.attributes.end()) {
    Fail(ErrorCode::kFail, "{} '{}' has no attribute '{}'", node.op_type, node.name, wanted);
  }
  const T* typed = std::get_if<T>(&found->value);
  if (typed == nullptr) Fail(ErrorCode::kFail, "attribute '{}' of {} '{}' is no {}", wanted, node.op_type, node.name, type);
  return *typed;
}

/// The two-call pattern for lists.
template <class T>
void CopyNumbers(const std::vector<T>& numbers, T* out, size_t* size) {
  const size_t room = std::exchange(Given(size, "the size"), numbers.size());
  if (out == nullptr) return;
  Require(room >= numbers.size(), "there is room for {} numbers, but there are {}", room, numbers.size());
  std::ranges::copy(numbers, out);
}

}  // namespace

OrtStatusPtr KernelInfoGetAttribute_float(const OrtKernelInfo* info, const char* name, float* out) noexcept {
  return Guarded([&] { Given(out, "out") = AttributeIn<float>(info, name, "float"); });
}

OrtStatusPtr KernelInfoGetAttribute_int64(const OrtKernelInfo* info, const char* name, int64_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = AttributeIn<int64_t>(info, name, "int"); });
}

OrtStatusPtr KernelInfoGetAttribute_string(const OrtKernelInfo* info, const char* name, char* out, size_t* size) noexcept {
  return Guarded([&] { CopyOut(AttributeIn<std::string>(info, name, "string"), out, size); });
}

OrtStatusPtr KernelInfoGetAttributeArray_float(const OrtKernelInfo* info, const char* name, float* out,
                                               size_t* size) noexcept {
  return Guarded([&] { CopyNumbers(AttributeIn<std::vector<float>>(info, name, "list of floats"), out, size); });
}

OrtStatusPtr KernelInfoGetAttributeArray_int64(const OrtKernelInfo* info, const char* name, int64_t* out,
                                               size_t* size) noexcept {
  return Guarded([&] { CopyNumbers(AttributeIn<std::vector<int64_t>>(info, name, "list of ints"), out, size); });
}

OrtStatusPtr KernelInfoGetAttributeArray_string(const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                                                char*** out, size_t* size) noexcept {
  return Guarded([&] {
    const auto& texts = AttributeIn<std::vector<std::string>>(info, name, "list of strings");
    Given(size, "the size") = texts.size();
    char**& list = Given(out, "out");
    list = CopyTexts(texts, allocator);
  });
}

OrtStatusPtr KernelInfoGetAttribute_tensor(const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                                           OrtValue** out) noexcept {
  return Guarded([&] {
    const auto& held = AttributeIn<Tensor>(info, name, "tensor");
    OrtValue*& given = Given(out, "out");
    Tensor copy = AllocatedTensor(held.type(), held.shape(), Given(allocator, "the allocator"));
    Require(copy.memory().host_accessible, "the allocator's memory cannot be written to here; give one of the host's");
    if (held.is(ElementType::kString)) {
      std::ranges::copy(held.values<std::string>(), copy.mutable_data<std::string>());
    } else if (held.byte_size() > 0) {
      std::memcpy(copy.mutable_raw(), held.unaligned_raw(), held.byte_size());
    }
    given = new OrtValue(std::move(copy));
  });
}

}  // namespace tessera::c_abi
