// MatMulBnb4, com.microsoft, version 1: matmuls with weights of 4 bits as bitsandbytes stores them, each block of which
// has a scale. A few output channels of the weights at a time become floats that stay in a cache.

#include <array>
#include <bit>

#include "base/checked.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kChannelsTogether = 16;

// Floats of 4 bits over 12, and quantiles of the normal distribution (NF4, arXiv:2305.14314, appendix E).
constexpr std::array<float, 16> kFloat4 = {0,     0.0625f / 12,  8 / 12.0f,  1,  4 / 12.0f,  0.5f,  2 / 12.0f,  0.25f,
                                           -0.0f, -0.0625f / 12, -8 / 12.0f, -1, -4 / 12.0f, -0.5f, -2 / 12.0f, -0.25f};
constexpr std::array<float, 16> kNormalFloat4 = {-1.0f,
                                                 -0.6961928009986877f,
                                                 -0.5250730514526367f,
                                                 -0.39491748809814453f,
                                                 -0.28444138169288635f,
                                                 -0.18477343022823334f,
                                                 -0.09105003625154495f,
                                                 0.0f,
                                                 0.07958029955625534f,
                                                 0.16093020141124725f,
                                                 0.24611230194568634f,
                                                 0.33791524171829224f,
                                                 0.44070982933044434f,
                                                 0.5626170039176941f,
                                                 0.7229568362236023f,
                                                 1.0f};

/// Weights [n, k], row after row without padding: the upper bits of a byte come first.
struct Bnb4Weights {
  const uint8_t* bytes;
  const float* scales;
  const std::array<std::array<float, 2>, 256>& pairs;  // what a byte stands for
  int64_t block;

  void Read(int64_t begin, int64_t end, float* out) const {
    while (begin < end) {
      const float scale = scales[begin / block];
      const int64_t stop = std::min(end, (begin / block + 1) * block);
      if (begin % 2 != 0) *out++ = pairs[bytes[begin++ / 2]][1] * scale;
      for (; begin + 1 < stop; begin += 2, out += 2) {
        const auto& pair = pairs[bytes[begin / 2]];
        out[0] = pair[0] * scale;
        out[1] = pair[1] * scale;
      }
      if (begin < stop) *out++ = pairs[bytes[begin++ / 2]][0] * scale;
    }
  }
};

template <class T>
class MatMulBnb4 final : public Kernel {
 public:
  explicit MatMulBnb4(const KernelInfo& info)
      : k_(info.attribute<int64_t>("K")),
        n_(info.attribute<int64_t>("N")),
        block_(info.attribute<int64_t>("block_size")),
        transposed_(info.attribute<int64_t>("transB", 1) != 0) {
    Require(k_ > 0 && n_ > 0, "K is {} and N {}; both must be positive", k_, n_);
    Require(block_ >= 16 && std::has_single_bit(static_cast<uint64_t>(block_)),
            "block_size is {}; a power of two from 16 on is expected", block_);
    size_ = CheckedMul(k_, n_);
    const int64_t type = info.attribute<int64_t>("quant_type");
    Require(type == 0 || type == 1, "quant_type is {}; 0 (FP4) or 1 (NF4) is expected", type);
    const std::array<float, 16>& table = type == 0 ? kFloat4 : kNormalFloat4;
    for (size_t byte = 0; byte < pairs_.size(); ++byte) pairs_[byte] = {table[byte / 16], table[byte % 16]};
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Tensor& scales = context.required_input(2);
    const int64_t inner = transposed_ ? k_ : n_, outer = transposed_ ? n_ : k_;
    const size_t rank = a.shape().rank();
    Require(rank > 0 && a.shape().back() == inner, "A is {}; its last dimension must be {}", a.shape(), inner);
    Require(b.num_elements() == CeilDiv(size_, 2), "B has {} bytes; {} are expected", b.num_elements(), CeilDiv(size_, 2));
    Require(scales.num_elements() == CeilDiv(size_, block_), "absmax has {} values; {} are expected", scales.num_elements(),
            CeilDiv(size_, block_));
    Shape shape = a.shape();
    shape[rank - 1] = outer;
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    ComputeResult<T> result(context, *output);
    const Bnb4Weights weights{b.data<uint8_t>(), ComputeView<T>(context, &scales), pairs_, block_};
    GemmProblem<float> args;
    args.m = a.num_elements() / inner;
    args.k = inner;
    args.lhs = {.data = ComputeView<T>(context, &a), .row = inner};
    args.out = {.data = result.data(), .row = outer};
    Multiply(context, weights, args, outer);
    result.Finish();
  }

 private:
  /// Columns of the result are rows of the weights, or columns where those are not transposed.
  void Multiply(KernelContext& context, const Bnb4Weights& weights, const GemmProblem<float>& all, int64_t columns) const {
    const int64_t groups = CeilDiv(columns, kChannelsTogether);
    const double cost = static_cast<double>(kChannelsTogether * all.k) * (0.6 + 0.05 * static_cast<double>(all.m));
    const int64_t slots = SlotCount(context.threads(), groups, cost);
    const auto values =
        context.scratch<float>(static_cast<size_t>(CheckedMul(CheckedMul(all.k, kChannelsTogether), slots)));
    ParallelSlots(context.threads(), slots, groups, cost, [&](int64_t slot, int64_t begin, int64_t end) {
      GemmProblem<float> args = all;
      float* floats = values.data() + slot * all.k * kChannelsTogether;
      args.rhs.data = floats;
      for (int64_t group = begin; group < end; ++group) {
        const int64_t first = group * kChannelsTogether;
        args.n = std::min(columns - first, kChannelsTogether);
        args.out.data = all.out.data + first;
        if (transposed_) {
          weights.Read(first * k_, (first + args.n) * k_, floats);
          args.rhs.k = 1;
          args.rhs.col = k_;
        } else {
          for (int64_t row = 0; row < n_; ++row)
            weights.Read(row * k_ + first, row * k_ + first + args.n, floats + row * args.n);
          args.rhs.k = args.n;
          args.rhs.col = 1;
        }
        GemmSerial(args);
      }
    });
  }

  int64_t k_, n_, block_, size_;
  bool transposed_;
  std::array<std::array<float, 2>, 256> pairs_;
};

}  // namespace

void RegisterMatMulBnb4(KernelRegistry& registry) {
  registry.Add(Op("MatMulBnb4", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Factory(MakeTyped<MatMulBnb4, TypeList<float, Float16, BFloat16>>));
}

}  // namespace tessera::cpu
