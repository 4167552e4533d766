#pragma once

// Rows of images as convolutions read them: with padding, and where a window moves by more than one, the elements of each
// phase side by side.

#include <cstdint>
#include <span>

namespace tessera::cpu {

/// Element i of a phase is the image row's at from + phase + i * stride, 0 outside of it.
struct PhaseRows {
  int64_t in_step;   // elements between input rows
  int64_t in_width;  // elements of an input row
  int64_t from;      // the first element of phase 0, negative in the padding
  int64_t stride;
  int64_t phases;
  int64_t width;      // elements of a phase of a row
  int64_t out_step;   // elements between output rows, which adjoin
  int64_t out_phase;  // elements between phases of the output
};

/// Rows of a channel that follow each other, and where they go.
struct PhaseRun {
  int64_t in;  // kPadding: zeros
  int64_t rows, out;

  static constexpr int64_t kPadding = INT64_MIN;
};

/// Channels of adjacent images, which have the same runs.
struct PhaseImages {
  const float* in;
  float* out;
  int64_t channels, in_channel, out_channel;  // elements from one to the next
  int64_t images, in_image, out_image;

  PhaseImages One(int64_t channel, int64_t image) const {
    return {
        in + channel * in_channel + image * in_image, out + channel * out_channel + image * out_image, 1, 0, 0, 1, 0, 0};
  }
};

/// Elements that may be written behind each channel of an image: a vector.
constexpr int64_t kPhaseRowsSlack = 16;

/// A channel's images, and their runs, are written in this order: what is behind a row may be written with it, and is the
/// next ones', or slack.
void CopyPhaseRows(const PhaseRows& rows, std::span<const PhaseRun> runs, const PhaseImages& images);

/// The runs of a channel as they are found.
class PhaseRuns {
 public:
  PhaseRuns(const PhaseRows& rows, const PhaseImages& images) : rows_(rows), images_(images) {}

  void Add(int64_t in, int64_t rows, int64_t out) {
    if (rows == 0) return;
    if (count_ == kTogether) {
      if (images_.channels != 1 || images_.images != 1) many_ = true;
      Copy();
    }
    runs_[count_++] = {in, rows, out};
  }
  /// Copies the runs collected so far for all channels and images. Does nothing once `many()`: the caller then repeats
  /// channel by channel.
  void Copy() {
    if (!many_) CopyPhaseRows(rows_, std::span<const PhaseRun>(runs_, count_), images_);
    count_ = 0;
  }
  bool many() const { return many_; }

 private:
  static constexpr size_t kTogether = 64;
  const PhaseRows& rows_;
  const PhaseImages& images_;
  PhaseRun runs_[kTogether];
  size_t count_ = 0;
  bool many_ = false;
};

/// The runs that add(PhaseRuns&) finds.
template <class Add>
void CopyPhaseRuns(const PhaseRows& rows, const PhaseImages& images, const Add& add) {
  const auto copy = [&](const PhaseImages& some) {
    PhaseRuns runs(rows, some);
    add(runs);
    runs.Copy();
    return !runs.many();
  };
  if (copy(images)) return;
  for (int64_t channel = 0; channel < images.channels; ++channel) {
    for (int64_t image = 0; image < images.images; ++image) copy(images.One(channel, image));
  }
}

}  // namespace tessera::cpu
