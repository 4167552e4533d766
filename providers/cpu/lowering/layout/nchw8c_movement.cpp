#include "cpu/lowering/layout/nchw8c_movement.h"

#include <algorithm>
#include <numeric>

#include "cpu/lowering/layout/nchw8c_plan.h"
#include "ops/image/resize.h"
#include "ops/movement/slice.h"
#include "ops/movement/split.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/slice_bounds.h"

namespace tessera {
namespace {

constexpr int64_t kChannelAxis = 1;

/// Rewrites one node. Each operator's function is false where it can not be.
class Moving {
 public:
  Moving(const Graph& graph, const Node& node, int64_t channels)
      : graph_(graph),
        node_(node),
        channels_(channels),
        shape_(*ShapeOf(graph, node.inputs[0])),
        result_{.node = node, .constants = {}, .sizes = {}} {}

  std::optional<Nchw8cMovement> Run() {
    const std::string& op = node_.op_type;
    const bool moves = op == "Resize"     ? Resize()
                       : op == "Upsample" ? Upsample()
                       : op == "Pad"      ? Pad()
                       : op == "Slice"    ? Slice()
                       : op == "Split"    ? Split()
                                          : false;
    return moves ? std::optional(std::move(result_)) : std::nullopt;
  }

 private:
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }

  /// From the front, or nothing where some are no axes of the image.
  std::optional<std::vector<int64_t>> FromFront(std::vector<int64_t> axes) const {
    for (int64_t& axis : axes) {
      if (axis < -rank() || axis >= rank()) return std::nullopt;
      axis += axis < 0 ? rank() : 0;
    }
    return axes;
  }

  /// The axes that an attribute names, or all where there is none.
  std::optional<std::vector<int64_t>> AxesOf(const std::vector<int64_t>* named) const {
    if (named != nullptr) return FromFront(*named);
    std::vector<int64_t> all(shape_.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  template <class T>
  void SetConstant(size_t input, const std::vector<T>& values) {
    if (result_.node.inputs.size() <= input) result_.node.inputs.resize(input + 1, kNone);
    result_.constants.emplace_back(input, Tensor::Of<T>({static_cast<int64_t>(values.size())}, values));
  }

  /// Where they were: in an input, or in the attribute of older versions.
  void SetIntegers(bool in_input, size_t input, std::string_view attribute, std::vector<int64_t> values) {
    in_input ? SetConstant(input, values) : SetAttribute(result_.node, attribute, std::move(values));
  }

  bool Resize() {
    const auto attributes = ValidAttributes<ResizeAttributes>(node_);
    if (!attributes || attributes->options.coordinates == CoordinateMode::kTfCropAndResize) return false;
    const bool stretches = attributes->policy == AspectPolicy::kStretch;
    const auto* named = attributes->axes.empty() ? nullptr : &attributes->axes;
    const auto axes = AxesOf(named);
    if (!axes) return false;
    if (named != nullptr) SetAttribute(result_.node, "axes", *axes);
    const size_t scales = attributes->early ? 1 : 2, sizes = 3;
    if (!attributes->early && HasInput(node_, sizes)) {
      const Tensor* none = ConstantInput(graph_, node_, scales);
      if (HasInput(node_, scales) && (none == nullptr || none->num_elements() > 0)) return false;
      return Sizes(sizes, *axes, named == nullptr, stretches);
    }
    return Scales(scales, *axes, named == nullptr);
  }

  bool Upsample() {
    if (node_.since_version < 7) return false;
    const auto axes = AxesOf(nullptr);
    if (node_.since_version >= 9) return Scales(1, *axes, true);
    auto attributes = ValidAttributes<ResizeAttributes>(node_);
    if (!attributes || !KeepsChannels(attributes->scales, *axes)) return false;
    attributes->scales.push_back(1);
    SetAttribute(result_.node, "scales", std::move(attributes->scales));
    return true;
  }

  /// Neither images nor channels become more or fewer.
  static bool KeepsChannels(std::span<const float> scales, std::span<const int64_t> axes) {
    if (scales.size() != axes.size()) return false;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] <= kChannelAxis && scales[i] != 1) return false;
    }
    return true;
  }

  bool Scales(size_t input, const std::vector<int64_t>& axes, bool all_axes) {
    const Tensor* tensor = ConstantInput(graph_, node_, input);
    if (tensor == nullptr || !tensor->is(ElementType::kFloat) || !KeepsChannels(tensor->values<float>(), axes))
      return false;
    if (!all_axes) return true;
    std::vector<float> scales(tensor->values<float>().begin(), tensor->values<float>().end());
    scales.push_back(1);
    SetConstant(input, scales);
    return true;
  }

  bool Sizes(size_t input, const std::vector<int64_t>& axes, bool all_axes, bool stretches) {
    if (graph_.constant(node_.inputs[input]) == nullptr) return OpenSizes(input, axes, all_axes, stretches);
    auto sizes = Integers(ConstantInput(graph_, node_, input));
    if (!sizes || sizes->size() != axes.size()) return false;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] > kChannelAxis) continue;
      const Dimension& size = shape_[static_cast<size_t>(axes[i])];
      if (!size.known() || size.value != (*sizes)[i]) return false;
      // With another policy these axes are scaled as the others are.
      if (!stretches) return false;
      if (axes[i] == kChannelAxis) (*sizes)[i] /= kChannelBlock;
    }
    if (all_axes) sizes->push_back(kChannelBlock);
    SetConstant(input, *sizes);
    return true;
  }

  /// Computed in the run.
  bool OpenSizes(size_t input, const std::vector<int64_t>& axes, bool all_axes, bool stretches) {
    const auto is_spatial = [](int64_t axis) { return axis > kChannelAxis; };
    if (!all_axes) return std::ranges::all_of(axes, is_spatial);
    if (!stretches) return false;
    const SymbolicShape* output = ShapeOf(graph_, node_.outputs[0]);
    if (output == nullptr || output->size() != shape_.size()) return false;
    result_.sizes = input;
    return SameDimension(output->front(), shape_.front()) && (*output)[kChannelAxis].value == channels_;
  }

  bool Pad() {
    const bool in_inputs = node_.since_version >= 11;
    const auto pads = node_.since_version < 2 ? std::nullopt : PadsOf(graph_, node_);
    const auto named = Integers(ConstantInput(graph_, node_, 3));
    const auto axes = AxesOf(named ? &*named : nullptr);
    if (!pads || !axes || HasInput(node_, 3) != named.has_value() || pads->size() != 2 * axes->size()) return false;
    for (size_t i = 0; i < pads->size(); ++i) {
      if ((*axes)[i % axes->size()] <= kChannelAxis && (*pads)[i] != 0) return false;
    }
    if (named) {
      SetConstant(3, *axes);
      return true;
    }
    std::vector<int64_t> more = *pads;
    more.insert(more.begin() + rank(), 0);
    more.push_back(0);
    SetIntegers(in_inputs, 1, "pads", std::move(more));
    return true;
  }

  bool Slice() {
    auto bounds = SliceBoundsOf(graph_, node_);
    if (!bounds) return false;
    for (size_t i = 0; i < bounds->axes.size(); ++i) {
      if (bounds->axes[i] != kChannelAxis) continue;
      if (bounds->steps[i] != 1) return false;
      const SliceRange range = ClampSlice(bounds->starts[i], bounds->ends[i], 1, channels_);
      if (range.start % kChannelBlock != 0 || range.count % kChannelBlock != 0) return false;
      bounds->starts[i] = range.start / kChannelBlock;
      bounds->ends[i] = (range.start + range.count) / kChannelBlock;
    }
    const bool in_inputs = node_.since_version >= 10;
    SetIntegers(in_inputs, 1, "starts", std::move(bounds->starts));
    SetIntegers(in_inputs, 2, "ends", std::move(bounds->ends));
    SetIntegers(in_inputs, 3, "axes", std::move(bounds->axes));
    return true;
  }

  bool Split() {
    const SplitAttributes attributes(node_);
    const auto axis = node_.since_version < 2 ? std::nullopt : FromFront({attributes.axis});
    const bool all = std::ranges::find(node_.outputs, kNone) == node_.outputs.end();  // parts are told by their indices
    if (!axis || !all) return false;
    SetAttribute(result_.node, "axis", axis->front());
    if (axis->front() != kChannelAxis) return true;
    const auto count = static_cast<int64_t>(node_.outputs.size());
    const bool in_input = HasInput(node_, 1);
    if (!in_input && attributes.sizes.empty()) return channels_ / kChannelBlock % count == 0;
    auto sizes = in_input ? Integers(ConstantInput(graph_, node_, 1)) : std::optional(attributes.sizes);
    if (!sizes || static_cast<int64_t>(sizes->size()) != count) return false;
    for (int64_t& size : *sizes) {
      if (size % kChannelBlock != 0) return false;
      size /= kChannelBlock;
    }
    SetIntegers(in_input, 1, "split", std::move(*sizes));
    return true;
  }

  const Graph& graph_;
  const Node& node_;
  const int64_t channels_;
  const SymbolicShape& shape_;
  Nchw8cMovement result_;
};

}  // namespace

std::optional<Nchw8cMovement> MovedInNchw8c(const Graph& graph, const Node& node, int64_t channels) {
  return Moving(graph, node, channels).Run();
}

}  // namespace tessera
