// QuantizeLinear and DequantizeLinear (10) by constants, QLinearAdd and QLinearMul (com.microsoft) -> steps of our own over
// the elements as they lie: oneDNN's reorders divide by no scale, and its sums of quantized values have no zero points.

#include <algorithm>

#include "base/check.h"
#include "kernels/quantize/quantize.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/quantized.h"
#include "ops/quantization/quantize_linear.h"

namespace tessera::onednn {
namespace {

constexpr double kNsPerValue = 0.2;

struct Quantizer {
  float scale, zero;
};

/// Scales and zero points of a tensor as its elements lie: one, one for each index of an axis, or one for each block along
/// it.
struct Scaling {
  QuantizationLayout layout;
  std::vector<float> scales, zeros;
};

class QuantizeStep final : public NativeStep {
 public:
  QuantizeStep(int64_t count, Scaling by, ElementType type)
      : count_(count),
        by_(std::move(by)),
        low_(type == ElementType::kInt8 ? -128.0f : 0.0f),
        loop_(cpu::FindQuantizeLoop(type)) {}
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    const auto* x = static_cast<const float*>(memories[0]);
    auto* y = static_cast<uint8_t*>(memories[1]);
    threads.ParallelFor(count_, kNsPerValue, [&](int64_t begin, int64_t end) {
      for (ScaleRun run; begin < end; begin += run.count) {
        run = by_.layout.Run(begin, end);
        loop_(x + begin, by_.scales.data() + run.scale, by_.zeros.data() + run.scale, run.step, low_, low_ + 255, y + begin,
              run.count);
      }
    });
  }

 private:
  int64_t count_;
  Scaling by_;
  float low_;
  cpu::QuantizeLoop loop_;
};

class DequantizeStep final : public NativeStep {
 public:
  DequantizeStep(int64_t count, Scaling by, ElementType type)
      : count_(count), by_(std::move(by)), loop_(cpu::FindDequantizeLoop(type)) {}
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    const auto* x = static_cast<const uint8_t*>(memories[0]);
    auto* y = static_cast<float*>(memories[1]);
    threads.ParallelFor(count_, kNsPerValue, [&](int64_t begin, int64_t end) {
      for (ScaleRun run; begin < end; begin += run.count) {
        run = by_.layout.Run(begin, end);
        loop_(x + begin, by_.scales.data() + run.scale, by_.zeros.data() + run.scale, run.step, y + begin, run.count);
      }
    });
  }

 private:
  int64_t count_;
  Scaling by_;
  cpu::DequantizeLoop loop_;
};

class CombineStep final : public NativeStep {
 public:
  CombineStep(int64_t count, const cpu::QuantizedArithmetic& how) : count_(count), how_(how) {}
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    const auto *a = static_cast<const uint8_t*>(memories[0]), *b = static_cast<const uint8_t*>(memories[1]);
    auto* out = static_cast<uint8_t*>(memories[2]);
    threads.ParallelFor(count_, kNsPerValue, [&](int64_t begin, int64_t end) {
      cpu::CombineQuantized(how_, a + begin, b + begin, out + begin, end - begin);
    });
  }

 private:
  int64_t count_;
  cpu::QuantizedArithmetic how_;
};

/// Inputs `scale` and, behind it, perhaps a zero point, which RefuseQuantizer passed.
Quantizer QuantizerOf(const ProgramBuilder& builder, const Node& node, size_t scale) {
  const Tensor* zero = builder.constant(node, scale + 1);
  return {builder.constant(node, scale)->values<float>()[0],
          zero == nullptr ? 0.0f : static_cast<float>(QuantizedAt(*zero, 0))};
}

bool HasQuantizer(const GraphViewer& graph, const Node& node, size_t scale) {
  return IsConstantOf(graph, node, scale, 1, false) && IsConstantOf(graph, node, scale + 1, 1, true);
}

std::string RefuseLinear(const GraphViewer& graph, const Node& node) {
  const Tensor* scale = graph.constant(node.inputs[1]);
  if (scale == nullptr || !IsConstantOf(graph, node, 2, scale->num_elements(), true))
    return "its scales and zero points are not constants, one of these for each of those";
  const QuantizeLinearAttributes attributes(node);
  const bool is_float = attributes.precision == 0 || attributes.rounding() == ElementType::kFloat;
  return is_float ? std::string() : "precisions other than float32 are left to the CPU provider";
}

/// Of elements that lie without gaps; `channels_last`: behind the others, as a convolution may leave them.
Scaling ScalingOf(const ProgramBuilder& builder, const Node& node, const Dims& dims, bool channels_last) {
  const Tensor &scale = *builder.constant(node, 1), *zero = builder.constant(node, 2);
  Dims lying = dims;
  const QuantizeLinearAttributes attributes(node);
  int64_t axis = attributes.axis;
  if (channels_last) {
    std::rotate(lying.begin() + 1, lying.begin() + 2, lying.end());
    const auto rank = static_cast<int64_t>(dims.size());
    axis = axis < 0 ? axis + rank : axis;
    if (axis > 0 && axis < rank) axis = axis == 1 ? rank - 1 : axis - 1;
  }
  const auto scales = scale.values<float>();
  Scaling result{
      QuantizationLayout(Shape(lying), scale.shape(), axis, attributes.block_size), {scales.begin(), scales.end()}, {}};
  for (size_t i = 0; i < scales.size(); ++i)
    result.zeros.push_back(
        zero == nullptr ? 0.0f
                        : static_cast<float>(QuantizedAt(*zero, zero->num_elements() == 1 ? 0 : static_cast<int64_t>(i))));
  return result;
}

/// The input where its elements stand without gaps, and the same layout for elements of type `to`.
struct Dense {
  MemoryIndex memory;
  Desc result;
  bool channels_last;
};

Dense AsDense(ProgramBuilder& builder, const RegionValue& x, DataType to) {
  const Desc desc = builder.desc(x.memory);
  const bool image = x.dims.size() >= 3 && x.dims.size() <= 5;
  // Of one channel, both layouts are the same.
  if (image && desc != Plain(AtLeastOne(x.dims), TypeOf(desc)) && desc == Nhwc(x.dims, TypeOf(desc)))
    return {x.memory, Nhwc(x.dims, to), true};
  return {builder.InPlainLayout(x), Plain(AtLeastOne(x.dims), to), false};
}

template <class Step>
void LowerLinear(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const ElementType from = builder.region().value(node.inputs[0]).type.element,
                    to = builder.region().value(node.outputs[0]).type.element;
  RegionValue floats = x;
  const bool in_blocks = QuantizeLinearAttributes(node).block_size != 0;
  if (TypeOf(builder.desc(x.memory)) != DataTypeOf(from) || in_blocks)
    floats.memory = builder.InPlainLayout(x);  // rounded, or with scales laid out as the model has x
  const Dense dense = AsDense(builder, floats, DataTypeOf(to));
  const MemoryIndex dst = builder.Temporary(dense.result);
  const ElementType quantized = to == ElementType::kFloat ? from : to;
  builder.AddNative(
      std::make_shared<Step>(Elements(x.dims), ScalingOf(builder, node, x.dims, dense.channels_last), quantized),
      {dense.memory, dst});
  builder.SetOutput(node, {x.dims, dst});
}

std::string RefuseQLinearBinary(const GraphViewer& graph, const Node& node) {
  if (!HasQuantizer(graph, node, 1) || !HasQuantizer(graph, node, 4) || !HasQuantizer(graph, node, 6))
    return "scales or zero points are not single constants";
  const auto &a = *graph.value(node.inputs[0]).type.shape, &b = *graph.value(node.inputs[3]).type.shape;
  const auto equal = [](const Dimension& x, const Dimension& y) { return x == y && (x.known() || !x.symbol.empty()); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal) ? std::string()
                                                                   : "its operands are not known to be of one shape";
}

void LowerQLinearBinary(ProgramBuilder& builder, const Node& node) {
  const RegionValue a = builder.input(node, 0), b = builder.input(node, 3);
  Require(a.dims == b.dims, "the operands have different shapes");
  const ElementType type = builder.region().value(node.outputs[0]).type.element;
  const Quantizer by_a = QuantizerOf(builder, node, 1), by_b = QuantizerOf(builder, node, 4),
                  by_c = QuantizerOf(builder, node, 6);
  const double a_scale = by_a.scale, b_scale = by_b.scale, c_scale = by_c.scale;
  cpu::QuantizedArithmetic how{};
  how.is_signed = type == ElementType::kInt8;
  how.multiplies = node.op_type == "QLinearMul";
  how.a_zero = by_a.zero;
  how.b_zero = by_b.zero;
  how.zero = static_cast<int32_t>(by_c.zero);
  how.a_scale = static_cast<float>(how.multiplies ? a_scale * b_scale / c_scale : a_scale / c_scale);
  if (!how.multiplies) {
    how.b_scale = static_cast<float>(b_scale / c_scale);
    how.offset = static_cast<float>(-(by_a.zero * a_scale + by_b.zero * b_scale) / c_scale);
  }
  const Dense dense = AsDense(builder, a, DataTypeOf(type));
  const MemoryIndex dst = builder.Temporary(dense.result);
  builder.AddNative(std::make_shared<CombineStep>(Elements(a.dims), how),
                    {dense.memory, builder.InLayout(b.memory, builder.desc(dense.memory)), dst});
  builder.SetOutput(node, {a.dims, dst});
}

constexpr TypeSet kQuantizeTypes[] = {kSingles, kSingles, kQuantized},
                  kDequantizeTypes[] = {kQuantized, kSingles, kQuantized};
constexpr TypeSet kQLinearBinaryTypes[] = {kQuantized, kSingles,   kQuantized, kQuantized,
                                           kSingles,   kQuantized, kSingles,   kQuantized};

constexpr Lowering kQuantizationLowerings[] = {{"QuantizeLinear", 10, kLatestVersion, false, RefuseLinear,
                                                LowerLinear<QuantizeStep>, "", kQuantizeTypes, kQuantized, true},
                                               {"DequantizeLinear", 10, kLatestVersion, false, RefuseLinear,
                                                LowerLinear<DequantizeStep>, "", kDequantizeTypes, kSingles, true},
                                               {"QLinearAdd", 1, kLatestVersion, false, RefuseQLinearBinary,
                                                LowerQLinearBinary, "com.microsoft", kQLinearBinaryTypes, kQuantized},
                                               {"QLinearMul", 1, kLatestVersion, false, RefuseQLinearBinary,
                                                LowerQLinearBinary, "com.microsoft", kQLinearBinaryTypes, kQuantized}};

}  // namespace

std::span<const Lowering> QuantizationLowerings() { return kQuantizationLowerings; }

}  // namespace tessera::onednn
