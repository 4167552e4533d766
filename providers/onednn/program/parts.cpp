#include "onednn/program/parts.h"

#include <algorithm>
#include <string_view>

#include "base/rounding.h"
#include "runtime/threads/openmp.h"

namespace tessera::onednn {

namespace {

/// Channels that no layout has more of in a block.
constexpr int64_t kMostBlocked = 16;

CutAxis CutChannels(const Dims& dims) {
  const int64_t multiple = dims[1] >= 2 * kMostBlocked ? kMostBlocked : 1;
  return {.axis = 1, .least = multiple, .multiple = multiple};
}

}  // namespace

bool IsReference(std::string_view implementation) { return implementation.find("ref") != std::string_view::npos; }

double GemmNs(double operations, std::string_view implementation) {
  constexpr double kFastPerNs = 40, kSlowPerNs = 0.5;
  return operations / (IsReference(implementation) ? kSlowPerNs : kFastPerNs);
}

bool IsLong(double ns) {
  constexpr double kLongNs = 3e7;
  return ns > kLongNs * static_cast<double>(std::max(omp_get_max_threads(), 1));
}

std::vector<CutAxis> AllAxes(const Dims& dims, size_t kept) {
  // Only parts that are dense have fast implementations: those along the first axis that has more than one element.
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    if (axis == kept) return {};
    return {axis == 1 ? CutChannels(dims) : CutAxis{.axis = axis}};
  }
  return {};
}

std::vector<CutAxis> ChannelAxes(const Dims& dims) { return {CutAxis{.axis = 0}, CutChannels(dims)}; }

std::vector<CutAxis> RowAxes() { return {CutAxis{.axis = 0}, CutAxis{.axis = 2}}; }

std::vector<Box> BoxesOf(const Dims& dims, std::span<const CutAxis> axes, double ns) {
  constexpr double kPartNs = 1e7, kMostParts = 4096;  // each is a primitive, and memory
  Dims pieces(dims.size(), 1), multiples(dims.size(), 1);
  double wanted = std::min(ns / (kPartNs * static_cast<double>(std::max(omp_get_max_threads(), 1))), kMostParts);
  for (const auto& [axis, least, multiple] : axes) {
    if (wanted <= 1) break;
    multiples[axis] = multiple;
    const int64_t size = CeilDiv(dims[axis], pieces[axis]), most = std::max<int64_t>(size / least, 1);
    const int64_t more = wanted >= static_cast<double>(most) ? most : static_cast<int64_t>(wanted) + 1;
    pieces[axis] *= more;
    wanted /= static_cast<double>(more);
  }
  std::vector<Box> boxes = {{Dims(dims.size(), 0), dims}};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (pieces[axis] == 1) continue;
    const int64_t size = RoundUp(CeilDiv(dims[axis], pieces[axis]), multiples[axis]);
    std::vector<Box> cut;
    for (const Box& box : boxes) {
      for (int64_t first = 0; first < dims[axis]; first += size) {
        cut.push_back(box);
        cut.back().first[axis] = first;
        cut.back().count[axis] = std::min(size, dims[axis] - first);
      }
    }
    boxes = std::move(cut);
  }
  return boxes;
}

std::optional<WindowPart> PartOf(const Window& window, const Dims& input, const Box& box) {
  WindowPart part{window, {Dims(input.size(), 0), input}};
  part.input.first[0] = box.first[0];
  part.input.count[0] = box.count[0];
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t size = input[i + 2], extent = (window.kernel[i] - 1) * (window.dilations[i] + 1) + 1;
    const int64_t begin = box.first[i + 2] * window.strides[i] - window.pad_begin[i];
    const int64_t end = (box.first[i + 2] + box.count[i + 2] - 1) * window.strides[i] - window.pad_begin[i] + extent;
    const int64_t from = std::clamp<int64_t>(begin, 0, size), to = std::clamp<int64_t>(end, 0, size);
    if (from >= to) return std::nullopt;
    part.input.first[i + 2] = from;
    part.input.count[i + 2] = to - from;
    part.window.pad_begin[i] = from - begin;
    part.window.pad_end[i] = end - to;
  }
  return part;
}

}  // namespace tessera::onednn
