// TIFF through libtiff.

#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

struct TiffSource {
  ImageBytes bytes;
  uint64_t position = 0;
};

TiffSource& At(thandle_t handle) { return *static_cast<TiffSource*>(handle); }

tmsize_t ReadTiff(thandle_t handle, void* out, tmsize_t count) {
  TiffSource& source = At(handle);
  if (count <= 0 || source.position >= source.bytes.size() || CancelRequested()) return 0;
  const size_t n = std::min(static_cast<size_t>(count), source.bytes.size() - static_cast<size_t>(source.position));
  std::memcpy(out, source.bytes.data() + source.position, n);
  source.position += n;
  return static_cast<tmsize_t>(n);
}
tmsize_t Write(thandle_t, void*, tmsize_t) { return 0; }
toff_t SeekTiff(thandle_t handle, toff_t offset, int whence) {
  TiffSource& source = At(handle);
  const uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source.position : source.bytes.size();
  return source.position = base + offset;
}
int Close(thandle_t) { return 0; }
toff_t Size(thandle_t handle) { return At(handle).bytes.size(); }
int SilentTiff(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct TiffCloser {
  void operator()(TIFF* file) const { TIFFClose(file); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};
using OpenTiff = std::unique_ptr<TIFF, TiffCloser>;

/// `most` bytes in one allocation.
OpenTiff Open(TiffSource& source, size_t most) {
  source.position = 0;
  const std::unique_ptr<TIFFOpenOptions, TiffCloser> options(TIFFOpenOptionsAlloc());
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), SilentTiff, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), SilentTiff, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(most));
  return OpenTiff(
      TIFFClientOpenExt("memory", "rm", &source, ReadTiff, Write, SeekTiff, Close, Size, nullptr, nullptr, options.get()));
}

/// What a part that is decoded at once takes, of all planes.
uint64_t PartBytes(TIFF* file) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  uint16_t planes = PLANARCONFIG_CONTIG, samples = 1;
  TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &planes);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &samples);
  const uint64_t part = std::min(TIFFIsTiled(file) ? TIFFTileSize64(file) : TIFFStripSize64(file), kMost);
  return planes == PLANARCONFIG_SEPARATE ? part * std::max<uint16_t>(samples, 1) : part;
}

}  // namespace

bool DecodeTiff(ImageBytes bytes, DecodedImage& image) {
  constexpr size_t kDirectory = size_t{16} << 20;
  TiffSource source{bytes};
  OpenTiff file = Open(source, kDirectory + bytes.size());
  if (file == nullptr) return false;
  uint32_t width = 0, height = 0;
  if (!TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height))
    return false;
  const uint64_t part = PartBytes(file.get());
  // The pixels as libtiff gives them, and a part with what its codec keeps.
  const double work = static_cast<double>(sizeof(uint32_t)) * width * height + static_cast<double>(kDirectory + 4 * part);
  if (part == 0 || !image.Reset(width, height, work)) return false;
  file = Open(source, kDirectory + bytes.size() + 2 * part);
  if (file == nullptr) return false;
  std::vector<uint32_t> pixels;
  ResizeCancellably(pixels, static_cast<size_t>(width) * height);
  if (!TIFFReadRGBAImageOriented(file.get(), width, height, pixels.data(), ORIENTATION_TOPLEFT, 1)) return false;
  constexpr double kPixelNs = 2;
  InCancellablePieces(0, static_cast<int64_t>(pixels.size()), kPixelNs, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      image.rgb[3 * i] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
      image.rgb[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
      image.rgb[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
    }
  });
  return true;
}

}  // namespace tessera::cpu
