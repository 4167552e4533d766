// BMP and the portable bitmaps (PBM, PGM, PPM; text and binary), read here. The library at hand, stb_image, reads neither
// run-length coded BMPs nor bilevel and text bitmaps: most of this would stay.

#include <algorithm>
#include <bit>
#include <limits>

#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

uint32_t Little16(ImageBytes bytes, size_t at) { return bytes[at] | uint32_t{bytes[at + 1]} << 8; }
uint32_t Little32(ImageBytes bytes, size_t at) { return Little16(bytes, at) | Little16(bytes, at + 2) << 16; }

/// What the headers of a BMP say.
struct BmpHeader {
  int64_t width, height;
  bool top_down;
  uint32_t bits;
  uint32_t compression;  // 0 none, 1 RLE8, 2 RLE4, 3 and 6 bit fields
  size_t data;
  size_t palette;        // offset
  size_t palette_entry;  // bytes
  size_t palette_size;
  uint32_t masks[3];
};

bool ReadHeader(ImageBytes bytes, BmpHeader& header) {
  if (bytes.size() < 26) return false;
  header.data = Little32(bytes, 10);
  const size_t size = Little32(bytes, 14);
  header.compression = 0;
  uint32_t colors = 0;
  if (size == 12) {
    header.width = Little16(bytes, 18);
    header.height = Little16(bytes, 20);
    header.top_down = false;
    header.bits = Little16(bytes, 24);
    header.palette_entry = 3;
  } else {
    if (size < 40 || size > bytes.size() - 14 || bytes.size() < 54) return false;
    header.width = static_cast<int32_t>(Little32(bytes, 18));
    const int64_t height = static_cast<int32_t>(Little32(bytes, 22));
    header.top_down = height < 0;
    header.height = height < 0 ? -height : height;
    header.bits = Little16(bytes, 28);
    header.compression = Little32(bytes, 30);
    colors = Little32(bytes, 46);
    header.palette_entry = 4;
  }
  header.masks[0] = header.bits == 16 ? 0x7c00 : 0xff0000;
  header.masks[1] = header.bits == 16 ? 0x03e0 : 0x00ff00;
  header.masks[2] = header.bits == 16 ? 0x001f : 0x0000ff;
  header.palette = 14 + size;
  if (header.compression == 3 || header.compression == 6) {
    if (bytes.size() < 66 || (header.bits != 16 && header.bits != 32)) return false;
    for (size_t i = 0; i < 3; ++i) header.masks[i] = Little32(bytes, 54 + 4 * i);
    if (size == 40) header.palette += 12;
  } else if (header.compression > 2) {
    return false;
  }
  header.palette_size = 0;
  if (header.bits <= 8) {
    header.palette_size = colors == 0 || colors > 256 ? size_t{1} << header.bits : colors;
    if (header.palette + header.palette_size * header.palette_entry > bytes.size()) return false;
  }
  const bool known = header.bits == 1 || header.bits == 4 || header.bits == 8 || header.bits == 16 || header.bits == 24 ||
                     header.bits == 32;
  return known && header.data <= bytes.size();
}

uint8_t Masked(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t top = mask >> shift;
  return static_cast<uint8_t>((uint64_t{(pixel & mask) >> shift} * 255 + top / 2) / top);
}

/// Palette indices of a run-length coded image, rows as stored.
bool Unpack(ImageBytes bytes, const BmpHeader& header, std::vector<uint8_t>& indices) {
  ResizeCancellably(indices, static_cast<size_t>(header.width * header.height));
  const bool nibbles = header.compression == 2;
  int64_t x = 0, y = 0;
  size_t at = header.data;
  const auto put = [&](uint32_t index) {
    if (x < header.width && y < header.height)
      indices[static_cast<size_t>(y * header.width + x)] = static_cast<uint8_t>(index);
    ++x;
  };
  PacedCancellationPoint point(100);
  while (at + 2 <= bytes.size() && y < header.height) {
    point.Pass();
    const uint32_t count = bytes[at], value = bytes[at + 1];
    at += 2;
    if (count > 0) {
      for (uint32_t i = 0; i < count; ++i) put(!nibbles ? value : i % 2 == 0 ? value >> 4 : value & 15);
    } else if (value == 0) {
      x = 0;
      ++y;
    } else if (value == 1) {
      break;
    } else if (value == 2) {
      if (at + 2 > bytes.size()) return false;
      x += bytes[at];
      y += bytes[at + 1];
      at += 2;
    } else {
      const size_t length = nibbles ? (value + 1) / 2 : value;
      if (length > bytes.size() - at) return false;
      for (uint32_t i = 0; i < value; ++i) {
        put(!nibbles ? bytes[at + i] : i % 2 == 0 ? bytes[at + i / 2] >> 4 : bytes[at + i / 2] & 15);
      }
      at += (length + 1) / 2 * 2;
    }
  }
  return true;
}

/// Numbers and samples of a portable bitmap.
class PnmReader {
 public:
  explicit PnmReader(ImageBytes bytes) : bytes_(bytes) {}

  /// The next decimal number; -1 when there is none.
  int64_t Number() {
    SkipSpace();
    int64_t value = -1;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      value = std::max<int64_t>(value, 0) * 10 + (bytes_[at_++] - '0');
      if (value > std::numeric_limits<int32_t>::max()) return -1;
    }
    return value;
  }
  /// The next 0 or 1, which need not be followed by space.
  int64_t Bit() {
    SkipSpace();
    if (at_ >= bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1')) return -1;
    return bytes_[at_++] - '0';
  }
  void Advance(size_t count) { at_ = std::min(bytes_.size(), at_ + count); }
  ImageBytes rest() const { return bytes_.subspan(at_); }

 private:
  void SkipSpace() {
    while (at_ < bytes_.size()) {
      const uint8_t c = bytes_[at_];
      if (c == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
      } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
        ++at_;
      } else {
        break;
      }
    }
  }

  ImageBytes bytes_;
  size_t at_ = 2;
};

}  // namespace

bool DecodeBmp(ImageBytes bytes, DecodedImage& image) {
  BmpHeader header{};
  if (!ReadHeader(bytes, header)) return false;
  const bool packed = header.compression == 1 || header.compression == 2;
  const double indices_bytes = packed ? static_cast<double>(header.width) * static_cast<double>(header.height) : 0;
  if (!image.Reset(header.width, header.height, indices_bytes)) return false;
  if (packed && header.bits != (header.compression == 1 ? 8u : 4u)) return false;
  const size_t stride = static_cast<size_t>((header.width * header.bits + 31) / 32 * 4);
  std::vector<uint8_t> indices;
  if (packed) {
    if (!Unpack(bytes, header, indices)) return false;
  } else if (stride * static_cast<size_t>(header.height) > bytes.size() - header.data + 3) {
    return false;
  }
  const auto byte = [&](size_t at) { return at < bytes.size() ? bytes[at] : uint8_t{0}; };
  constexpr double kPixelNs = 3;
  PacedCancellationPoint point(kPixelNs);
  for (int64_t y = 0; y < header.height; ++y) {
    point.Pass(header.width);
    uint8_t* out = image.rgb.data() +
                   static_cast<size_t>(header.top_down ? y : header.height - 1 - y) * static_cast<size_t>(header.width) * 3;
    const size_t row = header.data + static_cast<size_t>(y) * stride;
    for (int64_t i = 0; i < header.width; ++i, out += 3) {
      const auto x = static_cast<size_t>(i);
      if (header.bits <= 8) {
        uint32_t index;
        if (packed) {
          index = indices[static_cast<size_t>(y * header.width + i)];
        } else {
          const size_t bit = x * header.bits;
          index = (byte(row + bit / 8) >> (8 - header.bits - bit % 8)) & ((1u << header.bits) - 1);
        }
        if (index >= header.palette_size) index = 0;
        const size_t color = header.palette + index * header.palette_entry;
        for (size_t c = 0; c < 3; ++c) out[c] = byte(color + 2 - c);
      } else if (header.bits == 24) {
        for (size_t c = 0; c < 3; ++c) out[c] = byte(row + x * 3 + 2 - c);
      } else {
        uint32_t pixel = 0;
        for (size_t c = 0; c < header.bits / 8; ++c) pixel |= uint32_t{byte(row + x * (header.bits / 8) + c)} << (8 * c);
        for (size_t c = 0; c < 3; ++c) out[c] = Masked(pixel, header.masks[c]);
      }
    }
  }
  return true;
}

bool DecodePnm(ImageBytes bytes, DecodedImage& image) {
  const int kind = bytes[1] - '0';
  const bool text = kind <= 3, bitmap = kind == 1 || kind == 4, color = kind == 3 || kind == 6;
  PnmReader reader(bytes);
  const int64_t width = reader.Number(), height = reader.Number();
  const int64_t top = bitmap ? 1 : reader.Number();
  if (width <= 0 || height <= 0 || top <= 0 || top > 65535) return false;
  const int64_t samples = color ? 3 : 1;
  reader.Advance(text ? 0 : 1);
  const ImageBytes data = reader.rest();
  const size_t sample_size = top > 255 ? 2 : 1;
  const size_t row_size =
      bitmap ? static_cast<size_t>((width + 7) / 8) : static_cast<size_t>(width * samples) * sample_size;
  // A text sample takes a byte at least: a short file can not claim a large image.
  const size_t least = text ? static_cast<size_t>(width * samples) : row_size;
  if (least > data.size() || static_cast<size_t>(height) > data.size() / least) return false;
  if (!image.Reset(width, height)) return false;
  uint8_t* out = image.rgb.data();
  constexpr double kPixelNs = 10;
  PacedCancellationPoint point(kPixelNs);
  for (int64_t y = 0; y < height; ++y) {
    point.Pass(width);
    for (int64_t x = 0; x < width; ++x, out += 3) {
      for (int64_t c = 0; c < samples; ++c) {
        int64_t value;
        if (text) {
          value = bitmap ? reader.Bit() : reader.Number();
          if (value < 0) return false;
        } else if (bitmap) {
          value = data[static_cast<size_t>(y) * row_size + static_cast<size_t>(x / 8)] >> (7 - x % 8) & 1;
        } else {
          const size_t at = static_cast<size_t>(y) * row_size + static_cast<size_t>(x * samples + c) * sample_size;
          value = sample_size == 2 ? data[at] << 8 | data[at + 1] : data[at];
        }
        value = std::min(value, top);
        if (bitmap) value = 1 - value;
        out[c] = static_cast<uint8_t>(top == 255 ? value : (value * 255 + top / 2) / top);
      }
      if (samples == 1) out[1] = out[2] = out[0];
    }
  }
  return true;
}

}  // namespace tessera::cpu
