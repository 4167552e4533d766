// QuantizeLinear (10: one scale; 13: and one for each index of an axis; 19: float8; 21: blocks, output_dtype; 23:
// precision; 24, 25, 28: more types).

#include <algorithm>

#include "cpu/engine/cast.h"
#include "cpu/engine/elementwise.h"
#include "cpu/engine/packed.h"
#include "cpu/engine/quantization.h"
#include "cpu/types.h"
#include "kernels/elementwise/convert.h"
#include "kernels/quantize/quantize.h"

namespace tessera::cpu {
namespace {

constexpr TypeSet kReals = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kInt32};
constexpr TypeSet kRealScales = kReals | TypeSet{ElementType::kFloat8E8M0};
constexpr TypeSet kQuantizedInts = {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16,
                                    ElementType::kInt4, ElementType::kUInt4, ElementType::kInt2,  ElementType::kUInt2};
constexpr TypeSet kFloat8s = {ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2,
                              ElementType::kFloat8E5M2FNUZ};
constexpr TypeSet kSmallFloats = {ElementType::kFloat4E2M1, ElementType::kFloat6E2M3, ElementType::kFloat6E3M2};

ElementType QuantizedType(const KernelInfo& info, const QuantizeLinearAttributes& attributes) {
  if (info.has_input(2)) return info.input_type(2);
  return attributes.output_dtype == 0 ? ElementType::kUInt8 : static_cast<ElementType>(attributes.output_dtype);
}

/// The type that x / scale is rounded to: the attribute, or what numpy computes in.
ElementType Precision(const KernelInfo& info, const QuantizeLinearAttributes& attributes) {
  if (attributes.precision != 0) return attributes.rounding();
  const ElementType x = info.input_type(0);
  const ElementType scale = info.input_type(1);
  if (x == ElementType::kInt32 || scale == ElementType::kInt32) return ElementType::kDouble;
  return x == scale ? x : ElementType::kFloat;
}

/// Divides so that rounding the results once more rounds as if they were double.
void DivideDoubles(const double* x, const double* scales, int64_t step, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = RoundToOdd(x[i] / scales[i * step]);
}

class QuantizeLinear final : public Kernel {
 public:
  explicit QuantizeLinear(const KernelInfo& info)
      : attributes_(info.node()),
        output_type_(QuantizedType(info, attributes_)),
        precision_(Precision(info, attributes_)),
        wide_(precision_ == ElementType::kDouble ? ElementType::kDouble : ElementType::kFloat),
        load_(info.input_type(0), wide_),
        loop_(FindQuantizeLoop(output_type_)),
        store_(ElementType::kFloat, output_type_, {attributes_.saturate}) {
    Require((kQuantizedInts | kFloat8s | kSmallFloats).contains(output_type_), "quantized type is tensor({})",
            ElementTypeName(output_type_));
    const int bits = BitWidth(output_type_);
    const bool is_signed =
        kSignedInts.contains(output_type_) || output_type_ == ElementType::kInt4 || output_type_ == ElementType::kInt2;
    low_ = is_signed ? -static_cast<float>(1 << (bits - 1)) : 0.0f;
    high_ = static_cast<float>((1 << (is_signed ? bits - 1 : bits)) - 1);
  }

  void Compute(KernelContext& context) override {
    const QuantizationInputs inputs(context, load_.from(), attributes_);
    const Tensor &x = inputs.x, &scale = inputs.scale;
    Tensor* y = context.output(0, output_type_, x.shape());
    if (y == nullptr) return;
    const float* zeros = ReadZeroPoints<float>(context, inputs.zero, output_type_, scale.num_elements());
    Job job{inputs.layout, x.raw(), y->mutable_raw(), nullptr, nullptr, zeros, inputs.zero != nullptr};
    if (wide_ == ElementType::kDouble) {
      const auto values = context.scratch<double>(static_cast<size_t>(scale.num_elements()));
      ElementCast(scale.type(), ElementType::kDouble).Run(scale.raw(), 0, values.data(), 0, scale.num_elements());
      job.double_scales = values.data();
    } else {
      job.scales = ReadScales(context, scale);
      if (IsHalf(precision_) && scale.type() != precision_) {
        job.scales = RoundScales(context, job.scales, scale.num_elements());
      }
    }
    const bool ints = kQuantizedInts.contains(output_type_);
    const bool direct = ints && precision_ == ElementType::kFloat;
    if (direct && x.type() == ElementType::kFloat && !IsPacked(output_type_)) {
      context.threads().ParallelFor(x.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
        StoreIntegers(job, x.data<float>() + begin, job.scales, begin, end);
      });
      return;
    }
    const double cost_ns = ints ? 1.0 : 3.0;
    ForQuantizedBlocks(context.threads(), x.num_elements(), cost_ns, [&](int64_t begin, int64_t end) {
      if (direct) {
        QuantizeBlock(job, begin, end);
      } else {
        DivideBlock(job, begin, end);
      }
    });
  }

 private:
  struct Job {
    const QuantizationLayout& layout;
    const void* x;
    void* y;
    const float* scales;
    const double* double_scales;
    const float* zeros;
    bool has_zeros;
  };

  /// The scales rounded to the half type that the division is done in.
  const float* RoundScales(KernelContext& context, const float* scales, int64_t count) const {
    const auto rounded = context.scratch<float>(static_cast<size_t>(count));
    std::copy_n(scales, count, rounded.data());
    for (int64_t i = 0; i < count; i += kQuantizedBlock) {
      RoundToPrecision(rounded.data() + i, std::min(kQuantizedBlock, count - i));
    }
    return rounded.data();
  }

  void RoundToPrecision(float* values, int64_t count) const {
    uint16_t rounded_values[kQuantizedBlock];
    if (precision_ == ElementType::kFloat16) {
      ConvertFromFloat(values, reinterpret_cast<Float16*>(rounded_values), count);
      ConvertToFloat(reinterpret_cast<const Float16*>(rounded_values), values, count);
    } else if (precision_ == ElementType::kBFloat16) {
      ConvertFromFloat(values, reinterpret_cast<BFloat16*>(rounded_values), count);
      ConvertToFloat(reinterpret_cast<const BFloat16*>(rounded_values), values, count);
    }
  }

  /// Integers from a float division: one pass.
  void QuantizeBlock(const Job& job, int64_t begin, int64_t end) const {
    alignas(64) float loaded[kQuantizedBlock];
    const float* x = loaded;
    if (load_.from() == ElementType::kFloat) {
      x = static_cast<const float*>(job.x) + begin;
    } else {
      load_.Run(job.x, begin, loaded, 0, end - begin);
    }
    StoreIntegers(job, x, job.scales, begin, end);
  }

  /// x / scale where they are divided (scales not null), rounded, moved by the zero point and stored.
  void StoreIntegers(const Job& job, const float* x, const float* scales, int64_t begin, int64_t end) const {
    alignas(64) uint8_t rounded_values[kQuantizedBlock];
    const bool packed = IsPacked(output_type_);
    const int64_t size = packed ? 1 : BitWidth(output_type_) / 8;
    char* target = packed ? reinterpret_cast<char*>(rounded_values) : static_cast<char*>(job.y) + begin * size;
    for (int64_t i = begin; i < end;) {
      const ScaleRun run = job.layout.Run(i, end);
      loop_(x + (i - begin), scales == nullptr ? nullptr : scales + run.scale, job.zeros + run.scale, run.step, low_, high_,
            target + (i - begin) * size, run.count);
      i += run.count;
    }
    if (packed) PackElements(output_type_, rounded_values, begin, end - begin, job.y);
  }

  /// Divides in the precision asked for, then stores integers or floats.
  void DivideBlock(const Job& job, int64_t begin, int64_t end) const {
    alignas(64) float quotients[kQuantizedBlock];
    if (wide_ == ElementType::kDouble) {
      double loaded[kQuantizedBlock];
      load_.Run(job.x, begin, loaded, 0, end - begin);
      for (int64_t i = begin; i < end;) {
        const ScaleRun run = job.layout.Run(i, end);
        DivideDoubles(loaded + (i - begin), job.double_scales + run.scale, run.step, quotients + (i - begin), run.count);
        i += run.count;
      }
    } else {
      alignas(64) float loaded[kQuantizedBlock];
      load_.Run(job.x, begin, loaded, 0, end - begin);
      if (IsHalf(precision_) && load_.from() != precision_) RoundToPrecision(loaded, end - begin);
      for (int64_t i = begin; i < end;) {
        const ScaleRun run = job.layout.Run(i, end);
        DivideByScale(loaded + (i - begin), job.scales + run.scale, run.step, quotients + (i - begin), run.count);
        i += run.count;
      }
      RoundToPrecision(quotients, end - begin);
    }
    if (kQuantizedInts.contains(output_type_)) return StoreIntegers(job, quotients, nullptr, begin, end);
    // A zero point of 0 is not added to float8: -0 stays.
    const bool adds_zero = job.has_zeros && kSmallFloats.contains(output_type_);
    for (int64_t i = begin; i < end;) {
      const ScaleRun run = job.layout.Run(i, end);
      for (int64_t k = 0; k < run.count; ++k) {
        const float zero = job.zeros[run.scale + k * run.step];
        if (zero != 0 || adds_zero) quotients[i - begin + k] += zero;
      }
      i += run.count;
    }
    store_.Run(quotients, 0, job.y, begin, end - begin);
  }

  const QuantizeLinearAttributes attributes_;
  const ElementType output_type_;
  const ElementType precision_;
  const ElementType wide_;
  const ElementCast load_;
  const QuantizeLoop loop_;
  const ElementCast store_;
  float low_;
  float high_;
};

}  // namespace

void RegisterQuantizeLinear(KernelRegistry& registry) {
  registry.Add(Op("QuantizeLinear").Versions(10).Types(0, kReals).Types(1, kRealScales).Make<QuantizeLinear>());
}

}  // namespace tessera::cpu
