// ImageDecoder (ai.onnx 20).

#include "cpu/ops/image/image_decoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/cancellation.h"
#include "base/check.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

bool StartsWith(ImageBytes bytes, size_t offset, std::string_view magic) {
  return bytes.size() >= offset + magic.size() && std::memcmp(bytes.data() + offset, magic.data(), magic.size()) == 0;
}

bool Decode(ImageBytes bytes, DecodedImage& image) {
  using namespace std::string_view_literals;
  if (StartsWith(bytes, 0, "\xff\xd8\xff"sv)) return DecodeJpeg(bytes, image);
  if (StartsWith(bytes, 0, "\x89PNG\r\n\x1a\n"sv)) return DecodePng(bytes, image);
  if (StartsWith(bytes, 0, "BM"sv)) return DecodeBmp(bytes, image);
  if (StartsWith(bytes, 0, "RIFF"sv) && StartsWith(bytes, 8, "WEBP"sv)) return DecodeWebp(bytes, image);
  if (StartsWith(bytes, 0, "II*\0"sv) || StartsWith(bytes, 0, "MM\0*"sv) || StartsWith(bytes, 0, "II+\0"sv) ||
      StartsWith(bytes, 0, "MM\0+"sv)) {
    return DecodeTiff(bytes, image);
  }
  if (StartsWith(bytes, 0, "\0\0\0\x0cjP  \r\n\x87\n"sv) || StartsWith(bytes, 0, "\xff\x4f\xff\x51"sv))
    return DecodeJpeg2000(bytes, image);
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6') return DecodePnm(bytes, image);
  return false;
}

enum class PixelFormat : uint8_t { kRgb, kBgr, kGrayscale };

class ImageDecoder final : public Kernel {
 public:
  explicit ImageDecoder(const KernelInfo& info) {
    const auto format = info.attribute<std::string>("pixel_format", "RGB");
    Require(format == "RGB" || format == "BGR" || format == "Grayscale",
            "pixel_format is '{}'; RGB, BGR or Grayscale is expected", format);
    format_ = format == "RGB" ? PixelFormat::kRgb : format == "BGR" ? PixelFormat::kBgr : PixelFormat::kGrayscale;
  }

  void Compute(KernelContext& context) override {
    const Tensor& encoded = context.required_input(0);
    Require(encoded.is(ElementType::kUInt8) && encoded.shape().rank() == 1,
            "encoded_stream is {} of {}, a vector of uint8 is expected", encoded.shape(), ElementTypeName(encoded.type()));
    DecodedImage image(context.allocator());
    // What can not be decoded becomes an empty matrix.
    if (!Decode(encoded.values<uint8_t>(), image)) image.width = image.height = 0;
    CancellationPoint();
    const int64_t channels = format_ == PixelFormat::kGrayscale ? 1 : 3;
    Tensor* output = context.output(0, Shape{image.height, image.width, channels});
    if (output == nullptr) return;
    uint8_t* out = output->mutable_data<uint8_t>();
    const uint8_t* in = image.rgb.data();
    const int64_t pixels = image.height * image.width;
    constexpr double kPixelNs = 1;
    InCancellablePieces(0, pixels, kPixelNs, [&](int64_t begin, int64_t end) { Convert(in, begin, end, out); });
  }

 private:
  /// Pixels [begin, end).
  void Convert(const uint8_t* in, int64_t begin, int64_t end, uint8_t* out) const {
    switch (format_) {
      case PixelFormat::kRgb: std::copy(in + 3 * begin, in + 3 * end, out + 3 * begin); break;
      case PixelFormat::kBgr:
        for (int64_t i = begin; i < end; ++i) {
          out[3 * i] = in[3 * i + 2];
          out[3 * i + 1] = in[3 * i + 1];
          out[3 * i + 2] = in[3 * i];
        }
        break;
      case PixelFormat::kGrayscale:
        // ITU-R 601 luma in 16 bits of fraction.
        for (int64_t i = begin; i < end; ++i) {
          out[i] =
              static_cast<uint8_t>((in[3 * i] * 19595u + in[3 * i + 1] * 38470u + in[3 * i + 2] * 7471u + 0x8000u) >> 16);
        }
        break;
    }
  }

  PixelFormat format_;
};

}  // namespace

bool DecodedImage::Reset(int64_t new_width, int64_t new_height, double work) {
  constexpr double kMostWork = 0x1p62;
  if (new_width <= 0 || new_height <= 0 || new_width > kMostPixels / new_height) return false;
  charge.Add(static_cast<size_t>(new_width * new_height * 3) + static_cast<size_t>(std::min(work, kMostWork)));
  width = new_width;
  height = new_height;
  ResizeCancellably(rgb, static_cast<size_t>(width * height * 3));
  return true;
}

void RegisterImageDecoder(KernelRegistry& registry) {
  registry.Add(Op("ImageDecoder").Versions(20).Types(0, {ElementType::kUInt8}).Make<ImageDecoder>());
}

}  // namespace tessera::cpu
