#include "opencl/device/scratch.h"

#include "base/cancellation.h"

namespace tessera::opencl {

SentData::SentData(KernelContext& context, const void* data, size_t bytes) {
  constexpr size_t kMostBesideLimits = size_t{1} << 16;
  auto& stream = static_cast<DeviceStream&>(*context.stream());
  if (bytes <= kMostBesideLimits) {
    buffer_ = stream.device().BufferOf(data, bytes);
    return;
  }
  memory_.emplace(context, bytes);
  const BufferRange target = memory_->range();
  stream.pace().Drain();
  constexpr double kNsOfByte = 0.2;
  InCancellablePieces(0, static_cast<int64_t>(bytes), kNsOfByte, [&](int64_t begin, int64_t end) {
    Check(clEnqueueWriteBuffer(stream.pace().queue(), target.buffer, CL_TRUE, target.offset + static_cast<size_t>(begin),
                               static_cast<size_t>(end - begin), static_cast<const std::byte*>(data) + begin, 0, nullptr,
                               nullptr),
          "clEnqueueWriteBuffer");
  });
}

}  // namespace tessera::opencl
