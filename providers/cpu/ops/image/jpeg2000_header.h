#pragma once

// What the headers of a JPEG 2000 file say of the memory that decoding it takes: OpenJPEG has no limit of its own, and
// takes some of it while it reads them.

#include <cstdint>

#include "cpu/ops/image/image_decoder.h"

namespace tessera::cpu {

struct Jpeg2000Header {
  int64_t width = 0, height = 0;
  double work = 0;         // bytes, at most, beside the image's own
  bool has_areas = false;  // one tile, all of it where OpenJPEG's coordinates of areas reach
};

/// False where the file is not built as the standard has it.
bool ReadJpeg2000Header(ImageBytes bytes, Jpeg2000Header& header);

}  // namespace tessera::cpu
