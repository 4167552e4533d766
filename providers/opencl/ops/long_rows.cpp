#include "opencl/ops/long_rows.h"

#include <tuple>

#include "base/checked.h"

namespace tessera::opencl {
namespace {

constexpr std::string_view kSource = "long_rows";
constexpr size_t kLanes = 64;

std::string Defines(const LongRows::Types& types) {
  return Computed('X', types.x) + Computed('S', types.scale) + Computed('Y', types.y) + Computed('M', types.statistics) +
         fmt::format("#define LANES {}\n", kLanes);
}

}  // namespace

LongRows::LongRows(Device& device, const Types& types)
    : sums_(device, kSource, Defines(types), "sum_slices"),
      standardize_(device, kSource, Defines(types), "standardize_slices"),
      softmax_parts_(device, kSource, Defines(types), "softmax_parts"),
      softmax_(device, kSource, Defines(types), "softmax_slices"),
      sum_bytes_(types.x == ElementType::kDouble ? 8 : 4) {}

template <class... More>
void LongRows::Launch(LazyLaunchable& kernel, KernelContext& context, const RowLayout& rows, auto given,
                      const More&... more) {
  const RowSlices slices(rows.count);
  std::apply(
      [&](const auto&... first) {
        kernel.Compile().Groups(context, CheckedMul(rows.rows, slices.count), kLanes, first..., rows.kept, rows.reduced,
                                cl_long{rows.count}, cl_long{slices.count}, cl_long{slices.length}, more...);
      },
      given);
}

void LongRows::Standardize(KernelContext& context, BufferRange x, const Tensor& y, const RowLayout& rows,
                           const Standardization& how) {
  const int64_t groups = CheckedMul(rows.rows, RowSlices(rows.count).count);
  const auto bytes = static_cast<size_t>(CheckedMul(groups, sum_bytes_));
  std::optional<DeviceScratch> sums;
  if (how.centers) sums.emplace(context, bytes);
  const DeviceScratch squares(context, bytes);
  const BufferRange none, mean = sums ? sums->range() : none;
  if (sums) Launch(sums_, context, rows, std::tuple(x, none, mean), cl_int{false});
  Launch(sums_, context, rows, std::tuple(x, mean, squares.range()), cl_int{true});
  const RowParameters& parameters = how.parameters;
  Launch(standardize_, context, rows,
         std::tuple(x, mean, squares.range(), parameters.scale, parameters.bias, &y, how.mean, how.inverse),
         cl_long{parameters.period}, cl_long{parameters.step}, cl_long{parameters.inner}, how.epsilon, how.term);
}

void LongRows::Softmax(KernelContext& context, const Tensor& x, const Tensor& y, const RowLayout& rows, bool logarithm) {
  const int64_t groups = CheckedMul(rows.rows, RowSlices(rows.count).count);
  const DeviceScratch parts(context, static_cast<size_t>(CheckedMul(groups, 2 * sum_bytes_)));
  Launch(softmax_parts_, context, rows, std::tuple(&x, parts.range()));
  Launch(softmax_, context, rows, std::tuple(&x, parts.range(), &y), cl_int{logarithm});
}

}  // namespace tessera::opencl
