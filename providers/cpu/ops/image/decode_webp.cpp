// WebP through libwebp.

#include <webp/decode.h>

#include <algorithm>
#include <memory>

#include "base/cancellation.h"
#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

struct DeleteDecoder {
  void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};

/// Bytes that are decoded in some milliseconds, where they are spread evenly over the pixels.
size_t PieceOf(size_t bytes, size_t pixels) {
  constexpr size_t kMostPixels = size_t{1} << 20, kMost = size_t{32} << 10, kLeast = 64;
  return std::clamp(bytes / (pixels / kMostPixels + 1), kLeast, kMost);
}

/// What a lossless image has before its pixels is decoded from the start each time that more of it comes.
bool HasRows(const WebPIDecoder& decoder) {
  int rows = 0;
  return WebPIDecGetRGB(&decoder, &rows, nullptr, nullptr, nullptr) != nullptr && rows > 0;
}

}  // namespace

bool DecodeWebp(ImageBytes bytes, DecodedImage& image) {
  int width = 0, height = 0;
  constexpr double kPixel = 8, kTables = 0x1p20;  // of a lossless image: its colours, and how they are coded
  if (!WebPGetInfo(bytes.data(), bytes.size(), &width, &height)) return false;
  if (!image.Reset(width, height, kPixel * width * height + kTables)) return false;
  const std::unique_ptr<WebPIDecoder, DeleteDecoder> decoder(
      WebPINewRGB(MODE_RGB, image.rgb.data(), image.rgb.size(), width * 3));
  if (decoder == nullptr) return false;
  const size_t piece = PieceOf(bytes.size(), static_cast<size_t>(width) * static_cast<size_t>(height));
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (size_t given = 0; status == VP8_STATUS_SUSPENDED && given < bytes.size();) {
    CancellationPoint();
    given = std::min(bytes.size(), given + (HasRows(*decoder) ? piece : std::max(piece, given)));
    status = WebPIUpdate(decoder.get(), bytes.data(), given);
  }
  return status == VP8_STATUS_OK;
}

}  // namespace tessera::cpu
