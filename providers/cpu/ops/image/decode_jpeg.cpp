// JPEG through libjpeg. Its errors leave through longjmp: nothing with a destructor may be made between setjmp and them.

#include <cstdio>  // which jpeglib.h takes size_t and FILE from, and does not include

#include <jpeglib.h>

#include <csetjmp>
#include <memory>

#include "base/cancellation.h"
#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {
namespace {

struct ErrorExit {
  jpeg_error_mgr manager;
  jpeg_progress_mgr progress;
  std::jmp_buf target;
};

void Leave(j_common_ptr decoder) { std::longjmp(reinterpret_cast<ErrorExit*>(decoder->err)->target, 1); }
struct DestroyDecoder {
  void operator()(jpeg_decompress_struct* decoder) const { jpeg_destroy_decompress(decoder); }
};
void Ignore(j_common_ptr, int) {}
/// Called row by row, also while a progressive image is read.
void LeaveIfCancelled(j_common_ptr decoder) {
  if (CancelRequested()) Leave(decoder);
}
void IgnoreMessage(j_common_ptr) {}

constexpr size_t kLineBytes = 1024;  // of one column in a decoder's lines of blocks
constexpr size_t kTables = size_t{1} << 20;

void ConvertCmyk(const uint8_t* in, bool inverted, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, in += 4) {
    for (int c = 0; c < 3; ++c) {
      const int color = inverted ? in[c] : 255 - in[c], black = inverted ? in[3] : 255 - in[3];
      *out++ = static_cast<uint8_t>((color * black + 127) / 255);
    }
  }
}

/// Coefficients that scans of the whole image fill one after another; no others are kept.
size_t CoefficientBytes(jpeg_decompress_struct* decoder) {
  if (!jpeg_has_multiple_scans(decoder)) return 0;
  size_t blocks = 0;
  for (int i = 0; i < decoder->num_components; ++i) {
    const jpeg_component_info& component = decoder->comp_info[i];
    blocks += (size_t{component.width_in_blocks} + static_cast<size_t>(component.h_samp_factor)) *
              (size_t{component.height_in_blocks} + static_cast<size_t>(component.v_samp_factor));
  }
  return blocks * sizeof(JBLOCK);
}

/// `row` has room for a row of any format.
bool Run(ImageBytes bytes, jpeg_decompress_struct* decoder, ErrorExit* errors, DecodedImage* image,
         std::vector<uint8_t>* row) {
  decoder->err = jpeg_std_error(&errors->manager);
  errors->manager.error_exit = Leave;
  errors->manager.emit_message = Ignore;
  errors->manager.output_message = IgnoreMessage;
  if (setjmp(errors->target) != 0) return false;
  jpeg_create_decompress(decoder);
  errors->progress.progress_monitor = LeaveIfCancelled;
  decoder->progress = &errors->progress;
  jpeg_mem_src(decoder, bytes.data(), static_cast<unsigned long>(bytes.size()));
  if (jpeg_read_header(decoder, TRUE) != JPEG_HEADER_OK) return false;
  const bool cmyk = decoder->num_components == 4;
  decoder->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  const size_t coefficients = CoefficientBytes(decoder), lines = static_cast<size_t>(decoder->image_width) * kLineBytes;
  if (!image->Reset(decoder->image_width, decoder->image_height, static_cast<double>(coefficients + lines + kTables)))
    return false;
  decoder->mem->max_memory_to_use = static_cast<long>(coefficients + lines + kTables);
  if (!jpeg_start_decompress(decoder)) return false;
  if (decoder->output_width != decoder->image_width || decoder->output_height != decoder->image_height) return false;
  if (cmyk) row->resize(static_cast<size_t>(decoder->output_width) * 4);
  while (decoder->output_scanline < decoder->output_height) {
    uint8_t* target =
        image->rgb.data() + static_cast<size_t>(decoder->output_scanline) * static_cast<size_t>(image->width) * 3;
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
  const std::unique_ptr<jpeg_decompress_struct, DestroyDecoder> destroyed(&decoder);
  return Run(bytes, &decoder, &errors, &image, &row);
}

}  // namespace tessera::cpu
