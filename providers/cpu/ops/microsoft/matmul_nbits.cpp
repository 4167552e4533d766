// MatMulNBits, com.microsoft, version 1: products with weights of 2, 4 or 8 bits. Few rows (the tokens of a decoder) meet the
// weights as they are stored; many rows meet panels of them that are converted on the way into the caches. Where accuracy_level
// is 4 (A may be quantized to 8 bits) and the weights have 4 bits, or 7 in effect, the products are those of integers.

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

#include "base/checked.h"
#include "base/precision.h"
#include "base/weight_memory.h"
#include "ops/nn/float_view.h"
#include "ops/nn/products.h"
#include "ops/ops.h"
#include "runtime/packed_store.h"
#include "simd/nbits_int8.h"
#include "types.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kFewRows = 12;
constexpr int64_t kFewQuantizedRows = 4;
constexpr int64_t kRowsOfTask = 24;  // that pay for a panel

/// Panels of the weights' transpose.
class NBitsPanels final : public GemmPanelSource<float> {
 public:
  /// `groups`: the block whose scale each k has; null for its own.
  NBitsPanels(const NBitsWeights& weights, const int32_t* groups) : w_(weights), groups_(groups) {}

  void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, float* out) const override {
    if (groups_ == nullptr) return DequantizeNBitsPanel(w_, k0, kc, n0, width, out);
    const int64_t panel = GemmPanelWidth<float>();
    for (int64_t i = 0; i < kc; ++i, out += panel) {
      std::fill(out + width, out + panel, 0.0f);
      for (int64_t j = 0; j < width; ++j) out[j] = WeightAt(n0 + j, k0 + i);
    }
  }

 private:
  float WeightAt(int64_t row, int64_t k) const {
    const int64_t bit = k % w_.block_size * w_.bits, group = groups_[k];
    const uint8_t byte = w_.codes[(row * w_.blocks + k / w_.block_size) * w_.block_bytes() + bit / 8];
    const auto code = static_cast<float>((byte >> (bit % 8)) & ((1 << w_.bits) - 1));
    return (code - w_.ZeroOf(row, group)) * w_.scales[row * w_.blocks + group];
  }

  const NBitsWeights& w_;
  const int32_t* groups_;
};

template <class T>
class MatMulNBits final : public Kernel {
 public:
  explicit MatMulNBits(const KernelInfo& info) {
    weights_.k = info.attribute<int64_t>("K");
    weights_.n = info.attribute<int64_t>("N");
    weights_.block_size = info.attribute<int64_t>("block_size");
    const int64_t bits = info.attribute<int64_t>("bits", 4);
    Require(bits == 2 || bits == 4 || bits == 8, "bits is {}; 2, 4 or 8 is expected", bits);
    Require(weights_.k > 0 && weights_.n > 0, "K is {} and N {}; both must be positive", weights_.k, weights_.n);
    const int64_t block = weights_.block_size;
    Require(block >= 16 && block <= (int64_t{1} << 30) && std::has_single_bit(static_cast<uint64_t>(block)),
            "block_size is {}; a power of two from 16 on is expected", block);
    Require(info.attribute<int64_t>("weight_prepacked", 0) == 0, "the weights are packed for another device");
    weights_.bits = static_cast<int>(bits);
    if (info.attribute<int64_t>("accuracy_level", 0) == kInt8AccuracyLevel) quantizes_a_ = bits == 4 || (bits == 8 && CodesAreSmall(info));
    weights_.blocks = (weights_.k - 1) / block + 1;
    const std::optional<int> zero = CommonZero(info, weights_);
    has_common_zero_ = zero.has_value();
    weights_.common_zero = zero.value_or(1 << (bits - 1));
    if constexpr (!std::is_same_v<T, float>) {
      const Tensor* scales = info.constant_input(2);
      if (scales != nullptr && scales->is(ElementTypeOf<T>)) {
        scales_ = SharedTensor(info, *scales, "as_float", ElementType::kFloat, scales->shape(), [&] {
          auto converted = std::make_shared<Tensor>(ElementType::kFloat, scales->shape(), WeightMemory());
          ConvertToFloat(info.threads(), scales->data<T>(), converted->template mutable_data<float>(), scales->num_elements());
          return converted;
        });
      }
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const size_t rank = a.shape().rank();
    Require(rank > 0 && a.shape().back() == weights_.k, "A is {}; K is {}", a.shape(), weights_.k);
    const NBitsWeights weights = Weights(context);
    const int32_t* groups = Groups(context);
    const Tensor* bias_input = context.input(5);
    Require(bias_input == nullptr || bias_input->num_elements() == weights.n, "the bias is {}; [{}] is expected",
            OptionalShape{bias_input}, weights.n);
    Shape shape = a.shape();
    shape[rank - 1] = weights.n;
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t rows = a.num_elements() / weights.k;
    const float* values = ComputeView<T>(context, &a);
    const float* bias = ComputeView<T>(context, bias_input);
    ComputeResult<T> result(context, *output);
    if (quantizes_a_ && groups == nullptr) {
      MultiplyQuantized(context, weights, rows, values, bias, result.data());
    } else if (rows <= kFewRows && groups == nullptr) {
      MultiplyFew(context, weights, rows, values, bias, result.data());
    } else {
      const NBitsPanels panels(weights, groups);
      GemmArgs<float> args;
      args.m = rows;
      args.n = weights.n;
      args.k = weights.k;
      args.a = values;
      args.a_row = weights.k;
      args.source = &panels;
      args.c = result.data();
      args.c_row = weights.n;
      args.epilogue.col_bias = bias;
      RunProducts<float>(context, 1, [&](int64_t) { return args; });
    }
    result.Finish();
  }

 private:
  static void MultiplyFew(KernelContext& context, const NBitsWeights& w, int64_t rows, const float* a, const float* bias, float* c) {
    const int64_t padded = ArrangedNBitsSize(w);
    const auto arranged = context.scratch<float>(static_cast<size_t>(rows * padded));
    const auto sums = context.scratch<float>(static_cast<size_t>(rows * w.blocks));
    for (int64_t r = 0; r < rows; ++r) ArrangeForNBits(w, a + r * w.k, arranged.data() + r * padded, sums.data() + r * w.blocks);
    const double cost = static_cast<double>(padded) * (0.08 + 0.04 * static_cast<double>(rows));
    context.threads().ParallelFor(w.n, cost, [&](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < rows; r += kNBitsRows) {
        MultiplyNBits(w, std::min(kNBitsRows, rows - r), arranged.data() + r * padded, sums.data() + r * w.blocks, begin, end, bias,
                      c + r * w.n, w.n);
      }
    });
  }

  /// The one zero point that all blocks have, where constants say so.
  static std::optional<int> CommonZero(const KernelInfo& info, const NBitsWeights& w) {
    const Tensor* zeros = info.constant_input(3);
    const int64_t row_bytes = w.zero_row_bytes();
    if (zeros == nullptr || !zeros->is(ElementType::kUInt8) || zeros->num_elements() != CheckedMul(w.n, row_bytes)) return std::nullopt;
    const uint8_t* bytes = zeros->data<uint8_t>();
    const int code = bytes[0] & ((1 << w.bits) - 1);
    int all = 0;
    for (int bit = 0; bit < 8; bit += w.bits) all |= code << bit;
    const int64_t bits_of_last = (w.blocks * w.bits - 1) % 8 + 1;
    const int last = (1 << bits_of_last) - 1;
    for (int64_t row = 0; row < w.n; ++row, bytes += row_bytes) {
      const bool same = std::all_of(bytes, bytes + row_bytes - 1, [&](uint8_t byte) { return byte == all; });
      if (!same || ((bytes[row_bytes - 1] ^ all) & last) != 0) return std::nullopt;
    }
    return code;
  }

  /// Constant codes below 128, of which products with signed bytes do not saturate.
  static bool CodesAreSmall(const KernelInfo& info) {
    const Tensor* codes = info.constant_input(1);
    if (codes == nullptr || !codes->is(ElementType::kUInt8)) return false;
    const uint8_t* bytes = codes->data<uint8_t>();
    std::atomic<bool> small = true;
    constexpr int64_t kBlock = 1 << 16;
    const int64_t count = codes->num_elements();
    info.threads().ParallelFor((count - 1) / kBlock + 1, kBlock * 0.1, [&](int64_t begin, int64_t end) {
      uint8_t all = 0;
      for (int64_t i = begin * kBlock; i < std::min(count, end * kBlock); ++i) all |= bytes[i];
      if (all >= 128) small = false;
    });
    return small;
  }

  /// A quantized to 8 bits, as accuracy_level allows.
  static void MultiplyQuantized(KernelContext& context, const NBitsWeights& w, int64_t rows, const float* a, const float* bias, float* c) {
    const int64_t groups = NBitsGroups(w);
    const auto count = static_cast<size_t>(rows);
    const QuantizedRows quantized{context.scratch<int8_t>(count * static_cast<size_t>(QuantizedNBitsSize(w))).data(),
                                  context.scratch<float>(count * static_cast<size_t>(groups)).data(),
                                  context.scratch<float>(count * static_cast<size_t>(groups)).data(),
                                  context.scratch<int32_t>(count * static_cast<size_t>(groups)).data(),
                                  context.scratch<float>(count * static_cast<size_t>(w.blocks)).data()};
    const auto work = static_cast<double>(QuantizedNBitsSize(w));
    context.threads().ParallelFor(rows, work * 0.7, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) QuantizeForNBits(w, a + r * w.k, quantized.From(w, groups, r));
    });
    if (rows <= kFewQuantizedRows) {
      context.threads().ParallelFor(w.n, work * (0.03 + 0.015 * static_cast<double>(rows)), [&](int64_t begin, int64_t end) {
        for (int64_t r = 0; r < rows; r += kNBitsRows) {
          MultiplyNBitsInt8(w, std::min(kNBitsRows, rows - r), quantized.From(w, groups, r), begin, end, bias, c + r * w.n, w.n);
        }
      });
      return;
    }
    // Rows are split only where there are few panels: each task makes its own.
    const int64_t width = NBitsInt8Width(), panels = (w.n - 1) / width + 1, threads = context.threads().num_threads();
    const int64_t parts = panels >= 2 * threads ? 1 : std::min((rows - 1) / kRowsOfTask + 1, threads);
    const double cost = work * static_cast<double>(width) * (0.1 + 0.01 * static_cast<double>(rows / parts));
    context.threads().ParallelFor(panels * parts, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n0 = i / parts * width, part = i % parts;
        MultiplyNBitsInt8Panels(w, quantized, rows * part / parts, rows * (part + 1) / parts, n0, std::min(w.n, n0 + width), bias, c, w.n);
      }
    });
  }

  NBitsWeights Weights(KernelContext& context) const {
    NBitsWeights w = weights_;
    const Tensor& codes = context.required_input(1);
    const Tensor& scales = context.required_input(2);
    const int64_t blocks = CheckedMul(w.n, w.blocks);
    Require(codes.num_elements() == CheckedMul(blocks, w.block_bytes()), "B is {}; [{},{},{}] is expected", codes.shape(), w.n,
            w.blocks, w.block_bytes());
    Require(scales.num_elements() == blocks, "scales is {}; [{},{}] is expected", scales.shape(), w.n, w.blocks);
    w.codes = codes.data<uint8_t>();
    w.scales = scales_ ? scales_->template data<float>() : ComputeView<T>(context, &scales);
    const Tensor* zeros = context.input(3);
    if (zeros == nullptr || has_common_zero_) return w;
    const bool packed = zeros->is(ElementType::kUInt8);
    Require(packed || zeros->is(ElementTypeOf<T>), "zero_points are {}; uint8 or A's type is expected", ElementTypeName(zeros->type()));
    Require(zeros->num_elements() == (packed ? CheckedMul(w.n, w.zero_row_bytes()) : blocks), "zero_points is {}; [{},{}] is expected",
            zeros->shape(), w.n, packed ? w.zero_row_bytes() : w.blocks);
    if (packed) w.zeros = zeros->data<uint8_t>();
    else w.float_zeros = ComputeView<T>(context, zeros);
    return w;
  }

  /// The block whose scale each k has; null for its own.
  const int32_t* Groups(KernelContext& context) const {
    const Tensor* groups = context.input(4);
    if (groups == nullptr) return nullptr;
    Require(groups->num_elements() >= weights_.k, "g_idx is {} for a K of {}", groups->shape(), weights_.k);
    for (const int32_t group : groups->values<int32_t>()) {
      Require(group >= 0 && group < weights_.blocks, "g_idx holds {}, there are {} blocks", group, weights_.blocks);
    }
    return groups->data<int32_t>();
  }

  NBitsWeights weights_;
  bool quantizes_a_ = false;
  bool has_common_zero_ = false;  // whatever the input says
  std::shared_ptr<const Tensor> scales_;
};

}  // namespace

void RegisterMatMulNBits(KernelRegistry& registry) {
  registry.Add(Op("MatMulNBits", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Factory(MakeTyped<MatMulNBits, TypeList<float, Float16, BFloat16>>));
}

}  // namespace tessera::cpu
