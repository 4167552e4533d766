#include "cpu/engine/elementwise.h"

#include <algorithm>

#include "ops/math/legacy_broadcast.h"

namespace tessera::cpu {
namespace {

size_t SizeOf(ElementType type) { return static_cast<size_t>(BitWidth(type)) / 8; }

void ToFloat(ElementType type, const void* from, float* to, int64_t count) {
  if (type == ElementType::kFloat16) {
    ConvertToFloat(static_cast<const Float16*>(from), to, count);
  } else {
    ConvertToFloat(static_cast<const BFloat16*>(from), to, count);
  }
}
void FromFloat(ElementType type, const float* from, void* to, int64_t count) {
  if (type == ElementType::kFloat16) {
    ConvertFromFloat(from, static_cast<Float16*>(to), count);
  } else {
    ConvertFromFloat(from, static_cast<BFloat16*>(to), count);
  }
}

void CheckType(const Tensor& tensor, ElementType expected, size_t input) {
  if (tensor.type() != expected) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, "input {} is tensor({}), expected tensor({})", input, ElementTypeName(tensor.type()),
         ElementTypeName(expected));
  }
}

}  // namespace

void RunThroughFloat(const ThroughFloat& how, const Elementwise& body, const void* const* inputs, unsigned advancing,
                     void* output, int64_t count) {
  constexpr int64_t kChunk = 512;
  alignas(64) float buffers[kMaxOperands][kChunk];
  alignas(64) float result[kChunk];
  const void* pointers[kMaxOperands];
  for (unsigned i = 0; i < how.num_inputs; ++i) {
    if ((advancing >> i & 1) != 0) continue;
    pointers[i] = inputs[i];
    if ((how.converted >> i & 1) == 0) continue;
    ToFloat(how.type, inputs[i], buffers[i], 1);
    pointers[i] = buffers[i];
  }
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t size = std::min(kChunk, count - begin);
    for (unsigned i = 0; i < how.num_inputs; ++i) {
      if ((advancing >> i & 1) == 0) continue;
      if ((how.converted >> i & 1) != 0) {
        ToFloat(how.type, static_cast<const uint16_t*>(inputs[i]) + begin, buffers[i], size);
        pointers[i] = buffers[i];
      } else {
        pointers[i] = static_cast<const char*>(inputs[i]) + begin * static_cast<int64_t>(how.sizes[i]);
      }
    }
    if (how.half_output) {
      body.loop(pointers, advancing, result, size, body.params);
      FromFloat(how.type, result, static_cast<uint16_t*>(output) + begin, size);
    } else {
      body.loop(pointers, advancing, static_cast<char*>(output) + begin * static_cast<int64_t>(how.output_size), size,
                body.params);
    }
  }
}

UnaryKernel::UnaryKernel(const KernelInfo& info, const Elementwise& body)
    : body_(body), input_type_(info.input_type(0)), output_type_(info.output_type(0)) {
  if (output_type_ == ElementType::kUndefined) output_type_ = input_type_;
  if (body.to_bool) output_type_ = ElementType::kBool;
  input_size_ = SizeOf(input_type_);
  output_size_ = SizeOf(output_type_);
}

void UnaryKernel::Compute(KernelContext& context) {
  const Tensor& x = context.required_input(0);
  CheckType(x, input_type_, 0);
  Tensor* y = context.output(0, output_type_, x.shape());
  if (y == nullptr) return;
  const auto* source = static_cast<const char*>(x.raw());
  auto* target = static_cast<char*>(y->mutable_raw());
  const bool half = IsHalf(input_type_) && !body_.on_halves;
  context.threads().ParallelFor(x.num_elements(), body_.cost_ns + (half ? 0.3 : 0), [&](int64_t begin, int64_t end) {
    const void* input = source + begin * static_cast<int64_t>(input_size_);
    void* output = target + begin * static_cast<int64_t>(output_size_);
    if (half) {
      const ThroughFloat how = {input_type_, 1, 1, IsHalf(output_type_), {input_size_}, output_size_};
      RunThroughFloat(how, body_, &input, 1, output, end - begin);
    } else {
      body_.loop(&input, 1, output, end - begin, body_.params);
    }
  });
}

BinaryKernel::BinaryKernel(const KernelInfo& info, const Elementwise& body)
    : body_(body), a_type_(info.input_type(0)), b_type_(info.input_type(1)), output_type_(info.output_type(0)) {
  if (output_type_ == ElementType::kUndefined) output_type_ = a_type_;
  if (body.to_bool) output_type_ = ElementType::kBool;
  a_size_ = SizeOf(a_type_);
  b_size_ = SizeOf(b_type_);
  output_size_ = SizeOf(output_type_);
  legacy_ = info.since_version() < 7;
  if (legacy_) {
    const LegacyBroadcastAttributes attributes(info.node());
    legacy_broadcast_ = attributes.broadcasts;
    legacy_axis_ = attributes.axis.value_or(kSuffix);
  }
}

void BinaryKernel::Compute(KernelContext& context) {
  const Tensor& a = context.required_input(0);
  const Tensor& b = context.required_input(1);
  CheckType(a, a_type_, 0);
  CheckType(b, b_type_, 1);
  if (a.shape() == b.shape()) {
    Run(context, a, b, a.shape(), b.shape(), a.shape());
  } else if (!legacy_) {
    Run(context, a, b, a.shape(), b.shape(), BroadcastShape(a.shape(), b.shape()));
  } else {
    Require(legacy_broadcast_, "shapes {} and {} differ and attribute 'broadcast' is 0", a.shape(), b.shape());
    Run(context, a, b, a.shape(), LegacyBroadcastShape(a.shape(), b.shape(), legacy_axis_), a.shape());
  }
}

void BinaryKernel::Run(KernelContext& context, const Tensor& a, const Tensor& b, const Shape& a_shape, const Shape& b_shape,
                       const Shape& output_shape) {
  Tensor* y = context.output(0, output_type_, output_shape);
  if (y == nullptr) return;
  void* output = y->mutable_raw();
  const int64_t total = y->num_elements();
  const Operand operands[] = {{a.raw(), &a_shape, a_size_}, {b.raw(), &b_shape, b_size_}};
  SpanLoop loop = body_.loop;
  const void* params = body_.params;
  double cost_ns = body_.cost_ns;
  struct HalfParams {
    ThroughFloat how;
    const Elementwise* body;
  };
  HalfParams half;
  if (IsHalf(a_type_)) {
    const unsigned converted = b_type_ == a_type_ ? 3 : 1;
    half = {{a_type_, converted, 2, IsHalf(output_type_), {a_size_, b_size_}, output_size_}, &body_};
    loop = [](const void* const* inputs, unsigned advancing, void* target, int64_t count, const void* p) {
      const auto& through = *static_cast<const HalfParams*>(p);
      RunThroughFloat(through.how, *through.body, inputs, advancing, target, count);
    };
    params = &half;
    cost_ns += 0.5;
  }
  ThreadPool& threads = context.threads();
  if (a_shape == output_shape && b_shape == output_shape) {
    return BroadcastFlat(operands, 3, total, output, output_size_, loop, params, cost_ns, threads);
  }
  if (b.num_elements() == 1 && a.num_elements() == total) {
    return BroadcastFlat(operands, 1, total, output, output_size_, loop, params, cost_ns, threads);
  }
  if (a.num_elements() == 1 && b.num_elements() == total) {
    return BroadcastFlat(operands, 2, total, output, output_size_, loop, params, cost_ns, threads);
  }
  Broadcast(operands, output_shape, output, output_size_, loop, params, cost_ns, threads);
}

}  // namespace tessera::cpu
