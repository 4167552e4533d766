#include "ops/image/resize_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace tessera {
namespace {

void CheckScale(double scale) {
  Require(std::isfinite(scale) && scale > 0, "scale is {}, a positive number is expected", scale);
}

AxisRequest Scaled(int64_t in, double scale) {
  CheckScale(scale);
  // Scales are floats: 10 elements by 1.3f are 12.9999995. Rounded to a float, as shape inference has it, they are the 13
  // meant.
  const double exact = static_cast<double>(in) * scale;
  const double out = std::floor(in <= int64_t{1} << 24 ? static_cast<double>(static_cast<float>(exact)) : exact);
  Require(out < 0x1p62, "an axis of {} elements can not be scaled by {}", in, scale);
  return {.out = static_cast<int64_t>(out),
          .scale = scale,
          .by_scale = true,
          .scale_error = std::numeric_limits<float>::epsilon()};
}

void CheckInterpolatable(const ResampleOptions& options, ElementType type) {
  Require(options.mode == ResampleMode::kNearest || type != ElementType::kString,
          "strings can be resized in mode nearest only");
}

void Append(const Tensor& tensor, std::span<double> numbers) {
  const auto append = [&](const auto& values) {
    std::ranges::transform(values, numbers.begin(), [](auto x) { return static_cast<double>(x); });
  };
  switch (tensor.type()) {
    case ElementType::kFloat: return append(tensor.values<float>());
    case ElementType::kDouble: return append(tensor.values<double>());
    case ElementType::kFloat16: return append(tensor.values<Float16>());
    case ElementType::kInt64: return append(tensor.values<int64_t>());
    default: Fail(ErrorCode::kNotImplemented, "scales, sizes or roi are {}", ElementTypeName(tensor.type()));
  }
}

std::span<const double> Numbers(KernelContext& context, const Tensor& target, const Tensor* roi) {
  const auto targets = static_cast<size_t>(target.num_elements());
  const size_t rois = roi == nullptr ? 0 : static_cast<size_t>(roi->num_elements());
  const std::span<double> numbers = context.scratch<double>(targets + rois);
  Append(target, numbers);
  if (roi != nullptr) Append(*roi, numbers.subspan(targets));
  return numbers;
}

AxisRequest Sized(int64_t in, double size) {
  Require(size >= 0 && size < 0x1p62, "size is {}; a number from 0 to 2^62 is expected", size);
  return {.out = static_cast<int64_t>(size), .scale = in == 0 ? 1.0 : size / static_cast<double>(in)};
}

}  // namespace

template <class Make>
std::shared_ptr<const ResamplePlan> ResizePlanner::PlanCache::Get(const Shape& shape, std::span<const double> numbers,
                                                                  Make make) {
  {
    const std::lock_guard lock(mutex_);
    if (plan_ != nullptr && shape_ == shape && std::ranges::equal(numbers_, numbers)) return plan_;
    plan_ = nullptr;  // its memory may be what the next one needs
  }
  std::shared_ptr<const ResamplePlan> plan = make();
  const std::lock_guard lock(mutex_);
  shape_ = shape;
  numbers_.assign(numbers.begin(), numbers.end());
  plan_ = plan;
  return plan;
}

ResizePlanner::ResizePlanner(const KernelInfo& info) : attributes_(info.node()), session_memory_(info.allocator()) {
  CheckInterpolatable(attributes_.options, info.input_type(0));
}

ResizePlanner::Planned ResizePlanner::Plan(KernelContext& context) {
  Planned planned{nullptr, nullptr};
  bool reserved = false;
  const auto reserve = [&](const Shape& shape) {
    planned.output = context.output(0, context.required_input(0).type(), shape);
    reserved = true;
  };
  planned.plan = attributes_.upsample ? PlanUpsample(context, reserve) : PlanResize(context, reserve);
  if (!reserved) reserve(planned.plan->out_shape);
  return planned;
}

std::shared_ptr<const ResamplePlan> ResizePlanner::PlanResize(KernelContext& context,
                                                              FunctionRef<void(const Shape&)> reserve) {
  const Tensor& input = context.required_input(0);
  const Shape& shape = input.shape();
  const Tensor* scales = context.input(attributes_.early ? 1 : 2);
  const Tensor* sizes = attributes_.early ? nullptr : context.input(3);
  const Tensor* roi = attributes_.early ? nullptr : context.input(1);
  if (scales != nullptr && scales->num_elements() == 0 && shape.rank() > 0) scales = nullptr;
  if (sizes != nullptr && sizes->num_elements() == 0 && (shape.rank() > 0 || scales != nullptr)) sizes = nullptr;
  Require((scales != nullptr) != (sizes != nullptr), "exactly one of scales and sizes must be given");
  if (attributes_.options.coordinates != CoordinateMode::kTfCropAndResize) roi = nullptr;

  // Numbers the plan depends on: scales or sizes, then roi.
  const std::span<const double> numbers = Numbers(context, scales != nullptr ? *scales : *sizes, roi);
  const size_t count = attributes_.axes.empty() ? shape.rank() : attributes_.axes.size();
  const size_t expected = attributes_.options.coordinates == CoordinateMode::kTfCropAndResize ? 3 * count : count;
  Require(numbers.size() == expected, "{} has {} numbers and roi {} for {} axes", scales != nullptr ? "scales" : "sizes",
          (scales != nullptr ? scales : sizes)->num_elements(), roi == nullptr ? 0 : roi->num_elements(), count);
  return cache_.Get(shape, numbers,
                    [&] { return MakePlan(shape, numbers, count, scales != nullptr, reserve, TableMemory(context)); });
}

std::shared_ptr<const ResamplePlan> ResizePlanner::PlanUpsample(KernelContext& context,
                                                                FunctionRef<void(const Shape&)> reserve) {
  const Shape& shape = context.required_input(0).shape();
  const bool in_input = attributes_.scales_in_input;
  Require(!in_input || context.required_input(1).is(ElementType::kFloat), "scales must be float");
  const std::span<const float> scales =
      in_input ? context.required_input(1).values<float>() : std::span(attributes_.scales);
  Require(scales.size() == shape.rank(), "{} scales are given for a tensor of rank {}", scales.size(), shape.rank());
  const std::span<double> numbers = context.scratch<double>(scales.size());
  std::ranges::copy(scales, numbers.begin());
  return cache_.Get(shape, numbers, [&]() -> std::shared_ptr<const ResamplePlan> {
    std::vector<AxisRequest> requests(shape.rank());
    for (size_t i = 0; i < shape.rank(); ++i) requests[i] = Scaled(shape[i], numbers[i]);
    return MakeResamplePlan(attributes_.options, shape, requests, reserve, TableMemory(context));
  });
}

std::shared_ptr<const ResamplePlan> ResizePlanner::MakePlan(const Shape& shape, std::span<const double> numbers,
                                                            size_t count, bool scales,
                                                            FunctionRef<void(const Shape&)> reserve,
                                                            Allocator& memory) const {
  const size_t rank = shape.rank();
  std::vector<AxisRequest> requests(rank);
  for (size_t i = 0; i < rank; ++i) requests[i].out = shape[i];
  std::vector<size_t> axes(count);
  std::vector<bool> seen(rank);
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = attributes_.axes.empty()
                             ? static_cast<int64_t>(i)
                             : attributes_.axes[i] + (attributes_.axes[i] < 0 ? static_cast<int64_t>(rank) : 0);
    Require(axis >= 0 && axis < static_cast<int64_t>(rank), "axis {} is outside a tensor of rank {}",
            attributes_.axes.empty() ? axis : attributes_.axes[i], rank);
    axes[i] = static_cast<size_t>(axis);
    Require(!seen[axes[i]], "axis {} is named twice", axis);
    seen[axes[i]] = true;
    requests[axes[i]] = scales ? Scaled(shape[axes[i]], numbers[i]) : Sized(shape[axes[i]], numbers[i]);
  }
  if (!scales && attributes_.policy != AspectPolicy::kStretch) KeepAspect(shape, axes, requests);
  if (numbers.size() == 3 * count) {
    for (size_t i = 0; i < count; ++i) {
      const double start = numbers[count + i], end = numbers[2 * count + i];
      Require(std::isfinite(start) && std::isfinite(end), "roi of axis {} is [{}, {}]", axes[i], start, end);
      requests[axes[i]].roi_start = start;
      requests[axes[i]].roi_end = end;
    }
  }
  return MakeResamplePlan(attributes_.options, shape, requests, reserve, memory);
}

void ResizePlanner::KeepAspect(const Shape& shape, std::span<const size_t> axes, std::span<AxisRequest> requests) const {
  if (axes.empty()) return;
  double scale = requests[axes[0]].scale;
  for (size_t axis : axes) {
    scale = attributes_.policy == AspectPolicy::kNotLarger ? std::min(scale, requests[axis].scale)
                                                           : std::max(scale, requests[axis].scale);
  }
  for (size_t axis : axes) {
    const double out = scale * static_cast<double>(shape[axis]) + 0.5;
    Require(out < 0x1p62, "an axis of {} elements can not be scaled by {}", shape[axis], scale);
    requests[axis].scale = scale;
    requests[axis].out = static_cast<int64_t>(out);
  }
}

}  // namespace tessera
