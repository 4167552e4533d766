#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tessera {

/// One entry for each of a run's inputs or outputs, without touching the heap for usual models. Entries are made by their
/// default constructor, and only as many as there are.
template <class T, size_t kInline = 64>
class SmallArray {
 public:
  explicit SmallArray(size_t count) : count_(count) {
    if (count > kInline) {
      heap_ = std::make_unique<T[]>(count);
    } else {
      std::uninitialized_value_construct_n(inline_values(), count);
    }
  }
  ~SmallArray() {
    if (heap_ == nullptr) std::destroy_n(inline_values(), count_);
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  std::span<T> values() noexcept { return {heap_ ? heap_.get() : inline_values(), count_}; }
  T& operator[](size_t i) noexcept { return values()[i]; }
  size_t size() const noexcept { return count_; }

 private:
  T* inline_values() noexcept { return reinterpret_cast<T*>(inline_); }

  const size_t count_;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[kInline * sizeof(T)];
};

}  // namespace tessera
