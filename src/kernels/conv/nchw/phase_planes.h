#pragma once

// Images as implicit GEMMs read them: with padding, and where a window moves by more than one, the elements that meet the
// same taps as planes of their own (phases), so that neighbours of an output pixel are neighbours everywhere.

#include <array>
#include <cstdint>

#include "kernels/conv/nchw/phase_rows.h"
#include "kernels/conv/nchw/phase_span.h"
#include "ops/nn/window.h"

namespace tessera::cpu {

class PhasePlanes {
 public:
  static constexpr size_t kAxes = 3;
  static constexpr int64_t kMostPhases = 8;  // of an axis

  /// Whether each axis of a window, of at most kAxes, has so few phases, and planes are of a size that memory may have.
  static bool Fits(const Window& window);

  /// `window`, which fits, has kAxes axes, and an output.
  explicit PhasePlanes(const Window& window);

  /// Whether images lie so already, one at a time.
  bool in_place() const { return in_place_; }
  int64_t planes() const { return phases_[0] * phases_[1] * phases_[2]; }
  /// Elements of a plane.
  int64_t plane() const { return size_[0] * size_[1] * size_[2]; }
  /// Elements from output row to output row, and from slice to slice, in a plane.
  int64_t row() const { return size_[2]; }
  int64_t slice() const { return size_[1] * size_[2]; }
  /// Rows of a plane.
  int64_t rows() const { return size_[0] * size_[1]; }
  /// Of so many images those that are laid out together: they stay in the second cache.
  int64_t Together(int64_t channels, int64_t images) const;
  /// From an image's first output pixel to behind its last.
  int64_t run() const;
  /// Of the tap: its phase's plane, and the element that the first output pixel reads there.
  struct Tap {
    int64_t plane, element;
  };
  Tap tap(const std::array<int64_t, kAxes>& at) const;

  /// Planes of a phase are those of all images, one after the other, and slack that may be written. They are `plane_step`
  /// elements apart from phase to phase.
  void LayOut(const PhaseImages& images, int64_t plane_step) const;

 private:
  /// Slices and rows of these phases, and all of the last axis.
  void AddRuns(int64_t z, int64_t y, int64_t out, PhaseRuns& runs) const;

  Window window_;
  bool in_place_;
  std::array<int64_t, kAxes> size_, phases_;
  std::array<std::array<PhaseSpan, kMostPhases>, kAxes> inside_;
};

}  // namespace tessera::cpu
