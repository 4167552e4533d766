#include "opencl/claims/claim.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "opencl/device/kernel.h"
#include "ops/attention/attention.h"
#include "ops/attention/group_query_attention.h"
#include "ops/image/resize.h"
#include "ops/image/roi_align.h"
#include "ops/math/gemm.h"
#include "ops/movement/pad.h"
#include "ops/movement/scatter.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/row_parameter.h"
#include "ops/quantization/quantize_linear.h"
#include "ops/signal/dft.h"

namespace tessera::opencl {
namespace {

bool HasInput(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; }
bool HasOutput(const Node& node, size_t i) { return i < node.outputs.size() && node.outputs[i] != kNone; }

/// Number of elements of a value from dimension `first` on, where it is known.
std::optional<int64_t> KnownSize(const TypeInfo& type, size_t first = 0) {
  if (!type.shape || first > type.shape->size()) return std::nullopt;
  int64_t size = 1;
  for (size_t i = first; i < type.shape->size(); ++i) {
    if (!(*type.shape)[i].known() || __builtin_mul_overflow(size, (*type.shape)[i].value, &size)) return std::nullopt;
  }
  return size;
}

std::string ValueRefusal(const TypeInfo& type, const Capabilities& device) {
  if (!type.is_tensor()) return "a value is " + type.ToString() + ", not a tensor";
  if (type.element == ElementType::kString) return "strings do not live on a device";
  if (type.element == ElementType::kDouble && !device.fp64) return device.name + " does not compute in double";
  if (type.shape && type.shape->size() > kMostDims) return fmt::format("a value has more than {} dimensions", kMostDims);
  const auto size = KnownSize(type);
  const auto element_bits = static_cast<cl_ulong>(BitWidth(type.element));
  if (size && element_bits > 0 && static_cast<cl_ulong>(*size) > device.largest_buffer_bytes / element_bits * 8) {
    return fmt::format("a value of {} is larger than the buffers of {}, of at most {} bytes", type.ToString(), device.name,
                       device.largest_buffer_bytes);
  }
  return {};
}

/// Of A B with a bias for each column, what QLinearMatMul lacks; the optimizer makes no others.
std::string QGemmRefusal(const GraphViewer& graph, const Node& node) {
  if (!HasInput(node, 7)) return "results that are not quantized are left to the CPU provider";
  const GemmAttributes attributes(node);
  if (attributes.trans_a || attributes.trans_b) return "transposed operands are left to the CPU provider";
  if (attributes.alpha != 1) return "an alpha is left to the CPU provider";
  if (!HasInput(node, 6)) return {};
  const TypeInfo &bias = graph.value(node.inputs[6]).type, &b = graph.value(node.inputs[3]).type;
  const bool by_column = bias.shape && bias.shape->size() == 1 && b.shape && b.shape->size() == 2 &&
                         (*b.shape)[1].known() && KnownSize(bias) == (*b.shape)[1].value;
  return by_column ? "" : "a bias that is not one for each column is left to the CPU provider";
}

/// Scales and zero points of rows and of matrices of a stack are left to the CPU provider.
std::string IntegerMatMulRefusal(const GraphViewer& graph, const Node& node) {
  std::vector<size_t> single, by_channel;
  if (node.op_type == "MatMulInteger" || node.op_type == "ConvInteger") {
    single = {2};
    by_channel = {3};
  } else if (node.op_type == "MatMulIntegerToFloat") {
    single = {2, 4};
    by_channel = {3, 5};
  } else if (node.op_type == "QLinearMatMul" || node.op_type == "QLinearConv") {
    single = {1, 2, 6, 7};
    by_channel = {4, 5};
  } else if (node.op_type == "QGemm") {
    if (std::string reason = QGemmRefusal(graph, node); !reason.empty()) return reason;
    single = {1, 2, 7, 8};
    by_channel = {4, 5};
  } else {
    return {};
  }
  for (size_t i : single) {
    if (HasInput(node, i) && KnownSize(graph.value(node.inputs[i]).type) != 1)
      return "more than one scale or zero point is left to the CPU provider";
  }
  for (size_t i : by_channel) {
    if (!HasInput(node, i)) continue;
    const TypeInfo& type = graph.value(node.inputs[i]).type;
    if (!type.shape || (type.shape->size() > 1 && KnownSize(type) != 1))
      return "scales of several axes are left to the CPU provider";
  }
  return {};
}

std::string GroupQueryRefusal(const GraphViewer& graph, const Node& node) {
  const GroupQueryAttentionAttributes attributes(node);
  if (HasInput(node, 10) || HasInput(node, 11) || HasInput(node, 14) || HasInput(node, 15) || attributes.smooth) {
    return "biases, sinks and norms of heads are left to the CPU provider";
  }
  if (HasOutput(node, 3)) return "scores are given out by the CPU provider only";
  if (attributes.keys.exists || attributes.values.exists) return "quantized caches are not read on the device";
  if (attributes.slides) return "caches of the size of the window are not supported";
  for (size_t i : {1, 2, 3, 4, 7, 8}) {
    if (HasInput(node, i) && graph.value(node.inputs[i]).type.element != graph.value(node.inputs[0]).type.element) {
      return "queries and caches of several types are left to the CPU provider";
    }
  }
  return {};
}

/// Transforms are sums over all points for each bin: where these are many, the CPU provider's fast transforms take fewer
/// steps by far.
std::string TransformRefusal(const GraphViewer& graph, const Node& node) {
  constexpr int64_t kMostPoints = 4096;
  const bool frames = node.op_type == "STFT";
  const DftAttributes attributes(node);
  if (attributes.inverse) return "inverse transforms are left to the CPU provider";
  const auto number = [&](size_t i) -> std::optional<int64_t> {
    const Tensor* tensor = HasInput(node, i) ? graph.constant(node.inputs[i]) : nullptr;
    if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
    if (tensor->is(ElementType::kInt32)) return *tensor->data<int32_t>();
    return tensor->is(ElementType::kInt64) ? std::optional(*tensor->data<int64_t>()) : std::nullopt;
  };
  const auto& shape = graph.value(node.inputs[0]).type.shape;
  const auto dimension = [&](int64_t axis) -> std::optional<int64_t> {
    const int64_t rank = shape ? static_cast<int64_t>(shape->size()) : 0, at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank || !(*shape)[static_cast<size_t>(at)].known()) return std::nullopt;
    return (*shape)[static_cast<size_t>(at)].value;
  };
  const size_t length_input = frames ? 3 : 1;
  std::optional<int64_t> length;
  if (HasInput(node, length_input)) {
    length = number(length_input);
  } else if (frames) {
    length = HasInput(node, 2) ? KnownSize(graph.value(node.inputs[2]).type) : dimension(1);
  } else {
    const auto axis = attributes.axis_is_input && HasInput(node, 2) ? number(2) : std::optional(attributes.axis);
    if (axis) length = dimension(*axis);
  }
  if (!length) return "transforms of lengths that are not known are left to the CPU provider";
  return *length > kMostPoints ? fmt::format("transforms of more than {} points are left to the CPU provider", kMostPoints)
                               : "";
}

/// What kernels cannot do of an operator that they do otherwise.
std::string OperatorRefusal(const GraphViewer& graph, const Node& node) {
  const std::string& op = node.op_type;
  const auto type = [&](size_t i) -> const TypeInfo& { return graph.value(node.inputs[i]).type; };
  if (HasOutput(node, 1) && op == "BatchNormalization") return "only the first output is computed on the device";
  if (op == "Conv" || op == "ConvTranspose" || op == "GridSample" || op.ends_with("Pool")) {
    const auto& shape = type(0).shape;
    if (!shape || shape->size() < 3 || shape->size() > 5)
      return "one to three spatial dimensions are computed on the device";
  }
  if (op == "BatchNormalization") {
    const BatchNormalizationAttributes attributes(node);
    if (attributes.training) return "training is left to the CPU provider";
    if (!attributes.spatial) return "statistics of each element are left to the CPU provider";
  }
  if (op == "Dropout" && HasInput(node, 2)) {
    const Tensor* training = graph.constant(node.inputs[2]);
    if (training == nullptr || training->num_elements() != 1 || training->data<bool>()[0])
      return "training is left to the CPU provider";
  }
  if (op == "Einsum" && node.inputs.size() > 2) return "three operands and more are left to the CPU provider";
  if (op == "LayerNormalization" || op == "RMSNormalization" || op == "SimplifiedLayerNormalization") {
    const auto& shape = type(0).shape;
    const auto first = AxisWithin(LayerNormalizationAttributes(node).axis, shape ? shape->size() : 0);
    if (!first) return "the normalized dimensions are not known";
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (HasInput(node, i) && !(type(i).shape && IsOfRow(*shape, *first, *type(i).shape)))
        return "a scale or bias that broadcasts is left to the CPU provider";
    }
  }
  if (op == "Pad") {
    const PadAttributes attributes(node);
    if (attributes.from_attributes && attributes.value != 0 && type(0).element != ElementType::kFloat)
      return "this padding value is left to the CPU provider";
  }
  if (op.starts_with("Scatter") && ScatterReductionOf(node) != ScatterReduction::kNone &&
      !kNumbers.contains(type(0).element)) {
    return "only numbers are combined on the device";
  }
  if (op == "Attention" && !AttentionAttributes(node).columns.empty()) return "columns are picked by the CPU provider";
  if (op == "DFT" || op == "STFT") return TransformRefusal(graph, node);
  if (op == "GroupQueryAttention") return GroupQueryRefusal(graph, node);
  if (op == "MatMulNBits" && HasInput(node, 4)) return "weights in another order (g_idx) are left to the CPU provider";
  if (std::string reason = IntegerMatMulRefusal(graph, node); !reason.empty()) return reason;
  if ((op == "Resize" || op == "Upsample") && ResizeAttributes(node).options.mode != ResampleMode::kNearest &&
      !kReals.contains(type(0).element)) {
    return "integers are interpolated on the CPU provider";
  }
  if (op == "DeformConv" && (!type(0).shape || type(0).shape->size() != 4)) return "images only are sampled at offsets";
  if (op == "Col2Im") {
    const auto& sizes = type(1).shape;
    const bool known =
        sizes && sizes->size() == 1 && (*sizes)[0].known() && (*sizes)[0].value >= 1 && (*sizes)[0].value <= 3;
    if (!known) return "images of one to three dimensions are put together on the device";
  }
  if (op == "RoiAlign" && RoiAlignAttributes(node).sampling_ratio > 1024)
    return "so many samples of a bin are left to the CPU provider";
  if (op == "QuantizeLinear" && QuantizeLinearAttributes(node).rounding() == ElementType::kDouble) {
    return "quotients in double are left to the CPU provider";
  }
  if (op == "Tile") {
    const auto& shape = type(0).shape;
    if (!shape || 2 * shape->size() > kMostDims) return fmt::format("repeats of more than {} dimensions", kMostDims / 2);
  }
  if (op == "Cast" || op == "CastLike") {
    const TypeInfo& to = graph.value(node.outputs[0]).type;
    const bool half = to.element == ElementType::kFloat16 || to.element == ElementType::kBFloat16;
    const TypeSet rounded = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
    if (kFloat8s.contains(to.element) && !rounded.contains(type(0).element))
      return "only floats of 16 and 32 bits are rounded to 8 on the device";
    if (kFloat8s.contains(type(0).element) && !kReals.contains(to.element))
      return "floats of 8 bits become real numbers only on the device";
    if (half && type(0).element == ElementType::kDouble) return "double to half is rounded once on the CPU provider only";
  }
  return {};
}

/// Why there is no kernel for an operator that could have one; empty where nothing speaks against it.
std::string AbsentKernelReason(const Node& node) {
  for (const std::string_view op : {"NonMaxSuppression", "NonZero", "Compress", "Unique"}) {
    if (node.domain.empty() && node.op_type == op)
      return "how many results there are is known only when they are: each run would wait for the device";
  }
  return {};
}

class Claims {
 public:
  Claims(const GraphViewer& graph, const KernelLookup& kernels, const Capabilities& device, RefusalSink& refusals)
      : graph_(graph),
        kernels_(kernels),
        device_(device),
        refusals_(refusals),
        on_host_(graph.num_values()),
        on_device_(graph.num_values()),
        host_made_(graph.num_values()) {}

  std::vector<ComputeCapability> Run() {
    std::vector<NodeIndex> shape_reads;
    for (const NodeIndex index : graph_.nodes()) {
      const Node& node = graph_.node(index);
      if (!node.provider.empty()) continue;
      std::string reason;
      const KernelDef* def = kernels_.Find(node, &reason);
      if (def != nullptr) reason = Refusal(node);
      else if (std::string why = AbsentKernelReason(node); !why.empty()) reason = std::move(why);
      if (reason.empty() && IsShapeArithmetic(node, *def)) {
        for (const ValueIndex output : node.outputs) Mark(on_host_, output);
        reason = "shape arithmetic stays on the host, where its inputs are";
      }
      if (!reason.empty()) {
        refusals_.Refuse(index, std::move(reason));
      } else if (node.op_type == "Shape" || node.op_type == "Size") {
        Mark(on_host_, node.outputs[0]);
        shape_reads.push_back(index);
      } else {
        if (IsHostMade(node)) {
          for (const ValueIndex output : node.outputs) Mark(host_made_, output);
        }
        offers_.emplace(index, def);
      }
    }
    DropHostReads();
    for (const NodeIndex index : graph_.nodes()) {
      if (!offers_.contains(index)) continue;
      const Node& node = graph_.node(index);
      for (const ValueIndex input : node.inputs) Mark(on_device_, input);
      for (const ValueIndex output : node.outputs) Mark(on_device_, output);
      claims_.push_back({{index}, false, {}});
    }
    for (const NodeIndex index : shape_reads) {
      if (on_device_[static_cast<size_t>(graph_.node(index).inputs[0])]) {
        claims_.push_back({{index}, false, {}});
      } else {
        refusals_.Refuse(index, "the value whose shape is read is not on the device");
      }
    }
    return std::move(claims_);
  }

 private:
  static void Mark(std::vector<bool>& set, ValueIndex value) {
    if (value != kNone) set[static_cast<size_t>(value)] = true;
  }

  std::string Refusal(const Node& node) const {
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const ValueIndex index : *list) {
        if (index == kNone) continue;
        if (std::string reason = ValueRefusal(graph_.value(index).type, device_); !reason.empty()) return reason;
      }
    }
    try {
      return OperatorRefusal(graph_, node);
    } catch (const Error& error) {  // of its attributes: the CPU provider's kernel says so of the node
      return error.what();
    }
  }

  bool MakesIntegers(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueIndex index) {
      return index == kNone || !kReals.contains(graph_.value(index).type.element);
    });
  }

  /// Integers made from values that the host has already. A table of which they only say where to read (a mask that is cut
  /// to the length of a sequence) is data, not a shape.
  bool IsShapeArithmetic(const Node& node, const KernelDef& def) const {
    constexpr int64_t kMostOfShape = 64;
    bool from_host = false, table = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!HasInput(node, i)) continue;
      if (const Tensor* constant = graph_.constant(node.inputs[i])) {
        table |= !def.is_host_input(i) && constant->num_elements() > kMostOfShape;
        continue;
      }
      if (!on_host_[static_cast<size_t>(node.inputs[i])]) return false;
      from_host = true;
    }
    return from_host && !table && MakesIntegers(node);
  }

  /// Integers that come from what the caller gives, without a stop on the device.
  bool IsHostMade(const Node& node) const {
    return MakesIntegers(node) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueIndex index) {
             return index == kNone || graph_.constant(index) != nullptr || graph_.value(index).is_input ||
                    on_host_[static_cast<size_t>(index)] || host_made_[static_cast<size_t>(index)];
           });
  }

  /// Every reader is left to the host, or is a kernel that wants this input there.
  bool OnlyHostReads(ValueIndex index) const {
    if (index == kNone) return true;
    const GraphValue& value = graph_.value(index);
    return !value.is_output && std::all_of(value.consumers.begin(), value.consumers.end(), [&](NodeIndex consumer) {
      const auto offer = offers_.find(consumer);
      if (offer == offers_.end()) return true;
      return !DeviceReads(consumer, *offer->second).contains(index);
    });
  }

  /// What the kernel reads on the device; looked up once for each node, which may have very many inputs.
  const std::set<ValueIndex>& DeviceReads(NodeIndex index, const KernelDef& def) const {
    const auto [reads, first] = device_reads_.try_emplace(index);
    const auto& inputs = graph_.node(index).inputs;
    for (size_t i = 0; first && i < inputs.size(); ++i) {
      if (!def.is_host_input(i)) reads->second.insert(inputs[i]);
    }
    return reads->second;
  }

  /// Takes back offers of integers that come from the host and that only the host reads (indices that are reshaped before a
  /// Gather): through the device they would be copied there and back.
  void DropHostReads() {
    for (const NodeIndex index : graph_.nodes() | std::views::reverse) {
      const Node& node = graph_.node(index);
      if (!offers_.contains(index) || !std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueIndex output) {
            return output == kNone || (host_made_[static_cast<size_t>(output)] && OnlyHostReads(output));
          })) {
        continue;
      }
      offers_.erase(index);
      refusals_.Refuse(index, "integers from the host that only the host reads");
    }
  }

  const GraphViewer& graph_;
  const KernelLookup& kernels_;
  const Capabilities& device_;
  RefusalSink& refusals_;
  std::vector<bool> on_host_, on_device_, host_made_;       // by value
  std::unordered_map<NodeIndex, const KernelDef*> offers_;  // nodes that kernels of the device can run
  mutable std::unordered_map<NodeIndex, std::set<ValueIndex>> device_reads_;
  std::vector<ComputeCapability> claims_;
};

}  // namespace

std::vector<ComputeCapability> ClaimNodes(const GraphViewer& graph, const KernelLookup& kernels, const Capabilities& device,
                                          RefusalSink& refusals) {
  return Claims(graph, kernels, device, refusals).Run();
}

}  // namespace tessera::opencl
