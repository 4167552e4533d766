// Streams that clients put work on: no provider that is built in has them, so that none is ever made.

#include "bindings/c/devices.h"
#include "bindings/c/entry.h"

namespace tessera::c_abi {

OrtStatusPtr CreateSyncStreamForEpDevice(const OrtEpDevice* ep_device, const OrtKeyValuePairs* /*stream_options*/,
                                         OrtSyncStream** stream) noexcept {
  return Guarded([&] {
    const OrtEpDevice& device = Given(ep_device, "the device");
    Given(stream, "out") = nullptr;
    Fail(ErrorCode::kInvalidArgument,
         "{} has no memory of its own on this device, and no streams: a run returns when its results are there",
         device.provider);
  });
}

void* SyncStream_GetHandle(OrtSyncStream* /*stream*/) noexcept { return nullptr; }

void ReleaseSyncStream(OrtSyncStream* /*input*/) {}

void RunOptionsSetSyncStream(OrtRunOptions* /*options*/, OrtSyncStream* /*sync_stream*/) noexcept {}

}  // namespace tessera::c_abi
