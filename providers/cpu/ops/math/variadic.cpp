// Max, Min, Sum, Mean (1, 6, 8, 12, 13): any number of inputs that broadcast.

#include <algorithm>

#include "base/work_array.h"
#include "cpu/ops/math/arithmetic.h"

namespace tessera::cpu {
namespace {

/// The output chunk by chunk: all inputs are folded into a chunk while it is in the cache.
template <Arithmetic kOp, bool kMean>
class Variadic final : public Kernel {
 public:
  explicit Variadic(const KernelInfo& info)
      : type_(info.input_type(0)),
        size_(static_cast<size_t>(BitWidth(type_)) / 8),
        loop_(ArithmeticLoop(kOp, type_)),
        cost_ns_(ArithmeticCost(kOp, type_)) {
    Require(info.num_inputs() > 0, "at least one input is required");
    if (kMean) scale_loop_ = ArithmeticLoop(Arithmetic::kDiv, type_);
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
    bool uniform = count == 2 && !kMean && !IsHalf(type_);
    for (size_t i = 0; i < count; ++i) uniform = uniform && context.required_input(i).shape() == shape;
    Tensor* y = context.output(0, type_, shape);
    if (y == nullptr) return;
    const int64_t total = y->num_elements();
    if (total == 0) return;
    char* output = static_cast<char*>(y->mutable_raw());
    if (uniform) {
      const Operand operands[] = {{context.required_input(0).raw(), &shape, size_},
                                  {context.required_input(1).raw(), &shape, size_}};
      return BroadcastFlat(operands, 3, total, output, size_, loop_, nullptr, cost_ns_, context.threads());
    }
    const double cost_ns = cost_ns_ * static_cast<double>(count) + (IsHalf(type_) ? 0.3 * static_cast<double>(count) : 0);
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
      loop_(inputs, advances[1] ? 3 : 1, target, size, nullptr);
      inputs[0] = target;
    }
    if (kMean && count > 1) Divide(count, size, target);
    if (type_ == ElementType::kFloat16) ConvertFromFloat(sum, static_cast<Float16*>(output), size);
    if (type_ == ElementType::kBFloat16) ConvertFromFloat(sum, static_cast<BFloat16*>(output), size);
  }

  void Fill(const void* source, bool advances, int64_t size, void* target) const {
    const size_t width = IsHalf(type_) ? sizeof(float) : size_;
    if (advances) {
      if (source != target) std::memmove(target, source, static_cast<size_t>(size) * width);
      return;
    }
    for (int64_t i = 0; i < size; ++i)
      std::memcpy(static_cast<char*>(target) + static_cast<size_t>(i) * width, source, width);
  }

  void Divide(size_t count, int64_t size, void* target) const {
    const float divisor_f = static_cast<float>(count);
    const double divisor_d = static_cast<double>(count);
    const void* divisor = type_ == ElementType::kDouble ? static_cast<const void*>(&divisor_d) : &divisor_f;
    const void* inputs[2] = {target, divisor};
    scale_loop_(inputs, 1, target, size, nullptr);
  }

  ElementType type_;
  size_t size_;
  SpanLoop loop_;
  SpanLoop scale_loop_ = nullptr;
  double cost_ns_;
};

}  // namespace

void RegisterMax(KernelRegistry& registry) {
  registry.Add(Op("Max").Versions(1).Types(0, kNumbers).Make<Variadic<Arithmetic::kMax, false>>());
}
void RegisterMin(KernelRegistry& registry) {
  registry.Add(Op("Min").Versions(1).Types(0, kNumbers).Make<Variadic<Arithmetic::kMin, false>>());
}
void RegisterSum(KernelRegistry& registry) {
  registry.Add(Op("Sum").Versions(1).Types(0, kFloats).Make<Variadic<Arithmetic::kAdd, false>>());
}
void RegisterMean(KernelRegistry& registry) {
  registry.Add(Op("Mean").Versions(1).Types(0, kFloats).Make<Variadic<Arithmetic::kAdd, true>>());
}

}  // namespace tessera::cpu
