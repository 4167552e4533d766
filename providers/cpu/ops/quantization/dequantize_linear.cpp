// DequantizeLinear (10: one scale; 13: and one for each index of an axis; 19: float8; 21: blocks; 23: output_dtype; 24, 25,
// 28: more types).

#include <algorithm>

#include "cpu/engine/cast.h"
#include "cpu/engine/quantization.h"
#include "cpu/types.h"
#include "kernels/quantize/quantize.h"

namespace tessera::cpu {
namespace {

constexpr TypeSet kQuantized = {
    ElementType::kInt8,           ElementType::kUInt8,        ElementType::kInt16,          ElementType::kUInt16,
    ElementType::kInt32,          ElementType::kUInt4,        ElementType::kInt4,           ElementType::kUInt2,
    ElementType::kInt2,           ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2,
    ElementType::kFloat8E5M2FNUZ, ElementType::kFloat4E2M1,   ElementType::kFloat6E2M3,     ElementType::kFloat6E3M2};
constexpr TypeSet kQuantizedScales = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16,
                                      ElementType::kFloat8E8M0};

ElementType DequantizedType(const KernelInfo& info, const QuantizeLinearAttributes& attributes) {
  if (attributes.output_dtype != 0) return static_cast<ElementType>(attributes.output_dtype);
  return info.input_type(1) == ElementType::kFloat8E8M0 ? ElementType::kFloat : info.input_type(1);
}

class DequantizeLinear final : public Kernel {
 public:
  explicit DequantizeLinear(const KernelInfo& info)
      : attributes_(info.node()),
        output_type_(DequantizedType(info, attributes_)),
        load_(info.input_type(0), ElementType::kFloat),
        loops_(FindDequantizeLoops(info.input_type(0))),
        float_loops_(FindDequantizeLoops(ElementType::kFloat)),
        store_(ElementType::kFloat, output_type_) {
    Require(kFloats.contains(output_type_), "output is tensor({}), expected a type of float",
            ElementTypeName(output_type_));
  }

  void Compute(KernelContext& context) override {
    const QuantizationInputs inputs(context, load_.from(), attributes_);
    const Tensor &x = inputs.x, &scale = inputs.scale;
    Tensor* y = context.output(0, output_type_, x.shape());
    if (y == nullptr) return;
    Job job{inputs.layout, x.raw(), y->mutable_raw(), ReadScales(context, scale), nullptr, nullptr};
    if (x.type() == ElementType::kInt32) {
      job.int_zeros = ReadZeroPoints<int32_t>(context, inputs.zero, x.type(), scale.num_elements());
    } else {
      job.zeros = ReadZeroPoints<float>(context, inputs.zero, x.type(), scale.num_elements());
    }
    const bool direct = loops_.run != nullptr || x.type() == ElementType::kInt32;
    if (direct && output_type_ == ElementType::kFloat) {
      context.threads().ParallelFor(x.num_elements(), 0.25,
                                    [&](int64_t begin, int64_t end) { DequantizeBlock(job, begin, end); });
      return;
    }
    ForQuantizedBlocks(context.threads(), x.num_elements(), 0.8,
                       [&](int64_t begin, int64_t end) { DequantizeBlock(job, begin, end); });
  }

 private:
  struct Job {
    const QuantizationLayout& layout;
    const void* x;
    void* y;
    const float* scales;
    const float* zeros;
    const int32_t* int_zeros;
  };

  /// At most kQuantizedBlock elements unless nothing but the loop is needed.
  void DequantizeBlock(const Job& job, int64_t begin, int64_t end) const {
    alignas(64) float loaded[kQuantizedBlock];
    alignas(64) float results[kQuantizedBlock];
    const bool plain = output_type_ == ElementType::kFloat;
    const bool is_int32 = load_.from() == ElementType::kInt32;
    float* y = plain ? static_cast<float*>(job.y) + begin : results;
    const char* x = reinterpret_cast<const char*>(loaded);
    DequantizeLoops loops = loops_;
    int64_t size = sizeof(float);
    if (loops.run == nullptr && !is_int32) {
      load_.Run(job.x, begin, loaded, 0, end - begin);
      loops = float_loops_;
    } else {
      size = BitWidth(load_.from()) / 8;
      x = static_cast<const char*>(job.x) + begin * size;
    }
    for (int64_t i = begin; i < end;) {
      const ScaleRun run = job.layout.Run(i, end);
      const void* source = x + (i - begin) * size;
      const float* scales = job.scales + run.scale;
      if (is_int32) {
        DequantizeInt32(static_cast<const int32_t*>(source), scales, job.int_zeros + run.scale, run.step, y + (i - begin),
                        run.count);
        i += run.count;
        continue;
      }
      const int64_t planes = job.layout.WholeIndices(run, i, end);
      if (planes > 1) {
        loops.planes(source, scales, job.zeros + run.scale, planes, y + (i - begin), run.count);
      } else {
        loops.run(source, scales, job.zeros + run.scale, run.step, y + (i - begin), run.count);
      }
      i += planes * run.count;
    }
    if (!plain) store_.Run(results, 0, job.y, begin, end - begin);
  }

  const QuantizeLinearAttributes attributes_;
  const ElementType output_type_;
  const ElementCast load_;
  const DequantizeLoops loops_;
  const DequantizeLoops float_loops_;
  const ElementCast store_;
};

}  // namespace

void RegisterDequantizeLinear(KernelRegistry& registry) {
  registry.Add(
      Op("DequantizeLinear").Versions(10).Types(0, kQuantized).Types(1, kQuantizedScales).Make<DequantizeLinear>());
}

}  // namespace tessera::cpu
