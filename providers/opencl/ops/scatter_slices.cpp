#include "opencl/ops/scatter_slices.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/cancellable_sort.h"
#include "base/checked.h"
#include "ops/movement/scatter.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kPiece = 4096;  // updates of one target that an item combines

/// How `value` and `update` become one; empty where the update replaces it.
std::string Combination(ScatterReduction reduction, bool real) {
  switch (reduction) {
    case ScatterReduction::kNone: return "";
    case ScatterReduction::kAdd: return real ? "value + update" : "(TX)((WX)value + (WX)update)";
    case ScatterReduction::kMul: return real ? "value * update" : "(TX)((WX)value * (WX)update)";
    // A NaN on either side is the result.
    case ScatterReduction::kMax: return "value != value || value > update ? value : update";
    case ScatterReduction::kMin: return "value != value || value < update ? value : update";
  }
  return "";
}

/// See combine_slices.
void Sort(std::span<const int64_t> offsets, std::span<int64_t> plan) {
  const size_t count = offsets.size();
  const std::span order = plan.subspan(3 * (count + 1), count), pieces = plan.subspan(3 * (count + 1) + count);
  std::iota(order.begin(), order.end(), int64_t{0});
  StableSortCancellably(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return offsets[static_cast<size_t>(a)] < offsets[static_cast<size_t>(b)];
  });
  size_t groups = 0, used = 0;
  const auto write = [&](size_t group, int64_t offset, size_t first) {
    plan[3 * group] = offset;
    plan[3 * group + 1] = static_cast<int64_t>(first);
    plan[3 * group + 2] = static_cast<int64_t>(used);
  };
  PacedCancellationPoint point(5);
  for (size_t i = 0; i < count;) {
    const size_t first = i;
    const int64_t offset = offsets[static_cast<size_t>(order[i])];
    write(groups++, offset, first);
    for (; i < count && offsets[static_cast<size_t>(order[i])] == offset; ++i) {
      point.Pass();
      if (i - first < kPiece) continue;
      if ((i - first) % kPiece == 0) pieces[2 * used++] = static_cast<int64_t>(i);
      pieces[2 * used - 1] = static_cast<int64_t>(i + 1);
    }
  }
  for (size_t i = groups; i <= count; ++i) write(i, -1, count);
  std::fill(pieces.begin() + static_cast<ptrdiff_t>(2 * used), pieces.end(), 0);
}

}  // namespace

ScatterSlices::ScatterSlices(const KernelInfo& info, size_t index_input)
    : combination_(Combination(ScatterReductionOf(info.node()), kReals.contains(info.input_type(0)))),
      copy_(DeviceOf(info), "strided", Moved('X', info.input_type(0)), "copy"),
      kernel_(DeviceOf(info), "slices", Defines(info), combination_.empty() ? "scatter_slices" : "combine_slices"),
      pieces_(DeviceOf(info), "slices", Defines(info), "combine_pieces"),
      element_bytes_(std::max<int64_t>(BitWidth(info.input_type(0)) / 8, sizeof(cl_float))),
      plan_(info, index_input) {}

void ScatterSlices::Scatter(KernelContext& context, const Tensor& data, const Tensor& updates, int64_t count, int64_t inner,
                            const std::function<void(std::span<int64_t>)>& fill) {
  const Tensor& y = *context.output(0, data.shape());
  if (y.raw() != data.raw()) {
    Strided all;
    all.rank = 1;
    all.dims[0] = data.num_elements();
    all.a[0] = all.b[0] = 1;
    copy_.Linear(context, data.num_elements(), data, y, all, cl_long{0}, cl_long{0});
  }
  if (count == 0 || inner == 0) return;
  Shape key = data.shape();
  key.Append(count);
  if (combination_.empty()) {
    const SentData sent = plan_.Send(context, key, count, fill);
    return kernel_.Linear(context, count * inner, updates, sent.range(), y, cl_long{inner});
  }
  // Targets and pieces at most as many as updates have room for, so that the number of work items is known without
  // reading a kept plan back.
  const int64_t pieces = count / kPiece;
  const SentData sent = plan_.Send(context, key, 4 * count + 3 + 2 * pieces, [&](std::span<int64_t> plan) {
    const auto offsets = context.scratch<int64_t>(static_cast<size_t>(count));
    fill(offsets);
    Sort(offsets, plan);
  });
  std::optional<DeviceScratch> combined;
  if (pieces > 0) {
    combined.emplace(context, static_cast<size_t>(CheckedMul(pieces * inner, element_bytes_)));
    pieces_.Compile().Linear(context, pieces * inner, updates, sent.range(), combined->range(), cl_long{inner},
                             cl_long{count});
  }
  kernel_.Linear(context, count * inner, updates, sent.range(), combined ? combined->range() : BufferRange{}, y,
                 cl_long{inner}, cl_long{count});
}

std::string ScatterSlices::Defines(const KernelInfo& info) const {
  return combination_.empty() ? Moved('X', info.input_type(0))
                              : Computed('X', info.input_type(0)) +
                                    fmt::format("#define COMBINE {}\n#define PIECE {}\n", combination_, kPiece);
}

std::string ReductionRefusal(const NodeInfo& info) {
  const bool reduces = ScatterReductionOf(info.node()) != ScatterReduction::kNone;
  return reduces && !kNumbers.contains(info.input_type(0)) ? "only numbers are combined on the device" : "";
}

}  // namespace tessera::opencl
