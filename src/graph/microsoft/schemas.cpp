#include "graph/microsoft/schemas.h"

#include "graph/formal_parameters.h"
#include "graph/microsoft/define.h"

namespace tessera {
namespace {

/// Of ai.onnx in the functions' bodies.
constexpr int kBodyOpset = 24;

/// A variadic input `x` goes by x0, x1, ... in the body.
void NameVariadicInputs(const Define::Context& context, const onnx::OpSchema& schema, onnx::FunctionProto& body) {
  if (!IsVariadic(schema.inputs())) return;
  const std::string name = schema.inputs().back().GetName();
  body.mutable_input()->RemoveLast();
  const int first = body.input_size();
  for (int i = 0; context.hasInput(first + i); ++i) body.add_input(name + std::to_string(i));
}

MicrosoftSchemas MakeSchemas() {
  MicrosoftSchemas schemas;
  AddActivationSchemas(schemas);
  AddMatMulSchemas(schemas);
  AddNormalizationSchemas(schemas);
  AddAttentionSchemas(schemas);
  AddQuantizationSchemas(schemas);
  AddQuantizedWindowSchemas(schemas);
  AddTensorSchemas(schemas);
  AddGenerationSchemas(schemas);
  AddStreamSchemas(schemas);
  AddCompiledSchemas(schemas);
  return schemas;
}

}  // namespace

const onnx::OpSchema* FindMicrosoftSchema(std::string_view domain, std::string_view op_type) {
  static const MicrosoftSchemas schemas = MakeSchemas();
  const auto found = schemas.find(std::pair<std::string, std::string>(domain, op_type));
  return found == schemas.end() ? nullptr : &found->second;
}

Define::Define(MicrosoftSchemas& schemas, std::string op_type, std::string domain) : schema_(schemas[{domain, op_type}]) {
  schema_.SetName(std::move(op_type)).SetDomain(std::move(domain)).SinceVersion(1);
}

Define::~Define() { schema_.Finalize(); }

Define& Define::VariadicIn(const char* name, const char* type) {
  schema_.Input(inputs_++, name, "", type, onnx::OpSchema::Variadic, /*is_homogeneous=*/false);
  return *this;
}

Define& Define::AddInput(const char* name, const char* type, onnx::OpSchema::FormalParameterOption option) {
  schema_.Input(inputs_++, name, "", type, option);
  return *this;
}

Define& Define::AddOutput(const char* name, const char* type, onnx::OpSchema::FormalParameterOption option) {
  schema_.Output(outputs_++, name, "", type, option);
  return *this;
}

Define& Define::VariadicOut(const char* name, const char* type) {
  schema_.Output(outputs_++, name, "", type, onnx::OpSchema::Variadic, /*is_homogeneous=*/false);
  return *this;
}

Define& Define::Type(const char* parameter, const Types& types) {
  schema_.TypeConstraint(parameter, types, "");
  return *this;
}

Define& Define::Attribute(const char* name, onnx::AttributeProto::AttributeType type) {
  schema_.Attr(name, "", type, /*required=*/false);
  return *this;
}

Define& Define::Int(const char* name, int64_t value) {
  schema_.Attr(name, "", onnx::AttributeProto::INT, value);
  return *this;
}

Define& Define::RequiredInt(const char* name) {
  schema_.Attr(name, "", onnx::AttributeProto::INT, /*required=*/true);
  return *this;
}

Define& Define::RequiredInts(const char* name) {
  schema_.Attr(name, "", onnx::AttributeProto::INTS, /*required=*/true);
  return *this;
}

Define& Define::Float(const char* name, float value) {
  schema_.Attr(name, "", onnx::AttributeProto::FLOAT, value);
  return *this;
}

Define& Define::String(const char* name, const std::string& value) {
  schema_.Attr(name, "", onnx::AttributeProto::STRING, value);
  return *this;
}

Define& Define::RequiredString(const char* name) {
  schema_.Attr(name, "", onnx::AttributeProto::STRING, /*required=*/true);
  return *this;
}

Define& Define::RequiredGraph(const char* name) {
  schema_.Attr(name, "", onnx::AttributeProto::GRAPH, /*required=*/true);
  return *this;
}

Define& Define::Infer(onnx::InferenceFunction function) {
  schema_.TypeAndShapeInferenceFunction(std::move(function));
  return *this;
}

Define& Define::LikeFirstInput() { return Infer(onnx::propagateShapeAndTypeFromFirstInput); }

Define& Define::Body(std::function<bool(const Context&, onnx::FunctionBuilder&)> build) {
  schema_.SetContextDependentFunctionBodyBuilder(
      [build = std::move(build)](const Context& context, const onnx::OpSchema& schema, onnx::FunctionProto& body) {
        onnx::FunctionBuilder builder(body);
        builder.AddOpset("", kBodyOpset).AddOpset(std::string(kMicrosoftDomain).c_str(), 1);
        if (!build(context, builder)) return false;
        schema.BuildFunction(body);
        NameVariadicInputs(context, schema, body);
        return true;
      });
  return *this;
}

Define& Define::Body(const char* nodes) {
  return Body([nodes](const Context&, onnx::FunctionBuilder& builder) {
    builder.Add(nodes);
    return true;
  });
}

Define& ConvAttributes(Define& schema) {
  return schema.String("auto_pad", "NOTSET")
      .Ints("dilations")
      .Int("group", 1)
      .Ints("kernel_shape")
      .Ints("pads")
      .Ints("strides");
}

Define& QLinearConvOperands(Define& schema) {
  return schema.In("x", "T1")
      .In("x_scale", "tensor(float)")
      .In("x_zero_point", "T1")
      .In("w", "T2")
      .In("w_scale", "tensor(float)")
      .In("w_zero_point", "T2")
      .In("y_scale", "tensor(float)")
      .In("y_zero_point", "T3")
      .OptionalIn("B", "T4")
      .Out("y", "T3")
      .Type("T1", kBytes)
      .Type("T2", kBytes)
      .Type("T3", kBytes)
      .Type("T4", {"tensor(int32)"});
}

int64_t IntOf(const Define::Context& context, const char* name, int64_t fallback) {
  const auto* attribute = context.getAttribute(name);
  return attribute == nullptr ? fallback : attribute->i();
}

float FloatOf(const Define::Context& context, const char* name, float fallback) {
  const auto* attribute = context.getAttribute(name);
  return attribute == nullptr ? fallback : attribute->f();
}

std::string StringOf(const Define::Context& context, const char* name, const std::string& fallback) {
  const auto* attribute = context.getAttribute(name);
  return attribute == nullptr ? fallback : attribute->s();
}

int32_t ElementTypeOfInput(const Define::Context& context, int input) {
  const auto* type = context.getInputType(input);
  return type == nullptr || !type->has_tensor_type() ? 0 : type->tensor_type().elem_type();
}

const onnx::TensorShapeProto* ShapeOfInput(const onnx::InferenceContext& context, size_t input) {
  return onnx::hasInputShape(context, input) ? &onnx::getInputShape(context, input) : nullptr;
}

}  // namespace tessera
