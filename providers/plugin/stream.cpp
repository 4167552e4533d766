#include "plugin/stream.h"

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "plugin/call.h"

using tessera::c_abi::ThrowIfFailed;

OrtSyncStream::OrtSyncStream(std::shared_ptr<const void> its_owner, OrtSyncStreamImpl& its_impl,
                             const OrtEpDevice* its_device)
    : owner(std::move(its_owner)), impl(its_impl), device(its_device) {
  tessera::Require(impl.Release != nullptr && impl.GetHandle != nullptr && impl.Flush != nullptr,
                   "the library's stream lacks Release, GetHandle or Flush");
}

OrtSyncStream::~OrtSyncStream() {
  tessera::plugin::Quietly([&] { impl.Release(&impl); });
}

namespace tessera::plugin {
namespace {

class PluginStream final : public Stream {
 public:
  explicit PluginStream(std::unique_ptr<OrtSyncStream> stream) : stream_(std::move(stream)) {}

  void Synchronize() override {
    ThrowIfFailed(Call(stream_->impl.Flush, &stream_->impl));
    stream_->sync_id.fetch_add(1, std::memory_order_relaxed);
  }
  void* native_handle() const noexcept override {
    try {
      return stream_->impl.GetHandle(&stream_->impl);
    } catch (...) {
      return nullptr;
    }
  }
  OrtSyncStream& stream() noexcept { return *stream_; }

 private:
  const std::unique_ptr<OrtSyncStream> stream_;
};

bool HasStreams(const OrtEpFactory& factory) {
  return factory.ort_version_supported >= 23 && factory.IsStreamAware != nullptr && factory.IsStreamAware(&factory);
}

}  // namespace

std::unique_ptr<OrtSyncStream> MakeSyncStream(std::shared_ptr<const void> owner, const OrtEpDevice& device,
                                              const OrtKeyValuePairs* options) {
  OrtEpFactory& factory = *device.factory;
  if (device.memory == nullptr || !HasStreams(factory) || factory.CreateSyncStreamForDevice == nullptr) return nullptr;
  OrtSyncStreamImpl* impl = nullptr;
  ThrowIfFailed(Call(factory.CreateSyncStreamForDevice, &factory, c_abi::DeviceOf(*device.memory), options, &impl));
  return impl == nullptr ? nullptr : std::make_unique<OrtSyncStream>(std::move(owner), *impl, &device);
}

std::unique_ptr<Stream> MakeStream(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory) {
  OrtEpFactory& factory = ep->factory();
  if (!HasStreams(factory)) return nullptr;
  OrtSyncStreamImpl* impl = nullptr;
  const OrtMemoryDevice* device = c_abi::DeviceOf(memory);
  if ((*ep)->CreateSyncStreamForDevice != nullptr) {
    ThrowIfFailed(Call((*ep)->CreateSyncStreamForDevice, ep->get(), device, &impl));
  } else if (factory.CreateSyncStreamForDevice != nullptr) {
    ThrowIfFailed(Call(factory.CreateSyncStreamForDevice, &factory, device, nullptr, &impl));
  }
  if (impl == nullptr) return nullptr;
  return std::make_unique<PluginStream>(std::make_unique<OrtSyncStream>(ep, *impl, ep->devices().front()));
}

OrtSyncStream* SyncStreamOf(Stream* stream) noexcept {
  auto* own = dynamic_cast<PluginStream*>(stream);
  return own == nullptr ? nullptr : &own->stream();
}

}  // namespace tessera::plugin
