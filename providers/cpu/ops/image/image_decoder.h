#pragma once

// Formats that ImageDecoder reads. Every function returns false for what it can not decode, whatever the bytes are. What a
// few bytes say of their image's size is counted against the run's memory before a decoder starts. Those whose library the
// build was configured without throw Error(kNotImplemented) that says so.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "tessera/memory.h"

namespace tessera::cpu {

/// Elements of value 0, piece by piece with cancellation points: a few bytes may ask for a large image.
template <class T>
void ResizeCancellably(std::vector<T>& elements, size_t count) {
  constexpr size_t kPiece = size_t{1} << 20;
  elements.clear();
  elements.reserve(count);
  while (elements.size() < count) {
    CancellationPoint();
    elements.resize(std::min(count, elements.size() + kPiece));
  }
}

/// 8-bit RGB, rows from the top.
struct DecodedImage {
  explicit DecodedImage(Allocator& memory) : charge(memory) {}

  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;
  MemoryCharge charge;

  /// Sets the size and makes room; false when the size is not sensible. Throws Error where the run has no memory for it and
  /// for the `work` bytes that the decoder takes beside these pixels.
  bool Reset(int64_t new_width, int64_t new_height, double work = 0);
};

using ImageBytes = std::span<const uint8_t>;

bool DecodeJpeg(ImageBytes bytes, DecodedImage& image);
bool DecodePng(ImageBytes bytes, DecodedImage& image);
bool DecodeTiff(ImageBytes bytes, DecodedImage& image);
bool DecodeWebp(ImageBytes bytes, DecodedImage& image);
bool DecodeJpeg2000(ImageBytes bytes, DecodedImage& image);
bool DecodeBmp(ImageBytes bytes, DecodedImage& image);
bool DecodePnm(ImageBytes bytes, DecodedImage& image);

}  // namespace tessera::cpu
