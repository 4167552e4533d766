// Tensors of strings.

#include <cstring>
#include <numeric>

#include "bindings/c/entry.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

template <class Strings>
auto& StringAt(Strings strings, size_t index) {
  Require(index < strings.size(), "there is no string {}, the tensor has {}", index, strings.size());
  return strings[index];
}

size_t LengthOf(std::span<const std::string> strings) {
  return std::accumulate(strings.begin(), strings.end(), size_t{0},
                         [](size_t sum, const std::string& text) { return sum + text.size(); });
}

void RequireStrings(const Tensor& tensor) {
  if (!tensor.is(ElementType::kString))
    Fail(ErrorCode::kFail, "the tensor's elements are {}, not strings", ElementTypeName(tensor.type()));
}

}  // namespace

std::span<const std::string> StringsIn(const OrtValue* value) {
  const Tensor& tensor = TensorIn(value);
  RequireStrings(tensor);
  return tensor.values<std::string>();
}
std::span<std::string> StringsIn(OrtValue* value) {
  Tensor& tensor = TensorIn(value);
  RequireStrings(tensor);
  return tensor.mutable_values<std::string>();
}

OrtStatusPtr FillStringTensor(OrtValue* value, const char* const* s, size_t s_len) noexcept {
  return Guarded([&] {
    const std::span<std::string> strings = StringsIn(value);
    Require(s_len == strings.size(), "{} strings are given for {} elements", s_len, strings.size());
    for (size_t i = 0; i < s_len; ++i) strings[i] = &Given(s[i], "a string");
  });
}

OrtStatusPtr FillStringTensorElement(OrtValue* value, const char* s, size_t index) noexcept {
  return Guarded([&] { StringAt(StringsIn(value), index) = &Given(s, "the string"); });
}

OrtStatusPtr GetResizedStringTensorElementBuffer(OrtValue* value, size_t index, size_t length_in_bytes,
                                                 char** buffer) noexcept {
  return Guarded([&] {
    std::string& text = StringAt(StringsIn(value), index);
    Given(buffer, "out");
    text.resize(length_in_bytes);
    *buffer = text.data();
  });
}

OrtStatusPtr GetStringTensorDataLength(const OrtValue* value, size_t* len) noexcept {
  return Guarded([&] { Given(len, "the length") = LengthOf(StringsIn(value)); });
}

OrtStatusPtr GetStringTensorContent(const OrtValue* value, void* s, size_t s_len, size_t* offsets,
                                    size_t offsets_len) noexcept {
  return Guarded([&] {
    const std::span<const std::string> strings = StringsIn(value);
    const size_t length = LengthOf(strings);
    if (offsets_len < strings.size() || s_len < length) {
      Fail(ErrorCode::kFail, "the buffers hold {} bytes and {} offsets, but {} and {} are needed", s_len, offsets_len,
           length, strings.size());
    }
    size_t at = 0;
    for (size_t i = 0; i < strings.size(); ++i) {
      offsets[i] = at;
      if (!strings[i].empty()) std::memcpy(static_cast<char*>(s) + at, strings[i].data(), strings[i].size());
      at += strings[i].size();
    }
  });
}

OrtStatusPtr GetStringTensorElementLength(const OrtValue* value, size_t index, size_t* out) noexcept {
  return Guarded([&] { Given(out, "the length") = StringAt(StringsIn(value), index).size(); });
}

OrtStatusPtr GetStringTensorElement(const OrtValue* value, size_t s_len, size_t index, void* s) noexcept {
  return Guarded([&] {
    const std::string& text = StringAt(StringsIn(value), index);
    if (s_len < text.size()) Fail(ErrorCode::kFail, "the buffer has {} bytes, but {} are needed", s_len, text.size());
    if (!text.empty()) std::memcpy(&Given(static_cast<char*>(s), "the buffer"), text.data(), text.size());
  });
}

}  // namespace tessera::c_abi
