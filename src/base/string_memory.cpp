#include "base/string_memory.h"

#include <algorithm>
#include <atomic>

#include "base/cancellable_memory.h"
#include "base/check.h"

namespace tessera {

/// Owner of a string tensor's buffer.
struct StringBuffer {
  StringBuffer(Allocator& from, size_t number)
      : allocator(from),
        strings(static_cast<std::string*>(from.Allocate(std::max<size_t>(number * sizeof(std::string), 1)))),
        count(number) {
    size_t made = 0;
    try {
      InCancellablePieces(0, static_cast<int64_t>(count), 10, [&](int64_t, int64_t end) {
        for (; made < static_cast<size_t>(end); ++made) std::construct_at(strings + made);
      });
    } catch (...) {
      std::destroy_n(strings, made);
      allocator.Free(strings);
      throw;
    }
  }
  ~StringBuffer() {
    std::destroy_n(strings, count);
    allocator.Free(strings);
    if (const size_t bytes = charged.load(std::memory_order_relaxed); bytes > 0) allocator.Refund(bytes);
  }
  StringBuffer(const StringBuffer&) = delete;
  StringBuffer& operator=(const StringBuffer&) = delete;

  Allocator& allocator;
  std::string* const strings;
  const size_t count;
  std::atomic<size_t> charged{0};
};

namespace {

/// Tells these owners from others.
struct DeleteStrings {
  void operator()(void* buffer) const noexcept { delete static_cast<StringBuffer*>(buffer); }
};

StringBuffer* BufferOf(const Tensor& tensor) noexcept {
  const bool own = std::get_deleter<DeleteStrings>(tensor.owner()) != nullptr;
  return own ? static_cast<StringBuffer*>(tensor.owner().get()) : nullptr;
}

template <class Text>
size_t SumOf(std::span<const Text> texts) noexcept {
  constexpr size_t kMost = size_t{1} << 62;  // one sum more cannot overflow
  size_t sum = 0;
  for (const Text& text : texts) sum = std::min(sum + std::min(TextBytes(text.size()), kMost), kMost);
  return sum;
}

}  // namespace

size_t TextBytes(std::span<const std::string> texts) noexcept { return SumOf(texts); }
size_t TextBytes(std::span<const std::string_view> texts) noexcept { return SumOf(texts); }

StringCharge::StringCharge(const Tensor& target, Allocator& otherwise) : buffer_(BufferOf(target)), other_(otherwise) {}

void StringCharge::Add(size_t bytes) {
  if (bytes == 0) return;
  if (buffer_ == nullptr) return other_.Add(bytes);
  buffer_->allocator.Charge(bytes);
  buffer_->charged.fetch_add(bytes, std::memory_order_relaxed);
}

void CopyStrings(std::span<const std::string> from, Tensor& target, int64_t at, Allocator& otherwise) {
  StringCharge charge(target, otherwise);
  charge.Add(TextBytes(from));
  CopyCancellably(target.mutable_data<std::string>() + at, from.data(), static_cast<int64_t>(from.size()));
}

std::shared_ptr<void> MakeStrings(Allocator& allocator, size_t count, void*& data) {
  auto buffer = std::make_unique<StringBuffer>(allocator, count);
  data = buffer->strings;
  return std::shared_ptr<void>(buffer.release(), DeleteStrings{});
}

}  // namespace tessera
