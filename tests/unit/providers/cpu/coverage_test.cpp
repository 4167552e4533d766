#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <set>

#include "attributes.h"
#include "model_builder.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/kernel.h"
#include "tessera/providers/cpu.h"

namespace tessera::testing {
namespace {

/// Element types that tensors of a formal parameter may have; none where it takes no tensors.
std::set<ElementType> TensorTypes(const onnx::OpSchema::FormalParameter& formal) {
  std::set<ElementType> types;
  for (const auto& type : formal.GetTypes()) {
    constexpr std::string_view kBegin = "tensor(";
    if (!type->starts_with(kBegin)) continue;
    const std::string name = type->substr(kBegin.size(), type->size() - kBegin.size() - 1);
    for (int i = 1; i < kElementTypeCount; ++i) {
      if (ElementTypeName(static_cast<ElementType>(i)) == name) types.insert(static_cast<ElementType>(i));
    }
  }
  return types;
}

bool Takes(const std::vector<std::pair<size_t, TypeSet>>& constraints, size_t i, ElementType type) {
  return std::ranges::all_of(constraints, [&](const auto& one) { return one.first != i || one.second.contains(type); });
}

/// What the standard allows for one parameter and no kernel of this version takes.
std::string Missing(const onnx::OpSchema::FormalParameter& formal, size_t i, bool is_input,
                    const std::vector<const KernelDef*>& kernels) {
  std::string missing;
  for (const ElementType type : TensorTypes(formal)) {
    const bool taken = std::ranges::any_of(kernels, [&](const KernelDef* kernel) {
      return Takes(is_input ? kernel->input_types() : kernel->output_types(), i, type);
    });
    if (!taken) missing += fmt::format(" {} {} {}", is_input ? "input" : "output", i, ElementTypeName(type));
  }
  return missing;
}

std::vector<Value> ResultsOf(const ModelBuilder& model, const std::map<std::string, Value>& given,
                             const SessionOptions& options = {}) {
  std::vector<std::string> names;
  std::vector<Value> inputs;
  for (const auto& [name, value] : given) {
    names.push_back(name);
    inputs.push_back(value);
  }
  return model.Session(options).Run(names, inputs);
}

/// Every version of every operator of the standard, for every type that it allows; what only has a function is inlined.
TEST(CpuCoverage, TakesWhatTheStandardAllows) {
  std::map<std::pair<std::string, std::string>, std::vector<const KernelDef*>> by_name;
  const auto provider = CpuProviderFactory().create({});
  for (const KernelDef* kernel : provider->kernels().definitions())
    by_name[{kernel->domain(), kernel->op_type()}].push_back(kernel);
  size_t looked_at = 0;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const bool standard =
        schema.domain().empty() || schema.domain() == "ai.onnx.ml" || schema.domain() == "ai.onnx.preview.training";
    if (!standard || schema.deprecated()) continue;
    std::vector<const KernelDef*> kernels = by_name[{schema.domain(), schema.Name()}];
    std::erase_if(kernels, [&](const KernelDef* kernel) {
      return schema.SinceVersion() < kernel->first_version() || schema.SinceVersion() > kernel->last_version();
    });
    if (kernels.empty() && (schema.HasFunction() || schema.HasContextDependentFunction())) continue;
    if (schema.Name() == "Gradient" || schema.Name() == "Constant") continue;  // gone before any kernel runs
    ++looked_at;
    std::string missing = kernels.empty() ? " any kernel" : "";
    for (size_t i = 0; i < schema.inputs().size(); ++i) missing += Missing(schema.inputs()[i], i, true, kernels);
    for (size_t i = 0; i < schema.outputs().size(); ++i) missing += Missing(schema.outputs()[i], i, false, kernels);
    EXPECT_EQ(missing, "") << schema.domain() << " " << schema.Name() << " of version " << schema.SinceVersion();
  }
  EXPECT_GT(looked_at, 500u);
}

/// The same quantized values by QLinearMatMul and by the operators that define it.
TEST(CpuCoverage, QLinearMatMulOfEightBitFloats) {
  constexpr ElementType kTypes[] = {ElementType::kFloat8E4M3FN, ElementType::kFloat8E5M2, ElementType::kInt8,
                                    ElementType::kUInt8};
  for (const ElementType a : kTypes) {
    for (const ElementType b : kTypes) {
      for (const ElementType y : kTypes) {
        ModelBuilder model(21);
        model.Input("x", ElementType::kFloat, {2, 3, 5}).Input("w", ElementType::kFloat, {5, 4});
        model.Output("fused", ElementType::kFloat, {2, 3, 4}).Output("apart", ElementType::kFloat, {2, 3, 4});
        model.Floats("x_scale", {}, {0.5f}).Floats("w_scale", {4}, {0.25f, 0.5f, 1, 2}).Floats("y_scale", {}, {2});
        const auto zero = [&](const std::string& name, ElementType type, const std::vector<int64_t>& dims) {
          const int64_t count = dims.empty() ? 1 : dims[0];
          model.Constant(name, dims,
                         std::vector<uint8_t>(static_cast<size_t>(count), type == ElementType::kUInt8 ? 100 : 0),
                         static_cast<onnx::TensorProto::DataType>(type));
        };
        zero("x_zero", a, {});
        zero("w_zero", b, {4});
        zero("y_zero", y, {});
        model.Node("QuantizeLinear", {"x", "x_scale", "x_zero"}, {"x_quantized"});
        model.Node("QuantizeLinear", {"w", "w_scale", "w_zero"}, {"w_quantized"});
        model.Node("QLinearMatMul",
                   {"x_quantized", "x_scale", "x_zero", "w_quantized", "w_scale", "w_zero", "y_scale", "y_zero"},
                   {"y_quantized"});
        model.Node("DequantizeLinear", {"y_quantized", "y_scale", "y_zero"}, {"fused"});
        model.Node("DequantizeLinear", {"x_quantized", "x_scale", "x_zero"}, {"x_back"});
        model.Node("DequantizeLinear", {"w_quantized", "w_scale", "w_zero"}, {"w_back"});
        model.Node("MatMul", {"x_back", "w_back"}, {"product"});
        model.Node("QuantizeLinear", {"product", "y_scale", "y_zero"}, {"product_quantized"});
        model.Node("DequantizeLinear", {"product_quantized", "y_scale", "y_zero"}, {"apart"});
        SessionOptions options;
        options.providers = {{"CPUExecutionProvider", {}}};
        options.optimization_level = OptimizationLevel::kNone;
        std::vector<float> x(30), w(20);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
        for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
        const std::vector<Value> results =
            ResultsOf(model, {{"x", Floats({2, 3, 5}, x)}, {"w", Floats({5, 4}, w)}}, options);
        EXPECT_EQ(ToVector(results[0]), ToVector(results[1]))
            << ElementTypeName(a) << " " << ElementTypeName(b) << " " << ElementTypeName(y);
      }
    }
  }
}

/// In the type of the data, as version 1 has them.
TEST(CpuCoverage, SplitOfVersionOneTakesSizesAsFloats) {
  ModelBuilder model(1);
  model.proto().set_ir_version(3);
  model.Input("x", ElementType::kFloat, {5}).Input("sizes", ElementType::kFloat, {2});
  model.Output("y", ElementType::kFloat, {2}).Output("z", ElementType::kFloat, {3});
  Int(model.Node("Split", {"x", "sizes"}, {"y", "z"}), "axis", 0);
  const std::vector<Value> results =
      ResultsOf(model, {{"x", Floats({5}, {1, 2, 3, 4, 5})}, {"sizes", Floats({2}, {2, 3})}});
  EXPECT_EQ(ToVector(results[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(ToVector(results[1]), (std::vector<float>{3, 4, 5}));
}

TEST(CpuCoverage, DropoutOfEightBitFloats) {
  ModelBuilder model(22);
  constexpr auto kFloat8 = ElementType::kFloat8E4M3FN;
  model.Input("x", ElementType::kFloat, {64})
      .Output("y", ElementType::kFloat, {64})
      .Output("mask", ElementType::kBool, {64});
  const uint8_t half = 0x30, yes = 1;  // 0.5
  model.Constant("ratio", {}, std::span(&half, 1), onnx::TensorProto::FLOAT8E4M3FN);
  model.Constant("training", {}, std::span(&yes, 1), onnx::TensorProto::BOOL);
  Int(model.Node("Cast", {"x"}, {"narrow"}), "to", static_cast<int64_t>(kFloat8));
  model.Node("Dropout", {"narrow", "ratio", "training"}, {"dropped", "mask"});
  Int(model.Node("Cast", {"dropped"}, {"y"}), "to", static_cast<int64_t>(ElementType::kFloat));
  const std::vector<Value> results = ResultsOf(model, {{"x", Floats({64}, std::vector<float>(64, 1.5f))}});
  const auto values = ToVector(results[0]);
  const std::span<const bool> mask = results[1].tensor().values<bool>();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], mask[i] ? 3.0f : 0.0f) << i;
  EXPECT_GT(std::ranges::count(mask, true), 0);
  EXPECT_GT(std::ranges::count(mask, false), 0);
}

}  // namespace
}  // namespace tessera::testing
