#include "session/loaded_model.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "session/provider_options.h"

namespace tessera {
namespace {

void CheckTensor(const GraphValue& declared, const Tensor& given) {
  const TypeInfo& type = declared.type;
  Require(type.element == ElementType::kUndefined || type.element == given.type(),
          "input '{}' is {}, but the model expects {}", declared.name,
          given.defined() ? ElementTypeName(given.type()) : "nothing", ElementTypeName(type.element));
  if (!type.shape) return;
  const Shape& shape = given.shape();
  bool fits = shape.rank() == type.shape->size();
  for (size_t i = 0; fits && i < shape.rank(); ++i) fits = !(*type.shape)[i].known() || (*type.shape)[i].value == shape[i];
  if (fits) return;
  Fail(ErrorCode::kInvalidArgument, "input '{}' has shape {}, but the model expects {}", declared.name, shape,
       ToString(*type.shape));
}

std::string Misfit(const Value& value, const TypeInfo& type);

/// "whose `part` 3 is tensor(int64)", of the first part that does not fit; empty: all do.
template <class PartOf>
std::string MisfitOfParts(const Value& value, std::string_view part, size_t count, PartOf part_of, const TypeInfo& type) {
  if (type.inner == nullptr) return {};
  for (size_t i = 0; i < count; ++i) {
    const std::string misfit = Misfit(part_of(i), *type.inner);
    if (!misfit.empty()) return fmt::format("{} whose {} {} is {}", value.type(), part, i, misfit);
  }
  return {};
}

/// What the value is, where kernels that expect the type may not read it, which takes kinds and element types all the way
/// down, and parts that fit each other: what it says of its parts is not enough. Empty where they may.
std::string Misfit(const Value& value, const TypeInfo& type) {
  const auto unless = [&](bool fits) { return fits ? std::string() : value.type().ToString(); };
  const auto is_element = [&type](ElementType element) {
    return type.element == ElementType::kUndefined || type.element == element;
  };
  if (type.kind == ValueKind::kNone) return {};
  if (type.kind == ValueKind::kOptional)
    return value.is_none() || type.inner == nullptr ? std::string() : Misfit(value, *type.inner);
  if (value.is_none()) return "nothing";
  if (value.kind() != type.kind) return unless(false);
  switch (type.kind) {
    case ValueKind::kTensor: return unless(is_element(value.tensor().type()));
    case ValueKind::kSparseTensor: return unless(is_element(value.sparse_tensor().values.type()));
    case ValueKind::kSequence: {
      const std::vector<Value>& elements = value.sequence().elements;
      return MisfitOfParts(value, "element", elements.size(), [&](size_t i) -> const Value& { return elements[i]; }, type);
    }
    case ValueKind::kMap: {
      const Map& map = value.map();
      if (!is_element(map.keys.type())) return unless(false);
      if (map.keys.num_elements() != static_cast<int64_t>(map.size()))
        return fmt::format("{} of {} keys and {} values", value.type(), map.keys.num_elements(), map.size());
      if (map.scalars.defined() && BitWidth(map.scalars.type()) < 8)
        return fmt::format("{} whose values are {}", value.type(), ElementTypeName(map.scalars.type()));
      const size_t told_apart = map.scalars.defined() ? std::min<size_t>(map.size(), 1) : map.size();
      return MisfitOfParts(value, "value", told_apart, [&](size_t i) { return map.at(i); }, type);
    }
    case ValueKind::kNone:
    case ValueKind::kOptional: break;
  }
  return unless(false);
}

}  // namespace

size_t LoadedModel::InputPosition(std::string_view name) const {
  const auto found = input_position.find(name);
  if (found == input_position.end()) {
    std::vector<std::string> names;
    names.reserve(inputs.size() + overridable.size());
    for (const NamedType& input : inputs) names.push_back(input.name);
    for (const NamedType& input : overridable) names.push_back(input.name);
    Fail(ErrorCode::kInvalidArgument, "the model has no input '{}' (inputs: {})", name,
         JoinNames(names, [](const std::string& known) { return known; }));
  }
  return found->second;
}

size_t LoadedModel::OutputPosition(std::string_view name) const {
  const auto found = output_position.find(name);
  if (found == output_position.end()) {
    Fail(ErrorCode::kInvalidArgument, "the model has no output '{}' (outputs: {})", name,
         JoinNames(outputs, [](const NamedType& known) { return known.name; }));
  }
  return found->second;
}

void LoadedModel::CheckInput(size_t position, const Value& value) const {
  const GraphValue& declared = graph_input(position);
  if (const Tensor* tensor = value.tensor_if(); tensor != nullptr && declared.type.is_tensor())
    return CheckTensor(declared, *tensor);
  const std::string misfit = Misfit(value, declared.type);
  Require(misfit.empty(), "input '{}' is {}, but the model expects {}", declared.name, misfit, declared.type);
}

int16_t LoadedModel::MemoryOfInput(size_t position) const noexcept {
  const Plan& plan = executor->plan();
  int16_t memory = SessionResources::kHost;
  if (plan.host_reads_input[position]) return memory;
  for (const Plan::BorderCopy& copy : Plan::CopiesOf(plan.input_copies, position)) {
    if (memory != SessionResources::kHost) return SessionResources::kHost;
    memory = plan.slots[static_cast<size_t>(copy.device)].memory;
  }
  return memory;
}

void LoadedModel::StartProviders(Profiler& profile) const {
  for (const ProviderEntry& entry : resources.providers)
    profile.AddProvider(entry.provider->name(), entry.provider->StartProfile(profile.origin()));
}

void LoadedModel::Shrink() const noexcept try {
  executor->ReleaseIdle();
  for (const MemorySpace& memory : resources.memories) memory.allocator->Shrink();
} catch (...) {  // a device keeps its memory; the run's own error, if any, is the one to report
}

}  // namespace tessera
