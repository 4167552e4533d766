#include "plugin/transfer.h"

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "plugin/call.h"

namespace tessera::plugin {

using c_abi::ThrowIfFailed;

std::unique_ptr<Transfer> Transfer::Make(OrtEpFactory& factory) {
  OrtDataTransferImpl* impl = nullptr;
  if (factory.ort_version_supported >= 23 && factory.CreateDataTransfer != nullptr)
    ThrowIfFailed(Call(factory.CreateDataTransfer, &factory, &impl));
  if (impl == nullptr) return nullptr;
  Require(impl->Release != nullptr && impl->CanCopy != nullptr && impl->CopyTensors != nullptr,
          "the library made a data transfer that lacks Release, CanCopy or CopyTensors");
  return std::unique_ptr<Transfer>(new Transfer(*impl));
}

Transfer::~Transfer() {
  Quietly([&] { impl_.Release(&impl_); });
}

bool Transfer::CanCopy(const MemoryInfo& from, const MemoryInfo& to) {
  return impl_.CanCopy(&impl_, c_abi::DeviceOf(*c_abi::InfoOf(from)), c_abi::DeviceOf(*c_abi::InfoOf(to)));
}

void Transfer::Copy(const OrtValue& from, OrtValue& to, OrtSyncStream* stream) {
  const OrtValue* sources[] = {&from};
  OrtValue* targets[] = {&to};
  OrtSyncStream* streams[] = {stream};
  ThrowIfFailed(Call(impl_.CopyTensors, &impl_, sources, targets, stream == nullptr ? nullptr : streams, 1));
}

}  // namespace tessera::plugin
