#pragma once

// Operands of products of bytes with zero points: see ops/integer_product.cl and ops/code_sums.cl.

#include <functional>
#include <memory>
#include <string>

#include "constants.h"
#include "kernel.h"

namespace tessera::opencl {

/// Where an operator has its inputs; -1: it has none.
struct CodePlaces {
  int a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero, bias;
};
CodePlaces CodePlacesOf(const std::string& op);

/// What becomes of sums; scales and biases belong to rows or to columns of the product.
Epilogue ResultsOfCodes(const KernelInfo& info, bool channel_rows);

/// The operands of one run, checked: `channels` of B.
class CodeOperands {
 public:
  CodeOperands(const KernelContext& context, const CodePlaces& places, int64_t channels);
  /// As ResultsOfCodes() names them.
  std::span<const Tensor* const> results() const noexcept { return results_; }

  const Tensor *a, *b, *a_zero, *b_zero;
  cl_int zero_step, scale_step;  // from channel to channel of B

 private:
  std::array<const Tensor*, 5> results_;
};

/// A kernel that puts codes, less their zero points, into another form.
class CodePacking {
 public:
  static constexpr int64_t kLines = 64;  // pairs that an item packs: of codes; of planes of an image, kPlanes
  static constexpr int64_t kPlanes = 8;

  CodePacking(const KernelInfo& info, int codes, int zeros, const char* kernel);

  /// A constant with constant zero points, done on return; null where either is not constant, or there is nothing to pack. `pack` gets
  /// the kernel and what its first three arguments are.
  using Pack = std::function<void(Launchable& kernel, cl_command_queue queue, BufferRange codes, BufferRange zeros, BufferRange packed)>;
  std::shared_ptr<const ConstantBlock> OfConstant(const KernelInfo& info, std::string_view form, int64_t bytes, const Pack& pack);
  Launchable& Compile() { return kernel_.Compile(); }

 private:
  int codes_, zeros_;
  LazyLaunchable kernel_;
};

/// Sums of products of pairs, by panels (product.h).
std::string PairDefines();

}  // namespace tessera::opencl
