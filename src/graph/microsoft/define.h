#pragma once

// What the families' files define their schemas with.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/proto.h"
#include "onnx/defs/function.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

namespace tessera {

/// By domain and operator. All are of version 1.
using MicrosoftSchemas = std::map<std::pair<std::string, std::string>, onnx::OpSchema, std::less<>>;

void AddActivationSchemas(MicrosoftSchemas& schemas);
void AddMatMulSchemas(MicrosoftSchemas& schemas);
void AddNormalizationSchemas(MicrosoftSchemas& schemas);
void AddAttentionSchemas(MicrosoftSchemas& schemas);
void AddQuantizationSchemas(MicrosoftSchemas& schemas);
void AddQuantizedWindowSchemas(MicrosoftSchemas& schemas);
void AddTensorSchemas(MicrosoftSchemas& schemas);
void AddGenerationSchemas(MicrosoftSchemas& schemas);
void AddStreamSchemas(MicrosoftSchemas& schemas);
void AddCompiledSchemas(MicrosoftSchemas& schemas);

using Types = std::vector<std::string>;
inline const Types kFloatOnly = {"tensor(float)"};
inline const Types kAnyFloat = {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)"};
/// float, and what is half as wide.
inline const Types kFloatAndHalves = {"tensor(float)", "tensor(float16)", "tensor(bfloat16)"};
inline const Types kBytes = {"tensor(uint8)", "tensor(int8)"};

/// One schema: `Define(schemas, "Gelu").In("X").Out("Y").Type("T", kAnyFloat)`. Inputs and outputs are of type T unless
/// told otherwise; it is finished when the object goes.
class Define {
 public:
  explicit Define(MicrosoftSchemas& schemas, std::string op_type, std::string domain = "com.microsoft");
  Define(const Define&) = delete;
  ~Define();

  Define& In(const char* name, const char* type = "T") { return AddInput(name, type, onnx::OpSchema::Single); }
  Define& OptionalIn(const char* name, const char* type = "T") { return AddInput(name, type, onnx::OpSchema::Optional); }
  Define& VariadicIn(const char* name, const char* type);
  Define& Out(const char* name, const char* type = "T") { return AddOutput(name, type, onnx::OpSchema::Single); }
  Define& OptionalOut(const char* name, const char* type = "T") { return AddOutput(name, type, onnx::OpSchema::Optional); }
  Define& VariadicOut(const char* name, const char* type);
  Define& Type(const char* parameter, const Types& types);

  Define& Int(const char* name) { return Attribute(name, onnx::AttributeProto::INT); }
  Define& Int(const char* name, int64_t value);
  Define& RequiredInt(const char* name);
  Define& Float(const char* name) { return Attribute(name, onnx::AttributeProto::FLOAT); }
  Define& Float(const char* name, float value);
  Define& String(const char* name) { return Attribute(name, onnx::AttributeProto::STRING); }
  Define& String(const char* name, const std::string& value);
  Define& RequiredString(const char* name);
  Define& Ints(const char* name) { return Attribute(name, onnx::AttributeProto::INTS); }
  Define& RequiredInts(const char* name);
  Define& Floats(const char* name) { return Attribute(name, onnx::AttributeProto::FLOATS); }
  Define& Strings(const char* name) { return Attribute(name, onnx::AttributeProto::STRINGS); }

  Define& Graph(const char* name) { return Attribute(name, onnx::AttributeProto::GRAPH); }
  Define& RequiredGraph(const char* name);

  /// Adds what several schemas have in common.
  Define& With(Define& (*part)(Define& schema)) { return part(*this); }

  Define& Infer(onnx::InferenceFunction function);
  /// The first output has the first input's type and shape.
  Define& LikeFirstInput();

  /// The operator as nodes of ai.onnx (and com.microsoft); `build` answers false where it cannot be written so.
  using Context = onnx::FunctionBodyBuildContext;
  Define& Body(std::function<bool(const Context&, onnx::FunctionBuilder&)> build);
  Define& Body(const char* nodes);

 private:
  Define& AddInput(const char* name, const char* type, onnx::OpSchema::FormalParameterOption option);
  Define& AddOutput(const char* name, const char* type, onnx::OpSchema::FormalParameterOption option);
  Define& Attribute(const char* name, onnx::AttributeProto::AttributeType type);

  onnx::OpSchema& schema_;
  int inputs_ = 0;
  int outputs_ = 0;
};

/// For Define::With: the attributes of Conv.
Define& ConvAttributes(Define& schema);
/// The operands and the result of QLinearConv, with their types.
Define& QLinearConvOperands(Define& schema);

int64_t IntOf(const Define::Context& context, const char* name, int64_t fallback);
float FloatOf(const Define::Context& context, const char* name, float fallback);
std::string StringOf(const Define::Context& context, const char* name, const std::string& fallback);
/// Of an input; 0 when it is left out or not known.
int32_t ElementTypeOfInput(const Define::Context& context, int input);

/// The input's shape; null when it is left out or not known.
const onnx::TensorShapeProto* ShapeOfInput(const onnx::InferenceContext& context, size_t input);

}  // namespace tessera
