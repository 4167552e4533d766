#pragma once

// Streams of a library's devices.

#include <atomic>
#include <memory>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "plugin/ep.h"
#include "tessera/provider/kernel.h"

/// A queue of a device that a library made, which gets it back.
struct OrtSyncStream {
  /// `its_owner` keeps the library. Throws Error where functions are missing.
  OrtSyncStream(std::shared_ptr<const void> its_owner, OrtSyncStreamImpl& its_impl, const OrtEpDevice* its_device);
  ~OrtSyncStream();
  OrtSyncStream(const OrtSyncStream&) = delete;
  OrtSyncStream& operator=(const OrtSyncStream&) = delete;

  tessera::c_abi::Mark<OrtSyncStream> mark;
  const std::shared_ptr<const void> owner;
  OrtSyncStreamImpl& impl;
  const OrtEpDevice* const device;
  std::atomic<uint64_t> sync_id{0};  // how often it was synchronized
};

namespace tessera::plugin {

/// Whether the library's provider puts work on streams.
bool HasStreams(const OrtEpFactory& factory);

/// A stream for work outside of sessions. Null where the device's provider has none.
std::unique_ptr<OrtSyncStream> MakeSyncStream(std::shared_ptr<const void> owner, const OrtEpDevice& device,
                                              const OrtKeyValuePairs* options);

/// A session's. Null where the library's provider has no streams.
std::unique_ptr<Stream> MakeStream(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory);

/// As the library knows a stream that MakeStream made; null: it is none of its own.
OrtSyncStream* SyncStreamOf(Stream* stream) noexcept;

}  // namespace tessera::plugin
