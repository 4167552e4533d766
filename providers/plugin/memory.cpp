#include "plugin/memory.h"

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "bindings/c/value.h"
#include "plugin/call.h"
#include "plugin/stream.h"
#include "plugin/transfer.h"

namespace tessera::plugin {
namespace {

using c_abi::ThrowIfFailed;

class PluginAllocator final : public Allocator {
 public:
  PluginAllocator(std::shared_ptr<Ep> ep, OrtAllocator& allocator, const OrtMemoryInfo& memory)
      : ep_(std::move(ep)), allocator_(allocator), memory_(c_abi::MemoryOf(memory)) {}
  ~PluginAllocator() override {
    Quietly([&] { ep_->factory().ReleaseAllocator(&ep_->factory(), &allocator_); });
  }

  const MemoryInfo& memory() const noexcept override { return memory_; }
  bool addressable() const noexcept override { return false; }  // the library alone knows what an address means
  void* Allocate(size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* buffer = allocator_.Alloc(&allocator_, bytes);
    if (buffer == nullptr)
      Fail(ErrorCode::kRuntimeException, "{}: no {} bytes of {} memory are left", ep_->name(), bytes, memory_.name);
    return buffer;
  }
  void Free(void* buffer) noexcept override {
    if (buffer != nullptr) Quietly([&] { allocator_.Free(&allocator_, buffer); });
  }

 private:
  const std::shared_ptr<Ep> ep_;
  OrtAllocator& allocator_;
  const MemoryInfo memory_;
};

class PluginTransfer final : public DataTransfer {
 public:
  PluginTransfer(std::shared_ptr<Ep> ep, std::unique_ptr<Transfer> transfer)
      : ep_(std::move(ep)), transfer_(std::move(transfer)) {}

  bool CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept override {
    try {
      return transfer_->CanCopy(from, to);
    } catch (...) {
      return false;
    }
  }

  void Copy(const Tensor& from, Tensor& to, Stream* stream) override {
    OrtValue target{Value(to)};
    transfer_->Copy(OrtValue{Value(from)}, target, SyncStreamOf(stream));
  }

 private:
  const std::shared_ptr<Ep> ep_;
  const std::unique_ptr<Transfer> transfer_;
};

OrtAllocator* AllocatorFor(Ep& ep, const OrtMemoryInfo& memory) {
  OrtAllocator* made = nullptr;
  OrtEpFactory& factory = ep.factory();
  if (ep->CreateAllocator != nullptr) {
    ThrowIfFailed(Call(ep->CreateAllocator, ep.get(), &memory, &made));
  } else if (factory.ort_version_supported >= 23 && factory.CreateAllocator != nullptr) {
    ThrowIfFailed(Call(factory.CreateAllocator, &factory, &memory, nullptr, &made));
  }
  return made;
}

}  // namespace

std::unique_ptr<Allocator> MakeAllocator(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory) {
  OrtAllocator* allocator = AllocatorFor(*ep, memory);
  if (allocator == nullptr) return nullptr;
  Require(ep->factory().ReleaseAllocator != nullptr && allocator->Alloc != nullptr && allocator->Free != nullptr,
          "the library's allocator of {} memory lacks Alloc or Free, or its factory ReleaseAllocator", memory.name);
  return std::make_unique<PluginAllocator>(ep, *allocator, memory);
}

std::unique_ptr<DataTransfer> MakeTransfer(const std::shared_ptr<Ep>& ep) {
  std::unique_ptr<Transfer> transfer = Transfer::Make(ep->factory());
  Require(transfer != nullptr, "the library has memory of its own, and no way to copy there (CreateDataTransfer)");
  return std::make_unique<PluginTransfer>(ep, std::move(transfer));
}

DeviceMemory::DeviceMemory(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo* memory) {
  if (memory != nullptr) allocator_ = MakeAllocator(ep, *memory);
  if (allocator_ != nullptr) transfer_ = MakeTransfer(ep);
}

Tensor DeviceMemory::Placed(const Tensor& constant) const {
  if (allocator_ == nullptr) return constant;
  void* buffer = allocator_->Allocate(constant.byte_size());
  if (buffer == nullptr) return Tensor::View(constant.type(), constant.shape(), nullptr, allocator_->memory());
  const std::shared_ptr<void> owner(buffer, [allocator = allocator_](void* memory) { allocator->Free(memory); });
  Tensor placed = Tensor::Share(constant.type(), constant.shape(), buffer, owner, allocator_->memory());
  transfer_->Copy(constant, placed, nullptr);
  return placed;
}

}  // namespace tessera::plugin
