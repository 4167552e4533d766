#pragma once

// Operands and results of matmuls of 8-bit quantized values: weights as int8 without zero points, accumulators that become
// quantized values again.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onednn/program/builder.h"

namespace tessera::onednn {

/// The axis of a weight whose indices are the results' channels: the first of convolutions, the last of matmuls.
enum class ChannelAxis : int8_t { kFirst, kLast };

/// A weight's quantized values and the zero points of its channels: none, one for all, or one each.
struct QuantizedWeight {
  const Tensor* quantized;
  const Tensor* zeros;
  ChannelAxis axis;

  int64_t channels() const { return axis == ChannelAxis::kFirst ? quantized->shape()[0] : quantized->shape().back(); }
  int32_t zero(int64_t channel) const;
};

/// Element `i` of a tensor of int8 or uint8.
int32_t QuantizedAt(const Tensor& tensor, int64_t i);

/// Why oneDNN, which multiplies by int8 without a zero point, cannot take a weight; empty when it can.
std::string RefuseQuantizedWeight(const GraphViewer& graph, const Node& node, size_t weight, size_t zeros,
                                  ChannelAxis axis);

/// The most that products with quantized values (at most 255 from their zero point) can add up to in a channel.
int64_t LargestAccumulator(const QuantizedWeight& weight);

/// A weight less its zero points, and for each channel the sum of it.
struct SignedWeight {
  MemoryIndex memory;
  std::vector<int32_t> sums;
};
SignedWeight AddSigned(ProgramBuilder& builder, const QuantizedWeight& weight);

/// What becomes of a primitive's accumulators: round((sum + shift) * scale) + zero, or the accumulators themselves without
/// scales. Both versions of oneDNN describe it by attributes, 3.x gives the numbers as arguments.
class Requantization {
 public:
  std::vector<float> scales;               // one, or one a channel
  std::vector<int32_t> shifts;             // one a channel, or none
  std::optional<MemoryIndex> source_zero;  // of the source, int32
  std::optional<MemoryIndex> result_zero;

  /// The description of the shifts, when there are any: a vector, or for matmuls a row.
  std::optional<Desc> ShiftDesc(const Dims& dims) const;
  /// `weight_mask`: the dimensions of the weights that scales go along, `result_mask`: of the result.
  dnnl::primitive_attr Attributes(int weight_mask, int result_mask) const;
  void AddArguments(ProgramBuilder& builder, const Dims& shift_dims,
                    std::vector<std::pair<int, MemoryIndex>>& arguments) const;
};

/// A scale or zero point that is one number, as oneDNN reads it: int32 or float.
MemoryIndex AddScalar(ProgramBuilder& builder, const Node& node, size_t input, DataType type);

/// Whether input `i` is a constant of `count` elements or one; `optional`: or missing.
bool IsConstantOf(const GraphViewer& graph, const Node& node, size_t i, int64_t count, bool optional);

/// x_scale * w_scale / y_scale, one or one a channel.
std::vector<float> CombinedScales(const Tensor& x, const Tensor& w, const Tensor& y);

}  // namespace tessera::onednn
