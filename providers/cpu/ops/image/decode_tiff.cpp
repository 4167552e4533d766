// TIFF through libtiff.

#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

struct TiffSource {
  ImageBytes bytes;
  uint64_t position = 0;
};

TiffSource& At(thandle_t handle) { return *static_cast<TiffSource*>(handle); }

tmsize_t ReadTiff(thandle_t handle, void* out, tmsize_t count) {
  TiffSource& source = At(handle);
  if (count <= 0 || source.position >= source.bytes.size()) return 0;
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

}  // namespace

bool DecodeTiff(ImageBytes bytes, DecodedImage& image) {
  TiffSource source{bytes};
  const std::unique_ptr<TIFFOpenOptions, TiffCloser> options(TIFFOpenOptionsAlloc());
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), SilentTiff, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), SilentTiff, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tmsize_t{1} << 31);
  const std::unique_ptr<TIFF, TiffCloser> file(
      TIFFClientOpenExt("memory", "rm", &source, ReadTiff, Write, SeekTiff, Close, Size, nullptr, nullptr, options.get()));
  if (file == nullptr) return false;
  uint32_t width = 0, height = 0;
  if (!TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height)) return false;
  if (!image.Reset(width, height)) return false;
  std::vector<uint32_t> pixels(static_cast<size_t>(width) * height);
  if (!TIFFReadRGBAImageOriented(file.get(), width, height, pixels.data(), ORIENTATION_TOPLEFT, 1)) return false;
  for (size_t i = 0; i < pixels.size(); ++i) {
    image.rgb[3 * i] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
    image.rgb[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
    image.rgb[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
  }
  return true;
}

}  // namespace tessera::cpu
