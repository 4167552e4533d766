// recognize_nbits: products with a matrix that DequantizeLinear makes of 2, 4 or 8-bit constants become MatMulNBits, which
// reads the weights as they are; a constant that is added to its columns becomes its bias.

#include <algorithm>

#include "optimizer/channels.h"
#include "optimizer/edit.h"
#include "optimizer/fused_kernels.h"
#include "optimizer/nbits_weights.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

bool IsMatMulNBits(const Node& node) { return node.domain == kMicrosoft && node.op_type == "MatMulNBits"; }

/// `bias` as one number for each of n columns that is added to a product whose last dimension they are.
std::optional<Tensor> ColumnBias(const Tensor& bias, int64_t n) {
  // A matrix of one row and n columns says which constants do not broadcast it.
  return PerChannel(bias, Product{.channels = n, .rank = 2, .channel_axis = 1});
}

/// A product that reads the dequantized matrix, and whether it reads the transpose.
struct Reader {
  NodeIndex product = kNone;
  bool transposed = false;
};

class NBitsRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (IsOp(node, "DequantizeLinear")) return Replace(graph, index, context);
    return IsMatMulNBits(node) && FoldBias(graph, index);
  }

 private:
  bool Replace(Graph& graph, NodeIndex index, RewriteContext& context) {
    const Node& source = graph.node(index);
    const ValueIndex matrix = source.outputs[0];
    QuantizedMatrix quantized{.codes = ConstantInput(graph, source, 0), .scales = ConstantInput(graph, source, 1)};
    if (quantized.codes == nullptr || quantized.scales == nullptr || graph.value(matrix).is_output) return false;
    quantized.zeros = ConstantInput(graph, source, 2);
    if (HasInput(source, 2) && quantized.zeros == nullptr) return false;
    quantized.axis = IntAttribute(source, "axis", 1);
    quantized.block_size = IntAttribute(source, "block_size", 0);
    const auto readers = ReadersOf(graph, matrix, false);
    if (!readers || readers->empty()) return false;
    // One form serves all readers, so that the weights stay in memory once.
    quantized.transposed = readers->front().transposed;
    for (const Reader& reader : *readers) {
      if (reader.transposed != quantized.transposed || !MayReplace(graph, source, reader, context)) return false;
    }
    const auto made = ToNBits(quantized, ElementOf(graph, matrix), *context.resources.threads);
    if (!made) return false;
    const ValueIndex codes = graph.AddConstant("", made->codes), scales = graph.AddConstant("", made->scales);
    const ValueIndex zeros = made->zeros.defined() ? graph.AddConstant("", made->zeros) : kNone;
    for (const Reader& reader : *readers) Make(graph, reader, *made, {codes, scales, zeros});
    return true;
  }

  /// All that read a matrix, over its transposes; nothing where something else does.
  static std::optional<std::vector<Reader>> ReadersOf(const Graph& graph, ValueIndex matrix, bool transposed) {
    std::vector<Reader> readers;
    const GraphValue& value = graph.value(matrix);
    if (value.is_output) return std::nullopt;
    for (const NodeIndex index : value.consumers) {
      const Node& node = graph.node(index);
      if (node.inputs.size() < (IsOp(node, "Transpose") ? 1 : 2)) return std::nullopt;
      if (IsOp(node, "Transpose")) {
        const auto perm = PermutationOf(graph, node);
        if (transposed || !perm || *perm != Permutation{1, 0}) return std::nullopt;
        const auto more = ReadersOf(graph, node.outputs[0], true);
        if (!more) return std::nullopt;
        readers.insert(readers.end(), more->begin(), more->end());
        continue;
      }
      const bool is_gemm = IsOp(node, "Gemm");
      if ((!is_gemm && !IsOp(node, "MatMul")) || node.inputs[1] != matrix) return std::nullopt;
      if (std::count(node.inputs.begin(), node.inputs.end(), matrix) != 1) return std::nullopt;
      readers.push_back({index, transposed != (is_gemm && IntAttribute(node, "transB", 0) != 0)});
    }
    return readers;
  }

  static Node Replacement(const Node& product) {
    Node node;
    node.domain = kMicrosoft;
    node.op_type = "MatMulNBits";
    node.name = product.name;
    node.since_version = 1;
    node.inputs = {product.inputs[0]};
    node.outputs = {product.outputs[0]};
    return node;
  }

  static bool MayReplace(const Graph& graph, const Node& source, const Reader& reader, const RewriteContext& context) {
    const Node& product = graph.node(reader.product);
    if (!HasInput(product, 0) || !HasOneOutput(product) || graph.constant(product.inputs[0]) != nullptr) return false;
    const ElementType type = ElementOf(graph, source.outputs[0]);
    if (ElementOf(graph, product.inputs[0]) != type) return false;
    if (type != ElementType::kFloat && type != ElementType::kFloat16 && type != ElementType::kBFloat16) return false;
    if (product.FindAttribute(kFusedActivation) != nullptr) return false;
    if (IsOp(product, "Gemm") && !GemmFits(graph, product)) return false;
    // Both factors quantized: those run as products of integers.
    const Node* other = Producer(graph, product, 0);
    if (other != nullptr && IsOp(*other, "DequantizeLinear")) return false;
    Node replacement = Replacement(product);
    replacement.inputs.push_back(source.inputs[0]);
    return MayFuse(graph, source, replacement, context);
  }

  /// A * B + bias and nothing else.
  static bool GemmFits(const Graph& graph, const Node& gemm) {
    if (gemm.since_version < 7 || IntAttribute(gemm, "transA", 0) != 0 || FloatAttribute(gemm, "alpha", 1) != 1) return false;
    if (ShapeOf(graph, gemm.inputs[0]) == nullptr || ShapeOf(graph, gemm.inputs[0])->size() != 2) return false;
    if (!HasInput(gemm, 2)) return true;
    const auto matrix = StaticShapeOf(graph, gemm.inputs[1]);
    const Tensor* bias = ConstantInput(graph, gemm, 2);
    if (!matrix || matrix->rank() != 2 || bias == nullptr || FloatAttribute(gemm, "beta", 1) != 1) return false;
    return ColumnBias(*bias, (*matrix)[IntAttribute(gemm, "transB", 0) != 0 ? 0 : 1]).has_value();
  }

  static void Make(Graph& graph, const Reader& reader, const NBitsMatrix& matrix, const std::vector<ValueIndex>& weights) {
    const Node& product = graph.node(reader.product);
    Node node = Replacement(product);
    node.inputs.insert(node.inputs.end(), weights.begin(), weights.end());
    if (IsOp(product, "Gemm") && HasInput(product, 2)) {
      node.inputs.resize(6, kNone);
      node.inputs[5] = graph.AddConstant("", *ColumnBias(*ConstantInput(graph, product, 2), matrix.n));
    } else if (node.inputs.back() == kNone) {
      node.inputs.pop_back();
    }
    SetAttribute(node, "K", matrix.k);
    SetAttribute(node, "N", matrix.n);
    SetAttribute(node, "bits", matrix.bits);
    SetAttribute(node, "block_size", matrix.block_size);
    graph.RemoveNode(reader.product);
    graph.AddNode(std::move(node), reader.product);
  }

  /// MatMulNBits, Add of a constant for each column.
  static bool FoldBias(Graph& graph, NodeIndex index) {
    Node& node = graph.node(index);
    if (HasInput(node, 5) || node.inputs.empty() || !HasOneOutput(node) || !HasOneReader(graph, node.outputs[0])) return false;
    const Node& add = graph.node(graph.value(node.outputs[0]).consumers[0]);
    const SymbolicShape* shape = ShapeOf(graph, node.outputs[0]);
    if (!IsOp(add, "Add") || add.since_version < 7 || add.inputs.size() != 2 || shape == nullptr) return false;
    const Tensor* added = ConstantInput(graph, add, add.inputs[0] == node.outputs[0] ? 1 : 0);
    if (added == nullptr || added->type() != ElementOf(graph, node.outputs[0]) || added->shape().rank() > shape->size()) return false;
    Shape last = added->shape();
    // [1, 1, n] is [1, n] here.
    if (last.rank() > 2 && last.back() == added->num_elements()) last = Shape{last.back()};
    const auto bias = ColumnBias(added->Reshaped(last), IntAttribute(node, "N", 0));
    if (!bias) return false;
    const NodeIndex sum = add.index;
    if (!BypassNode(graph, sum, node.outputs[0])) return false;
    const ValueIndex constant = graph.AddConstant("", *bias);
    Node& product = graph.node(index);
    if (product.inputs.size() < 6) product.inputs.resize(6, kNone);
    graph.SetInput(index, 5, constant);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeNBits() { return std::make_unique<NBitsRecognition>(); }

}  // namespace tessera
