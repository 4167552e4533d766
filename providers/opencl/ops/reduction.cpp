#include "opencl/ops/reduction.h"

#include "base/checked.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

constexpr size_t kLanes = 64;
constexpr int64_t kShort = 4 * kLanes;

std::string Defines(ElementType type, const Fold& fold, size_t lanes, const char* more = "") {
  return Computed('X', type) +
         fmt::format("#define INITIAL {}\n#define STEP {}\n#define JOIN {}\n#define FINISH {}\n#define LANES {}\n{}{}",
                     fold.initial, fold.step, fold.join, fold.finish, lanes, fold.shifted ? "#define SHIFTED\n" : "", more);
}

constexpr const char* kSliced = "#define SLICED\n";

}  // namespace

Reduction::Reduction(Device& device, ElementType type, const Fold& fold)
    : alone_(device, "reduce", Defines(type, fold, 1), "reduce"),
      together_(device, "reduce", Defines(type, fold, kLanes), "reduce"),
      slices_(device, "reduce", Defines(type, fold, kLanes, kSliced), "reduce_slices"),
      join_(device, "reduce", Defines(type, fold, kLanes, kSliced), "join_slices"),
      part_bytes_((BitWidth(type) == 64 ? 8 : 4) * (fold.shifted ? 2 : 1)) {}

void Reduction::Expect(std::optional<int64_t> count) {
  if (count && RowSlices::Pay(*count)) {
    slices_.Compile();
    join_.Compile();
    return;
  }
  if (!count || *count < kShort) alone_.Compile();
  if (!count || *count >= kShort) together_.Compile();
}

void Reduction::Run(KernelContext& context, const Tensor& x, const Tensor& y, const RowLayout& rows) {
  const cl_long count = rows.count;
  const int64_t results = y.num_elements();
  if (results == 0) return;
  if (!RowSlices::Pay(count)) {
    if (count < kShort) return alone_.Compile().Linear(context, results, x, y, rows.kept, rows.reduced, count);
    return together_.Compile().Groups(context, results, kLanes, static_cast<cl_ulong>(results), x, y, rows.kept,
                                      rows.reduced, count);
  }
  const RowSlices slices(count);
  const int64_t parts = CheckedMul(results, slices.count);
  const DeviceScratch scratch(context, static_cast<size_t>(CheckedMul(parts, part_bytes_)));
  slices_.Compile().Groups(context, parts, kLanes, x, scratch.range(), rows.kept, rows.reduced, count,
                           cl_long{slices.count}, cl_long{slices.length});
  join_.Compile().Groups(context, results, kLanes, scratch.range(), y, count, cl_long{slices.count});
}

}  // namespace tessera::opencl
