// And, Or, Xor (1, 7), Not (1), BitwiseAnd, BitwiseOr, BitwiseXor (18), BitShift (11, 28).

#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/logical/bitwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"

#ifndef TESSERA_OPS_BITWISE_ONCE
#define TESSERA_OPS_BITWISE_ONCE
namespace tessera::cpu {
enum class Bitwise { kAnd, kOr, kXor };
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

struct AndOf {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct OrOf {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct XorOf {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// Bools are read as bytes: whatever is not 0 is true.
struct LogicalAndOf {
  uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) & (b != 0); }
};
struct LogicalOrOf {
  uint8_t operator()(uint8_t a, uint8_t b) const { return (a | b) != 0; }
};
struct LogicalXorOf {
  uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) != (b != 0); }
};
struct LogicalNotOf {
  uint8_t operator()(uint8_t x) const { return x == 0; }
};

/// Shifts by the width or more, or by a negative number, move everything out.
struct ShiftLeftOf {
  template <class T>
  T operator()(T a, T b) const {
    using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    constexpr U kWidth = sizeof(T) * 8;
    const U shift = static_cast<U>(b);
    return shift < kWidth ? static_cast<T>(static_cast<U>(a) << (shift & (kWidth - 1))) : T(0);
  }
};
struct ShiftRightOf {
  template <class T>
  T operator()(T a, T b) const {
    using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    constexpr U kWidth = sizeof(T) * 8;
    const U shift = static_cast<U>(b);
    const T out = static_cast<T>(a < T(0) ? -1 : 0);
    return shift < kWidth ? static_cast<T>(a >> (shift & (kWidth - 1))) : out;
  }
};

template <class T>
SpanLoop LoopOf(Bitwise op) {
  switch (op) {
    case Bitwise::kAnd: return BinaryLoop<T, T, T, AndOf>;
    case Bitwise::kOr: return BinaryLoop<T, T, T, OrOf>;
    case Bitwise::kXor: return BinaryLoop<T, T, T, XorOf>;
  }
  return nullptr;
}
template <class T>
SpanLoop ShiftLoopOf(bool left) {
  return left ? BinaryLoop<T, T, T, ShiftLeftOf> : BinaryLoop<T, T, T, ShiftRightOf>;
}

}  // namespace

SpanLoop FindBitwiseLoop(Bitwise op, int bits) {
  switch (bits) {
    case 8: return LoopOf<uint8_t>(op);
    case 16: return LoopOf<uint16_t>(op);
    case 32: return LoopOf<uint32_t>(op);
    default: return LoopOf<uint64_t>(op);
  }
}
SpanLoop FindLogicalLoop(Bitwise op) {
  switch (op) {
    case Bitwise::kAnd: return BinaryLoop<uint8_t, uint8_t, uint8_t, LogicalAndOf>;
    case Bitwise::kOr: return BinaryLoop<uint8_t, uint8_t, uint8_t, LogicalOrOf>;
    case Bitwise::kXor: return BinaryLoop<uint8_t, uint8_t, uint8_t, LogicalXorOf>;
  }
  return nullptr;
}
SpanLoop FindNotLoop() { return UnaryLoop<uint8_t, uint8_t, LogicalNotOf>; }
SpanLoop FindShiftLoop(bool left, ElementType type) {
  switch (type) {
    case ElementType::kInt8: return ShiftLoopOf<int8_t>(left);
    case ElementType::kInt16: return ShiftLoopOf<int16_t>(left);
    case ElementType::kInt32: return ShiftLoopOf<int32_t>(left);
    case ElementType::kInt64: return ShiftLoopOf<int64_t>(left);
    case ElementType::kUInt8: return ShiftLoopOf<uint8_t>(left);
    case ElementType::kUInt16: return ShiftLoopOf<uint16_t>(left);
    case ElementType::kUInt32: return ShiftLoopOf<uint32_t>(left);
    default: return ShiftLoopOf<uint64_t>(left);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindBitwiseLoop);
HWY_EXPORT(FindLogicalLoop);
HWY_EXPORT(FindNotLoop);
HWY_EXPORT(FindShiftLoop);

namespace {

void RequireOneType(const KernelInfo& info) {
  Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
          ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
}

template <Bitwise kOp>
class BitwiseKernel final : public BinaryKernel {
 public:
  explicit BitwiseKernel(const KernelInfo& info)
      : BinaryKernel(info, {HWY_DYNAMIC_DISPATCH(FindBitwiseLoop)(kOp, BitWidth(info.input_type(0))), 0.2}) {
    RequireOneType(info);
  }
};

template <Bitwise kOp>
class LogicalKernel final : public BinaryKernel {
 public:
  explicit LogicalKernel(const KernelInfo& info) : BinaryKernel(info, {HWY_DYNAMIC_DISPATCH(FindLogicalLoop)(kOp), 0.1}) {
    RequireOneType(info);
  }
};

class Not final : public UnaryKernel {
 public:
  explicit Not(const KernelInfo& info) : UnaryKernel(info, {HWY_DYNAMIC_DISPATCH(FindNotLoop)(), 0.1}) {}
};

class BitShift final : public BinaryKernel {
 public:
  explicit BitShift(const KernelInfo& info)
      : BinaryKernel(info, {HWY_DYNAMIC_DISPATCH(FindShiftLoop)(IsLeft(info), info.input_type(0)), 0.4}) {
    RequireOneType(info);
  }

 private:
  static bool IsLeft(const KernelInfo& info) {
    const auto direction = info.attribute<std::string>("direction");
    Require(direction == "LEFT" || direction == "RIGHT", "attribute 'direction' is '{}', expected LEFT or RIGHT",
            direction);
    return direction == "LEFT";
  }
};

constexpr TypeSet kBools = {ElementType::kBool};

template <class K>
void AddBinary(KernelRegistry& registry, const char* name, int version, TypeSet types) {
  registry.Add(Op(name).Versions(version).Types(0, types).Types(1, types).InPlace(0, 0).InPlace(1, 0).Make<K>());
}

}  // namespace

void RegisterAnd(KernelRegistry& registry) { AddBinary<LogicalKernel<Bitwise::kAnd>>(registry, "And", 1, kBools); }
void RegisterOr(KernelRegistry& registry) { AddBinary<LogicalKernel<Bitwise::kOr>>(registry, "Or", 1, kBools); }
void RegisterXor(KernelRegistry& registry) { AddBinary<LogicalKernel<Bitwise::kXor>>(registry, "Xor", 1, kBools); }
void RegisterNot(KernelRegistry& registry) { registry.Add(Op("Not").Types(0, kBools).InPlace(0, 0).Make<Not>()); }
void RegisterBitwiseAnd(KernelRegistry& registry) {
  AddBinary<BitwiseKernel<Bitwise::kAnd>>(registry, "BitwiseAnd", 18, kInts);
}
void RegisterBitwiseOr(KernelRegistry& registry) {
  AddBinary<BitwiseKernel<Bitwise::kOr>>(registry, "BitwiseOr", 18, kInts);
}
void RegisterBitwiseXor(KernelRegistry& registry) {
  AddBinary<BitwiseKernel<Bitwise::kXor>>(registry, "BitwiseXor", 18, kInts);
}
void RegisterBitShift(KernelRegistry& registry) { AddBinary<BitShift>(registry, "BitShift", 11, kInts); }

}  // namespace tessera::cpu
#endif
