#pragma once

// Kernels made from a span loop: what all elementwise operators have in common.

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "cpu/engine/broadcast.h"
#include "cpu/types.h"
#include "kernels/elementwise/convert.h"

namespace tessera::cpu {

/// A loop with the constants it reads (at most four floats or doubles), for one element type.
struct Elementwise {
  SpanLoop loop = nullptr;
  /// Time of one element on one core.
  double cost_ns = 0.3;
  alignas(8) unsigned char params[32] = {};
  /// The loop works on the 16-bit floats themselves: UnaryKernel does not convert them.
  bool on_halves = false;
  /// The loop writes bools, whatever it reads.
  bool to_bool = false;

  template <class P>
  void set_params(const P& value) {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= sizeof(params));
    std::memcpy(params, &value, sizeof(P));
  }
};

/// float for the 16-bit types, which are computed in float; the type itself for others.
template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
struct WrappingOf {
  using Type = T;
};
template <std::integral T>
struct WrappingOf<T> {
  using Type = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
};
/// An unsigned type that integer arithmetic on T wraps in, wide enough not to be promoted to int; floats as they are.
template <class T>
using Wrapping = typename WrappingOf<T>::Type;

constexpr bool IsHalf(ElementType type) { return type == ElementType::kFloat16 || type == ElementType::kBFloat16; }
/// The element type that a loop for `type` computes in.
constexpr ElementType ComputeTypeOf(ElementType type) { return IsHalf(type) ? ElementType::kFloat : type; }

/// Runs a float loop on spans of a 16-bit type, chunk by chunk. `half_output` false: the loop's output is stored as it is
/// (comparisons), of `output_size` bytes an element. Bit i of `converted` says which inputs are of the 16-bit type.
struct ThroughFloat {
  ElementType type;
  unsigned converted;
  unsigned num_inputs;
  bool half_output;
  size_t sizes[kMaxOperands];  // of inputs that are not converted
  size_t output_size;
};
void RunThroughFloat(const ThroughFloat& how, const Elementwise& body, const void* const* inputs, unsigned advancing,
                     void* output, int64_t count);

/// One input, one output of the same shape.
class UnaryKernel : public Kernel {
 public:
  /// `body` computes ComputeTypeOf(input type) to ComputeTypeOf(output type).
  UnaryKernel(const KernelInfo& info, const Elementwise& body);
  void Compute(KernelContext& context) override;

 protected:
  Elementwise body_;
  ElementType input_type_;
  ElementType output_type_;
  size_t input_size_;
  size_t output_size_;
};

/// Two inputs that broadcast; before opset 7 with the attributes `axis` and `broadcast`.
class BinaryKernel : public Kernel {
 public:
  BinaryKernel(const KernelInfo& info, const Elementwise& body);
  void Compute(KernelContext& context) override;

 protected:
  void Run(KernelContext& context, const Tensor& a, const Tensor& b, const Shape& a_shape, const Shape& b_shape,
           const Shape& output_shape);

  Elementwise body_;
  ElementType a_type_;
  ElementType b_type_;
  ElementType output_type_;
  size_t a_size_;
  size_t b_size_;
  size_t output_size_;
  bool legacy_ = false;
  bool legacy_broadcast_ = false;
  int64_t legacy_axis_ = kSuffix;
};

}  // namespace tessera::cpu
