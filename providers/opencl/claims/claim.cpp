#include "opencl/claims/claim.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "opencl/claims/refusals.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

bool HasInput(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; }

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

  /// Of its inputs' and outputs' types, which kernels do not say; the kernel's own refusals are in the registry.
  std::string Refusal(const Node& node) const {
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const ValueIndex index : *list) {
        if (index == kNone) continue;
        if (std::string reason = ValueRefusal(graph_.value(index).type, device_); !reason.empty()) return reason;
      }
    }
    return {};
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
