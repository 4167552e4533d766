// com.microsoft MatMulNBits (1): products with weights of 2, 4 or 8 bits. accuracy_level allows less precision: it is not used.

#include <bit>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernel.h"

namespace tessera::opencl {
namespace {

constexpr size_t kNBitsLanes = 32;
constexpr int64_t kRowsPerItem = 4;

/// The same struct stands in ops/nbits.cl.
struct NBitsSizes {
  cl_long rows, k, n, blocks, block_bytes, zero_row_bytes;
  cl_int block_shift, packed_zeros;
};

class MatMulNBits final : public Kernel {
 public:
  explicit MatMulNBits(const KernelInfo& info)
      : bits_(info.attribute<int64_t>("bits", 4)),
        k_(info.attribute<int64_t>("K")),
        n_(info.attribute<int64_t>("N")),
        block_(info.attribute<int64_t>("block_size")),
        kernel_(DeviceOf(info), "nbits",
                Computed('A', info.input_type(0)) +
                    fmt::format("#define LANES {}\n#define PER {}\n#define BITS {}\n#define CODES {}\n", kNBitsLanes, kRowsPerItem, bits_, 8 / Checked(bits_)),
                "multiply") {
    Require(k_ > 0 && n_ > 0, "K is {} and N {}; both must be positive", k_, n_);
    Require(block_ >= 16 && block_ <= (int64_t{1} << 30) && std::has_single_bit(static_cast<uint64_t>(block_)),
            "block_size is {}; a power of two from 16 on is expected", block_);
    Require(info.attribute<int64_t>("weight_prepacked", 0) == 0, "the weights are packed for another device");
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& codes = context.required_input(1);
    const Tensor& scales = context.required_input(2);
    const Tensor *zeros = context.input(3), *bias = context.input(5);
    Require(a.shape().rank() > 0 && a.shape().back() == k_, "A is {}; K is {}", a.shape(), k_);
    NBitsSizes s{.rows = a.num_elements() / k_, .k = k_, .n = n_, .blocks = (k_ - 1) / block_ + 1, .block_bytes = block_ * bits_ / 8};
    s.zero_row_bytes = (s.blocks * bits_ + 7) / 8;
    s.block_shift = std::countr_zero(static_cast<uint64_t>(s.block_bytes));
    s.packed_zeros = zeros != nullptr && zeros->is(ElementType::kUInt8);
    const int64_t blocks = CheckedMul<int64_t>(n_, s.blocks);
    Require(codes.is(ElementType::kUInt8) && codes.num_elements() == CheckedMul<int64_t>(blocks, s.block_bytes), "B is {}; [{},{},{}] is expected",
            codes.shape(), n_, s.blocks, s.block_bytes);
    Require(scales.type() == a.type() && scales.num_elements() == blocks, "scales is {}; [{},{}] is expected", scales.shape(), n_, s.blocks);
    Require(zeros == nullptr || (s.packed_zeros && zeros->num_elements() == n_ * s.zero_row_bytes) ||
                (zeros->type() == a.type() && zeros->num_elements() == blocks),
            "zero_points is {}", OptionalShape{zeros});
    Require(bias == nullptr || (bias->type() == a.type() && bias->num_elements() == n_), "the bias is {}; [{}] is expected",
            OptionalShape{bias}, n_);
    Shape shape = a.shape();
    shape[shape.rank() - 1] = n_;
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    kernel_(context, {kNBitsLanes * static_cast<size_t>(n_), static_cast<size_t>(CeilDiv(s.rows, kRowsPerItem)), 1}, {kNBitsLanes, 1, 1}, a, codes, scales, zeros,
            bias, y, s);
  }

 private:
  static int64_t Checked(int64_t bits) {
    Require(bits == 2 || bits == 4 || bits == 8, "bits is {}; 2, 4 or 8 is expected", bits);
    return bits;
  }

  int64_t bits_, k_, n_, block_;
  Launchable kernel_;
};

}  // namespace

void RegisterNBits(KernelRegistry& registry) {
  registry.Add(Op("MatMulNBits", "com.microsoft").Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}).Make<MatMulNBits>());
}

}  // namespace tessera::opencl
