#include "plugin/stream.h"

#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"

namespace tessera::plugin {

using c_abi::ThrowIfFailed;

PluginStream::PluginStream(std::shared_ptr<const void> owner, OrtSyncStreamImpl& impl, const OrtEpDevice* device)
    : owner_(std::move(owner)) {
  stream_.impl = &impl;
  stream_.device = device;
}

PluginStream::~PluginStream() {
  try {
    stream_.impl->Release(stream_.impl);
  } catch (...) {  // nobody is left to hear of it
  }
}

void PluginStream::Synchronize() {
  ThrowIfFailed(stream_.impl->Flush(stream_.impl));
  stream_.sync_id.fetch_add(1, std::memory_order_relaxed);
}

void* PluginStream::native_handle() const noexcept {
  try {
    return stream_.impl->GetHandle(stream_.impl);
  } catch (...) {
    return nullptr;
  }
}

std::unique_ptr<Stream> MakeStream(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory) {
  OrtEpFactory& factory = ep->factory();
  if (factory.ort_version_supported < 23 || factory.IsStreamAware == nullptr || !factory.IsStreamAware(&factory))
    return nullptr;
  OrtSyncStreamImpl* impl = nullptr;
  const OrtMemoryDevice* device = c_abi::DeviceOf(memory);
  if ((*ep)->CreateSyncStreamForDevice != nullptr) {
    ThrowIfFailed((*ep)->CreateSyncStreamForDevice(ep->get(), device, &impl));
  } else if (factory.CreateSyncStreamForDevice != nullptr) {
    ThrowIfFailed(factory.CreateSyncStreamForDevice(&factory, device, nullptr, &impl));
  }
  if (impl == nullptr) return nullptr;
  return std::make_unique<PluginStream>(ep, *impl, ep->devices().front());
}

OrtSyncStream* StreamOf(const KernelContext& context) {
  auto* stream = dynamic_cast<PluginStream*>(context.stream());
  return stream == nullptr ? nullptr : &stream->stream();
}

}  // namespace tessera::plugin
