// Images of one tile that are decoded area by area: the same pixels as the encoder was given.

#include <gtest/gtest.h>
#include <openjpeg.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>

#include "base/cancellation.h"
#include "cpu/ops/image/image_decoder.h"
#include "error_of.h"
#include "tessera/memory.h"

namespace tessera {
namespace {

struct Picture {
  uint32_t left, top, width, height, components, step;  // `step`: pixels across and down per sample of the second and third

  uint32_t StepOf(uint32_t component) const { return component == 0 ? 1 : step; }
  static uint8_t SampleAt(uint32_t component, int64_t column, int64_t row) {
    return static_cast<uint8_t>(column * 7 + row * 13 + column * row / 97 + component * 85);
  }
  uint8_t PixelAt(uint32_t component, int64_t x, int64_t y) const {
    const int64_t s = StepOf(component);
    const auto within = [s](int64_t first, int64_t i, int64_t size) {
      const int64_t begin = (first + s - 1) / s, end = (first + size + s - 1) / s;
      return std::min(begin + i / s, end - 1) - begin;
    };
    return SampleAt(component, within(left, x, width), within(top, y, height));
  }
};

OPJ_SIZE_T Append(void* from, OPJ_SIZE_T count, void* to) {
  auto& bytes = *static_cast<std::vector<uint8_t>*>(to);
  const auto* first = static_cast<uint8_t*>(from);
  bytes.insert(bytes.end(), first, first + count);
  return count;
}

/// A lossless codestream of one tile.
std::vector<uint8_t> Encoded(const Picture& picture) {
  std::vector<opj_image_cmptparm_t> parameters(picture.components);
  const uint32_t right = picture.left + picture.width, bottom = picture.top + picture.height;
  for (uint32_t c = 0; c < picture.components; ++c) {
    const uint32_t s = picture.StepOf(c);
    const auto samples = [s](uint32_t first, uint32_t end) { return (end + s - 1) / s - (first + s - 1) / s; };
    parameters[c] = {.dx = s,
                     .dy = s,
                     .w = samples(picture.left, right),
                     .h = samples(picture.top, bottom),
                     .x0 = picture.left,
                     .y0 = picture.top,
                     .prec = 8,
                     .bpp = 8,
                     .sgnd = 0};
  }
  const std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)> image(
      opj_image_create(picture.components, parameters.data(), picture.components == 3 ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_GRAY),
      opj_image_destroy);
  image->x0 = picture.left, image->y0 = picture.top, image->x1 = right, image->y1 = bottom;
  for (uint32_t c = 0; c < picture.components; ++c) {
    const opj_image_comp_t& component = image->comps[c];
    for (uint32_t i = 0; i < component.w * component.h; ++i)
      component.data[i] = Picture::SampleAt(c, i % component.w, i / component.w);
  }
  opj_cparameters_t coding;
  opj_set_default_encoder_parameters(&coding);
  coding.image_offset_x0 = static_cast<int>(picture.left), coding.image_offset_y0 = static_cast<int>(picture.top);
  std::vector<uint8_t> bytes;
  const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(opj_create_compress(OPJ_CODEC_J2K),
                                                                         opj_destroy_codec);
  const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(opj_stream_default_create(OPJ_FALSE),
                                                                            opj_stream_destroy);
  opj_stream_set_write_function(stream.get(), Append);
  opj_stream_set_user_data(stream.get(), &bytes, nullptr);
  EXPECT_TRUE(opj_setup_encoder(codec.get(), &coding, image.get()) &&
              opj_start_compress(codec.get(), image.get(), stream.get()) && opj_encode(codec.get(), stream.get()) &&
              opj_end_compress(codec.get(), stream.get()));
  return bytes;
}

class DecodeJpeg2000Test : public ::testing::TestWithParam<Picture> {};

TEST_P(DecodeJpeg2000Test, AreasJoin) {
  const Picture& picture = GetParam();
  const std::vector<uint8_t> bytes = Encoded(picture);
  cpu::DecodedImage image(HostAllocator());
  ASSERT_TRUE(cpu::DecodeJpeg2000(bytes, image));
  ASSERT_EQ(image.width, picture.width);
  ASSERT_EQ(image.height, picture.height);
  size_t wrong = 0;
  for (int64_t y = 0, i = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      for (uint32_t c = 0; c < 3; ++c, ++i)
        wrong += image.rgb[static_cast<size_t>(i)] != picture.PixelAt(picture.components == 3 ? c : 0, x, y) ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Pictures, DecodeJpeg2000Test,
                         ::testing::Values(Picture{0, 0, 1203, 1101, 3, 1}, Picture{0, 0, 1203, 1101, 1, 1},
                                           Picture{5, 3, 1203, 1101, 3, 1}, Picture{0, 0, 1203, 1101, 3, 2},
                                           Picture{5, 3, 1203, 1101, 3, 2}, Picture{1, 2, 1203, 1101, 3, 37},
                                           Picture{0, 0, 9001, 150, 1, 1}, Picture{3, 1, 9001, 150, 3, 3},
                                           Picture{0, 0, 90, 60, 3, 2}, Picture{5, 3, 90, 60, 3, 2}));

TEST(DecodeJpeg2000, StopsBetweenAreas) {
  const std::vector<uint8_t> bytes = Encoded({0, 0, 1203, 1101, 1, 1});
  const std::atomic<bool> cancelled = true;
  const StopSignal stop(&cancelled);
  const CancelScope scope(&stop);
  cpu::DecodedImage image(HostAllocator());
  EXPECT_THROW((void)cpu::DecodeJpeg2000(bytes, image), Error);
}

}  // namespace
}  // namespace tessera
