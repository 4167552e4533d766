#include "kernels/conv/nchw8c/regions.h"

#include <algorithm>
#include <span>

#include "base/rounding.h"
#include "kernels/conv/choose/costs.h"

namespace tessera::cpu {

bool Nchw8cRegions::Bands::Find(const Window& window, size_t axis) {
  for (int64_t o = 0; o < window.output[axis]; ++o) {
    const int64_t start = o * window.strides[axis] - window.begin[axis];
    const int64_t dilation = window.dilations[axis], kernel = window.kernel[axis], size = window.input[axis];
    const int64_t first = start >= 0 ? 0 : std::min(kernel, CeilDiv(-start, dilation));
    const int64_t end = start >= size ? first : std::clamp(CeilDiv(size - start, dilation), first, kernel);
    if (count > 0 && held[count - 1].first_tap == first && held[count - 1].end_tap == end) {
      held[count - 1].end = o + 1;
      continue;
    }
    if (count == kMostBands) return false;
    held[count++] = {o, o + 1, first, end};
  }
  return true;
}

Nchw8cRegions::Nchw8cRegions(const Window& window) : window_(window), found_(window.output.num_elements() > 0) {
  for (size_t i = 0; i < kSpatialAxes; ++i) found_ = found_ && bands_[i].Find(window, i);
}

Nchw8cRegion Nchw8cRegions::at(size_t i) const {
  const size_t row = bands_[2].count;
  return {bands_[0].held[i / of_slice()], bands_[1].held[i % of_slice() / row], bands_[2].held[i % row]};
}

size_t Nchw8cRegions::InSlice(int64_t z, size_t i) const {
  size_t band = 0;
  while (bands_[0].held[band].end <= z) ++band;
  return band * of_slice() + i;
}

bool Nchw8cRegions::Pay() const {
  if (!found_) return false;
  if (bands_[0].count > 1 && bands_[1].count == 1 && bands_[2].count == 1) return true;
  const RegionLimits& limits = ConvCostsHere().regions;
  return Share(0) < (bands_[2].count == 1 ? limits.most_of_rows : limits.most);
}

double Nchw8cRegions::Share(size_t first) const {
  const int64_t fewest_columns = ConvCostsHere().regions.fewest_columns;
  double share = 1;
  for (size_t axis = first; axis < kSpatialAxes; ++axis) {
    int64_t inside = 0;
    for (const Nchw8cBand& band : std::span(bands_[axis].held).first(bands_[axis].count)) {
      inside += band.taps() * std::max(band.end - band.begin, axis + 1 == kSpatialAxes ? fewest_columns : 1);
    }
    share *= static_cast<double>(inside) / static_cast<double>(window_.kernel[axis] * window_.output[axis]);
  }
  return share;
}

}  // namespace tessera::cpu
