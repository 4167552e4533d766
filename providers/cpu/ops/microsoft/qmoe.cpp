// QMoE, com.microsoft, version 1, of integers: a mixture of experts whose weights have 2, 4 or 8 bits and a scale (and zero
// point) for each block of a column, or for each column. Matmuls are those of MatMulNBits.

#include <bit>

#include "base/checked.h"
#include "base/precision.h"
#include "base/weight_memory.h"
#include "cpu/ops/microsoft/mixture_of_experts.h"
#include "cpu/ops/microsoft/nbits_gemm.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kColumnBlock = 32;  // of columns that have one scale

/// The inputs of one matrix's weights.
struct Inputs {
  size_t quantized, scales, bias, zeros;
};
constexpr Inputs kInputs[] = {{2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}};  // by Experts::Matrix
constexpr size_t kRouterWeights = 14;

/// Weights of all experts, those of the first as `weights` has them.
struct ExpertWeights {
  NBitsWeights weights;
  int64_t experts = 0;
  const float* bias = nullptr;  // [experts, n]
};

/// Of columns that have one scale, what they are with one for each block: of all experts.
struct SpreadWeights {
  Tensor quantized, scales, zeros;
};

class IntegerExperts final : public Experts {
 public:
  IntegerExperts(const ExpertWeights (&all)[3], bool quantizes) : all_(all), quantizes_(quantizes) {}

  bool has_third() const override { return all_[kThird].experts > 0; }

  void Multiply(KernelContext& context, Matrix matrix, int64_t expert, const float* a, int64_t rows,
                float* c) const override {
    NBitsWeights w = all_[matrix].weights;
    const float* bias = all_[matrix].bias == nullptr ? nullptr : all_[matrix].bias + expert * w.n;
    const int64_t blocks = w.n * w.blocks;
    w.quantized += expert * blocks * w.block_bytes();
    w.scales += expert * blocks;
    if (w.zeros != nullptr) w.zeros += expert * w.n * w.zero_row_bytes();
    MultiplyByNBits(context, w, quantizes_ && w.bits != 2, rows, a, bias, c, false);
  }

 private:
  const ExpertWeights (&all_)[3];
  bool quantizes_;
};

template <class T>
class QMoE final : public Kernel {
 public:
  explicit QMoE(const KernelInfo& info) : attributes_(info), block_(info.attribute<int64_t>("block_size", 0)) {
    const auto type = info.attribute<std::string>("quant_type", "int");
    Require(type == "int", "quant_type is '{}'; only int is supported", type);
    Require(info.attribute<int64_t>("weights_prepacked", 0) <= 0, "the weights are packed for another device");
    const int64_t bits = info.attribute<int64_t>("expert_weight_bits", 4);
    constexpr const char* kNames[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
    for (size_t i = 0; i < std::size(kInputs); ++i) {
      bits_[i] = static_cast<int>(info.attribute<int64_t>(kNames[i], bits));
      Require(bits_[i] == 2 || bits_[i] == 4 || bits_[i] == 8, "weights have {} bits; 2, 4 or 8 are expected", bits_[i]);
    }
    Require(
        block_ <= 0 || (block_ >= 16 && block_ <= (int64_t{1} << 30) && std::has_single_bit(static_cast<uint64_t>(block_))),
        "block_size is {}; a power of two from 16 on is expected", block_);
    quantizes_ = info.attribute<int64_t>("accuracy_level", 0) == kInt8AccuracyLevel;
    for (const auto matrix : {Experts::kFirst, Experts::kSecond, Experts::kThird}) {
      scales_[matrix] = ConstantAsFloats(info, kInputs[matrix].scales);
      if (block_ <= 0) SpreadConstants(info, matrix);
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& router = context.required_input(1);
    const MixtureSizes sizes =
        CheckMixture(attributes_, x.shape(), router.shape(), context.required_input(kInputs[0].quantized).shape(),
                     context.required_input(kInputs[1].quantized).shape());
    const Tensor* weights = context.input(kRouterWeights);
    Require(weights == nullptr || weights->shape() == router.shape(), "router_weights is {}; {} is expected",
            OptionalShape{weights}, router.shape());
    Tensor* output = context.output(0, x.shape());
    if (output == nullptr || output->num_elements() == 0) return;
    Require(sizes.inner > 0, "experts have no inner numbers");
    const ExpertWeights all[] = {Weights(context, sizes, Experts::kFirst, attributes_.fused() * sizes.inner, sizes.hidden),
                                 Weights(context, sizes, Experts::kSecond, sizes.hidden, sizes.inner),
                                 context.input(kInputs[2].quantized) == nullptr
                                     ? ExpertWeights{}
                                     : Weights(context, sizes, Experts::kThird, sizes.inner, sizes.hidden)};
    ComputeResult<T> result(context, *output);
    RunMixture(context, attributes_, sizes, RouterSoftmax::kOfChosen, ComputeView<T>(context, &x),
               ComputeView<T>(context, &router), ComputeView<T>(context, weights), IntegerExperts(all, quantizes_),
               result.data());
    result.Finish();
  }

 private:
  ExpertWeights Weights(KernelContext& context, const MixtureSizes& s, Experts::Matrix matrix, int64_t n, int64_t k) const {
    const Inputs& inputs = kInputs[matrix];
    const Tensor& quantized = context.required_input(inputs.quantized);
    const int bits = bits_[matrix];
    Require(
        k * bits % 8 == 0 && quantized.is(ElementType::kUInt8) && quantized.shape() == Shape{s.experts, n, k * bits / 8},
        "weights are {} of {}; [{},{},{}] of uint8 is expected", quantized.shape(), ElementTypeName(quantized.type()),
        s.experts, n, k * bits / 8);
    const Tensor* bias = context.input(inputs.bias);
    Require(bias == nullptr || bias->shape() == Shape{s.experts, n}, "a bias is {}; [{},{}] is expected",
            OptionalShape{bias}, s.experts, n);
    ExpertWeights all{
        {.n = n, .k = k, .bits = bits, .common_zero = 1 << (bits - 1)}, s.experts, ComputeView<T>(context, bias)};
    all.weights.block_size = block_ > 0 ? block_ : kColumnBlock;
    all.weights.blocks = (k - 1) / all.weights.block_size + 1;
    Require(block_ <= 0 || k % block_ == 0, "block_size is {}, which must divide {}", block_, k);
    const Tensor& scales = context.required_input(inputs.scales);
    const Tensor* zeros = context.input(inputs.zeros);
    const Shape by_column{s.experts, n}, by_block{s.experts, n, all.weights.blocks};
    Require(scales.shape() == (block_ > 0 ? by_block : by_column), "scales are {}; {} is expected", scales.shape(),
            block_ > 0 ? by_block : by_column);
    const Shape zeros_shape =
        block_ > 0 ? Shape{s.experts, n, all.weights.zero_row_bytes()} : Shape{s.experts, (n * bits + 7) / 8};
    Require(zeros == nullptr || (zeros->is(ElementType::kUInt8) && zeros->shape() == zeros_shape),
            "zero points are {}; {} of uint8 is expected", OptionalShape{zeros}, zeros_shape);
    all.weights.quantized = quantized.data<uint8_t>();
    all.weights.scales = scales_[matrix] ? scales_[matrix]->data<float>() : Floats(context, scales);
    all.weights.zeros = zeros == nullptr ? nullptr : zeros->data<uint8_t>();
    if (block_ <= 0) SpreadColumns(context, matrix, all);
    return all;
  }

  static const float* Floats(KernelContext& context, const Tensor& scales) {
    if (scales.is(ElementType::kFloat16)) return ComputeView<Float16>(context, &scales);
    if (scales.is(ElementType::kBFloat16)) return ComputeView<BFloat16>(context, &scales);
    return ComputeView<float>(context, &scales);
  }

  /// What was spread at load, or is now.
  void SpreadColumns(KernelContext& context, Experts::Matrix matrix, ExpertWeights& all) const {
    NBitsWeights& w = all.weights;
    if (const SpreadWeights& spread = spread_[matrix]; spread.scales.defined()) {
      if (spread.quantized.defined()) w.quantized = spread.quantized.data<uint8_t>();
      w.scales = spread.scales.data<float>();
      if (spread.zeros.defined()) w.zeros = spread.zeros.data<uint8_t>();
      return;
    }
    const auto columns = static_cast<size_t>(CheckedMul(all.experts, w.n));
    uint8_t* quantized = RowsAreWhole(w)
                             ? nullptr
                             : context.scratch<uint8_t>(columns * static_cast<size_t>(w.blocks * w.block_bytes())).data();
    uint8_t* zeros =
        w.zeros == nullptr ? nullptr : context.scratch<uint8_t>(columns * static_cast<size_t>(w.zero_row_bytes())).data();
    Spread(all, quantized, context.scratch<float>(columns * static_cast<size_t>(w.blocks)).data(), zeros);
  }

  static bool RowsAreWhole(const NBitsWeights& w) { return w.k % w.block_size == 0; }

  /// One scale and zero point for each column become one for each of its blocks, of which the last is whole. `quantized`
  /// and `zeros` are null where none are needed.
  static void Spread(ExpertWeights& all, uint8_t* quantized, float* scales, uint8_t* zeros) {
    NBitsWeights& w = all.weights;
    const int64_t columns = all.experts * w.n, row = w.blocks * w.block_bytes(), given = w.k * w.bits / 8;
    for (int64_t i = 0; quantized != nullptr && i < columns; ++i) {
      std::fill(std::copy_n(w.quantized + i * given, given, quantized + i * row), quantized + (i + 1) * row, uint8_t{0});
    }
    if (quantized != nullptr) w.quantized = quantized;
    for (int64_t i = 0; i < columns; ++i) std::fill_n(scales + i * w.blocks, w.blocks, w.scales[i]);
    w.scales = scales;
    if (zeros == nullptr) return;
    const int64_t zero_row = w.zero_row_bytes(), packed = (w.n * w.bits + 7) / 8;
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t bit = i % w.n * w.bits;
      const int value = (w.zeros[i / w.n * packed + bit / 8] >> (bit % 8)) & ((1 << w.bits) - 1);
      int byte = 0;
      for (int at = 0; at < 8; at += w.bits) byte |= value << at;
      std::fill_n(zeros + i * zero_row, zero_row, static_cast<uint8_t>(byte));
    }
    w.zeros = zeros;
  }

  /// Constants of columns that have one scale. Compute complains about those that do not fit together.
  void SpreadConstants(const KernelInfo& info, Experts::Matrix matrix) {
    const Inputs& inputs = kInputs[matrix];
    const Tensor *quantized = info.constant_input(inputs.quantized), *given = info.constant_input(inputs.scales),
                 *zeros = info.constant_input(inputs.zeros);
    if (quantized == nullptr || given == nullptr || (info.has_input(inputs.zeros) && zeros == nullptr) ||
        quantized->shape().rank() != 3)
      return;
    const Shape& shape = quantized->shape();
    const Tensor& scales = scales_[matrix] ? *scales_[matrix] : *given;
    const int bits = bits_[matrix];
    const bool fits = quantized->is(ElementType::kUInt8) && quantized->num_elements() > 0 &&
                      scales.is(ElementType::kFloat) && scales.shape() == Shape{shape[0], shape[1]} &&
                      (zeros == nullptr ||
                       (zeros->is(ElementType::kUInt8) && zeros->shape() == Shape{shape[0], (shape[1] * bits + 7) / 8}));
    if (!fits) return;
    ExpertWeights all{{.n = shape[1], .k = shape[2] * 8 / bits, .block_size = kColumnBlock, .bits = bits}, shape[0]};
    NBitsWeights& w = all.weights;
    w.blocks = (w.k - 1) / kColumnBlock + 1;
    w.quantized = quantized->data<uint8_t>();
    w.scales = scales.data<float>();
    w.zeros = zeros == nullptr ? nullptr : zeros->data<uint8_t>();
    SpreadWeights& spread = spread_[matrix];
    if (!RowsAreWhole(w))
      spread.quantized = Tensor(ElementType::kUInt8, {shape[0], w.n, w.blocks * w.block_bytes()}, WeightMemory());
    if (zeros != nullptr) spread.zeros = Tensor(ElementType::kUInt8, {shape[0], w.n, w.zero_row_bytes()}, WeightMemory());
    spread.scales = Tensor(ElementType::kFloat, {shape[0], w.n, w.blocks}, WeightMemory());
    Spread(all, spread.quantized.defined() ? spread.quantized.mutable_data<uint8_t>() : nullptr,
           spread.scales.mutable_data<float>(), zeros == nullptr ? nullptr : spread.zeros.mutable_data<uint8_t>());
  }

  MixtureAttributes attributes_;
  int64_t block_;  // 0: columns have one scale
  int bits_[3];
  bool quantizes_;
  std::shared_ptr<const Tensor> scales_[3];  // of halves, as floats
  SpreadWeights spread_[3];                  // without blocks
};

}  // namespace

void RegisterQMoE(KernelRegistry& registry) {
  registry.Add(Op("QMoE", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Factory(MakeTyped<QMoE, TypeList<float, Float16, BFloat16>>));
}

}  // namespace tessera::cpu
