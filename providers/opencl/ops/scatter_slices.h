#pragma once

// What operators are made of that write slices of one tensor over, or into, those of another. Indices are read on the host,
// which checks them and sends offsets. Updates that are combined are sorted by their target there, so that they are
// combined in their order, without atomic operations.

#include <functional>
#include <string>

#include "opencl/ops/slices.h"

namespace tessera::opencl {

class ScatterSlices : public Kernel {
 public:
  ScatterSlices(const KernelInfo& info, size_t index_input);

 protected:
  /// Output 0 is `data` with `count` slices of `inner` elements of `updates` at offsets that `fill` writes.
  void Scatter(KernelContext& context, const Tensor& data, const Tensor& updates, int64_t count, int64_t inner,
               const std::function<void(std::span<int64_t>)>& fill);

 private:
  std::string Defines(const KernelInfo& info) const;

  std::string combination_;  // empty: updates replace
  Launchable copy_, kernel_;
  LazyLaunchable pieces_;
  int64_t element_bytes_;
  SentIntegers plan_;
};

/// Why updates are not combined on the device; empty where they are, or replace.
std::string ReductionRefusal(const NodeInfo& info);

}  // namespace tessera::opencl
