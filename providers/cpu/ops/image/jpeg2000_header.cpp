#include "cpu/ops/image/jpeg2000_header.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::cpu {
namespace {

enum Marker : uint32_t {
  kSoc = 0xff4f,
  kSiz = 0xff51,
  kCod = 0xff52,
  kCoc = 0xff53,
  kSot = 0xff90,
  kSod = 0xff93,
  kEoc = 0xffd9
};

/// Big-endian numbers; nothing lies behind the end.
class Reader {
 public:
  explicit Reader(ImageBytes bytes) : bytes_(bytes) {}
  bool Has(size_t at, size_t count) const { return at <= bytes_.size() && count <= bytes_.size() - at; }
  uint32_t Byte(size_t at) const { return bytes_[at]; }
  uint32_t Short(size_t at) const { return Byte(at) << 8 | Byte(at + 1); }
  uint32_t Word(size_t at) const { return Short(at) << 16 | Short(at + 2); }
  size_t size() const { return bytes_.size(); }

 private:
  ImageBytes bytes_;
};

/// Where the codestream of a file in boxes begins, or a bare one.
std::optional<size_t> FindCodestream(const Reader& reader) {
  if (reader.Has(0, 2) && reader.Short(0) == kSoc) return 0;
  constexpr uint32_t kContiguous = 0x6a703263;  // "jp2c"
  for (size_t at = 0; reader.Has(at, 8);) {
    uint64_t length = reader.Word(at), header = 8;
    if (length == 1) {
      if (!reader.Has(at, 16) || reader.Word(at + 8) != 0) return std::nullopt;
      length = reader.Word(at + 12);
      header = 16;
    }
    if (reader.Word(at + 4) == kContiguous) return at + header;
    if (length < header) return std::nullopt;
    at += length;
  }
  return std::nullopt;
}

/// Sizes of an image as its SIZ segment, at `at`, has them.
struct Sizes {
  int64_t width, height, right, bottom;
  double tiles, components, samples;  // of all components
};

bool ReadSizes(const Reader& reader, size_t at, Sizes& sizes) {
  if (!reader.Has(at, 38)) return false;
  const auto word = [&](size_t i) { return int64_t{reader.Word(at + 4 + 4 * i)}; };
  const int64_t right = word(0), bottom = word(1), left = word(2), top = word(3);
  const int64_t tile_width = word(4), tile_height = word(5), tile_left = word(6), tile_top = word(7);
  const size_t components = reader.Short(at + 36);
  if (right <= left || bottom <= top || tile_width == 0 || tile_height == 0 || tile_left > left || tile_top > top)
    return false;
  if (components == 0 || !reader.Has(at + 38, 3 * components)) return false;
  sizes.right = right;
  sizes.bottom = bottom;
  sizes.width = right - left;
  sizes.height = bottom - top;
  sizes.components = static_cast<double>(components);
  sizes.tiles = std::ceil(static_cast<double>(right - tile_left) / static_cast<double>(tile_width)) *
                std::ceil(static_cast<double>(bottom - tile_top) / static_cast<double>(tile_height));
  sizes.samples = 0;
  for (size_t i = 0; i < components; ++i) {
    const double across = std::max(reader.Byte(at + 38 + 3 * i + 1), 1u),
                 down = std::max(reader.Byte(at + 38 + 3 * i + 2), 1u);
    sizes.samples +=
        std::ceil(static_cast<double>(sizes.width) / across) * std::ceil(static_cast<double>(sizes.height) / down);
  }
  return true;
}

/// How finely tiles are divided: the smallest blocks and precincts of any of them, as powers of two, and the most layers.
struct Division {
  uint32_t block_width = 16, block_height = 16, precinct_width = 15, precinct_height = 15, layers = 1, levels = 0;

  /// Parameters of COD and COC from the number of decomposition levels on; `end` is the segment's.
  bool Read(const Reader& reader, size_t at, size_t end, bool has_precincts) {
    if (!reader.Has(at, 5) || at + 5 > end) return false;
    levels = std::max(levels, reader.Byte(at));
    block_width = std::min(block_width, (reader.Byte(at + 1) & 15) + 2);
    block_height = std::min(block_height, (reader.Byte(at + 2) & 15) + 2);
    if (!has_precincts) return true;
    const size_t count = size_t{reader.Byte(at)} + 1;
    if (!reader.Has(at + 5, count) || at + 5 + count > end) return false;
    for (size_t i = 0; i < count; ++i) {
      precinct_width = std::min(precinct_width, reader.Byte(at + 5 + i) & 15);
      precinct_height = std::min(precinct_height, reader.Byte(at + 5 + i) >> 4);
    }
    return true;
  }
};

/// Segments from `at` on to the marker `last`, where it returns its place.
std::optional<size_t> ReadSegments(const Reader& reader, size_t at, uint32_t last, bool many_components,
                                   Division& division) {
  while (reader.Has(at, 2) && reader.Short(at) != last) {
    if (!reader.Has(at, 4) || reader.Short(at) < 0xff00) return std::nullopt;
    const uint32_t marker = reader.Short(at);
    const size_t begin = at + 4, end = at + 2 + reader.Short(at + 2);
    if (end < begin || end > reader.size()) return std::nullopt;
    if (marker == kCod) {
      if (!reader.Has(begin, 5)) return std::nullopt;
      division.layers = std::max(division.layers, reader.Short(begin + 2));
      if (!division.Read(reader, begin + 5, end, (reader.Byte(begin) & 1) != 0)) return std::nullopt;
    } else if (marker == kCoc) {
      const size_t style = begin + (many_components ? 2 : 1);
      if (!reader.Has(style, 1) || !division.Read(reader, style + 1, end, (reader.Byte(style) & 1) != 0))
        return std::nullopt;
    }
    at = end;
  }
  return reader.Has(at, 2) ? std::optional(at) : std::nullopt;
}

double WorkOf(const Sizes& sizes, const Division& division) {
  constexpr double kTile = 6144, kTileComponent = 1152, kBlock = 768, kPrecinct = 384, kSample = 12;
  const auto halved = [](uint32_t power) {
    return power == 0 ? 0u : power - 1;
  };  // a precinct lies in three bands of half its size
  const uint32_t width = halved(division.precinct_width), height = halved(division.precinct_height);
  const double precinct = std::exp2(width + height);
  const double block = std::exp2(std::min(division.block_width, width) + std::min(division.block_height, height));
  const double precincts = sizes.samples / precinct + sizes.components;
  return sizes.tiles * (kTile + sizes.components * kTileComponent) +
         sizes.samples * (kSample + kBlock / block + kPrecinct / precinct) +
         2.0 * division.layers * (division.levels + 1) * precincts;
}

}  // namespace

bool ReadJpeg2000Header(ImageBytes bytes, Jpeg2000Header& header) {
  const Reader reader(bytes);
  const std::optional<size_t> start = FindCodestream(reader);
  if (!start || !reader.Has(*start, 4) || reader.Short(*start) != kSoc || reader.Short(*start + 2) != kSiz) return false;
  Sizes sizes{};
  if (!ReadSizes(reader, *start + 4, sizes)) return false;
  Division division;
  const bool many_components = sizes.components > 256;
  std::optional<size_t> at = ReadSegments(reader, *start + 2, kSot, many_components, division);
  // Parts of tiles may divide them anew. The last one may say no length, and a file may end before it does.
  while (at && reader.Has(*at, 12) && reader.Short(*at) == kSot) {
    const size_t length = reader.Word(*at + 6);
    if (!ReadSegments(reader, *at + 12, kSod, many_components, division)) return false;
    if (length == 0 || !reader.Has(*at, length)) break;
    if (length < 14) return false;
    at = *at + length;
    if (reader.Has(*at, 2) && reader.Short(*at) != kSot && reader.Short(*at) != kEoc) return false;
  }
  if (!at) return false;
  constexpr int64_t kFarthest = std::numeric_limits<int32_t>::max();
  const bool has_areas = sizes.tiles == 1 && sizes.right <= kFarthest && sizes.bottom <= kFarthest;
  header = {sizes.width, sizes.height, WorkOf(sizes, division), has_areas};
  return true;
}

}  // namespace tessera::cpu
