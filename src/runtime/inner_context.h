#pragma once

#include <utility>

#include "base/checked.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// The run of a kernel inside another's: all is the outer one's but what the class that derives from it says.
class InnerContext : public KernelContext {
 public:
  bool has_output(size_t i) const noexcept override { return outer_.has_output(i); }
  Tensor* output(size_t i, const Shape& shape) override { return outer_.output(i, shape); }
  Tensor* output(size_t i, ElementType type, const Shape& shape) override { return outer_.output(i, type, shape); }
  void set_output(size_t i, Value value) override { outer_.set_output(i, std::move(value)); }
  ThreadPool& threads() const noexcept override { return outer_.threads(); }
  Stream* stream() const noexcept override { return outer_.stream(); }
  Allocator& allocator() const noexcept override { return outer_.allocator(); }
  bool cancelled() const noexcept override { return outer_.cancelled(); }

 protected:
  explicit InnerContext(KernelContext& outer) : outer_(outer) {}

  void* ScratchBytes(size_t count, size_t element_size) override {
    return outer_.scratch<std::byte>(CheckedMul(count, element_size)).data();
  }

  KernelContext& outer_;
};

}  // namespace tessera
