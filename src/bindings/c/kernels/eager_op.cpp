// Operators of ONNX that kernels of clients call.

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/c/entry.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"
#include "bindings/c/views/op_attr.h"
#include "graph/schema.h"
#include "model/convert.h"
#include "model/proto.h"
#include "onnx/defs/schema.h"
#include "tessera/session.h"

/// A model of one node, and the threads that all of them share.
struct OrtOp {
  tessera::c_abi::Mark<OrtOp> mark;
  const std::shared_ptr<const tessera::Environment> environment;
  const tessera::Session session;
};

namespace tessera::c_abi {
namespace {

/// While there are operators, these share threads: those of the session that calls are at work in the kernel around them.
std::shared_ptr<const Environment> SharedEnvironment() {
  static std::mutex mutex;
  static std::weak_ptr<const Environment> shared;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Environment> environment = shared.lock();
  if (environment == nullptr) {
    environment = std::make_shared<const Environment>(EnvironmentOptions{.global_intra_op_threads = -1});
    shared = environment;
  }
  return environment;
}

/// The client's types by the names that the operator's schema has for them ("T").
struct TypesByName {
  std::span<const char* const> names;
  std::span<const ONNXTensorElementDataType> types;

  /// Undefined where the client does not say it, and the schema leaves a choice.
  ElementType Of(const onnx::OpSchema::FormalParameter& parameter) const {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] != nullptr && parameter.GetTypeStr() == names[i]) return ElementOf(types[i]);
    }
    const auto& allowed = parameter.GetTypes();
    if (allowed.size() != 1) return ElementType::kUndefined;
    const TypeInfo type = FromProto(onnx::Utils::DataTypeUtils::ToTypeProto(*allowed.begin()));
    return type.is_tensor() ? type.element : ElementType::kUndefined;
  }
};

const onnx::OpSchema::FormalParameter& ParameterAt(const std::vector<onnx::OpSchema::FormalParameter>& parameters, size_t i,
                                                   std::string_view what) {
  Require(!parameters.empty() && (i < parameters.size() || parameters.back().GetOption() == onnx::OpSchema::Variadic),
          "the operator has {} {}s, number {} is asked for", parameters.size(), what, i);
  return parameters[std::min(i, parameters.size() - 1)];
}

void AddValues(const onnx::OpSchema& schema, const TypesByName& types, size_t inputs, size_t outputs,
               onnx::GraphProto& graph) {
  onnx::NodeProto& node = *graph.mutable_node(0);
  for (size_t i = 0; i < inputs; ++i) {
    const auto& parameter = ParameterAt(schema.inputs(), i, "input");
    const ElementType type = types.Of(parameter);
    Require(type != ElementType::kUndefined, "the type of input {} is not given: name '{}' in the type constraints", i,
            parameter.GetTypeStr());
    onnx::ValueInfoProto& value = *graph.add_input();
    value.set_name(fmt::format("input{}", i));
    *value.mutable_type() = ToProto(TypeInfo::OfTensor(type));
    node.add_input(value.name());
  }
  for (size_t i = 0; i < outputs; ++i) {
    const ElementType type = types.Of(ParameterAt(schema.outputs(), i, "output"));
    onnx::ValueInfoProto& value = *graph.add_output();
    value.set_name(fmt::format("output{}", i));
    if (type != ElementType::kUndefined) *value.mutable_type() = ToProto(TypeInfo::OfTensor(type));
    node.add_output(value.name());
  }
}

std::string ModelBytes(const std::string& domain, const std::string& op_type, int version, const TypesByName& types,
                       std::span<const OrtOpAttr* const> attributes, size_t inputs, size_t outputs) {
  const onnx::OpSchema* schema = FindSchema(op_type, version, domain);
  if (schema == nullptr) {
    Fail(ErrorCode::kFail, "domain '{}' has no operator {} of version {}; kernels call operators of ONNX and com.microsoft",
         domain, op_type, version);
  }
  onnx::ModelProto model;
  model.set_ir_version(onnx::Version::IR_VERSION);
  auto& import = *model.add_opset_import();
  import.set_domain(domain);
  import.set_version(version);
  if (!domain.empty()) {  // what functions are made of
    auto& standard = *model.add_opset_import();
    standard.set_version(onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(op_type);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  node.set_domain(domain);
  for (const OrtOpAttr* attribute : attributes)
    *node.add_attribute() = ToProto(*Given(attribute, "an attribute").attribute);
  AddValues(*schema, types, inputs, outputs, graph);
  std::string bytes;
  if (!model.SerializeToString(&bytes)) Fail(ErrorCode::kFail, "operator {}: its attributes are too large", op_type);
  return bytes;
}

template <class T>
std::span<const T> ListOf(const T* first, int count, std::string_view what) {
  Require(count >= 0 && (count == 0 || first != nullptr), "{}: {} of them, at {}", what, count,
          static_cast<const void*>(first));
  return {first, static_cast<size_t>(count)};
}

size_t CountOf(int count, std::string_view what) {
  Require(count >= 0, "{} {}", count, what);
  return static_cast<size_t>(count);
}

}  // namespace

OrtStatusPtr CreateOp(const OrtKernelInfo* info, const char* op_name, const char* domain, int version,
                      const char** type_constraint_names, const ONNXTensorElementDataType* type_constraint_values,
                      int type_constraint_count, const OrtOpAttr* const* attr_values, int attr_count, int input_count,
                      int output_count, OrtOp** ort_op) noexcept {
  return Making(ort_op, [&] {
    Given(info, "the kernel info");
    const TypesByName types{ListOf<const char*>(type_constraint_names, type_constraint_count, "the names of types"),
                            ListOf<ONNXTensorElementDataType>(type_constraint_values, type_constraint_count, "the types")};
    const std::string bytes = ModelBytes(NormalDomain(TextOf(domain)), &Given(op_name, "the operator's name"), version,
                                         types, ListOf<const OrtOpAttr*>(attr_values, attr_count, "the attributes"),
                                         CountOf(input_count, "inputs"), CountOf(output_count, "outputs"));
    SessionOptions options;
    options.use_global_threads = true;
    options.log_level = LogLevel::kError;
    auto environment = SharedEnvironment();
    return new OrtOp{{}, environment, Session(std::as_bytes(std::span(bytes)), options, *environment)};
  });
}

void ReleaseOp(OrtOp* input) { Release(input); }

// Outputs that have a buffer are written there; others get one.
OrtStatusPtr InvokeOp(const OrtKernelContext* context, const OrtOp* ort_op, const OrtValue* const* input_values,
                      int input_count, OrtValue* const* output_values, int output_count) noexcept {
  return Guarded([&] {
    Require(context != nullptr, "the kernel context is null");
    const Session& session = Given(ort_op, "the operator").session;
    const auto given = ListOf<const OrtValue*>(input_values, input_count, "the inputs");
    const auto wanted = ListOf<OrtValue*>(output_values, output_count, "the outputs");
    Require(given.size() == session.inputs().size() && wanted.size() == session.outputs().size(),
            "the operator was made for {} inputs and {} outputs, {} and {} are given", session.inputs().size(),
            session.outputs().size(), given.size(), wanted.size());
    std::vector<Value> inputs, results;
    for (const OrtValue* value : given) inputs.push_back(Given(value, "an input"));
    for (OrtValue* value : wanted) {
      const Tensor* buffer = Given(value, "an output").tensor_if();
      results.push_back(buffer != nullptr && buffer->defined() ? Value(*buffer) : Value());
    }
    session.Run(inputs, results);
    for (size_t i = 0; i < wanted.size(); ++i) static_cast<Value&>(*wanted[i]) = std::move(results[i]);
  });
}

}  // namespace tessera::c_abi
