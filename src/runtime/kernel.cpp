#include "tessera/provider/kernel.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace tessera {
namespace {

const TypeInfo kNoType;

const TypeInfo& InfoOf(const GraphViewer& graph, const std::vector<ValueIndex>& values, size_t i) noexcept {
  return i < values.size() && values[i] != kNone ? graph.value(values[i]).type : kNoType;
}

/// Whether a static type breaks a constraint; one that is not known does not.
bool Violates(const TypeInfo& info, TypeSet allowed) {
  return info.is_tensor() && info.element != ElementType::kUndefined && !allowed.contains(info.element);
}

/// A node of which nothing was made yet.
class Candidate final : public NodeInfo {
 public:
  Candidate(const GraphViewer& graph, const Node& node) : graph_(graph), node_(node) {}
  const Node& node() const noexcept override { return node_; }
  const GraphViewer& graph() const noexcept override { return graph_; }

 private:
  const GraphViewer& graph_;
  const Node& node_;
};

/// The input or output whose type a kernel does not have, in one phrase; empty where it has all.
std::string TypeRefusal(const KernelDef& def, const NodeInfo& info) {
  for (const auto& [input, types] : def.input_types()) {
    if (const TypeInfo& type = info.input_info(input); Violates(type, types))
      return fmt::format("input {} is {}", input, type.ToString());
  }
  for (const auto& [output, types] : def.output_types()) {
    if (const TypeInfo& type = info.output_info(output); Violates(type, types))
      return fmt::format("output {} is {}", output, type.ToString());
  }
  return {};
}

}  // namespace

const TypeInfo& NodeInfo::input_info(size_t i) const noexcept { return InfoOf(graph(), node().inputs, i); }
const TypeInfo& NodeInfo::output_info(size_t i) const noexcept { return InfoOf(graph(), node().outputs, i); }

const Tensor* NodeInfo::constant_input(size_t i) const noexcept {
  return has_input(i) ? graph().constant(node().inputs[i]) : nullptr;
}

void NodeInfo::ThrowMissing(std::string_view name) const {
  Fail(ErrorCode::kInvalidGraph, "attribute '{}' is required", name);
}
void NodeInfo::ThrowWrongType(std::string_view name) const {
  Fail(ErrorCode::kInvalidGraph, "attribute '{}' has another type than the operator's schema says", name);
}

void KernelContext::ThrowNotTensor(size_t i) const {
  Fail(ErrorCode::kInvalidArgument, "input {} is {}, a tensor is expected", i, inputs_[i]->type().ToString());
}
void KernelContext::ThrowMissingInput(size_t i) const { Fail(ErrorCode::kInvalidArgument, "input {} is required", i); }

// Out of line: hundreds of registrations would bring copies of these.
KernelDef::KernelDef(std::string_view op_type, std::string_view domain) : op_type_(op_type), domain_(domain) {}
KernelDef::KernelDef(const KernelDef& other) = default;
KernelDef::KernelDef(KernelDef&& other) noexcept = default;
KernelDef& KernelDef::operator=(const KernelDef& other) = default;
KernelDef& KernelDef::operator=(KernelDef&& other) noexcept = default;
KernelDef::~KernelDef() = default;

KernelDef& KernelDef::Versions(int first, int last) {
  first_ = first;
  last_ = last;
  return *this;
}
KernelDef& KernelDef::Types(size_t input, TypeSet types) {
  input_types_.emplace_back(input, types);
  return *this;
}
KernelDef& KernelDef::OutputTypes(size_t output, TypeSet types) {
  output_types_.emplace_back(output, types);
  return *this;
}
KernelDef& KernelDef::InPlace(size_t input, size_t output) {
  in_place_.emplace_back(input, output);
  return *this;
}
KernelDef& KernelDef::Alias(size_t input, size_t output) {
  aliases_.emplace_back(input, output);
  return *this;
}
KernelDef& KernelDef::HostInput(size_t input) {
  host_inputs_.push_back(input);
  return *this;
}
KernelDef& KernelDef::HostOutput(size_t output) {
  host_outputs_.push_back(output);
  return *this;
}
KernelDef& KernelDef::Factory(KernelFactory factory) {
  factory_ = factory;
  return *this;
}
KernelDef& KernelDef::Unless(KernelRefusal refusal) {
  refusals_.push_back(refusal);
  return *this;
}
std::string KernelDef::Refusal(const NodeInfo& info) const try {
  for (const KernelRefusal refusal : refusals_) {
    if (std::string reason = refusal(info); !reason.empty()) return reason;
  }
  return {};
} catch (const Error& error) {  // of an attribute
  return error.what();
}
bool KernelDef::is_host_input(size_t input) const noexcept {
  return std::find(host_inputs_.begin(), host_inputs_.end(), input) != host_inputs_.end();
}
bool KernelDef::is_host_output(size_t output) const noexcept {
  return std::find(host_outputs_.begin(), host_outputs_.end(), output) != host_outputs_.end();
}

struct KernelRegistry::Index {
  std::map<std::pair<std::string, std::string>, std::vector<KernelDef>> definitions;  // by domain and op type
};

KernelRegistry::KernelRegistry() : index_(std::make_unique<Index>()) {}
KernelRegistry::~KernelRegistry() = default;
KernelRegistry::KernelRegistry(KernelRegistry&&) noexcept = default;

void KernelRegistry::Add(const KernelDef& def) { index_->definitions[{def.domain(), def.op_type()}].push_back(def); }

const KernelDef* KernelRegistry::Find(const GraphViewer& graph, const Node& node, std::string* why) const {
  const auto found = index_->definitions.find({node.domain, node.op_type});
  if (found == index_->definitions.end()) {
    if (why != nullptr) *why = "no kernel for this operator";
    return nullptr;
  }
  const Candidate candidate(graph, node);
  std::string reason = fmt::format("no kernel for version {}", node.since_version);
  for (const KernelDef& def : found->second) {
    if (node.since_version < def.first_version() || node.since_version > def.last_version()) continue;
    reason = TypeRefusal(def, candidate);
    if (reason.empty()) reason = def.Refusal(candidate);
    if (reason.empty()) return &def;
  }
  if (why != nullptr) *why = std::move(reason);
  return nullptr;
}

std::vector<const KernelDef*> KernelRegistry::definitions() const {
  std::vector<const KernelDef*> all;
  for (const auto& [key, defs] : index_->definitions) {
    for (const KernelDef& def : defs) all.push_back(&def);
  }
  return all;
}

}  // namespace tessera
