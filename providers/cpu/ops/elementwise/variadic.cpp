// Operators of any number of tensors that broadcast: Max, Min, Sum, Mean (1, 6, 8, 12, 13).

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/work_array.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/elementwise/variadic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/element.h"
#include "cpu/engine/elementwise_row-inl.h"
#include "cpu/ops/elementwise/scalar-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

// What becomes of two inputs; of Mean, of the sum of all and their number.
constexpr ElementwiseRow kVariadics[] = {
    TESSERA_BINARY(Max, 1, kNumbers, Larger(a, b)).Costs(0.2, 0.4),
    TESSERA_BINARY(Min, 1, kNumbers, Smaller(a, b)).Costs(0.2, 0.4),
    TESSERA_BINARY(Sum, 1, kFloats, a + b).Costs(0.2, 0.4),
    TESSERA_BINARY(Mean, 1, kFloats, a / b).Costs(0.2, 0.4),
};

}  // namespace

std::span<const ElementwiseRow> Variadics() { return kVariadics; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(Variadics);

namespace {

/// The output chunk by chunk: all inputs are folded into a chunk while it is in the cache.
class Variadic final : public Kernel {
 public:
  /// `fold` is what becomes of two inputs; `divide`, where it is given, of the result and the number of inputs.
  Variadic(const KernelInfo& info, const Elementwise& fold, const std::optional<Elementwise>& divide)
      : fold_(fold), divide_(divide), type_(info.input_type(0)), size_(static_cast<size_t>(BitWidth(type_)) / 8) {
    Require(info.num_inputs() > 0, "at least one input is required");
  }

  void Compute(KernelContext& context) override {
    const size_t count = context.num_inputs();
    Shape shape = context.required_input(0).shape();
    for (size_t i = 0; i < count; ++i) {
      const Tensor& input = context.required_input(i);
      Require(input.type() == type_, "input {} is tensor({}), expected tensor({})", i, ElementTypeName(input.type()),
              ElementTypeName(type_));
      if (i > 0 && !(input.shape() == shape)) shape = BroadcastShape(shape, input.shape());
    }
    bool uniform = count == 2 && !divide_ && !IsHalf(type_);
    for (size_t i = 0; i < count; ++i) uniform = uniform && context.required_input(i).shape() == shape;
    Tensor* y = context.output(0, type_, shape);
    if (y == nullptr) return;
    const int64_t total = y->num_elements();
    if (total == 0) return;
    char* output = static_cast<char*>(y->mutable_raw());
    if (uniform) {
      const Operand operands[] = {{context.required_input(0).raw(), &shape, size_},
                                  {context.required_input(1).raw(), &shape, size_}};
      return BroadcastFlat(operands, 3, total, output, size_, fold_.loop, fold_.params, fold_.cost_ns, context.threads());
    }
    const double cost_ns =
        fold_.cost_ns * static_cast<double>(count) + (IsHalf(type_) ? 0.3 * static_cast<double>(count) : 0);
    context.threads().ParallelFor(total, cost_ns, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kChunk) {
        Fold(context, shape, begin, std::min(kChunk, end - begin), output + begin * static_cast<int64_t>(size_));
      }
    });
  }

 private:
  static constexpr int64_t kChunk = 1024;

  /// A pointer to elements [begin, begin + size) of the broadcast input, in the compute type; `buffer` may back it.
  const void* Load(const Tensor& input, const Shape& shape, int64_t begin, int64_t size, void* gathered, float* converted,
                   bool& advances) const {
    advances = true;
    const char* data = static_cast<const char*>(input.raw());
    if (input.num_elements() == 1) {
      advances = false;
      size = 1;
    } else if (input.shape() == shape) {
      data += begin * static_cast<int64_t>(size_);
    } else {
      const Operand operand = {input.raw(), &input.shape(), size_};
      BroadcastGroups({&operand, 1}, shape).Gather(operand, 0, begin, size, gathered);
      data = static_cast<const char*>(gathered);
    }
    if (type_ == ElementType::kFloat16) {
      ConvertToFloat(reinterpret_cast<const Float16*>(data), converted, size);
      return converted;
    }
    if (type_ == ElementType::kBFloat16) {
      ConvertToFloat(reinterpret_cast<const BFloat16*>(data), converted, size);
      return converted;
    }
    return data;
  }

  void Fold(KernelContext& context, const Shape& shape, int64_t begin, int64_t size, void* output) const {
    const WorkArray<double> gathered(2 * kChunk);
    const WorkArray<float> converted(3 * kChunk);
    float* const sum = converted + 2 * kChunk;
    const bool half = IsHalf(type_);
    void* target = half ? static_cast<void*>(sum) : output;
    bool advances[2];
    const void* inputs[2];
    const size_t count = context.num_inputs();
    inputs[0] = Load(context.required_input(0), shape, begin, size, gathered.data(), converted.data(), advances[0]);
    // One input, or one whose only element stands for the chunk, still has to fill the chunk: x (op) x keeps Max and Min
    // as they are, but not sums, hence the copy.
    if (count == 1 || !advances[0]) {
      Fill(inputs[0], advances[0], size, target);
      inputs[0] = target;
    }
    for (size_t i = 1; i < count; ++i) {
      inputs[1] = Load(context.required_input(i), shape, begin, size, gathered + kChunk, converted + kChunk, advances[1]);
      fold_.loop(inputs, advances[1] ? 3 : 1, target, size, fold_.params);
      inputs[0] = target;
    }
    if (divide_ && count > 1) Divide(count, size, target);
    if (type_ == ElementType::kFloat16) ConvertFromFloat(sum, static_cast<Float16*>(output), size);
    if (type_ == ElementType::kBFloat16) ConvertFromFloat(sum, static_cast<BFloat16*>(output), size);
  }

  void Fill(const void* source, bool advances, int64_t size, void* target) const {
    const size_t width = IsHalf(type_) ? sizeof(float) : size_;
    if (advances) {
      if (source != target) std::memmove(target, source, static_cast<size_t>(size) * width);
      return;
    }
    FillElements(static_cast<std::byte*>(target), source, size, {static_cast<int64_t>(width), false});
  }

  void Divide(size_t count, int64_t size, void* target) const {
    const float divisor_f = static_cast<float>(count);
    const double divisor_d = static_cast<double>(count);
    const void* divisor = type_ == ElementType::kDouble ? static_cast<const void*>(&divisor_d) : &divisor_f;
    const void* inputs[2] = {target, divisor};
    divide_->loop(inputs, 1, target, size, divide_->params);
  }

  const Elementwise fold_;
  const std::optional<Elementwise> divide_;
  const ElementType type_;
  const size_t size_;
};

std::unique_ptr<Kernel> MakeVariadic(const KernelInfo& info) {
  const std::span<const ElementwiseRow> rows = HWY_DYNAMIC_DISPATCH(Variadics)();
  const auto find = [&](std::string_view op_type) {
    return ToElementwise(*std::ranges::find(rows, op_type, &ElementwiseRow::op_type), info);
  };
  const std::string& op_type = info.node().op_type;
  if (op_type == "Mean") return std::make_unique<Variadic>(info, find("Sum"), find("Mean"));
  return std::make_unique<Variadic>(info, find(op_type), std::nullopt);
}

}  // namespace

void RegisterVariadic(KernelRegistry& registry) {
  for (const ElementwiseRow& row : HWY_DYNAMIC_DISPATCH(Variadics)()) {
    registry.Add(Op(row.op_type).Versions(row.version).Types(0, row.types.set).Factory(MakeVariadic));
  }
}

}  // namespace tessera::cpu
#endif
