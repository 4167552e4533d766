#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace tessera::testing {

/// Elements that end where a page begins that nobody may touch.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count) : count_(count) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (count * sizeof(T) + page - 1) / page * page;
    mapped_ = bytes_ + page;
    base_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED || (bytes_ > 0 && mprotect(base_, bytes_, PROT_READ | PROT_WRITE) != 0)) throw std::bad_alloc();
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return reinterpret_cast<T*>(static_cast<std::byte*>(base_) + bytes_) - count_; }

 private:
  size_t count_, bytes_, mapped_;
  void* base_;
};

}  // namespace tessera::testing
