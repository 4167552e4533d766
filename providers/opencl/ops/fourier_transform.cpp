#include "opencl/ops/fourier_transform.h"

#include <limits>

#include "opencl/device/scratch.h"
#include "ops/signal/dft.h"

namespace tessera::opencl {

FourierTransform::FourierTransform(const KernelInfo& info)
    : twiddle_factors_(DeviceOf(info), "dft", Computed('X', info.input_type(0)), "twiddle_factors"),
      transform_(DeviceOf(info), "dft", Computed('X', info.input_type(0)), "transform"),
      bytes_(info.input_type(0) == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float)) {}

void FourierTransform::operator()(KernelContext& context, const Tensor& x, const Tensor* window, const Tensor& y,
                                  const Signals& signals) {
  if (y.num_elements() == 0) return;
  const DeviceScratch table(context, static_cast<size_t>(signals.length) * 2 * bytes_);
  twiddle_factors_.Linear(context, signals.length, table.range());
  transform_.Linear(context, y.num_elements() / 2, x, window, table.range(), y, signals);
}

int64_t FourierTransform::Number(KernelContext& context, size_t i, int64_t fallback) {
  const Tensor* tensor = context.input(i);
  if (tensor == nullptr) return fallback;
  Require(tensor->num_elements() == 1, "input {} is {}, a scalar is expected", i, tensor->shape());
  return HostIntegers(tensor->Reshaped(Shape{1}))[0];
}

cl_int FourierTransform::Length(int64_t length, const char* what) {
  Require(length >= 1 && length <= std::numeric_limits<cl_int>::max() / 2, "{} is {}", what, length);
  return static_cast<cl_int>(length);
}

std::string LengthRefusal(std::optional<int64_t> length) {
  constexpr int64_t kMostPoints = 4096;
  if (!length) return "transforms of lengths that are not known are left to the CPU provider";
  return *length > kMostPoints ? fmt::format("transforms of more than {} points are left to the CPU provider", kMostPoints)
                               : "";
}

std::optional<int64_t> ConstantInteger(const NodeInfo& info, size_t input) {
  const Tensor* tensor = info.constant_input(input);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  if (tensor->is(ElementType::kInt32)) return *tensor->data<int32_t>();
  return tensor->is(ElementType::kInt64) ? std::optional(*tensor->data<int64_t>()) : std::nullopt;
}

std::optional<int64_t> KnownDimension(const TypeInfo& type, int64_t axis) {
  const auto at = AxisWithin(axis, type.shape ? type.shape->size() : 0);
  return at && (*type.shape)[*at].known() ? std::optional((*type.shape)[*at].value) : std::nullopt;
}

}  // namespace tessera::opencl
