// hoist_quantize_over_concat: a QuantizeLinear after a Concat of dequantized values goes before it, once for each part: the
// parts are joined quantized, and requantizing a part is a table of its 256 values, or nothing.

#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

class PartsQuantization final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const auto to = QuantizationOf(graph, graph.node(index));
    if (!to || !HasOneReader(graph, to->numbers) || graph.value(to->numbers).producer == kNone) return false;
    const Node& concat = graph.node(graph.value(to->numbers).producer);
    if (!IsOp(concat, "Concat") || !HasOneOutput(concat)) return false;
    Node joined = concat;
    joined.outputs = {to->quantized};
    for (ValueIndex& part : joined.inputs) {
      if (part == kNone || !PlainDequantizationOf(graph, part)) return false;
      part = to->quantized;  // what the schema is asked for: each part will be of its type
    }
    if (!MayAdd(graph, joined, context)) return false;
    const Node quantize = graph.node(index);
    joined.inputs = concat.inputs;
    graph.RemoveNode(index);
    graph.RemoveNode(concat.index);
    for (ValueIndex& part : joined.inputs) part = Quantized(graph, quantize, *to, part, index);
    graph.AddNode(std::move(joined), index);
    return true;
  }

 private:
  static ValueIndex Quantized(Graph& graph, const Node& quantize, const Quantization& to, ValueIndex part,
                              NodeIndex before) {
    TypeInfo type = graph.value(part).type;
    type.element = to.type;
    Node node = quantize;
    node.name.clear();
    node.inputs[0] = part;
    node.outputs = {graph.AddValue("", type)};
    const ValueIndex quantized = node.outputs[0];
    graph.AddNode(std::move(node), before);
    return quantized;
  }
};

}  // namespace

std::unique_ptr<Rewrite> HoistQuantizeOverConcat() { return std::make_unique<PartsQuantization>(); }

}  // namespace tessera
