#include "plugin/run.h"

#include <unordered_map>

#include "base/check.h"

namespace tessera::plugin {
namespace {

bool Fits(const Tensor& tensor, const TypeInfo& type) {
  if (type.element != ElementType::kUndefined && tensor.type() != type.element) return false;
  if (!type.shape) return true;
  if (tensor.shape().rank() != type.shape->size()) return false;
  for (size_t i = 0; i < type.shape->size(); ++i) {
    if ((*type.shape)[i].known() && (*type.shape)[i].value != tensor.shape()[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<int32_t> IndicesOf(std::span<const ValueIndex> values, std::span<const ValueIndex> part) {
  std::unordered_map<ValueIndex, int32_t> place;
  for (size_t i = 0; i < part.size(); ++i) place.emplace(part[i], static_cast<int32_t>(i));
  std::vector<int32_t> indices;
  for (const ValueIndex value : values) {
    const auto found = value == kNone ? place.end() : place.find(value);
    indices.push_back(found == place.end() ? -1 : found->second);
  }
  return indices;
}

Outputs::Outputs(const GraphViewer& graph, std::span<const ValueIndex> outputs, std::string owner)
    : indices_(IndicesOf(outputs, graph.outputs())), owner_(std::move(owner)) {
  for (const ValueIndex output : outputs) {
    declared_.push_back(output == kNone ? Declared() : Declared{graph.value(output).name, graph.value(output).type});
    types_.push_back(declared_.back().type.is_tensor() ? declared_.back().type.element : ElementType::kUndefined);
  }
}

void Outputs::Check(OrtKernelContext& run) const {
  for (size_t i = 0; i < declared_.size(); ++i) {
    if (indices_[i] < 0 || !run.context.has_output(static_cast<size_t>(indices_[i]))) continue;
    const Tensor* computed = run.outputs[i].tensor_if();
    if (computed == nullptr || !computed->defined())
      Fail(ErrorCode::kEpFail, "'{}': the library did not compute output '{}'", owner_, declared_[i].name);
    if (Fits(*computed, declared_[i].type)) continue;
    Fail(ErrorCode::kEpFail, "'{}': the library computed output '{}' as {} {}, but it is {} {}", owner_, declared_[i].name,
         ElementTypeName(computed->type()), computed->shape(), declared_[i].type.ToString(),
         declared_[i].type.shape ? ToString(*declared_[i].type.shape) : "");
  }
}

}  // namespace tessera::plugin
