#pragma once

// How rewrites read linear quantization to 8 bits: DequantizeLinear and QuantizeLinear with constant scales and zero
// points.

#include <optional>
#include <string_view>

#include "graph/graph.h"
#include "optimizer/analysis/bounds.h"
#include "optimizer/rewrite.h"

namespace tessera {

struct Quantization {
  NodeIndex node = kNone;                  // the DequantizeLinear or QuantizeLinear
  ValueIndex quantized = kNone;            // its 8-bit side
  ValueIndex numbers = kNone;              // its float side
  ValueIndex scale = kNone, zero = kNone;  // kNone: a zero point of 0
  ElementType type = ElementType::kUndefined;
  int64_t axis = 0;
  const Tensor* scales = nullptr;  // normal positive floats
  const Tensor* zeros = nullptr;

  bool per_tensor() const { return scales->num_elements() == 1; }
  float Scale(int64_t i = 0) const { return scales->data<float>()[per_tensor() ? 0 : i]; }
  int Zero(int64_t i = 0) const;
  int lowest() const { return type == ElementType::kInt8 ? -128 : 0; }
  int highest() const { return lowest() + 255; }
};

bool IsByte(ElementType type) noexcept;

/// Of a DequantizeLinear to float; blocked ones, and those with scales that are no normal positive numbers, are none.
std::optional<Quantization> DequantizationOf(const Graph& graph, const Node& node);
/// The DequantizeLinear that computes a value.
std::optional<Quantization> DequantizationOf(const Graph& graph, ValueIndex numbers);
/// The same where the whole tensor has one scale.
std::optional<Quantization> PlainDequantizationOf(const Graph& graph, ValueIndex numbers);
/// Of a QuantizeLinear from float with one scale.
std::optional<Quantization> QuantizationOf(const Graph& graph, const Node& node);

/// Whether quantized values cannot be outside of the bounds.
bool IsImplied(const Bounds& bounds, const Quantization& to);

bool SameQuantization(const Quantization& a, const Quantization& b);

/// The zero point as an input that operators require.
ValueIndex ZeroPointInput(Graph& graph, const Quantization& quantization);

}  // namespace tessera
