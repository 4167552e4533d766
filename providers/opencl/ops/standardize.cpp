#include "opencl/ops/standardize.h"

#include "base/rounding.h"
#include "opencl/ops/row_work.h"

namespace tessera::opencl {
namespace {

ElementType StatisticsType(const KernelInfo& info) {
  return info.has_output(1) ? info.output_type(1) : info.has_output(2) ? info.output_type(2) : ElementType::kFloat;
}

}  // namespace

Standardize::Standardize(const KernelInfo& info, float epsilon, bool center)
    : settings_(SettingsOf(info)),
      kernel_(DeviceOf(info), "normalization",
              Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('Y', info.output_type(0)) +
                  Computed('M', StatisticsType(info)) + RowDefines(info),
              settings_.tiles ? "standardize" : "standardize_rows"),
      long_rows_(DeviceOf(info), {info.input_type(0), info.input_type(1), info.output_type(0), StatisticsType(info)}),
      epsilon_(epsilon),
      center_(center) {}

void Standardize::Launch(KernelContext& context, const Rows& rows, const Tensor& y, const Tensor* mean,
                         const Tensor* inverse) {
  const Tensor& x = context.required_input(0);
  const Tensor* bias = center_ ? context.input(2) : nullptr;
  if (x.num_elements() == 0) return;
  const int64_t last = (rows.period - 1) * rows.step + (rows.size - 1) / rows.inner;
  Require(context.required_input(1).num_elements() == last + 1 && (bias == nullptr || bias->num_elements() == last + 1),
          "scale and bias need {} elements", last + 1);
  const int64_t count = x.num_elements() / rows.size;
  if (LongRows::Pay(settings_, rows.size)) {
    return long_rows_.Standardize(context, RangeOf(x), y, RowLayout::Contiguous(count, rows.size),
                                  {.centers = center_ != 0,
                                   .epsilon = epsilon_,
                                   .parameters = {&context.required_input(1), bias, rows.period, rows.step, rows.inner},
                                   .mean = mean,
                                   .inverse = inverse});
  }
  const auto launch = [&](size_t items, size_t group, const auto&... more) {
    kernel_(context, {items, 1, 1}, {group, 1, 1}, x, context.required_input(1), bias, y, mean, inverse, cl_long{rows.size},
            cl_long{rows.period}, cl_long{rows.step}, cl_long{rows.inner}, epsilon_, center_, more...);
  };
  if (settings_.tiles) return launch(static_cast<size_t>(count) * kRowLanes, kRowLanes);
  const int64_t together = RowsTogether(rows.size);
  launch(static_cast<size_t>(CeilDiv(count, together)), 1, cl_long{count}, static_cast<cl_int>(together));
}

}  // namespace tessera::opencl
