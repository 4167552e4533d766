// JPEG 2000 through OpenJPEG.

#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "cpu/ops/image/image_decoder.h"
#include "cpu/ops/image/jpeg2000_header.h"

namespace tessera::cpu {
namespace {

struct Jp2Source {
  ImageBytes bytes;
  size_t position = 0;
};

constexpr OPJ_SIZE_T kReadAtOnce = 16 << 10;

/// Between tiles the library asks for more: for a run that is cancelled the file ends.
OPJ_SIZE_T ReadJp2(void* out, OPJ_SIZE_T count, void* data) {
  auto& source = *static_cast<Jp2Source*>(data);
  if (CancelRequested() || source.position >= source.bytes.size()) return static_cast<OPJ_SIZE_T>(-1);
  const size_t n = std::min(count, source.bytes.size() - source.position);
  std::memcpy(out, source.bytes.data() + source.position, n);
  source.position += n;
  return n;
}
OPJ_OFF_T Skip(OPJ_OFF_T count, void* data) {
  auto& source = *static_cast<Jp2Source*>(data);
  if (count < 0) return -1;
  source.position =
      static_cast<size_t>(std::min<uint64_t>(source.bytes.size(), source.position + static_cast<uint64_t>(count)));
  return count;
}
OPJ_BOOL SeekJp2(OPJ_OFF_T position, void* data) {
  auto& source = *static_cast<Jp2Source*>(data);
  if (position < 0 || static_cast<uint64_t>(position) > source.bytes.size()) return OPJ_FALSE;
  source.position = static_cast<size_t>(position);
  return OPJ_TRUE;
}
void SilentJp2(const char*, void*) {}

/// Owns a handle of the library; its stream and codec handles are both void pointers, so the type can't choose.
template <auto kDestroy>
struct Jp2Closer {
  void operator()(auto* handle) const { kDestroy(handle); }
};

/// Pixels, on the file's grid.
struct Area {
  int64_t left, top, right, bottom;

  int64_t width() const { return right - left; }
  int64_t height() const { return bottom - top; }
};

/// One component's samples of an image, of which those of an area have been decoded.
class Plane {
 public:
  Plane(const opj_image_comp_t& component, const Area& image)
      : component_(component),
        left_(CeilDiv(image.left, component.dx)),
        top_(CeilDiv(image.top, component.dy)),
        right_(CeilDiv(image.right, component.dx)),
        bottom_(CeilDiv(image.bottom, component.dy)) {}

  /// The 8-bit value at a pixel, counted from the image's corner.
  uint8_t At(int64_t x, int64_t y) const {
    const int64_t column = Within(std::min(left_ + x / component_.dx, right_ - 1) - component_.x0, component_.w);
    const int64_t row = Within(std::min(top_ + y / component_.dy, bottom_ - 1) - component_.y0, component_.h);
    int64_t value = component_.data[row * component_.w + column];
    if (component_.sgnd) value += int64_t{1} << (component_.prec - 1);
    if (component_.prec > 8) value >>= component_.prec - 8;
    if (component_.prec < 8) value = value * 255 / ((int64_t{1} << component_.prec) - 1);
    return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
  }

 private:
  static int64_t Within(int64_t i, uint32_t count) { return std::clamp<int64_t>(i, 0, int64_t{count} - 1); }

  const opj_image_comp_t& component_;
  const int64_t left_, top_, right_, bottom_;
};

uint8_t Rounded(double x) { return static_cast<uint8_t>(std::clamp(std::lround(x), 0L, 255L)); }

void ToRgb(uint8_t* ycc) {
  const double luma = ycc[0], blue = ycc[1] - 128.0, red = ycc[2] - 128.0;
  ycc[0] = Rounded(luma + 1.402 * red);
  ycc[1] = Rounded(luma - 0.344136 * blue - 0.714136 * red);
  ycc[2] = Rounded(luma + 1.772 * blue);
}

using CodecHandle = std::unique_ptr<opj_codec_t, Jp2Closer<opj_destroy_codec>>;
using StreamHandle = std::unique_ptr<opj_stream_t, Jp2Closer<opj_stream_destroy>>;

StreamHandle MakeStream(Jp2Source& source) {
  StreamHandle stream(opj_stream_create(kReadAtOnce, OPJ_TRUE));
  if (stream == nullptr) return stream;
  opj_stream_set_read_function(stream.get(), ReadJp2);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_stream_set_seek_function(stream.get(), SeekJp2);
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.bytes.size());
  return stream;
}

CodecHandle MakeCodec(bool raw) {
  CodecHandle codec(opj_create_decompress(raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (codec == nullptr) return codec;
  opj_set_error_handler(codec.get(), SilentJp2, nullptr);
  opj_set_warning_handler(codec.get(), SilentJp2, nullptr);
  opj_set_info_handler(codec.get(), SilentJp2, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  return opj_setup_decoder(codec.get(), &parameters) ? std::move(codec) : nullptr;
}

bool IsSound(const opj_image_comp_t& component) {
  return component.data != nullptr && component.w > 0 && component.h > 0 && component.dx > 0 && component.dy > 0 &&
         component.prec > 0 && component.prec <= 31;
}

/// The pixels of an area of `whole`, of which `decoded` has at least these.
bool Write(const opj_image_t& decoded, const Area& whole, const Area& area, DecodedImage& image) {
  if (decoded.numcomps == 0) return false;
  const bool color = decoded.numcomps >= 3;
  std::vector<Plane> planes;
  for (OPJ_UINT32 c = 0; c < (color ? 3u : 1u); ++c) {
    if (!IsSound(decoded.comps[c])) return false;
    planes.emplace_back(decoded.comps[c], whole);
  }
  const bool ycc = color && decoded.color_space == OPJ_CLRSPC_SYCC;
  for (int64_t y = area.top - whole.top; y < area.bottom - whole.top; ++y) {
    CancellationPoint();
    uint8_t* out = image.rgb.data() + 3 * (y * image.width + area.left - whole.left);
    for (int64_t x = area.left - whole.left; x < area.right - whole.left; ++x, out += 3) {
      for (size_t c = 0; c < 3; ++c) out[c] = planes[color ? c : 0].At(x, y);
      if (ycc) ToRgb(out);
    }
  }
  return true;
}

/// The most pixels across or down that a sample of a component covers, where it covers more than one: those at an area's
/// edges are decoded, too.
int64_t Margin(const opj_image_t& image) {
  OPJ_UINT32 most = 1;
  for (OPJ_UINT32 c = 0; c < image.numcomps; ++c) most = std::max({most, image.comps[c].dx, image.comps[c].dy});
  return most == 1 ? 0 : most;
}

/// Opens the file, decodes an area of it and writes its pixels. `place`: null: of the whole image; otherwise an area,
/// counted from the image's corner.
bool DecodePart(ImageBytes bytes, const Area* place, DecodedImage& image) {
  Jp2Source source{bytes};
  const StreamHandle stream = MakeStream(source);
  const CodecHandle codec = MakeCodec(bytes[0] == 0xff);
  if (stream == nullptr || codec == nullptr) return false;
  opj_image_t* header = nullptr;
  const bool read = opj_read_header(stream.get(), codec.get(), &header);
  const std::unique_ptr<opj_image_t, Jp2Closer<opj_image_destroy>> decoded(header);
  if (!read || decoded == nullptr) return false;
  const Area whole{decoded->x0, decoded->y0, decoded->x1, decoded->y1};
  if (whole.width() != image.width || whole.height() != image.height) return false;
  if (place == nullptr) {
    return opj_decode(codec.get(), stream.get(), decoded.get()) && opj_end_decompress(codec.get(), stream.get()) &&
           Write(*decoded, whole, whole, image);
  }
  const Area area{whole.left + place->left, whole.top + place->top, whole.left + place->right, whole.top + place->bottom};
  const int64_t margin = Margin(*decoded);
  const auto coordinate = [](int64_t i) { return static_cast<OPJ_INT32>(i); };
  return opj_set_decode_area(codec.get(), decoded.get(), coordinate(std::max(area.left - margin, whole.left)),
                             coordinate(std::max(area.top - margin, whole.top)),
                             coordinate(std::min(area.right + margin, whole.right)),
                             coordinate(std::min(area.bottom + margin, whole.bottom))) &&
         opj_decode(codec.get(), stream.get(), decoded.get()) && Write(*decoded, whole, area, image);
}

}  // namespace

bool DecodeJpeg2000(ImageBytes bytes, DecodedImage& image) {
  Jpeg2000Header sizes;
  if (!ReadJpeg2000Header(bytes, sizes) || !image.Reset(sizes.width, sizes.height, sizes.work)) return false;
  // The library looks at no flag within a tile: one that takes long is decoded area by area. For each it reads the file
  // anew, of which a stranger may have made much. Rows are whole ones of its usual blocks.
  constexpr int64_t kWholePixels = int64_t{1} << 20, kAreaPixels = int64_t{1} << 19, kMostAreas = 128, kMostColumns = 8192;
  constexpr int64_t kBlock = 64;
  const int64_t pixels = image.width * image.height;
  if (!sizes.has_areas || pixels <= kWholePixels) return DecodePart(bytes, nullptr, image);
  const int64_t columns = std::min(image.width, kMostColumns);
  const int64_t rows = RoundUp(std::max(kAreaPixels, pixels / kMostAreas) / columns + 1, kBlock);
  for (int64_t top = 0; top < image.height; top += rows) {
    for (int64_t left = 0; left < image.width; left += columns) {
      CancellationPoint();
      const Area area{left, top, std::min(image.width, left + columns), std::min(image.height, top + rows)};
      if (!DecodePart(bytes, &area, image)) return false;
    }
  }
  return true;
}

}  // namespace tessera::cpu
