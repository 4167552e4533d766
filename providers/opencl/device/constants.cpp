#include "opencl/device/constants.h"

#include "base/bytes_owner.h"
#include "base/check.h"
#include "opencl/device/sharing.h"
#include "runtime/memory/prepack_cache.h"

namespace tessera::opencl {
namespace {

/// A block that one session reads.
class Counted {
 public:
  /// `host`: null, or the memory that the device shares.
  Counted(std::shared_ptr<Budget> budget, Allocator* host, size_t bytes)
      : host_(host == nullptr ? MemoryCharge() : MemoryCharge(*host, bytes)), budget_(std::move(budget)), bytes_(bytes) {
    budget_->Take(bytes_);
  }
  ~Counted() { budget_->Return(bytes_); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  std::shared_ptr<const ConstantBlock> block;

 private:
  MemoryCharge host_;
  std::shared_ptr<Budget> budget_;
  size_t bytes_;
};

}  // namespace

std::shared_ptr<const ConstantBlock> DeviceConstants::Make(const Tensor& constant, std::string_view form, size_t bytes,
                                                           const Fill& fill) const {
  const auto make = [&]() -> std::shared_ptr<const void> {
    auto made = std::make_shared<ConstantBlock>(device_, bytes);
    fill(made->range());
    return made;
  };
  // Its blocks keep a device, so that none has the address of another that blocks are left of.
  const auto block = shared_ ? PrepackCache::Process().GetOrMake(
                                   constant, fmt::format("OpenCL {} {}", fmt::ptr(device_.get()), form), make)
                             : make();
  return std::static_pointer_cast<const ConstantBlock>(block);
}

std::shared_ptr<const ConstantBlock> DeviceConstants::Form(const Tensor& constant, std::string_view form, size_t bytes,
                                                           const Fill& fill) {
  const auto dims = constant.shape().dims();
  const std::shared_ptr<const void> owner = OwnerOfBytes(constant);
  const std::lock_guard lock(mutex_);
  Held& held = held_[{constant.unaligned_raw(), constant.type(), {dims.begin(), dims.end()}, std::string(form)}];
  if (owner != nullptr && SameOwner(held.owner, owner)) {
    if (auto block = held.block.lock()) return block;
  }
  const auto counted = std::make_shared<Counted>(budget_, host_, bytes);
  counted->block = Make(constant, form, bytes, fill);
  const std::shared_ptr<const ConstantBlock> block(counted, counted->block.get());
  held = {block, owner};
  return block;
}

Tensor DeviceConstants::OnDevice(const Tensor& constant) {
  if (device_->capabilities().shares_host_memory && constant.owner() != nullptr) {
    if (auto in_place = SharedTransfer(device_, queue_).OnDevice(constant, false)) return std::move(*in_place);
  }
  const size_t bytes = constant.byte_size();
  const auto block = Form(constant, "as it is", bytes, [&](const BufferRange& target) {
    if (bytes == 0) return;
    Check(clEnqueueWriteBuffer(queue_->get(), target.buffer, CL_TRUE, target.offset, bytes, constant.unaligned_raw(), 0,
                               nullptr, nullptr),
          "clEnqueueWriteBuffer");
  });
  return Tensor::Share(constant.type(), constant.shape(), block->memory(), std::const_pointer_cast<ConstantBlock>(block),
                       kDeviceMemory);
}

bool HostWeights::AnyAddress(const Device& device, ElementType type) noexcept {
  const Capabilities& can = device.capabilities();
  return can.is_cpu && can.shares_host_memory && type == ElementType::kFloat;
}

HostWeights::HostWeights(const Device& device, const Tensor& constant) {
  const bool in_place = AnyAddress(device, constant.type()) &&
                        constant.byte_size() + kHostAlignment <= device.capabilities().largest_buffer_bytes;
  const auto* data = static_cast<const std::byte*>(in_place ? constant.unaligned_raw() : constant.raw());
  // What lies before the first element, back to where a buffer may begin, is in the same page.
  offset_ = in_place ? reinterpret_cast<uintptr_t>(data) % kHostAlignment : 0;
  buffer_ = device.ViewOf(data - offset_, constant.byte_size() + offset_);
}

std::string_view HostWeights::Defines(const Device& device, ElementType type) noexcept {
  if (!AnyAddress(device, type)) return "";
  return "typedef struct __attribute__((packed)) { float value; } Packed;\n"
         "#undef GET_X\n#define GET_X(p, i) (((__global const Packed*)(p))[i].value)\n";
}

}  // namespace tessera::opencl
