// TIFF through libtiff.

#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/rounding.h"
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

/// Colours stay as the file has them: libtiff multiplies them by alpha where they are not yet, and image formats here leave
/// alpha out.
void KeepColors(TIFF* file) {
  uint16_t count = 0, *extras = nullptr;
  TIFFGetFieldDefaulted(file, TIFFTAG_EXTRASAMPLES, &count, &extras);
  if (count == 0 || extras == nullptr || extras[0] != EXTRASAMPLE_UNASSALPHA) return;
  std::vector<uint16_t> associated(extras, extras + count);
  associated[0] = EXTRASAMPLE_ASSOCALPHA;
  TIFFSetField(file, TIFFTAG_EXTRASAMPLES, count, associated.data());
}

/// How many columns libtiff is to give. At the end of a row of tiles it skips too little of grey ones that have 16 bits or
/// alpha (4.5.0: its put16bitbwtile and putagreytile): they are read whole.
uint32_t ColumnsToRead(TIFF* file, uint32_t width) {
  uint16_t photometric = PHOTOMETRIC_RGB, bits = 1, samples = 1;
  uint32_t tile = 0;
  TIFFGetFieldDefaulted(file, TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &samples);
  const bool grey = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  if (!grey || (bits != 16 && samples == 1) || !TIFFIsTiled(file) || !TIFFGetField(file, TIFFTAG_TILEWIDTH, &tile) ||
      tile == 0)
    return width;
  const uint64_t whole = RoundUp(uint64_t{width}, uint64_t{tile});
  return whole > UINT32_MAX ? width : static_cast<uint32_t>(whole);
}

/// Where the pixels of an upright image stand among those of the file, whose rows are `stride` apart.
struct Orientation {
  Orientation(TIFF* file, uint32_t width, uint32_t height, uint32_t stride) {
    uint16_t tag = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(file, TIFFTAG_ORIENTATION, &tag);
    transposed = tag >= ORIENTATION_LEFTTOP && tag <= ORIENTATION_LEFTBOT;
    const bool from_right = tag == ORIENTATION_TOPRIGHT || tag == ORIENTATION_BOTRIGHT || tag == ORIENTATION_RIGHTBOT ||
                            tag == ORIENTATION_LEFTBOT;
    const bool from_below = tag == ORIENTATION_BOTRIGHT || tag == ORIENTATION_BOTLEFT || tag == ORIENTATION_RIGHTTOP ||
                            tag == ORIENTATION_RIGHTBOT;
    const int64_t along = from_right ? -1 : 1, down = from_below ? -int64_t{stride} : int64_t{stride};
    first = (from_right ? int64_t{width} - 1 : 0) + (from_below ? (int64_t{height} - 1) * stride : 0);
    column = transposed ? down : along;
    row = transposed ? along : down;
  }

  bool transposed;
  int64_t first, column, row;
};

/// A buffer for tiles that are not compressed. libtiff's own is of whole kilobytes, and it refuses tiles that are not
/// (4.5.0).
bool GiveBuffer(TIFF* file, uint64_t most, std::vector<uint8_t>& buffer) {
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &compression);
  if (!TIFFIsTiled(file) || compression != COMPRESSION_NONE) return true;
  const uint64_t size = TIFFTileSize64(file);
  if (size == 0 || size > most) return false;
  ResizeCancellably(buffer, static_cast<size_t>(size));
  return TIFFReadBufferSetup(file, buffer.data(), static_cast<tmsize_t>(size)) != 0;
}

void CopyUpright(const std::vector<uint32_t>& pixels, const Orientation& orientation, DecodedImage& image) {
  constexpr double kPixelNs = 2;
  InCancellablePieces(0, image.height, kPixelNs * static_cast<double>(image.width), [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      uint8_t* to = image.rgb.data() + 3 * y * image.width;
      int64_t from = orientation.first + y * orientation.row;
      for (int64_t x = 0; x < image.width; ++x, from += orientation.column, to += 3) {
        const uint32_t pixel = pixels[static_cast<size_t>(from)];
        to[0] = static_cast<uint8_t>(TIFFGetR(pixel));
        to[1] = static_cast<uint8_t>(TIFFGetG(pixel));
        to[2] = static_cast<uint8_t>(TIFFGetB(pixel));
      }
    }
  });
}

}  // namespace

bool DecodeTiff(ImageBytes bytes, DecodedImage& image) {
  constexpr size_t kDirectory = size_t{16} << 20;
  TiffSource source{bytes};
  std::vector<uint8_t> buffer;
  OpenTiff file = Open(source, kDirectory + bytes.size());
  if (file == nullptr) return false;
  uint32_t width = 0, height = 0;
  if (!TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height))
    return false;
  const uint64_t part = PartBytes(file.get());
  const uint32_t stride = ColumnsToRead(file.get(), width);
  const Orientation orientation(file.get(), width, height, stride);
  // The pixels as libtiff gives them, and a part with what its codec keeps.
  const double work = static_cast<double>(sizeof(uint32_t)) * stride * height + static_cast<double>(kDirectory + 4 * part);
  const bool turned = orientation.transposed;
  if (part == 0 || !image.Reset(turned ? height : width, turned ? width : height, work)) return false;
  file = Open(source, kDirectory + bytes.size() + 2 * part);
  if (file == nullptr) return false;
  KeepColors(file.get());
  TIFFSetField(file.get(), TIFFTAG_IMAGEWIDTH, stride);
  TIFFSetField(file.get(), TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (!GiveBuffer(file.get(), part, buffer)) return false;
  std::vector<uint32_t> pixels;
  ResizeCancellably(pixels, static_cast<size_t>(stride) * height);
  if (!TIFFReadRGBAImageOriented(file.get(), stride, height, pixels.data(), ORIENTATION_TOPLEFT, 1)) return false;
  CopyUpright(pixels, orientation, image);
  return true;
}

}  // namespace tessera::cpu
