// Cast (1, 6, 9, 13, 19, 21, 23, 24, 25, 28).

#include "cpu/ops/math/cast.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/string_memory.h"
#include "cpu/types.h"
#include "ops/math/cast.h"

namespace tessera::cpu {
namespace {

CastOptions ReadOptions(const KernelInfo& info) {
  CastOptions options;
  options.saturate = CastAttributes(info.node()).saturate;
  const std::string mode = info.attribute<std::string>("round_mode", "up");
  Require(mode == "up" || mode == "down" || mode == "nearest",
          "attribute 'round_mode' is '{}', expected up, down or nearest", mode);
  options.rounding = mode == "up" ? ScaleRounding::kUp : mode == "down" ? ScaleRounding::kDown : ScaleRounding::kNearest;
  return options;
}

void ChargeTexts(KernelContext& context, const Tensor& x, Tensor& y) {
  constexpr size_t kLongestNumber = 30;
  const bool copies = x.is(ElementType::kString);
  if (copies && x.raw() == y.raw()) return;
  StringCharge(y, context.allocator())
      .Add(copies ? TextBytes(x.values<std::string>())
                  : CheckedMul(static_cast<size_t>(x.num_elements()), TextBytes(kLongestNumber)));
}

}  // namespace

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

CastKernel::CastKernel(const KernelInfo& info, ElementType to) : cast_(info.input_type(0), to, ReadOptions(info)) {}

void CastKernel::Compute(KernelContext& context) {
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
    context.threads().ParallelFor(
        count, cast_.cost_ns(), [&](int64_t begin, int64_t end) { cast_.Run(source, begin, target, begin, end - begin); });
    return;
  }
  constexpr int64_t kGroup = 64;  // threads share no byte
  context.threads().ParallelFor(CeilDiv(count, kGroup), cast_.cost_ns() * kGroup, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kGroup;
    cast_.Run(source, first, target, first, std::min(end * kGroup, count) - first);
  });
}

void RegisterCast(KernelRegistry& registry) {
  registry.Add(Op("Cast").Versions(1).InPlace(0, 0).Factory([](const KernelInfo& info) -> std::unique_ptr<Kernel> {
    return std::make_unique<CastKernel>(info, TargetType(info));
  }));
}

}  // namespace tessera::cpu
