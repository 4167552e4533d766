// Cast (1, 6, 9, 13, 19, 21, 23, 24, 25, 28), CastLike (15, 19, 21, 23, 24, 25) and BitCast (26).

#include "cpu/engine/cast.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/bools.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/string_memory.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// The attribute 'to': a number, or its name in the first version.
ElementType TargetType(const KernelInfo& info) {
  if (info.since_version() == 1) {
    const std::string name = AsciiLower(info.attribute<std::string>("to"));
    const ElementType type = ElementTypeFromName(name);
    Require(type != ElementType::kUndefined, "attribute 'to' is '{}', expected the name of an element type", name);
    return type;
  }
  const int64_t to = info.attribute<int64_t>("to");
  Require(to > 0 && to < kElementTypeCount, "attribute 'to' is {}, expected an element type", to);
  return static_cast<ElementType>(to);
}

CastOptions ReadOptions(const KernelInfo& info) {
  CastOptions options;
  options.saturate = info.attribute<int64_t>("saturate", 1) != 0;
  const std::string mode = info.attribute<std::string>("round_mode", "up");
  Require(mode == "up" || mode == "down" || mode == "nearest",
          "attribute 'round_mode' is '{}', expected up, down or nearest", mode);
  options.rounding = mode == "up" ? ScaleRounding::kUp : mode == "down" ? ScaleRounding::kDown : ScaleRounding::kNearest;
  return options;
}

class Cast : public Kernel {
 public:
  explicit Cast(const KernelInfo& info) : Cast(info, TargetType(info)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.type() == cast_.from(), "input 0 is tensor({}), expected tensor({})", ElementTypeName(x.type()),
            ElementTypeName(cast_.from()));
    Tensor* y = context.output(0, cast_.to(), x.shape());
    if (y == nullptr) return;
    if (y->is(ElementType::kString)) ChargeTexts(context, x, *y);
    const void* source = x.raw();
    void* target = y->mutable_raw();
    const int64_t count = x.num_elements();
    if (BitWidth(cast_.to()) >= 8) {
      context.threads().ParallelFor(count, cast_.cost_ns(), [&](int64_t begin, int64_t end) {
        cast_.Run(source, begin, target, begin, end - begin);
      });
      return;
    }
    constexpr int64_t kGroup = 64;  // threads share no byte
    context.threads().ParallelFor(CeilDiv(count, kGroup), cast_.cost_ns() * kGroup, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kGroup;
      cast_.Run(source, first, target, first, std::min(end * kGroup, count) - first);
    });
  }

 protected:
  Cast(const KernelInfo& info, ElementType to) : cast_(info.input_type(0), to, ReadOptions(info)) {}

 private:
  static void ChargeTexts(KernelContext& context, const Tensor& x, Tensor& y) {
    constexpr size_t kLongestNumber = 30;
    const bool copies = x.is(ElementType::kString);
    if (copies && x.raw() == y.raw()) return;
    StringCharge(y, context.allocator())
        .Add(copies ? TextBytes(x.values<std::string>())
                    : CheckedMul(static_cast<size_t>(x.num_elements()), TextBytes(kLongestNumber)));
  }

  const ElementCast cast_;
};

class CastLike final : public Cast {
 public:
  explicit CastLike(const KernelInfo& info) : Cast(info, info.input_type(1)) {}
};

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
    std::ranges::copy(bytes, static_cast<std::byte*>(plain.mutable_raw()));
    MakePlainBools({static_cast<std::byte*>(plain.mutable_raw()), bytes.size()});
    context.set_output(0, std::move(plain));
  }

 private:
  const ElementType to_;
};

}  // namespace

void RegisterCast(KernelRegistry& registry) { registry.Add(Op("Cast").Versions(1).InPlace(0, 0).Make<Cast>()); }
void RegisterCastLike(KernelRegistry& registry) {
  registry.Add(Op("CastLike").Versions(15).InPlace(0, 0).Make<CastLike>());
}
void RegisterBitCast(KernelRegistry& registry) { registry.Add(Op("BitCast").Versions(26).Alias(0, 0).Make<BitCast>()); }

}  // namespace tessera::cpu
