#include "kernels/conv/nchw/phase_planes.h"

#include <algorithm>

#include "base/checked.h"

namespace tessera::cpu {

bool PhasePlanes::Fits(const Window& window) {
  if (window.rank() > kAxes || window.output.num_elements() == 0) return false;
  constexpr double kMostElements = 1 << 30;
  double elements = 1;
  for (size_t i = 0; i < window.rank(); ++i) {
    if (std::min(window.strides[i], window.extent(i)) > kMostPhases) return false;
    elements *= static_cast<double>(window.output[i]) + static_cast<double>((window.extent(i) - 1) / window.strides[i]);
  }
  return elements <= kMostElements;
}

PhasePlanes::PhasePlanes(const Window& window) : window_(window), in_place_(true), size_{}, phases_{}, inside_{} {
  for (size_t i = 0; i < kAxes; ++i) {
    const int64_t stride = window.strides[i];
    phases_[i] = std::min(stride, window.extent(i));
    size_[i] = CheckedAdd(window.output[i], (window.extent(i) - 1) / stride);
    in_place_ = in_place_ && stride == 1 && window.begin[i] == 0 && size_[i] == window.input[i];
    for (int64_t phase = 0; phase < phases_[i]; ++phase) {
      inside_[i][static_cast<size_t>(phase)] = InsideOfPhase(window.input[i], window.begin[i], stride, phase, size_[i]);
    }
  }
}

int64_t PhasePlanes::Together(int64_t channels, int64_t images) const {
  constexpr int64_t kNearBytes = 256 << 10;
  if (in_place_) return 1;
  const int64_t image = CheckedMul(CheckedMul(channels, planes()), plane()) * int64_t{sizeof(float)};
  return std::clamp<int64_t>(kNearBytes / std::max<int64_t>(image, 1), 1, images);
}

int64_t PhasePlanes::run() const {
  return (window_.output[0] - 1) * slice() + (window_.output[1] - 1) * row() + window_.output[2];
}

PhasePlanes::Tap PhasePlanes::tap(const std::array<int64_t, kAxes>& at) const {
  Tap tap{0, 0};
  for (size_t i = 0; i < kAxes; ++i) {
    const int64_t position = at[i] * window_.dilations[i];
    tap.plane = tap.plane * phases_[i] + position % window_.strides[i];
    tap.element = tap.element * size_[i] + position / window_.strides[i];
  }
  return tap;
}

void PhasePlanes::AddRuns(int64_t z, int64_t y, int64_t out, PhaseRuns& runs) const {
  constexpr int64_t kPadding = PhaseRun::kPadding;
  const Window& w = window_;
  const PhaseSpan &slices = inside_[0][static_cast<size_t>(z)], &rows = inside_[1][static_cast<size_t>(y)];
  runs.Add(kPadding, slices.first * size_[1], out);
  for (int64_t i = slices.first; i < slices.end; ++i) {
    const int64_t to = out + i * slice(), from = slices.from + (i - slices.first) * w.strides[0];
    runs.Add(kPadding, rows.first, to);
    runs.Add((from * w.input[1] + rows.from) * w.input[2], rows.end - rows.first, to + rows.first * row());
    runs.Add(kPadding, size_[1] - rows.end, to + rows.end * row());
  }
  runs.Add(kPadding, (size_[0] - slices.end) * size_[1], out + slices.end * slice());
}

void PhasePlanes::LayOut(const PhaseImages& images, int64_t plane_step) const {
  const Window& w = window_;
  const PhaseRows rows{.in_step = w.strides[1] * w.input[2],
                       .in_width = w.input[2],
                       .from = -w.begin[2],
                       .stride = w.strides[2],
                       .phases = phases_[2],
                       .width = row(),
                       .out_step = row(),
                       .out_phase = plane_step};
  CopyPhaseRuns(rows, images, [&](PhaseRuns& runs) {
    int64_t out = 0;
    for (int64_t z = 0; z < phases_[0]; ++z) {
      for (int64_t y = 0; y < phases_[1]; ++y, out += phases_[2] * plane_step) AddRuns(z, y, out, runs);
    }
  });
}

}  // namespace tessera::cpu
