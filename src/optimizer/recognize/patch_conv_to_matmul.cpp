// patch_conv_to_matmul: a convolution whose windows do not overlap, between tokens (pixels in NHWC)
// that were made an image for it and become tokens again, as transformers shorten their keys with: patches are rows
// of a MatMul.

#include "ops/nn/conv.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/tokens.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

class PatchConvolutions final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    if (!IsOp(graph.node(index), "Conv") || VersionOf(graph, "Reshape") < 5) return false;
    const Node conv = graph.node(index);
    const auto patches = PatchesOf(graph, conv);
    if (!patches) return false;
    const ValueIndex pixels = PixelsBefore(graph, conv);
    const Node* end = TokensBehind(graph, conv);
    if (pixels == kNone || end == nullptr) return false;
    return BypassNode(graph, end->index, Write(graph, conv, *patches, pixels, end->outputs[0]));
  }

 private:
  struct Patches {
    int64_t rows, columns;  // of patches
    int64_t height, width;  // of one
    int64_t channels, outputs;
  };

  /// Nothing where windows overlap, leave pixels out or reach beyond the image, or sizes are open.
  static std::optional<Patches> PatchesOf(const Graph& graph, const Node& conv) {
    const Tensor* weights = ConstantInput(graph, conv, 1);
    const SymbolicShape* image = ShapeOf(graph, conv.inputs[0]);
    if (!HasOneOutput(conv) || weights == nullptr || weights->shape().rank() != 4 || weights->num_elements() == 0)
      return std::nullopt;
    if (image == nullptr || image->size() != 4) return std::nullopt;
    const auto attributes = ValidAttributes<ConvAttributes>(conv);
    if (!attributes || attributes->group != 1 || attributes->window.pads_to_same()) return std::nullopt;
    const Shape& kernel = weights->shape();
    const auto window = WindowBeforeImage(attributes->window, kernel.dims().subspan(2));
    if (!window) return std::nullopt;
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t stride = window->strides[axis];
      const Dimension& size = (*image)[2 + axis];
      if (window->begin[axis] != 0 || window->end[axis] != 0 || window->dilations[axis] != 1) return std::nullopt;
      if (stride != kernel[2 + axis] || !size.known() || size.value <= 0 || size.value % stride != 0) return std::nullopt;
    }
    if (!(*image)[1].known() || (*image)[1].value != kernel[1]) return std::nullopt;
    return Patches{
        (*image)[2].value / kernel[2], (*image)[3].value / kernel[3], kernel[2], kernel[3], kernel[1], kernel[0]};
  }

  static ValueIndex Write(Graph& graph, const Node& conv, const Patches& of, ValueIndex pixels, ValueIndex result) {
    const Dimension batch = (*ShapeOf(graph, conv.inputs[0]))[0];
    const int64_t depth = of.height * of.width * of.channels;
    const auto add = [&](std::string_view op_type, std::vector<ValueIndex> inputs, SymbolicShape shape) -> Node& {
      const ValueIndex output = graph.AddValue("", TypeInfo::OfTensor(ElementOf(graph, inputs[0]), std::move(shape)));
      Node& node = AddOperator(graph, op_type, std::move(inputs), output, conv.index);
      node.name = conv.name;
      return node;
    };
    const auto known = [](std::initializer_list<int64_t> sizes) {
      SymbolicShape shape;
      for (const int64_t size : sizes) shape.push_back({size, {}});
      return shape;
    };
    const auto of_batch = [&](std::initializer_list<int64_t> sizes) {
      SymbolicShape shape = known(sizes);
      shape.insert(shape.begin(), batch);
      return shape;
    };
    const auto reshape = [&](ValueIndex value, std::vector<int64_t> sizes, SymbolicShape shape) {
      const ValueIndex target = AddIntegers(graph, sizes);
      return add("Reshape", {value, target}, std::move(shape)).outputs[0];
    };
    const auto transpose = [&](ValueIndex value, Permutation perm, SymbolicShape shape) {
      Node& node = add("Transpose", {value}, std::move(shape));
      SetAttribute(node, "perm", std::move(perm));
      return node.outputs[0];
    };
    // The pixels of a row of a patch are adjacent, rows are not.
    const int64_t line = of.width * of.channels;
    ValueIndex rows =
        reshape(pixels, {0, of.rows, of.height, of.columns, line}, of_batch({of.rows, of.height, of.columns, line}));
    rows = transpose(rows, {0, 1, 3, 2, 4}, of_batch({of.rows, of.columns, of.height, line}));
    rows = reshape(rows, {0, of.rows * of.columns, depth}, of_batch({of.rows * of.columns, depth}));
    ValueIndex weights = transpose(conv.inputs[1], {2, 3, 1, 0}, known({of.height, of.width, of.channels, of.outputs}));
    weights = reshape(weights, {depth, of.outputs}, known({depth, of.outputs}));
    const SymbolicShape tokens = of_batch({of.rows * of.columns, of.outputs});
    ValueIndex y = add("MatMul", {rows, weights}, tokens).outputs[0];
    if (HasInput(conv, 2)) y = add("Add", {y, conv.inputs[2]}, tokens).outputs[0];
    if (ShapeOf(graph, result)->size() == 3) return y;
    return reshape(y, {0, of.rows, of.columns, of.outputs}, of_batch({of.rows, of.columns, of.outputs}));
  }
};

}  // namespace

std::unique_ptr<Rewrite> PatchConvToMatMul() { return std::make_unique<PatchConvolutions>(); }

}  // namespace tessera
