#include "opencl/device/scratch.h"

namespace tessera::opencl {

SentData::SentData(KernelContext& context, const void* data, size_t bytes) {
  constexpr size_t kMostBesideLimits = size_t{1} << 16;
  auto& stream = static_cast<DeviceStream&>(*context.stream());
  if (bytes <= kMostBesideLimits) {
    buffer_ = stream.device().BufferOf(data, bytes);
    return;
  }
  memory_.emplace(context, bytes);
  stream.pace().Drain();
  WriteInPieces(stream.pace().queue(), data, memory_->range(), bytes, true);
}

}  // namespace tessera::opencl
