// DynamicQuantizeLSTM, com.microsoft, version 1: LSTM with weights of 8 bits. What they meet, X and the state of each step, is
// quantized to 8 bits on the way, 32 numbers with a scale of their own.

#include <algorithm>
#include <array>
#include <vector>

#include "base/mapped_file.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "ops/microsoft/nbits_product.h"
#include "ops/nn/integer_matmul.h"
#include "ops/ops.h"
#include "ops/rnn/lstm.h"
#include "runtime/packed_store.h"
#include "simd/nbits_quantized.h"
#include "types.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kBlock = 64;
constexpr int kGates = 4;

/// W or R, [directions, inner, gates * hidden] with scales and zero points [directions] or [directions, gates * hidden], in the form
/// of MatMulNBits.
using GateMatrices = std::array<NBitsWeights, 2>;  // by direction

struct ConstantMatrices {
  std::shared_ptr<const Tensor> codes;  // null: they are no constants
  std::vector<float> scales;            // [direction, column, block]
  std::vector<uint8_t> zeros;
  GateMatrices of;
};

/// [inner, columns] bytes, signed ones from 128 on, as columns of `blocks` blocks. What fills the last block meets zeros.
void TurnCodes(const uint8_t* codes, bool is_signed, int64_t inner, int64_t columns, int64_t blocks, uint8_t* out) {
  const uint8_t flip = is_signed ? 128 : 0;
  std::fill_n(out, columns * blocks * kBlock, uint8_t{0});
  for (int64_t k = 0; k < inner; ++k, codes += columns) {
    for (int64_t n = 0; n < columns; ++n) out[n * blocks * kBlock + k] = codes[n] ^ flip;
  }
}

class DynamicQuantizeLstm final : public Lstm<float> {
 public:
  explicit DynamicQuantizeLstm(const KernelInfo& info) : Lstm<float>(info) {
    for (size_t m = 0; m < 2; ++m) {
      const Tensor *codes = info.constant_input(1 + m), *scale = info.constant_input(kScales + 2 * m), *zero = info.constant_input(kScales + 2 * m + 1);
      if (codes == nullptr || scale == nullptr || zero == nullptr || codes->shape().rank() != 3 || codes->shape()[0] != directions_) continue;
      const Shape packed{directions_, codes->shape()[2], CeilDiv(codes->shape()[1], kBlock), kBlock};
      ConstantMatrices& matrices = constant_[m];
      matrices.codes = SharedTensor(info, *codes, "dynamic_quantize_lstm", ElementType::kUInt8, packed, [&] {
        auto made = std::make_shared<Tensor>(ElementType::kUInt8, packed, WeightMemory());
        Turn(*codes, made->mutable_data<uint8_t>());
        ForgetPages(codes->raw(), codes->byte_size());
        return made;
      });
      matrices.scales.resize(static_cast<size_t>(packed.SizeOfRange(0, 3)));
      matrices.zeros.resize(matrices.scales.size());
      matrices.of = Describe(*codes, *scale, *zero, matrices.codes->data<uint8_t>(), matrices.scales.data(), matrices.zeros.data());
    }
  }

 private:
  static constexpr size_t kScales = 8;

  static void Turn(const Tensor& codes, uint8_t* out) {
    const Shape& shape = codes.shape();
    const int64_t blocks = CeilDiv(shape[1], kBlock), size = shape[1] * shape[2];
    for (int64_t d = 0; d < shape[0]; ++d) {
      TurnCodes(static_cast<const uint8_t*>(codes.raw()) + d * size, IsSigned(codes.type()), shape[1], shape[2], blocks, out + d * shape[2] * blocks * kBlock);
    }
  }

  /// Fills `scales` and `zeros`, one for each block of `turned`.
  GateMatrices Describe(const Tensor& codes, const Tensor& scale, const Tensor& zero, const uint8_t* turned, float* scales,
                        uint8_t* zeros) const {
    const Shape& shape = codes.shape();
    const int64_t columns = shape[2], blocks = CeilDiv(shape[1], kBlock), each = columns * blocks;
    const int64_t per = scale.num_elements() == directions_ ? 1 : columns;
    Require(scale.is(ElementType::kFloat) && scale.num_elements() == directions_ * per, "a scale is {} for weights {}; [{}] or [{},{}] is expected",
            scale.shape(), shape, directions_, directions_, columns);
    Require(zero.type() == codes.type() && (zero.num_elements() == directions_ || zero.num_elements() == directions_ * columns),
            "a zero point is {} of {} for weights {} of {}", zero.shape(), ElementTypeName(zero.type()), shape, ElementTypeName(codes.type()));
    const int64_t zeros_per = zero.num_elements() == directions_ ? 1 : columns;
    const auto* zero_codes = static_cast<const uint8_t*>(zero.raw());
    const uint8_t flip = IsSigned(codes.type()) ? 128 : 0;
    GateMatrices matrices;
    for (int64_t d = 0; d < directions_; ++d, scales += each, zeros += each) {
      const auto* own = zero_codes + d * zeros_per;
      for (int64_t i = 0; i < each; ++i) {
        const int64_t column = i / blocks;
        scales[i] = scale.data<float>()[d * per + column % per];
        zeros[i] = own[column % zeros_per] ^ flip;
      }
      const bool common = std::all_of(own, own + zeros_per, [own](uint8_t code) { return code == own[0]; });
      matrices[static_cast<size_t>(d)] = {.codes = turned + d * each * kBlock,
                                          .scales = scales,
                                          .zeros = common ? nullptr : zeros,
                                          .n = columns,
                                          .k = shape[1],
                                          .blocks = blocks,
                                          .block_size = kBlock,
                                          .bits = 8,
                                          .common_zero = own[0] ^ flip};
    }
    return matrices;
  }

  /// Of W (0) or R (1).
  GateMatrices Matrices(KernelContext& context, size_t m) const {
    if (constant_[m].codes != nullptr) return constant_[m].of;
    const Tensor& codes = context.required_input(1 + m);
    const auto blocks = static_cast<size_t>(directions_ * codes.shape()[2] * CeilDiv(codes.shape()[1], kBlock));
    uint8_t* turned = context.scratch<uint8_t>(blocks * kBlock).data();
    Turn(codes, turned);
    return Describe(codes, context.required_input(kScales + 2 * m), context.required_input(kScales + 2 * m + 1), turned,
                    context.scratch<float>(blocks).data(), context.scratch<uint8_t>(blocks).data());
  }

  int64_t HiddenOf(const Shape& r) const override { return r[1]; }

  void CheckWeights(const KernelContext& context, const RecurrentSizes& s) const override {
    const ElementType type = context.required_input(1).type();
    CheckInput(context, 1, "W", type, {s.directions, s.input, kGates * s.hidden});
    CheckInput(context, 2, "R", context.required_input(2).type(), {s.directions, s.hidden, kGates * s.hidden});
  }

  void InputProducts(KernelContext& context, const RecurrentSizes& s, const float* bias, float* gates) const override {
    const GateMatrices weights = Matrices(context, 0);
    const int64_t rows = s.steps * s.batch, width = kGates * s.hidden;
    const float* x = context.required_input(0).data<float>();
    for (int64_t d = 0; d < s.directions; ++d) {
      const std::span<const float> sums = InputBias(context, s, bias == nullptr ? nullptr : bias + d * 2 * width);
      if (rows > 0) MultiplyByNBits(context, weights[static_cast<size_t>(d)], true, rows, x, sums.data(), gates + d * rows * width, false);
    }
  }

  std::span<const void* const> StateWeights(KernelContext& context, const RecurrentSizes&) const override {
    const std::span<NBitsWeights> weights = context.scratch<NBitsWeights>(2);
    const std::span<const void*> places = context.scratch<const void*>(2);
    std::ranges::copy(Matrices(context, 1), weights.begin());
    for (size_t d = 0; d < 2; ++d) places[d] = &weights[d];
    return places;
  }

  /// The quantized state, and its products until they are added.
  size_t RoomOfState(const RecurrentSizes& s) const override {
    const NBitsWeights sized{.k = s.hidden, .blocks = CeilDiv(s.hidden, kBlock), .block_size = kBlock, .bits = 8};
    return QuantizedRoom(sized, kByteLimbs) + RoundUp(static_cast<size_t>(kGates * s.hidden) * sizeof(float), size_t{kBlock});
  }

  void AddProduct(const RecurrentRun<float>& run, size_t part, const float* state, float* out, int64_t out_row, bool accumulate,
                  const float* bias) const override {
    const auto& weights = *static_cast<const NBitsWeights*>(run.packed_r[part]);
    const int64_t rows = run.sizes.batch;
    auto* products = reinterpret_cast<float*>(run.room + static_cast<size_t>(rows) * QuantizedRoom(weights, kByteLimbs));
    MultiplyQuantizedRows(*run.threads, weights, kByteLimbs, rows, state, bias, products, run.room);
    for (int64_t r = 0; r < rows; ++r, products += weights.n) {
      float* to = out + r * out_row;
      for (int64_t i = 0; i < weights.n; ++i) to[i] = (accumulate ? to[i] : 0.0f) + products[i];
    }
  }

  ConstantMatrices constant_[2];
};

}  // namespace

void RegisterDynamicQuantizeLstm(KernelRegistry& registry) {
  registry.Add(Op("DynamicQuantizeLSTM", "com.microsoft").Types(0, {ElementType::kFloat}).Make<DynamicQuantizeLstm>());
}

}  // namespace tessera::cpu
