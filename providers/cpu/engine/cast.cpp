#include "cpu/engine/cast.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/cancellation.h"
#include "base/check.h"
#include "cpu/engine/number_text.h"
#include "cpu/engine/packed.h"
#include "kernels/elementwise/convert.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kBlock = 512;

ElementType CarrierOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
    case ElementType::kFloat8E8M0:
    case ElementType::kFloat4E2M1:
    case ElementType::kFloat6E2M3:
    case ElementType::kFloat6E3M2: return ElementType::kFloat;
    case ElementType::kInt4:
    case ElementType::kInt2: return ElementType::kInt8;
    case ElementType::kUInt4:
    case ElementType::kUInt2: return ElementType::kUInt8;
    case ElementType::kUndefined:
    case ElementType::kComplex64:
    case ElementType::kComplex128: Fail(ErrorCode::kInvalidArgument, "tensor({}) cannot be cast", ElementTypeName(type));
    default: return type;
  }
}

bool IsText(ElementType type) { return type == ElementType::kString; }

/// Calls visitor.operator()<T>() for the floats that float carries.
template <class Visitor>
void VisitNarrowFloat(ElementType type, Visitor&& visitor) {
  switch (type) {
    case ElementType::kFloat16: return visitor.template operator()<Float16>();
    case ElementType::kBFloat16: return visitor.template operator()<BFloat16>();
    case ElementType::kFloat8E4M3FN: return visitor.template operator()<Float8E4M3FN>();
    case ElementType::kFloat8E4M3FNUZ: return visitor.template operator()<Float8E4M3FNUZ>();
    case ElementType::kFloat8E5M2: return visitor.template operator()<Float8E5M2>();
    case ElementType::kFloat8E5M2FNUZ: return visitor.template operator()<Float8E5M2FNUZ>();
    case ElementType::kFloat8E8M0: return visitor.template operator()<Float8E8M0>();
    case ElementType::kFloat6E2M3: return visitor.template operator()<Float6E2M3>();
    case ElementType::kFloat6E3M2: return visitor.template operator()<Float6E3M2>();
    default: return visitor.template operator()<Float4E2M1>();
  }
}

/// Elements [begin, begin + count) of a type that is not its own carrier to `out`.
void Load(ElementType type, const void* from, int64_t begin, int64_t count, void* out) {
  if (CarrierOf(type) != ElementType::kFloat) {
    return UnpackElements(type, from, begin, count, static_cast<uint8_t*>(out));
  }
  VisitNarrowFloat(type, [&]<class T>() {
    float* values = static_cast<float*>(out);
    if constexpr (std::is_same_v<T, Float4E2M1>) {
      T encoded[kBlock];
      UnpackElements(type, from, begin, count, &encoded[0].bits);
      ConvertToFloat(encoded, values, count);
    } else {
      ConvertToFloat(static_cast<const T*>(from) + begin, values, count);
    }
  });
}

void Store(ElementType type, const CastOptions& options, const void* in, void* to, int64_t begin, int64_t count) {
  if (CarrierOf(type) != ElementType::kFloat) {
    return PackElements(type, static_cast<const uint8_t*>(in), begin, count, to);
  }
  VisitNarrowFloat(type, [&]<class T>() {
    const float* values = static_cast<const float*>(in);
    if constexpr (std::is_same_v<T, Float4E2M1>) {
      T encoded[kBlock];
      ConvertFromFloat(values, encoded, count);
      PackElements(type, &encoded[0].bits, begin, count, to);
    } else {
      T* target = static_cast<T*>(to) + begin;
      if constexpr (sizeof(T) == 2) {
        ConvertFromFloat(values, target, count);
      } else if constexpr (std::is_same_v<T, Float8E8M0>) {
        ConvertFromFloat(values, target, count, options.saturate, options.rounding);
      } else {
        ConvertFromFloat(values, target, count, options.saturate);
      }
    }
  });
}

}  // namespace

ElementCast::ElementCast(ElementType from, ElementType to, const CastOptions& options)
    : from_(from), to_(to), from_carrier_(CarrierOf(from)), to_carrier_(CarrierOf(to)), options_(options) {
  if (from == to) {
    cost_ns_ = IsText(from) ? 25 : 0.1;
    return;
  }
  if (IsText(from) || IsText(to)) {
    cost_ns_ = 80;
    return;
  }
  const bool narrow = to_ != to_carrier_ && to_carrier_ == ElementType::kFloat;
  loop_ = narrow && from_carrier_ == ElementType::kDouble ? RoundDoublesToOdd : FindCastLoop(from_carrier_, to_carrier_);
  if (loop_ != nullptr && BitWidth(from_carrier_) + BitWidth(to_carrier_) > 72) cost_ns_ = 0.6;
  if (from_ != from_carrier_) cost_ns_ += 0.3;
  if (to_ != to_carrier_) cost_ns_ += BitWidth(to_) <= 8 && narrow ? 2 : 0.3;
}

void ElementCast::RunBlock(const void* from, int64_t from_begin, void* to, int64_t to_begin, int64_t count) const {
  alignas(64) unsigned char loaded[kBlock * 8];
  alignas(64) unsigned char converted[kBlock * 8];
  const void* values = loaded;
  if (from_ == from_carrier_) {
    values = static_cast<const char*>(from) + from_begin * (BitWidth(from_) / 8);
  } else {
    Load(from_, from, from_begin, count, loaded);
  }
  if (to_ == to_carrier_) {
    const int64_t size = BitWidth(to_) / 8;
    void* target = static_cast<char*>(to) + to_begin * size;
    if (loop_ != nullptr) return loop_(values, target, count);
    if (values != target) std::memcpy(target, values, static_cast<size_t>(count * size));
    return;
  }
  if (loop_ != nullptr) {
    loop_(values, converted, count);
    values = converted;
  }
  Store(to_, options_, values, to, to_begin, count);
}

void ElementCast::Run(const void* from, int64_t from_begin, void* to, int64_t to_begin, int64_t count) const {
  if (count <= 0) return;
  constexpr double kLeastNs = 0.3;
  InCancellablePieces(0, count, std::max(cost_ns_, kLeastNs), [&](int64_t begin, int64_t end) {
    RunPiece(from, from_begin + begin, to, to_begin + begin, end - begin);
  });
}

void ElementCast::RunPiece(const void* from, int64_t from_begin, void* to, int64_t to_begin, int64_t count) const {
  if (IsText(from_) && IsText(to_)) {
    if (from == to) return;
    std::copy_n(static_cast<const std::string*>(from) + from_begin, count, static_cast<std::string*>(to) + to_begin);
    return;
  }
  if (IsText(from_)) {
    return ParseNumbers(static_cast<const std::string*>(from) + from_begin, count, to_, options_, to, to_begin);
  }
  if (IsText(to_)) return FormatNumbers(from_, from, from_begin, count, static_cast<std::string*>(to) + to_begin);
  const int64_t from_size = BitWidth(from_) / 8;  // 0: packed
  const int64_t to_size = BitWidth(to_) / 8;
  const void* source = static_cast<const char*>(from) + from_begin * from_size;
  void* target = static_cast<char*>(to) + to_begin * to_size;
  if (from_ == to_ && to_size != 0) {
    if (source != target) std::memcpy(target, source, static_cast<size_t>(count * to_size));
    return;
  }
  const bool from_is_carrier = from_ == from_carrier_;
  const bool to_is_carrier = to_ == to_carrier_;
  if (from_is_carrier && to_is_carrier) return RunBlock(from, from_begin, to, to_begin, count);
  // Between one narrower type and its carrier there is nothing to keep in a buffer.
  if (loop_ == nullptr && from_is_carrier && to_size != 0) return Store(to_, options_, source, to, to_begin, count);
  if (loop_ == nullptr && to_is_carrier && from_size != 0) return Load(from_, from, from_begin, count, target);
  for (int64_t done = 0; done < count; done += kBlock) {
    RunBlock(from, from_begin + done, to, to_begin + done, std::min(kBlock, count - done));
  }
}

}  // namespace tessera::cpu
