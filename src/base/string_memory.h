#pragma once

// The characters of tensors' strings, as memory that limits count: a string object lies in the tensor's buffer, what is
// longer than fits there does not.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/value.h"

namespace tessera {

/// What a string of that many characters takes on the heap, at most.
constexpr size_t TextBytes(size_t characters) noexcept {
  constexpr size_t kInside = 15, kHeapBlock = 32;
  return characters <= kInside ? 0 : characters + kHeapBlock;
}

/// Of all together. Sums of sizes that no memory holds stay that large.
size_t TextBytes(std::span<const std::string> texts) noexcept;
size_t TextBytes(std::span<const std::string_view> texts) noexcept;

/// Counts the characters of strings that are about to be written to `target`: for as long as its strings live where an
/// allocator gave them, else as long as this object does, against `otherwise`.
class StringCharge {
 public:
  StringCharge(const Tensor& target, Allocator& otherwise);
  /// Throws Error where the limit would be exceeded.
  void Add(size_t bytes);

 private:
  struct StringBuffer* buffer_;
  MemoryCharge other_;
};

/// Copies strings whose characters are counted before the first is copied.
void CopyStrings(std::span<const std::string> from, Tensor& target, int64_t at, Allocator& otherwise);

/// `count` empty strings of `allocator`; they begin at `data`.
std::shared_ptr<void> MakeStrings(Allocator& allocator, size_t count, void*& data);

}  // namespace tessera
