// WebP through libwebp.

#include <webp/decode.h>

#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {

bool DecodeWebp(ImageBytes bytes, DecodedImage& image) {
  int width = 0, height = 0;
  constexpr double kPixel = 8, kTables = 0x1p20;  // of a lossless image: its colours, and how they are coded
  if (!WebPGetInfo(bytes.data(), bytes.size(), &width, &height)) return false;
  if (!image.Reset(width, height, kPixel * width * height + kTables)) return false;
  return WebPDecodeRGBInto(bytes.data(), bytes.size(), image.rgb.data(), image.rgb.size(), width * 3) != nullptr;
}

}  // namespace tessera::cpu
