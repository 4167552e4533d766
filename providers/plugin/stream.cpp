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

struct ReleaseNotification {
  void operator()(OrtSyncNotificationImpl* notification) const noexcept {
    if (notification->Release != nullptr) Quietly([&] { notification->Release(notification); });
  }
};
using OwnedNotification = std::unique_ptr<OrtSyncNotificationImpl, ReleaseNotification>;

/// Null where the library has none that the host can wait for.
OwnedNotification NotificationOf(OrtSyncStreamImpl& stream) {
  OrtSyncNotificationImpl* made = nullptr;
  if (stream.CreateNotification == nullptr) return nullptr;
  const OrtStatusPtr status = Call(stream.CreateNotification, &stream, &made);
  OwnedNotification owned(made);
  if (status != nullptr) c_abi::ReleaseStatus(status);
  const bool serves = status == nullptr && made != nullptr && made->Activate != nullptr && made->WaitOnHost != nullptr;
  return serves ? std::move(owned) : nullptr;
}

class PluginStream final : public Stream {
 public:
  PluginStream(std::shared_ptr<Ep> ep, std::unique_ptr<OrtSyncStream> stream)
      : ep_(std::move(ep)), stream_(std::move(stream)), notification_(NotificationOf(stream_->impl)) {}

  // Some libraries' Flush waits, others' only sends off what was put on the stream, and their notifications wait.
  void Synchronize() override {
    if (notification_ != nullptr) ThrowIfFailed(Call(notification_->Activate, notification_.get()));
    ThrowIfFailed(Call(stream_->impl.Flush, &stream_->impl));
    if (notification_ != nullptr) ThrowIfFailed(Call(notification_->WaitOnHost, notification_.get()));
    stream_->sync_id.fetch_add(1, std::memory_order_relaxed);
  }
  void OnRunEnd() noexcept override {
    if (stream_->impl.OnSessionRunEnd == nullptr) return;
    try {
      ThrowIfFailed(Call(stream_->impl.OnSessionRunEnd, &stream_->impl));
    } catch (const std::exception& error) {
      ep_->logger().logger(LogLevel::kWarning, "{}: a stream after its run: {}", ep_->name(), error.what());
    } catch (...) {
      ep_->logger().logger(LogLevel::kWarning, "{}: a stream after its run: what it threw is no error", ep_->name());
    }
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
  const std::shared_ptr<Ep> ep_;
  const std::unique_ptr<OrtSyncStream> stream_;
  const OwnedNotification notification_;  // goes before its stream
};

}  // namespace

bool HasStreams(const OrtEpFactory& factory) {
  return factory.ort_version_supported >= 23 && factory.IsStreamAware != nullptr && factory.IsStreamAware(&factory);
}

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
  return std::make_unique<PluginStream>(ep, std::make_unique<OrtSyncStream>(ep, *impl, ep->devices().front()));
}

OrtSyncStream* SyncStreamOf(Stream* stream) noexcept {
  auto* own = dynamic_cast<PluginStream*>(stream);
  return own == nullptr ? nullptr : &own->stream();
}

}  // namespace tessera::plugin
