// use_nhwc: quantized convolutions, and what is between them, compute on images in NHWC,
// [N, H, W, C]: rows of bytes that a GEMM reads in place. Only where all of it is left to the CPU provider, which
// has the operators (ai.tessera), and after all other passes, which do not know them.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/cpu_features.h"
#include "base/load_limits.h"
#include "cpu/lowering/lowering.h"
#include "graph/microsoft/schemas.h"
#include "graph/private_names.h"
#include "kernels/conv/choose/layout.h"
#include "lowering/fused_kernels.h"
#include "ops/nn/conv.h"
#include "ops/quantization/qlinear_global_average_pool.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/permuted_node.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/analysis/regions.h"

namespace tessera {
namespace {

constexpr std::string_view kDomain = kTesseraDomain, kConvName = "QLinearConvNhwc";
constexpr int64_t kMostPairsLookedAt = 1 << 16;

/// The permutation that converts images back.
const Permutation kBack = {0, 3, 1, 2};

enum class Role {
  kConv,     // QLinearConvNhwc
  kPool,     // MaxPoolNhwc
  kMap,      // the node itself, element by element
  kMove,     // the node itself along another axis
  kAverage,  // the node itself, whose single pixels are converted back
};

bool IsImage(const Graph& graph, ValueIndex index) {
  const SymbolicShape* shape = ShapeOf(graph, index);
  return shape != nullptr && shape->size() == 4 && (*shape)[1].known() && (*shape)[1].value > 0 &&
         IsByte(ElementOf(graph, index));
}

/// Inputs of a node that are images where it has the role.
std::vector<size_t> Images(const Node& node, Role role) {
  if (role == Role::kMap && node.domain == kMicrosoftDomain) return {0, 3};
  if (!IsOp(node, "Concat")) return {0};
  std::vector<size_t> all(node.inputs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

/// Nodes that may read and write images in NHWC, without regions that cost more to enter and leave than they
/// save.
class NhwcPlanner {
 public:
  NhwcPlanner(const Graph& graph, const RewriteContext& context) : graph_(graph), context_(context) {}

  std::map<NodeIndex, Role> Run() {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      graph_.limits().Check();
      const Node& node = graph_.node(index);
      const auto role = RoleOf(node);
      if (!role) continue;
      roles_.emplace(index, *role);
      nhwc_.insert(node.outputs.begin(), node.outputs.end());
    }
    DropCostlyRegions();
    return std::move(roles_);
  }

 private:
  std::optional<Role> RoleOf(const Node& node) const {
    if (!context_.Lowers(node)) return std::nullopt;
    if (IsOp(node, "Concat") || IsOp(node, "Slice") || IsOp(node, "Split"))
      return MovesImages(node) ? std::optional(Role::kMove) : std::nullopt;
    if (!HasOneOutput(node) || !HasInput(node, 0) || !IsImage(graph_, node.inputs[0]) || !IsImage(graph_, node.outputs[0]))
      return std::nullopt;
    if (IsOp(node, "QLinearConv")) return SuitsConv(node) ? std::optional(Role::kConv) : std::nullopt;
    if (!nhwc_.contains(node.inputs[0])) return std::nullopt;
    if (IsOp(node, "MaxPool")) return Role::kPool;
    if (node.domain == kTesseraDomain && node.op_type == "QuantizedLookup") return Role::kMap;
    if (node.domain != kMicrosoftDomain) return std::nullopt;
    if (node.op_type == "QLinearGlobalAveragePool") {
      return QLinearGlobalAveragePoolAttributes(node).channels_last ? std::nullopt : std::optional(Role::kAverage);
    }
    const bool binary = (node.op_type == "QLinearAdd" || node.op_type == "QLinearMul") && HasInput(node, 3);
    return binary && nhwc_.contains(node.inputs[3]) ? std::optional(Role::kMap) : std::nullopt;
  }

  bool MovesImages(const Node& node) const {
    const std::vector<size_t> images = Images(node, Role::kMove);
    const auto is_last = [&](size_t i) { return nhwc_.contains(node.inputs[i]); };
    const auto is_image = [&](ValueIndex output) { return output != kNone && IsImage(graph_, output); };
    return !node.inputs.empty() && std::all_of(images.begin(), images.end(), is_last) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), is_image) && Permuted(graph_, node, kBack);
  }

  bool SuitsConv(const Node& node) const {
    const Tensor* weights = ConstantInput(graph_, node, 3);
    if (weights == nullptr || !IsByte(weights->type()) || weights->shape().rank() != 4 || weights->num_elements() == 0)
      return false;
    const int64_t group = GroupOf(node), channels = weights->shape()[1], outputs = weights->shape()[0];
    const int64_t given = (*ShapeOf(graph_, node.inputs[0]))[1].value;
    if (group <= 0 || outputs % group != 0 || given % group != 0 || given / group != channels) return false;
    if (!HasConstantZeroPoints(node, *weights)) return false;
    const auto conv = Described(node);
    return conv && SuitsNhwc(*conv, HasByteDotProducts() ? 0 : ShareOfLargePairs(*weights));
  }

  std::optional<cpu::ConvProblem> Described(const Node& node) const {
    return cpu::DescribeValidConv(node, *ShapeOf(graph_, node.inputs[0]), ConstantInput(graph_, node, 3)->shape());
  }

  bool HasConstantZeroPoints(const Node& node, const Tensor& weights) const {
    if (!HasInput(node, 5)) return true;
    const Tensor* zeros = ConstantInput(graph_, node, 5);
    return zeros != nullptr && zeros->is(weights.type()) &&
           (zeros->num_elements() == 1 || zeros->num_elements() == weights.shape()[0]);
  }

  /// Of adjacent weights: those that the GEMM of bytes multiplies in two steps without VNNI.
  static double ShareOfLargePairs(const Tensor& weights) {
    const auto* quantized = static_cast<const uint8_t*>(weights.raw());
    const bool is_signed = weights.is(ElementType::kInt8);
    const int64_t pairs = weights.num_elements() / 2;
    const int64_t step = (pairs / kMostPairsLookedAt) | 1;
    int64_t large = 0, looked_at = 0;
    const auto value = [&](int64_t i) {
      return is_signed ? static_cast<int>(static_cast<int8_t>(quantized[i])) : quantized[i] - 128;
    };
    for (int64_t i = 0; i < pairs; i += step, ++looked_at) large += std::abs(value(2 * i) + value(2 * i + 1)) > 128 ? 1 : 0;
    return looked_at == 0 ? 0 : static_cast<double>(large) / static_cast<double>(looked_at);
  }

  void DropCostlyRegions() {
    for (const auto& [index, role] : roles_) {
      const Node& node = graph_.node(index);
      for (const size_t i : Images(node, role)) {
        if (nhwc_.contains(node.inputs[i])) regions_.Join(node.inputs[i], node.outputs[0]);
      }
      for (const ValueIndex output : node.outputs) regions_.Join(output, node.outputs[0]);
    }
    std::map<ValueIndex, double> gains;  // by region
    std::set<std::pair<ValueIndex, ValueIndex>> entries;
    for (const auto& [index, role] : roles_) {
      const Node& node = graph_.node(index);
      const ValueIndex region = regions_.Of(node.outputs[0]);
      if (role == Role::kConv) gains[region] += cpu::NhwcGain(*Described(node));
      for (const size_t i : Images(node, role)) {
        if (!nhwc_.contains(node.inputs[i])) entries.emplace(region, node.inputs[i]);
      }
    }
    for (const auto& [region, value] : entries) gains[region] -= cpu::ElementsPerMove() * KnownElements(graph_, value);
    for (const ValueIndex value : nhwc_) {
      if (Leaves(value)) gains[regions_.Of(value)] -= cpu::ElementsPerMove() * KnownElements(graph_, value);
    }
    std::erase_if(roles_, [&](const auto& entry) { return gains[regions_.Of(graph_.node(entry.first).outputs[0])] <= 0; });
  }

  /// Somebody reads the value as it was.
  bool Leaves(ValueIndex index) const {
    const GraphValue& value = graph_.value(index);
    return value.is_output || std::any_of(value.consumers.begin(), value.consumers.end(),
                                          [&](NodeIndex reader) { return !roles_.contains(reader); });
  }

  const Graph& graph_;
  const RewriteContext& context_;
  std::map<NodeIndex, Role> roles_;
  std::set<ValueIndex> nhwc_;
  Regions regions_;
};

class NhwcRewriter {
 public:
  NhwcRewriter(Graph& graph, std::map<NodeIndex, Role> roles) : graph_(graph), roles_(std::move(roles)) {}

  size_t Run() {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      graph_.limits().Check();
      const auto role = roles_.find(index);
      if (role != roles_.end()) Replace(index, role->second);
    }
    for (const auto& [plain, last] : made_) {
      const GraphValue& value = graph_.value(plain);
      if (value.consumers.empty() && !value.is_output) continue;
      Node node = Transposition(last, kBack);
      node.outputs = {plain};
      graph_.AddNode(std::move(node), graph_.value(last).producer);
    }
    return roles_.size();
  }

 private:
  Node Transposition(ValueIndex from, std::vector<int64_t> permutation) const {
    Node node;
    node.op_type = "Transpose";
    node.since_version = VersionOf(graph_, node.op_type);
    node.inputs = {from};
    SetAttribute(node, "perm", std::move(permutation));
    return node;
  }

  /// A value for `plain` in NHWC.
  ValueIndex Twin(ValueIndex plain) {
    const SymbolicShape shape = *ShapeOf(graph_, plain);
    const SymbolicShape last = {shape[0], shape[2], shape[3], shape[1]};
    const std::string name = graph_.value(plain).name + "/last";
    const bool taken = graph_.value(plain).name.empty() || graph_.FindValue(name) != kNone;
    return graph_.AddValue(taken ? "" : name, TypeInfo::OfTensor(ElementOf(graph_, plain), last));
  }

  ValueIndex ToNhwc(ValueIndex plain, NodeIndex before) {
    if (const auto found = made_.find(plain); found != made_.end()) return found->second;
    if (const auto found = entered_.find(plain); found != entered_.end()) return found->second;
    Node node = Transposition(plain, {0, 2, 3, 1});
    const ValueIndex twin = Twin(plain);
    node.outputs = {twin};
    graph_.AddNode(std::move(node), before);
    entered_.emplace(plain, twin);
    return twin;
  }

  void Replace(NodeIndex index, Role role) {
    Node node = graph_.node(index);
    const auto permuted = role == Role::kMove ? Permuted(graph_, node, kBack) : std::nullopt;
    if (permuted) {
      node = permuted->node;
      for (const auto& [input, integers] : permuted->integers) node.inputs[input] = AddIntegers(graph_, integers);
    }
    for (const size_t i : Images(node, role)) node.inputs[i] = ToNhwc(node.inputs[i], index);
    if (role == Role::kConv || role == Role::kPool) {
      node.domain = kDomain;
      node.op_type = role == Role::kConv ? kConvName : "MaxPoolNhwc";
      node.since_version = 1;
    } else if (role == Role::kAverage) {
      SetAttribute(node, "channels_last", int64_t{1});
    }
    graph_.RemoveNode(index);
    for (ValueIndex& output : node.outputs) {
      const ValueIndex twin = Twin(output);
      made_.emplace(output, twin);
      output = twin;
    }
    node.index = kNone;
    graph_.AddNode(std::move(node), index);
  }

  Graph& graph_;
  std::map<NodeIndex, Role> roles_;
  std::map<ValueIndex, ValueIndex> made_;     // computed in NHWC
  std::map<ValueIndex, ValueIndex> entered_;  // transposed
};

class Nhwc final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    if (VersionOf(graph, "Transpose") == 0) return 0;
    Node conv;
    conv.domain = kDomain;
    conv.op_type = kConvName;
    conv.since_version = 1;
    if (!MayFuse(graph, conv, context)) return 0;
    auto roles = NhwcPlanner(graph, context).Run();
    return roles.empty() ? 0 : NhwcRewriter(graph, std::move(roles)).Run();
  }
};

}  // namespace

std::unique_ptr<Rewrite> UseNhwc() { return std::make_unique<Nhwc>(); }

}  // namespace tessera
