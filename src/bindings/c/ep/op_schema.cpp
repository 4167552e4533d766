// Operators as ONNX defines them.

#include "bindings/c/ep/op_schema.h"

#include <memory>

#include "bindings/c/entry.h"
#include "graph/schema.h"

namespace tessera::c_abi {
namespace {

using Parameters = std::vector<onnx::OpSchema::FormalParameter>;

std::vector<size_t> IndicesOf(const std::string& constraint, const Parameters& parameters) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].GetTypeStr() == constraint) indices.push_back(i);
  }
  return indices;
}

const OrtOpSchema& Schema(const OrtOpSchema* schema) { return Given(schema, "the schema"); }

const onnx::OpSchema::FormalParameter& ParameterAt(const Parameters& parameters, size_t index, std::string_view what) {
  Require(index < parameters.size(), "there is no {} {}; the operator has {}", what, index, parameters.size());
  return parameters[index];
}

/// Null where the type is no parameter of the operator's.
const OrtOpSchemaTypeConstraint* ConstraintOf(const OrtOpSchema& schema, const onnx::OpSchema::FormalParameter& parameter) {
  for (const OrtOpSchemaTypeConstraint& constraint : schema.constraints) {
    if (constraint.name == parameter.GetTypeStr()) return &constraint;
  }
  return nullptr;
}

const OrtOpSchemaTypeConstraint& Constraint(const OrtOpSchemaTypeConstraint* constraint) {
  return Given(constraint, "the type constraint");
}

template <class T>
void ShowList(const std::vector<T>& list, const T** out, size_t* count) {
  Given(out, "out") = list.data();
  Given(count, "the number") = list.size();
}

}  // namespace
}  // namespace tessera::c_abi

OrtOpSchema::OrtOpSchema(const onnx::OpSchema& its_schema) : schema(its_schema) {
  for (const auto& parameter : schema.typeConstraintParams()) {
    OrtOpSchemaTypeConstraint& added = constraints.emplace_back();
    added.name = parameter.type_param_str;
    for (const std::string& type : parameter.allowed_type_strs) added.types.push_back(type.c_str());
    added.inputs = tessera::c_abi::IndicesOf(added.name, schema.inputs());
    added.outputs = tessera::c_abi::IndicesOf(added.name, schema.outputs());
  }
}

namespace tessera::c_abi {

OrtStatusPtr GetOpSchema(const char* name, int max_inclusive_version, const char* domain,
                         OrtOpSchema** out_schema) noexcept {
  return Guarded([&] {
    const std::string op_type = &Given(name, "the operator's name"), given = &Given(domain, "the domain");
    OrtOpSchema*& out = Given(out_schema, "out");
    out = nullptr;
    const onnx::OpSchema* found = FindSchema(op_type, max_inclusive_version, given == "ai.onnx" ? "" : given);
    if (found != nullptr) out = new OrtOpSchema(*found);
  });
}

void ReleaseOpSchema(OrtOpSchema* input) { delete input; }

OrtStatusPtr OpSchema_GetSinceVersion(const OrtOpSchema* schema, int* out) noexcept {
  return Guarded([&] { Given(out, "out") = Schema(schema).schema.since_version(); });
}

OrtStatusPtr OpSchema_GetNumInputs(const OrtOpSchema* schema, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Schema(schema).schema.inputs().size(); });
}

OrtStatusPtr OpSchema_GetNumOutputs(const OrtOpSchema* schema, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Schema(schema).schema.outputs().size(); });
}

OrtStatusPtr OpSchema_GetInputName(const OrtOpSchema* schema, size_t index, const char** out) noexcept {
  return Guarded(
      [&] { Given(out, "out") = ParameterAt(Schema(schema).schema.inputs(), index, "input").GetName().c_str(); });
}

OrtStatusPtr OpSchema_GetOutputName(const OrtOpSchema* schema, size_t index, const char** out) noexcept {
  return Guarded(
      [&] { Given(out, "out") = ParameterAt(Schema(schema).schema.outputs(), index, "output").GetName().c_str(); });
}

OrtStatusPtr OpSchema_GetInputTypeConstraint(const OrtOpSchema* schema, size_t index,
                                             const OrtOpSchemaTypeConstraint** out) noexcept {
  return Guarded([&] {
    const OrtOpSchema& held = Schema(schema);
    Given(out, "out") = ConstraintOf(held, ParameterAt(held.schema.inputs(), index, "input"));
  });
}

OrtStatusPtr OpSchema_GetOutputTypeConstraint(const OrtOpSchema* schema, size_t index,
                                              const OrtOpSchemaTypeConstraint** out) noexcept {
  return Guarded([&] {
    const OrtOpSchema& held = Schema(schema);
    Given(out, "out") = ConstraintOf(held, ParameterAt(held.schema.outputs(), index, "output"));
  });
}

OrtStatusPtr OpSchema_GetTypeConstraintCount(const OrtOpSchema* schema, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Schema(schema).constraints.size(); });
}

OrtStatusPtr OpSchema_GetTypeConstraint(const OrtOpSchema* schema, size_t index,
                                        const OrtOpSchemaTypeConstraint** out) noexcept {
  return Guarded([&] {
    const auto& constraints = Schema(schema).constraints;
    Require(index < constraints.size(), "there is no type constraint {}; the operator has {}", index, constraints.size());
    Given(out, "out") = &constraints[index];
  });
}

OrtStatusPtr OpSchemaTypeConstraint_GetTypeParamName(const OrtOpSchemaTypeConstraint* type_constraint,
                                                     const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = Constraint(type_constraint).name.c_str(); });
}

OrtStatusPtr OpSchemaTypeConstraint_GetAllowedTypes(const OrtOpSchemaTypeConstraint* type_constraint,
                                                    const char* const** out_types, size_t* num_types) noexcept {
  return Guarded([&] { ShowList<const char*>(Constraint(type_constraint).types, out_types, num_types); });
}

OrtStatusPtr OpSchemaTypeConstraint_GetInputIndices(const OrtOpSchemaTypeConstraint* type_constraint,
                                                    const size_t** out_indices, size_t* count) noexcept {
  return Guarded([&] { ShowList(Constraint(type_constraint).inputs, out_indices, count); });
}

OrtStatusPtr OpSchemaTypeConstraint_GetOutputIndices(const OrtOpSchemaTypeConstraint* type_constraint,
                                                     const size_t** out_indices, size_t* count) noexcept {
  return Guarded([&] { ShowList(Constraint(type_constraint).outputs, out_indices, count); });
}

}  // namespace tessera::c_abi
