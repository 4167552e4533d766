#pragma once

// Elementwise operators as rows: name, first version, types and formula. Tables of rows are in ops/elementwise/;
// elementwise-inl.h has the macros that make loops of the formulas, and says what a formula may use.

#include <memory>
#include <span>

#include "cpu/engine/elementwise.h"

namespace tessera::cpu {

/// The attributes that a formula may use; ActivationAttributes says which those of an operator are.
template <class T>
struct Constants {
  T alpha;
  T beta;
};

inline constexpr TypeSet kBool = {ElementType::kBool};
inline constexpr TypeSet kFloatAndDouble = {ElementType::kFloat, ElementType::kDouble};
inline constexpr TypeSet kHalves = {ElementType::kFloat16, ElementType::kBFloat16};
inline constexpr TypeSet kFloats8 = {ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2,
                                     ElementType::kFloat8E5M2FNUZ};

/// The element types of a row, and the C++ type T that its formula sees for each.
struct RowTypes {
  enum class Seen {
    kAsNumbers,   // float for the 16-bit floats, uint8_t for bool, others as they are
    kAsUnsigned,  // the same, and integers without their sign
    kAsStored,    // Float16, BFloat16 and the 8-bit floats, too
  };

  constexpr RowTypes(TypeSet types, Seen how = Seen::kAsNumbers) : set(types), seen(how) {}

  TypeSet set;
  Seen seen;
};

/// What rows can be of.
using RowElements = TypeList<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                             uint32_t, uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>;

/// For formulas whose bits do not depend on the sign: half as many loops.
constexpr RowTypes Unsigned(TypeSet types) { return {types, RowTypes::Seen::kAsUnsigned}; }
/// For formulas on bits.
constexpr RowTypes Stored(TypeSet types) { return {types, RowTypes::Seen::kAsStored}; }

struct ElementwiseRow {
  const char* op_type;
  int version;  // the first one; what later ones changed are types, and defaults that ActivationAttributes knows
  RowTypes types;
  bool to_bool;  // the results are bools, the inputs are not
  SpanLoop (*loop)(ElementType type);
  double cost_ns, wide_cost_ns;
  bool broadcasts = true;
  const char* domain = "";

  /// Nanoseconds of one element on one core; `wide`: where it has 64 bits.
  constexpr ElementwiseRow Costs(double ns, double wide) const {
    ElementwiseRow row = *this;
    row.cost_ns = ns;
    row.wide_cost_ns = wide;
    return row;
  }
  constexpr ElementwiseRow Costs(double ns) const { return Costs(ns, ns); }

  /// Loops of its own, instead of those of the formula.
  constexpr ElementwiseRow Loops(SpanLoop (*own)(ElementType type)) const {
    ElementwiseRow row = *this;
    row.loop = own;
    return row;
  }

  /// Of another domain than ai.onnx.
  constexpr ElementwiseRow Of(const char* owner) const {
    ElementwiseRow row = *this;
    row.domain = owner;
    return row;
  }

  /// Inputs have one shape.
  constexpr ElementwiseRow OfOneShape() const {
    ElementwiseRow row = *this;
    row.broadcasts = false;
    return row;
  }
};

/// What the registry knows of a row of one or two inputs.
KernelDef ToKernelDef(const ElementwiseRow& row, size_t num_inputs, KernelFactory factory);

/// The row of the table that computes the node's operator for its input's type.
const ElementwiseRow& FindRow(std::span<const ElementwiseRow> rows, const KernelInfo& info);

/// The loop for the input's type, with the node's attributes.
Elementwise ToElementwise(const ElementwiseRow& row, const KernelInfo& info);

std::unique_ptr<Kernel> MakeUnary(const ElementwiseRow& row, const KernelInfo& info);
std::unique_ptr<Kernel> MakeBinary(const ElementwiseRow& row, const KernelInfo& info);

}  // namespace tessera::cpu
