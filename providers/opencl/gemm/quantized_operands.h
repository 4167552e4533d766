#pragma once

// Operands of matmuls of bytes with zero points: see matmul_integer.cl and quantized_epilogue.cl.

#include <functional>
#include <memory>
#include <string>

#include "base/rounding.h"
#include "opencl/device/constants.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {

inline constexpr TypeSet kInt8s = {ElementType::kInt8, ElementType::kUInt8};
inline constexpr TypeSet kScales = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};

/// Macros of quantized values Y, of a type of 8 bits, and their LOWEST and HIGHEST.
std::string QuantizedResult(ElementType type);

/// Where an operator has its inputs; -1: it has none.
struct QuantizedInputs {
  int a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero, bias;
};
QuantizedInputs QuantizedInputsOf(const std::string& op);

/// What becomes of accumulators; scales and biases belong to rows or to columns of the matmul. `quads`: of matmuls with
/// QuadWeights.
Epilogue QuantizedEpilogue(const KernelInfo& info, bool channel_rows, bool quads = false);

/// The operands of one run, checked: `channels` of B.
class QuantizedOperands {
 public:
  QuantizedOperands(const KernelContext& context, const QuantizedInputs& inputs, int64_t channels);
  /// As QuantizedEpilogue() names them.
  std::span<const Tensor* const> results() const noexcept { return results_; }

  const Tensor *a, *b, *a_zero, *b_zero;
  cl_int zero_step, scale_step;  // from channel to channel of B

 private:
  std::array<const Tensor*, 5> results_;
};

/// A kernel that puts quantized values, less their zero points, into another form.
class QuantizedPacking {
 public:
  static constexpr int64_t kPackRows = 64;  // pairs that an item packs: of quantized values; of planes of an image, kPlanes
  static constexpr int64_t kPlanes = 8;

  QuantizedPacking(const KernelInfo& info, int quantized, int zeros, const char* kernel);

  /// A constant with constant zero points, done on return; null where either is not constant, or there is nothing to pack.
  /// `pack` gets the kernel and what its first three arguments are.
  using Pack = std::function<void(Launchable& kernel, cl_command_queue queue, BufferRange quantized, BufferRange zeros,
                                  BufferRange packed)>;
  std::shared_ptr<const ConstantBlock> OfConstant(const KernelInfo& info, std::string_view form, int64_t bytes,
                                                  const Pack& pack);
  Launchable& Compile() { return kernel_.Compile(); }

 private:
  int quantized_, zeros_;
  LazyLaunchable kernel_;
};

/// Constant weights less their zero points, bytes again, four neighbours along k in an int, for devices that sum products
/// of such. The other operand's quantized values, with PackedQuads(), are multiplied as they are: what their zero point
/// adds is it times what the weights of a channel sum to.
class QuadWeights {
 public:
  /// Of [outer, k, inner]; channels are those of `outer` (filters) or of `inner` (columns of a matrix).
  struct Sizes {
    int64_t outer, k, inner;
    bool outer_channels;
  };
  /// Null where the device has no such sums, the weights are not constant, or a difference needs more than a byte.
  static std::unique_ptr<const QuadWeights> Make(const KernelInfo& info, const QuantizedInputs& inputs, const Sizes& sizes);

  BufferRange weights() const { return block_->range(); }
  /// What the kernel wants after results: the zero point of the quantized values, which may be null, and sums by channel.
  std::array<BufferRange, 2> correction(const Tensor* zero) const;

 private:
  explicit QuadWeights(std::shared_ptr<const ConstantBlock> block, size_t weight_bytes)
      : block_(std::move(block)), weight_bytes_(weight_bytes) {}

  std::shared_ptr<const ConstantBlock> block_;  // the sums after the weights
  size_t weight_bytes_;
};

/// Quantized values of a run, [outer, channels, inner], with four neighbouring channels in an int.
class PackedQuads {
 public:
  PackedQuads(const KernelInfo& info, int quantized)
      : kernel_(DeviceOf(info), "matmul_integer", Computed('P', info.input_type(static_cast<size_t>(quantized))),
                "pack_quads") {}
  static int64_t Quads(int64_t channels) { return CeilDiv(channels, int64_t{4}); }
  void Compile() { kernel_.Compile(); }
  void Pack(KernelContext& context, const Tensor& quantized, BufferRange packed, int64_t channels, int64_t inner);

 private:
  LazyLaunchable kernel_;
};

/// Accumulators of pairs of products, by panels (panel_gemm.h).
std::string PairDefines();

}  // namespace tessera::opencl
