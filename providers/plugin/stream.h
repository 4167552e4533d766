#pragma once

// Streams of a library's devices.

#include <atomic>
#include <memory>

#include "onnxruntime/onnxruntime_c_api.h"
#include "plugin/ep.h"
#include "tessera/provider/kernel.h"

/// A queue of a device that a library made.
struct OrtSyncStream {
  OrtSyncStreamImpl* impl = nullptr;
  const OrtEpDevice* device = nullptr;
  std::atomic<uint64_t> sync_id{0};  // how often it was synchronized
};

namespace tessera::plugin {

class PluginStream final : public Stream {
 public:
  /// `owner` keeps the library.
  PluginStream(std::shared_ptr<const void> owner, OrtSyncStreamImpl& impl, const OrtEpDevice* device);
  ~PluginStream() override;
  void Synchronize() override;
  void* native_handle() const noexcept override;
  OrtSyncStream& stream() noexcept { return stream_; }

 private:
  const std::shared_ptr<const void> owner_;
  OrtSyncStream stream_;
};

/// Null where the library's provider has no streams.
std::unique_ptr<Stream> MakeStream(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory);

/// Of a kernel of the library's; null: there is none.
OrtSyncStream* StreamOf(const KernelContext& context);

}  // namespace tessera::plugin
