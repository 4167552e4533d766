// PNG through libpng.

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <memory>

#include "base/cancellation.h"
#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

struct PngSource {
  ImageBytes bytes;
  size_t position = 0;
};

void ReadPng(png_structp png, png_bytep out, size_t count) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->position) png_error(png, "end of data");
  std::copy_n(source->bytes.data() + source->position, count, out);
  source->position += count;
}

struct DestroyPng {
  void operator()(png_structp png) const { png_destroy_read_struct(&png, nullptr, nullptr); }
};
struct DestroyPngInfo {
  png_structp png = nullptr;
  void operator()(png_infop info) const { png_destroy_info_struct(png, &info); }
};

constexpr size_t kPngLineBytes = 64;  // of one column in a decoder's lines

void LeavePng(png_structp png, png_const_charp) { png_longjmp(png, 1); }
void IgnorePng(png_structp, png_const_charp) {}
void LeaveIfCancelled(png_structp png, png_uint_32, int) {
  if (CancelRequested()) png_longjmp(png, 1);
}

/// Nothing with a destructor may be made between setjmp and an error.
bool RunPng(png_structp png, png_infop info, PngSource* source, DecodedImage* image, std::vector<png_bytep>* rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, source, ReadPng);
  png_set_read_status_fn(png, LeaveIfCancelled);
  // Texts and profiles may be packed a thousand times; pixels are what is asked for.
  static const png_byte kUnread[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0eXIf";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kUnread, sizeof(kUnread) / 5);
  png_read_info(png, info);
  png_uint_32 width = 0, height = 0;
  int depth = 0, color = 0;
  png_get_IHDR(png, info, &width, &height, &depth, &color, nullptr, nullptr, nullptr);
  if (depth == 16) png_set_strip_16(png);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if ((color & PNG_COLOR_MASK_COLOR) == 0) {
    if (depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    png_set_gray_to_rgb(png);
  }
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const double work = static_cast<double>(size_t{height} * sizeof(png_bytep) + size_t{width} * kPngLineBytes);
  if (!image->Reset(width, height, work) || png_get_rowbytes(png, info) != static_cast<size_t>(width) * 3) return false;
  rows->resize(height);
  for (size_t y = 0; y < rows->size(); ++y) (*rows)[y] = image->rgb.data() + y * static_cast<size_t>(width) * 3;
  png_read_image(png, rows->data());
  return true;
}

}  // namespace

bool DecodePng(ImageBytes bytes, DecodedImage& image) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, LeavePng, IgnorePng);
  if (png == nullptr) return false;
  const std::unique_ptr<png_struct, DestroyPng> destroyed(png);
  png_infop info = png_create_info_struct(png);
  const std::unique_ptr<png_info, DestroyPngInfo> destroyed_info(info, {png});
  PngSource source{bytes};
  std::vector<png_bytep> rows;
  return info != nullptr && RunPng(png, info, &source, &image, &rows);
}

}  // namespace tessera::cpu
