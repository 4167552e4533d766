// recognize_matmul_nbits: MatMuls by a matrix that DequantizeLinear makes of 2, 4 or 8-bit constants become MatMulNBits,
// which reads the weights as they are; a constant that is added to its columns becomes its bias.

#include <algorithm>

#include "ops/math/gemm.h"
#include "ops/quantization/quantize_linear.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/matmul_nbits.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// A MatMul or Gemm that reads the dequantized matrix, and whether it reads the transpose.
struct Reader {
  NodeIndex matmul = kNone;
  bool transposed = false;
};

/// All that read a matrix, over its transposes; nothing where something else does.
std::optional<std::vector<Reader>> ReadersOf(const Graph& graph, ValueIndex matrix, bool transposed) {
  std::vector<Reader> readers;
  const GraphValue& value = graph.value(matrix);
  if (value.is_output) return std::nullopt;
  for (const NodeIndex index : value.consumers) {
    const Node& node = graph.node(index);
    if (IsOp(node, "Transpose")) {
      const auto perm = PermutationOf(graph, node);
      if (transposed || !perm || *perm != Permutation{1, 0}) return std::nullopt;
      const auto more = ReadersOf(graph, node.outputs[0], true);
      if (!more) return std::nullopt;
      readers.insert(readers.end(), more->begin(), more->end());
      continue;
    }
    const bool is_gemm = IsOp(node, "Gemm");
    if ((!is_gemm && !IsOp(node, "MatMul")) || node.inputs.size() < 2 || node.inputs[1] != matrix) return std::nullopt;
    if (std::count(node.inputs.begin(), node.inputs.end(), matrix) != 1) return std::nullopt;
    readers.push_back({index, transposed != (is_gemm && GemmAttributes(node).trans_b)});
  }
  return readers;
}

class NBitsRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (IsOp(node, "DequantizeLinear")) return Replace(graph, index, context);
    return IsMatMulNBits(node) && FoldNBitsBias(graph, index);
  }

 private:
  static bool Replace(Graph& graph, NodeIndex index, const RewriteContext& context) {
    const Node& source = graph.node(index);
    const ValueIndex matrix = source.outputs[0];
    QuantizedMatrix quantized{.values = ConstantInput(graph, source, 0), .scales = ConstantInput(graph, source, 1)};
    if (quantized.values == nullptr || quantized.scales == nullptr) return false;
    quantized.zeros = ConstantInput(graph, source, 2);
    if (HasInput(source, 2) && quantized.zeros == nullptr) return false;
    const auto attributes = ValidAttributes<QuantizeLinearAttributes>(source);
    if (!attributes) return false;
    quantized.axis = attributes->axis;
    quantized.block_size = attributes->block_size;
    const auto readers = ReadersOf(graph, matrix, false);
    if (!readers || readers->empty()) return false;
    // One form serves all readers, so that the weights stay in memory once.
    quantized.transposed = readers->front().transposed;
    const ElementType type = ElementOf(graph, matrix);
    for (const Reader& reader : *readers) {
      const Node& matmul = graph.node(reader.matmul);
      // With both operands quantized it runs as an integer GEMM.
      const Node* other = Producer(graph, matmul, 0);
      if (other != nullptr && IsOp(*other, "DequantizeLinear")) return false;
      if (reader.transposed != quantized.transposed || !MayBecomeNBits(graph, matmul, type, context)) return false;
    }
    const auto made = ToNBits(quantized, type, context.resources);
    if (!made) return false;
    const NBitsConstants constants = AddNBitsConstants(graph, *made);
    for (const Reader& reader : *readers) {
      const NodeIndex replaced = ReplaceByNBits(graph, reader.matmul, *made, constants);
      if (context.int8_beside_nbits) AllowInt8(graph.node(replaced));
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeMatMulNBits() { return std::make_unique<NBitsRecognition>(); }

}  // namespace tessera
