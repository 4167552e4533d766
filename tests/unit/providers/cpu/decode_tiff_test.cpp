// TIFF files made here, tiled ones and such with alpha or an orientation, and the pixels that they hold.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/ops/image/image_decoder.h"
#include "tessera/error.h"

namespace tessera::cpu {
namespace {

/// Not compressed; samples of `bits` in one strip, or in tiles as wide as high.
struct Tiff {
  uint32_t width, height, bits = 8, samples = 1, tile = 0, extra = 0, orientation = 1;
  std::function<uint32_t(uint32_t x, uint32_t y, uint32_t sample)> value;

  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> file = {'I', 'I', 42, 0, 0, 0, 0, 0};
    std::vector<uint32_t> offsets, counts;
    const uint32_t across = tile == 0 ? width : tile, down = tile == 0 ? height : tile;
    for (uint32_t top = 0; top < height; top += down) {
      for (uint32_t left = 0; left < width; left += across) {
        offsets.push_back(static_cast<uint32_t>(file.size()));
        for (uint32_t i = 0; i < across * down * samples; ++i) {
          const uint32_t x = left + i / samples % across, y = top + i / samples / across;
          const uint32_t number = x < width && y < height ? value(x, y, i % samples) : 0x5a5a;
          for (uint32_t byte = 0; byte < bits / 8; ++byte) file.push_back(static_cast<uint8_t>(number >> (8 * byte)));
        }
        counts.push_back(static_cast<uint32_t>(file.size()) - offsets.back());
      }
    }
    // Tags with a number each, but for lists, which follow.
    std::vector<std::array<uint32_t, 3>> tags = {
        {256, 1, width},       {257, 1, height}, {258, samples, bits}, {259, 1, 1}, {262, 1, samples < 3 ? 1u : 2u},
        {274, 1, orientation}, {277, 1, samples}};
    const auto list = [&](uint32_t tag, const std::vector<uint32_t>& numbers) {
      const auto at = static_cast<uint32_t>(file.size());
      tags.push_back({tag, static_cast<uint32_t>(numbers.size()), numbers.size() == 1 ? numbers[0] : at});
      for (const uint32_t number : numbers) Put(file, number, 4);
    };
    if (samples > 1) {
      tags[2][2] = static_cast<uint32_t>(file.size());
      for (uint32_t i = 0; i < std::max(samples, 3u); ++i) Put(file, bits, 2);
      if (samples == 2) tags[2][2] = bits | bits << 16;  // two of 16 bits fit
    }
    if (tile == 0) {
      tags.push_back({278, 1, height});
      list(273, offsets);
      list(279, counts);
    } else {
      tags.push_back({322, 1, tile});
      tags.push_back({323, 1, tile});
      list(324, offsets);
      list(325, counts);
    }
    if (extra != 0) tags.push_back({338, 1, extra});
    std::sort(tags.begin(), tags.end());
    const auto directory = static_cast<uint32_t>(file.size());
    for (int i = 0; i < 4; ++i) file[4 + static_cast<size_t>(i)] = static_cast<uint8_t>(directory >> (8 * i));
    Put(file, static_cast<uint32_t>(tags.size()), 2);
    for (const auto& [tag, count, number] : tags) {
      Put(file, tag, 2);
      Put(file, tag == 258 ? 3 : 4, 2);  // of 16 bits, or 32
      Put(file, count, 4);
      Put(file, number, 4);
    }
    Put(file, 0, 4);
    return file;
  }

  static void Put(std::vector<uint8_t>& file, uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<uint8_t>(number >> (8 * i)));
  }
};

/// `wanted`: of a pixel and a colour.
void ExpectPixels(const Tiff& tiff, int64_t width, int64_t height,
                  const std::function<uint32_t(int64_t x, int64_t y, size_t color)>& wanted) {
  DecodedImage image(HostAllocator());
  try {
    ASSERT_TRUE(DecodeTiff(tiff.Bytes(), image));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kNotImplemented) GTEST_SKIP() << error.what();
    throw;
  }
  ASSERT_EQ(image.width, width);
  ASSERT_EQ(image.height, height);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (size_t color = 0; color < 3; ++color) {
        ASSERT_EQ(image.rgb[static_cast<size_t>(3 * (y * width + x)) + color], wanted(x, y, color))
            << "column " << x << ", row " << y << ", colour " << color;
      }
    }
  }
}

TEST(DecodeTiff, AlphaIsLeftOut) {
  for (const uint32_t extra : {1u, 2u}) {  // multiplied in or not: colours are as the file has them
    const Tiff tiff{
        .width = 3, .height = 2, .samples = 4, .extra = extra, .value = [](uint32_t x, uint32_t, uint32_t sample) {
          return sample == 3 ? 128 * x % 256 : 200 - 50 * sample;
        }};
    ExpectPixels(tiff, 3, 2, [](int64_t, int64_t, size_t color) { return 200 - 50 * static_cast<uint32_t>(color); });
  }
}

TEST(DecodeTiff, TilesOfAnySize) {
  for (const uint32_t tile : {16u, 32u, 48u}) {
    for (const uint32_t samples : {1u, 2u, 3u}) {
      for (const uint32_t bits : {8u, 16u}) {
        for (const uint32_t width : {tile, tile + 5, 5u}) {
          SCOPED_TRACE(::testing::Message() << samples << " samples of " << bits << " bits, " << width << " in " << tile);
          const auto value = [](int64_t x, int64_t y, int64_t sample) {
            return static_cast<uint32_t>((x * 7 + y * 31 + sample * 5) % 256);
          };
          const Tiff tiff{.width = width,
                          .height = 19,
                          .bits = bits,
                          .samples = samples,
                          .tile = tile,
                          .extra = samples == 2 ? 2u : 0u,
                          .value = [&](uint32_t x, uint32_t y, uint32_t sample) {
                            return value(x, y, sample) * (bits == 8 ? 1 : 257);
                          }};
          ExpectPixels(tiff, width, 19, [&](int64_t x, int64_t y, size_t color) {
            return value(x, y, samples < 3 ? 0 : static_cast<int64_t>(color));
          });
        }
      }
    }
  }
}

TEST(DecodeTiff, ImagesAreUpright) {
  constexpr int64_t kWidth = 3, kHeight = 2;
  const auto value = [](int64_t x, int64_t y) { return static_cast<uint32_t>(10 * x + 50 * y + 5); };
  // Which of the file's pixels stands in column x of row y.
  const std::array<std::function<uint32_t(int64_t x, int64_t y)>, 8> upright = {
      [&](int64_t x, int64_t y) { return value(x, y); },
      [&](int64_t x, int64_t y) { return value(kWidth - 1 - x, y); },
      [&](int64_t x, int64_t y) { return value(kWidth - 1 - x, kHeight - 1 - y); },
      [&](int64_t x, int64_t y) { return value(x, kHeight - 1 - y); },
      [&](int64_t x, int64_t y) { return value(y, x); },
      [&](int64_t x, int64_t y) { return value(y, kHeight - 1 - x); },
      [&](int64_t x, int64_t y) { return value(kWidth - 1 - y, kHeight - 1 - x); },
      [&](int64_t x, int64_t y) { return value(kWidth - 1 - y, x); }};
  for (uint32_t i = 0; i < upright.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "orientation " << i + 1);
    const Tiff tiff{
        .width = kWidth, .height = kHeight, .orientation = i + 1, .value = [&](uint32_t x, uint32_t y, uint32_t) {
          return value(x, y);
        }};
    const bool turned = i >= 4;
    ExpectPixels(tiff, turned ? kHeight : kWidth, turned ? kWidth : kHeight,
                 [&](int64_t x, int64_t y, size_t) { return upright[i](x, y); });
  }
}

}  // namespace
}  // namespace tessera::cpu
