// Operators of ONNX that kernels of clients call.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/entry.h"
#include "bindings/c/kernels/kernel_info.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"
#include "bindings/c/views/op_attr.h"
#include "graph/formal_parameters.h"
#include "graph/schema.h"
#include "model/convert.h"
#include "model/proto.h"
#include "onnx/defs/schema.h"
#include "tessera/session.h"

namespace tessera::c_abi {
namespace {

/// Element types of inputs; undefined where one is left out.
using InputTypes = std::vector<ElementType>;

/// A model of one node for each set of types that it is called with.
class EagerModels {
 public:
  /// Throws Error for an operator that nobody knows, and for more inputs or outputs than it has.
  EagerModels(std::string domain, std::string op_type, int version, std::vector<Attribute> attributes, size_t inputs,
              size_t outputs);

  size_t num_inputs() const noexcept { return num_inputs_; }
  size_t num_outputs() const noexcept { return num_outputs_; }
  /// Made when it is first asked for. Throws Error where the operator does not take these. Thread-safe.
  const Session& For(const InputTypes& types);
  /// What the inputs are where the schema's type parameters ("T") are these; nothing where that is not all said.
  std::optional<InputTypes> TypesBy(std::span<const char* const> names,
                                    std::span<const ONNXTensorElementDataType> types) const;

 private:
  std::string ModelBytes(const InputTypes& types) const;

  const std::string domain_, op_type_;
  const int version_;
  const std::vector<Attribute> attributes_;
  const size_t num_inputs_, num_outputs_;
  const onnx::OpSchema* schema_;
  const std::shared_ptr<const Environment> environment_;  // whose threads all operators share
  std::mutex mutex_;
  std::map<InputTypes, Session> sessions_;
};

}  // namespace
}  // namespace tessera::c_abi

struct OrtOp {
  OrtOp(std::string domain, std::string op_type, int version, std::vector<tessera::Attribute> attributes, size_t inputs,
        size_t outputs)
      : models(std::move(domain), std::move(op_type), version, std::move(attributes), inputs, outputs) {}

  tessera::c_abi::Mark<OrtOp> mark;
  mutable tessera::c_abi::EagerModels models;
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

EagerModels::EagerModels(std::string domain, std::string op_type, int version, std::vector<Attribute> attributes,
                         size_t inputs, size_t outputs)
    : domain_(std::move(domain)),
      op_type_(std::move(op_type)),
      version_(version),
      attributes_(std::move(attributes)),
      num_inputs_(inputs),
      num_outputs_(outputs),
      schema_(FindSchema(op_type_, version_, domain_)),
      environment_(SharedEnvironment()) {
  if (schema_ == nullptr) {
    Fail(ErrorCode::kFail, "domain '{}' has no operator {} of version {}; kernels call operators of ONNX and com.microsoft",
         domain_, op_type_, version_);
  }
  const auto takes = [](const auto& parameters, size_t count) {
    return count <= parameters.size() || IsVariadic(parameters);
  };
  Require(takes(schema_->inputs(), inputs) && takes(schema_->outputs(), outputs),
          "operator {} has {} inputs and {} outputs at most; {} and {} are asked for", op_type_, schema_->inputs().size(),
          schema_->outputs().size(), inputs, outputs);
}

std::optional<InputTypes> EagerModels::TypesBy(std::span<const char* const> names,
                                               std::span<const ONNXTensorElementDataType> types) const {
  InputTypes inputs;
  for (size_t i = 0; i < num_inputs_; ++i) {
    const FormalParameter& parameter = *FormalOf(schema_->inputs(), i);
    const auto named =
        std::ranges::find_if(names, [&](const char* name) { return name != nullptr && parameter.GetTypeStr() == name; });
    const auto& allowed = parameter.GetTypes();
    if (named != names.end()) {
      inputs.push_back(ElementOf(types[static_cast<size_t>(named - names.begin())]));
    } else if (allowed.size() == 1) {
      inputs.push_back(FromProto(onnx::Utils::DataTypeUtils::ToTypeProto(*allowed.begin())).element);
    } else {
      return std::nullopt;
    }
  }
  return inputs;
}

std::string EagerModels::ModelBytes(const InputTypes& types) const {
  onnx::ModelProto model;
  model.set_ir_version(onnx::Version::IR_VERSION);
  auto& import = *model.add_opset_import();
  import.set_domain(domain_);
  import.set_version(version_);
  if (!domain_.empty()) {  // what functions are made of
    auto& standard = *model.add_opset_import();
    standard.set_version(onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(op_type_);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type_);
  node.set_domain(domain_);
  for (const Attribute& attribute : attributes_) *node.add_attribute() = ToProto(attribute);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == ElementType::kUndefined) {
      node.add_input("");
      continue;
    }
    onnx::ValueInfoProto& value = *graph.add_input();
    value.set_name(fmt::format("input{}", i));
    *value.mutable_type() = ToProto(TypeInfo::OfTensor(types[i]));
    node.add_input(value.name());
  }
  for (size_t i = 0; i < num_outputs_; ++i) {
    graph.add_output()->set_name(fmt::format("output{}", i));
    node.add_output(fmt::format("output{}", i));
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) Fail(ErrorCode::kFail, "operator {}: its attributes are too large", op_type_);
  return bytes;
}

const Session& EagerModels::For(const InputTypes& types) {
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find(types);
  if (known != sessions_.end()) return known->second;
  SessionOptions options;
  options.use_global_threads = true;
  options.log_level = LogLevel::kError;
  const std::string bytes = ModelBytes(types);
  return sessions_.emplace(types, Session(std::as_bytes(std::span(bytes)), options, *environment_)).first->second;
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
    const auto names = ListOf<const char*>(type_constraint_names, type_constraint_count, "the names of types");
    const auto types = ListOf<ONNXTensorElementDataType>(type_constraint_values, type_constraint_count, "the types");
    std::vector<Attribute> attributes;
    for (const OrtOpAttr* attribute : ListOf<const OrtOpAttr*>(attr_values, attr_count, "the attributes"))
      attributes.push_back(*Given(attribute, "an attribute").attribute);
    auto op =
        std::make_unique<OrtOp>(NormalDomain(TextOf(domain)), &Given(op_name, "the operator's name"), version,
                                std::move(attributes), CountOf(input_count, "inputs"), CountOf(output_count, "outputs"));
    // Where the types are all said, what is wrong shows now.
    if (const auto inputs = op->models.TypesBy(names, types)) op->models.For(*inputs);
    return op.release();
  });
}

void ReleaseOp(OrtOp* input) { Release(input); }

// Outputs that have a buffer are written there; others get one.
OrtStatusPtr InvokeOp(const OrtKernelContext* context, const OrtOp* ort_op, const OrtValue* const* input_values,
                      int input_count, OrtValue* const* output_values, int output_count) noexcept {
  return Guarded([&] {
    Require(context != nullptr, "the kernel context is null");
    EagerModels& models = Given(ort_op, "the operator").models;
    const auto given = ListOf<const OrtValue*>(input_values, input_count, "the inputs");
    const auto wanted = ListOf<OrtValue*>(output_values, output_count, "the outputs");
    Require(given.size() == models.num_inputs() && wanted.size() == models.num_outputs(),
            "the operator was made for {} inputs and {} outputs, {} and {} are given", models.num_inputs(),
            models.num_outputs(), given.size(), wanted.size());
    InputTypes types;
    std::vector<Value> inputs, results;
    for (const OrtValue* value : given) {
      types.push_back(value == nullptr ? ElementType::kUndefined : Given(value, "an input").tensor().type());
      if (value != nullptr) inputs.push_back(*value);
    }
    for (OrtValue* value : wanted) {
      const Tensor* buffer = Given(value, "an output").tensor_if();
      results.push_back(buffer != nullptr && buffer->defined() ? Value(*buffer) : Value());
    }
    models.For(types).Run(inputs, results);
    for (size_t i = 0; i < wanted.size(); ++i) static_cast<Value&>(*wanted[i]) = std::move(results[i]);
  });
}

}  // namespace tessera::c_abi
