#pragma once

// What DFT and STFT share: transforms of lengths that the graph states and that are not large.

#include <optional>
#include <string>

#include "opencl/device/kernel.h"

namespace tessera::opencl {

/// The same struct stands in dft.cl.
struct Signals {
  cl_long period, outer, hop, step, inner;
  cl_int points, length, bins, components;
};

class FourierTransform {
 public:
  explicit FourierTransform(const KernelInfo& info);

  /// For each bin of each signal in `y`, whose two components stand last.
  void operator()(KernelContext& context, const Tensor& x, const Tensor* window, const Tensor& y, const Signals& signals);

  /// A scalar input that may be absent.
  static int64_t Number(KernelContext& context, size_t i, int64_t fallback);
  /// A length as kernels count it.
  static cl_int Length(int64_t length, const char* what);

 private:
  Launchable twiddle_factors_, transform_;
  size_t bytes_;
};

/// Transforms are sums over all points for each bin: where these are many, the CPU provider's fast transforms take fewer
/// steps by far.
std::string LengthRefusal(std::optional<int64_t> length);

std::optional<int64_t> ConstantInteger(const NodeInfo& info, size_t input);
std::optional<int64_t> KnownDimension(const TypeInfo& type, int64_t axis);

}  // namespace tessera::opencl
