// BitCast (26).

#include <span>

#include "base/bools.h"
#include "base/check.h"
#include "cpu/ops/math/cast.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class BitCast final : public Kernel {
 public:
  explicit BitCast(const KernelInfo& info) : to_(TargetType(info)) {
    const ElementType from = info.input_type(0);
    Require(from != ElementType::kString && to_ != ElementType::kString && BitWidth(from) == BitWidth(to_),
            "the bits of tensor({}) cannot be those of tensor({})", ElementTypeName(from), ElementTypeName(to_));
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.type() != ElementType::kString && BitWidth(x.type()) == BitWidth(to_),
            "the bits of tensor({}) cannot be those of tensor({})", ElementTypeName(x.type()), ElementTypeName(to_));
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(x.raw()), x.byte_size());
    if (to_ != ElementType::kBool || ArePlainBools(bytes)) {
      return context.set_output(0, Tensor::Share(to_, x.shape(), const_cast<void*>(x.raw()), x.owner(), x.memory()));
    }
    Tensor plain(to_, x.shape(), context.allocator());
    CopyAsPlainBools(bytes, static_cast<std::byte*>(plain.mutable_raw()));
    context.set_output(0, std::move(plain));
  }

 private:
  const ElementType to_;
};

}  // namespace

void RegisterBitCast(KernelRegistry& registry) { registry.Add(Op("BitCast").Versions(26).Alias(0, 0).Make<BitCast>()); }

}  // namespace tessera::cpu
