// Attributes of a model's nodes: checked by their operators' schemas, bound where a function's call gives them, converted.

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/load_limits.h"
#include "model/attribute_list.h"
#include "model/convert.h"
#include "onnx/defs/schema.h"

namespace tessera {

using onnx::AttributeProto;
using onnx::NodeProto;

namespace {

/// The list in the message, or, where the loader left it there, in the model's file.
template <class T, class Field>
std::vector<T> ToVector(const AttributeProto& attribute, const Field& field, int number, const TensorDataSource& source) {
  if (field.empty() && attribute.has_t() && source) {
    if (const auto left = source(attribute.t())) return ReadList<T>(left->bytes, static_cast<uint32_t>(number));
  }
  return std::vector<T>(field.begin(), field.end());
}

/// An attribute without its type's field has the field's default; with another's, nobody knows what was meant.
void CheckField(const AttributeProto& attribute) {
  const std::pair<AttributeProto::AttributeType, bool> fields[] = {
      {AttributeProto::FLOAT, attribute.has_f()},        {AttributeProto::INT, attribute.has_i()},
      {AttributeProto::STRING, attribute.has_s()},       {AttributeProto::GRAPH, attribute.has_g()},
      {AttributeProto::TYPE_PROTO, attribute.has_tp()},  {AttributeProto::FLOATS, attribute.floats_size() > 0},
      {AttributeProto::INTS, attribute.ints_size() > 0}, {AttributeProto::STRINGS, attribute.strings_size() > 0},
      {AttributeProto::TENSOR, attribute.has_t()},  // also stands for a long list that stayed in the file
  };
  const auto own = std::ranges::find(fields, attribute.type(), [](const auto& field) { return field.first; });
  if (own == std::end(fields) || own->second) return;
  const bool is_list = own->first >= AttributeProto::FLOATS && own->first <= AttributeProto::STRINGS;
  const auto end = is_list ? std::prev(std::end(fields)) : std::end(fields);
  const auto other = std::find_if(std::begin(fields), end, [](const auto& field) { return field.second; });
  if (other == end) return;
  Fail(ErrorCode::kInvalidGraph, "attribute '{}' is declared {} and holds {}", attribute.name(),
       AttributeProto::AttributeType_Name(attribute.type()), AttributeProto::AttributeType_Name(other->first));
}

}  // namespace

void GraphConversion::CheckAttributes(const NodeProto& proto, const onnx::OpSchema& schema) const {
  StringViewSet seen, left_out;
  for (const AttributeProto& attribute : proto.attribute()) {
    if (!seen.insert(attribute.name()).second)
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' is given twice", attribute.name());
    AttributeProto::AttributeType type = TypeOf(attribute);
    if (!attribute.ref_attr_name().empty()) {
      const AttributeValue* bound = Bound(attribute);
      if (bound == nullptr) left_out.insert(attribute.name());
      type = bound == nullptr ? AttributeProto::UNDEFINED : TypeOf(*bound);
    }
    const auto found = schema.attributes().find(attribute.name());
    // Those that the operator does not have are told of by UnknownAttributes: some exporters leave marks of their own.
    if (found == schema.attributes().end() && attribute.ref_attr_name().empty()) CheckField(attribute);
    if (found == schema.attributes().end() || type == AttributeProto::UNDEFINED) continue;
    if (found->second.type != type) {
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' is {}; the operator expects {}", attribute.name(),
           AttributeProto::AttributeType_Name(type), AttributeProto::AttributeType_Name(found->second.type));
    }
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (!attribute.required) continue;
    if (!seen.contains(name)) Fail(ErrorCode::kInvalidGraph, "attribute '{}' is required", name);
    if (left_out.contains(name))
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' is required; it refers to one that the function's call leaves out",
           name);
  }
}

const AttributeValue* GraphConversion::Bound(const AttributeProto& attribute) const {
  if (bindings_ == nullptr) {
    Fail(ErrorCode::kInvalidGraph, "attribute '{}' refers to '{}' outside a function", attribute.name(),
         attribute.ref_attr_name());
  }
  const auto bound = bindings_->find(attribute.ref_attr_name());
  if (bound == bindings_->end()) return nullptr;
  const AttributeProto::AttributeType given = TypeOf(bound->second);
  if (given == AttributeProto::UNDEFINED) return nullptr;
  if (attribute.type() != AttributeProto::UNDEFINED && attribute.type() != given) {
    Fail(ErrorCode::kInvalidGraph, "attribute '{}' refers to the function's attribute '{}' as {}; the call gives {}",
         attribute.name(), attribute.ref_attr_name(), AttributeProto::AttributeType_Name(attribute.type()),
         AttributeProto::AttributeType_Name(given));
  }
  return &bound->second;
}

AttributeValue GraphConversion::ConvertBound(const AttributeProto& attribute, Scope& scope) {
  const AttributeValue* bound = Bound(attribute);
  if (bound == nullptr) return {};
  const auto* graph = std::get_if<std::shared_ptr<Graph>>(bound);
  if (graph == nullptr) return *bound;
  // A copy for each use: a graph belongs to one place.
  scope.graph.limits().Check();
  return ConvertNested(bound_graphs_.emplace_back(ToProto(**graph, CapturedName)), scope);
}

AttributeValue GraphConversion::ConvertAttribute(const AttributeProto& attribute, Scope& scope) {
  if (!attribute.ref_attr_name().empty()) return ConvertBound(attribute, scope);
  CheckField(attribute);
  switch (TypeOf(attribute)) {
    case AttributeProto::FLOAT: return attribute.f();
    case AttributeProto::INT: return attribute.i();
    case AttributeProto::STRING: return attribute.s();
    case AttributeProto::TENSOR: return FromProto(attribute.t(), source_, scope.graph.limits());
    case AttributeProto::SPARSE_TENSOR: return FromProto(attribute.sparse_tensor(), source_, scope.graph.limits());
    case AttributeProto::TYPE_PROTO: return FromProto(attribute.tp());
    case AttributeProto::GRAPH: return ConvertNested(attribute.g(), scope);
    case AttributeProto::FLOATS:
      return ToVector<float>(attribute, attribute.floats(), AttributeProto::kFloatsFieldNumber, source_);
    case AttributeProto::INTS:
      return ToVector<int64_t>(attribute, attribute.ints(), AttributeProto::kIntsFieldNumber, source_);
    case AttributeProto::STRINGS:
      return ToVector<std::string>(attribute, attribute.strings(), AttributeProto::kStringsFieldNumber, source_);
    case AttributeProto::TENSORS: {
      std::vector<Tensor> tensors;
      for (const auto& tensor : attribute.tensors()) tensors.push_back(FromProto(tensor, source_, scope.graph.limits()));
      return tensors;
    }
    case AttributeProto::TYPE_PROTOS: {
      std::vector<TypeInfo> types;
      for (const auto& type : attribute.type_protos()) types.push_back(FromProto(type));
      return types;
    }
    case AttributeProto::UNDEFINED: return {};  // an empty list of an IR version that did not write types
    default:
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' is {}, which no operator of ONNX uses", attribute.name(),
           AttributeProto::AttributeType_Name(attribute.type()));
  }
}

}  // namespace tessera
