// JPEG through libjpeg. Its errors leave through longjmp: nothing with a destructor may be made between setjmp and them.

#include <cstdio>

#include <jpeglib.h>

#include <csetjmp>

#include "ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

struct ErrorExit {
  jpeg_error_mgr manager;
  std::jmp_buf target;
};

void Leave(j_common_ptr decoder) { std::longjmp(reinterpret_cast<ErrorExit*>(decoder->err)->target, 1); }
void Ignore(j_common_ptr, int) {}
void IgnoreMessage(j_common_ptr) {}

void ConvertCmyk(const uint8_t* in, bool inverted, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, in += 4) {
    for (int c = 0; c < 3; ++c) {
      const int color = inverted ? in[c] : 255 - in[c], black = inverted ? in[3] : 255 - in[3];
      *out++ = static_cast<uint8_t>((color * black + 127) / 255);
    }
  }
}

/// `row` has room for a row of any format.
bool Run(ImageBytes bytes, jpeg_decompress_struct* decoder, ErrorExit* errors, DecodedImage* image, std::vector<uint8_t>* row) {
  decoder->err = jpeg_std_error(&errors->manager);
  errors->manager.error_exit = Leave;
  errors->manager.emit_message = Ignore;
  errors->manager.output_message = IgnoreMessage;
  if (setjmp(errors->target) != 0) return false;
  jpeg_create_decompress(decoder);
  jpeg_mem_src(decoder, bytes.data(), static_cast<unsigned long>(bytes.size()));
  if (jpeg_read_header(decoder, TRUE) != JPEG_HEADER_OK) return false;
  const bool cmyk = decoder->num_components == 4;
  decoder->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  if (!jpeg_start_decompress(decoder)) return false;
  if (!image->Reset(decoder->output_width, decoder->output_height)) return false;
  if (cmyk) row->resize(static_cast<size_t>(decoder->output_width) * 4);
  while (decoder->output_scanline < decoder->output_height) {
    uint8_t* target = image->rgb.data() + static_cast<size_t>(decoder->output_scanline) * static_cast<size_t>(image->width) * 3;
    JSAMPROW line = cmyk ? row->data() : target;
    if (jpeg_read_scanlines(decoder, &line, 1) != 1) return false;
    if (cmyk) ConvertCmyk(line, decoder->saw_Adobe_marker, image->width, target);
  }
  return true;
}

}  // namespace

bool DecodeJpeg(ImageBytes bytes, DecodedImage& image) {
  jpeg_decompress_struct decoder{};
  ErrorExit errors{};
  std::vector<uint8_t> row;
  const bool decoded = Run(bytes, &decoder, &errors, &image, &row);
  jpeg_destroy_decompress(&decoder);
  return decoded;
}

}  // namespace tessera::cpu
