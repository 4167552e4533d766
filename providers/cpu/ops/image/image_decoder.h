#pragma once

// Formats that ImageDecoder reads. Every function returns false for what it can not decode, whatever the bytes are.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cpu {

/// 8-bit RGB, rows from the top.
struct DecodedImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;

  /// Sets the size and makes room; false when the size is not sensible.
  bool Reset(int64_t new_width, int64_t new_height);
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
