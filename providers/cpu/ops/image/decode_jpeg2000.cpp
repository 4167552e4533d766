// JPEG 2000 through OpenJPEG.

#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/cancellation.h"
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

/// The 8-bit value of a component at a pixel of the image.
uint8_t Sample(const opj_image_comp_t& component, int64_t x, int64_t y) {
  const int64_t column = std::min<int64_t>(x / component.dx, static_cast<int64_t>(component.w) - 1);
  const int64_t row = std::min<int64_t>(y / component.dy, static_cast<int64_t>(component.h) - 1);
  int64_t value = component.data[row * component.w + column];
  if (component.sgnd) value += int64_t{1} << (component.prec - 1);
  if (component.prec > 8) value >>= component.prec - 8;
  if (component.prec < 8) value = value * 255 / ((int64_t{1} << component.prec) - 1);
  return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
}

uint8_t Rounded(double x) { return static_cast<uint8_t>(std::clamp(std::lround(x), 0L, 255L)); }

}  // namespace

bool DecodeJpeg2000(ImageBytes bytes, DecodedImage& image) {
  Jpeg2000Header sizes;
  if (!ReadJpeg2000Header(bytes, sizes) || !image.Reset(sizes.width, sizes.height, sizes.work)) return false;
  Jp2Source source{bytes};
  const std::unique_ptr<opj_stream_t, Jp2Closer<opj_stream_destroy>> stream(opj_stream_create(kReadAtOnce, OPJ_TRUE));
  const bool raw = bytes[0] == 0xff;
  const std::unique_ptr<opj_codec_t, Jp2Closer<opj_destroy_codec>> codec(
      opj_create_decompress(raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (stream == nullptr || codec == nullptr) return false;
  opj_stream_set_read_function(stream.get(), ReadJp2);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_stream_set_seek_function(stream.get(), SeekJp2);
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_set_error_handler(codec.get(), SilentJp2, nullptr);
  opj_set_warning_handler(codec.get(), SilentJp2, nullptr);
  opj_set_info_handler(codec.get(), SilentJp2, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) || !opj_read_header(stream.get(), codec.get(), &header)) {
    if (header != nullptr) opj_image_destroy(header);
    return false;
  }
  const std::unique_ptr<opj_image_t, Jp2Closer<opj_image_destroy>> decoded(header);
  const int64_t width = int64_t{decoded->x1} - decoded->x0, height = int64_t{decoded->y1} - decoded->y0;
  if (width != sizes.width || height != sizes.height) return false;
  if (!opj_decode(codec.get(), stream.get(), decoded.get()) || !opj_end_decompress(codec.get(), stream.get())) return false;
  if (decoded->numcomps == 0) return false;
  const bool color = decoded->numcomps >= 3;
  for (OPJ_UINT32 c = 0; c < (color ? 3u : 1u); ++c) {
    const opj_image_comp_t& component = decoded->comps[c];
    if (component.data == nullptr || component.w == 0 || component.h == 0 || component.dx == 0 || component.dy == 0 ||
        component.prec == 0 || component.prec > 31) {
      return false;
    }
  }
  const bool ycc = color && decoded->color_space == OPJ_CLRSPC_SYCC;
  uint8_t* out = image.rgb.data();
  for (int64_t y = 0; y < height; ++y) {
    CancellationPoint();
    for (int64_t x = 0; x < width; ++x, out += 3) {
      for (int c = 0; c < 3; ++c) out[c] = Sample(decoded->comps[color ? c : 0], x, y);
      if (ycc) {
        const double luma = out[0], blue = out[1] - 128.0, red = out[2] - 128.0;
        out[0] = Rounded(luma + 1.402 * red);
        out[1] = Rounded(luma - 0.344136 * blue - 0.714136 * red);
        out[2] = Rounded(luma + 1.772 * blue);
      }
    }
  }
  return true;
}

}  // namespace tessera::cpu
