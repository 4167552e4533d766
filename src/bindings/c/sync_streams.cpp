// Streams that clients put work on. Only libraries' providers have them: those that are built in return from a run when its
// results are there.

#include "bindings/c/devices.h"
#include "bindings/c/entry.h"
#include "plugin/stream.h"

namespace tessera::c_abi {

OrtStatusPtr CreateSyncStreamForEpDevice(const OrtEpDevice* ep_device, const OrtKeyValuePairs* stream_options,
                                         OrtSyncStream** stream) noexcept {
  return Guarded([&] {
    const OrtEpDevice& device = Given(ep_device, "the device");
    Given(stream, "out") = nullptr;
    std::unique_ptr<OrtSyncStream> made;
    if (device.factory != nullptr) made = plugin::MakeSyncStream(nullptr, device, stream_options);
    Require(made != nullptr,
            "{} has no memory of its own on this device, and no streams: a run returns when its results are there",
            device.provider);
    *stream = made.release();
  });
}

void* SyncStream_GetHandle(OrtSyncStream* stream) noexcept {
  try {
    return !IsThere(stream) ? nullptr : stream->impl.GetHandle(&stream->impl);
  } catch (...) {
    return nullptr;
  }
}

const OrtSyncStreamImpl* SyncStream_GetImpl(const OrtSyncStream* stream) noexcept {
  return IsThere(stream) ? &stream->impl : nullptr;
}

uint64_t SyncStream_GetSyncId(const OrtSyncStream* stream) noexcept {
  return !IsThere(stream) ? 0 : stream->sync_id.load(std::memory_order_relaxed);
}

// No stream waits for another: what one provider computed is there before another reads it.
uint64_t GetSyncIdForLastWaitOnSyncStream(const OrtSyncStream* /*producer_stream*/,
                                          const OrtSyncStream* /*consumer_stream*/) noexcept {
  return 0;
}

void ReleaseSyncStream(OrtSyncStream* input) { Release(input); }

void RunOptionsSetSyncStream(OrtRunOptions* /*options*/, OrtSyncStream* /*sync_stream*/) noexcept {}

}  // namespace tessera::c_abi
