// How libraries of providers say what they have, and what they ask of operators.

#include <gmock/gmock.h>

#include <limits>

#include "bindings/c/ep/data_type.h"
#include "bindings/c/ep/kernel_registry.h"
#include "bindings/c/ep/op_schema.h"
#include "bindings/c/ep/profiling.h"
#include "bindings/c/table.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

const OrtEpApi& EpApi() { return *Api().GetEpApi(); }

/// Builds what `fill` says.
template <class Fill>
OrtKernelDef* Define(const Fill& fill) {
  OrtKernelDefBuilder* builder = Ask(EpApi().CreateKernelDefBuilder);
  fill(builder);
  OrtKernelDef* def = Ask(EpApi().KernelDefBuilder_Build, builder);
  EpApi().ReleaseKernelDefBuilder(builder);
  return def;
}

TEST(KernelDefs, HoldWhatTheyWereBuiltOf) {
  const OrtDataType* types[] = {Ask(EpApi().GetTensorDataType, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT),
                                Ask(EpApi().GetTensorDataType, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0)};
  OrtKernelDef* def = Define([&](OrtKernelDefBuilder* builder) {
    RequireOk(EpApi().KernelDefBuilder_SetOperatorType(builder, "Conv"));
    RequireOk(EpApi().KernelDefBuilder_SetDomain(builder, "ai.onnx"));
    RequireOk(EpApi().KernelDefBuilder_SetSinceVersion(builder, 1, 10));
    RequireOk(EpApi().KernelDefBuilder_SetExecutionProvider(builder, "SomeProvider"));
    RequireOk(EpApi().KernelDefBuilder_SetInputMemType(builder, 1, OrtMemTypeCPUInput));
    RequireOk(EpApi().KernelDefBuilder_SetOutputMemType(builder, 0, OrtMemTypeCPUOutput));
    RequireOk(EpApi().KernelDefBuilder_AddTypeConstraint(builder, "T", types, 2));
    const int inputs[] = {0, 1}, outputs[] = {1, 0};
    RequireOk(EpApi().KernelDefBuilder_AddInputOutputAliases(builder, inputs, outputs, 2));
    RequireOk(EpApi().KernelDefBuilder_AddInputOutputMutableAliases(builder, inputs, outputs, 1));
  });
  EXPECT_STREQ(EpApi().KernelDef_GetOperatorType(def), "Conv");
  EXPECT_STREQ(EpApi().KernelDef_GetDomain(def), "");
  EXPECT_STREQ(EpApi().KernelDef_GetExecutionProvider(def), "SomeProvider");
  int first = 0, last = 0;
  RequireOk(EpApi().KernelDef_GetSinceVersion(def, &first, &last));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(last, 10);
  const OrtKernelDef* built = def;
  EXPECT_EQ(Ask(EpApi().KernelDef_GetInputMemType, built, size_t{1}), OrtMemTypeCPUInput);
  EXPECT_EQ(Ask(EpApi().KernelDef_GetInputMemType, built, size_t{0}), OrtMemTypeDefault);
  EXPECT_EQ(Ask(EpApi().KernelDef_GetOutputMemType, built, size_t{0}), OrtMemTypeCPUOutput);
  EXPECT_THAT(def->types.at("T"), ElementsAre(types[0], types[1]));
  EXPECT_EQ(types[1]->element, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0);
  EXPECT_THAT(def->aliases, ElementsAre(std::pair(0, 1), std::pair(1, 0)));
  EXPECT_THAT(def->in_place, ElementsAre(std::pair(0, 1)));
  EpApi().ReleaseKernelDef(def);
}

TEST(KernelDefs, AreOfAllVersionsAtFirst) {
  OrtKernelDef* def = Define([](OrtKernelDefBuilder*) {});
  int first = 0, last = 0;
  RequireOk(EpApi().KernelDef_GetSinceVersion(def, &first, &last));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(last, std::numeric_limits<int>::max());
  EpApi().ReleaseKernelDef(def);
}

TEST(KernelDefs, RefuseWhatIsNothing) {
  OrtKernelDefBuilder* builder = Ask(EpApi().CreateKernelDefBuilder);
  const OrtDataType* type = Ask(EpApi().GetTensorDataType, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  const OrtDataType* none = nullptr;
  const int index = 0;
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_SetOperatorType(builder, nullptr)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_SetDomain(nullptr, "")), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_AddTypeConstraint(builder, "T", &type, 0)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_AddTypeConstraint(builder, "T", &none, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_AddTypeConstraint(builder, nullptr, &type, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_AddInputOutputAliases(builder, &index, nullptr, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_AddInputOutputAliases(builder, &index, &index, 0)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().KernelDefBuilder_Build(builder, nullptr)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, &type)), ORT_INVALID_ARGUMENT);
  EpApi().ReleaseKernelDefBuilder(builder);
  EpApi().ReleaseKernelDefBuilder(nullptr);
  EpApi().ReleaseKernelDef(nullptr);
}

OrtStatus* MakeNothing(void* /*state*/, const OrtKernelInfo* /*info*/, OrtKernelImpl** /*kernel*/) { return nullptr; }

TEST(KernelRegistries, KeepKernelsInOrder) {
  OrtKernelRegistry* registry = Ask(EpApi().CreateKernelRegistry);
  int state = 0;
  for (const char* op : {"Add", "Mul"}) {
    OrtKernelDef* def =
        Define([&](OrtKernelDefBuilder* builder) { RequireOk(EpApi().KernelDefBuilder_SetOperatorType(builder, op)); });
    RequireOk(EpApi().KernelRegistry_AddKernel(registry, def, MakeNothing, &state));
    EXPECT_EQ(CodeOf(EpApi().KernelRegistry_AddKernel(registry, def, nullptr, &state)), ORT_INVALID_ARGUMENT);
    EpApi().ReleaseKernelDef(def);
  }
  ASSERT_EQ(registry->kernels.size(), 2u);
  EXPECT_EQ(registry->kernels[1].def.op_type, "Mul");
  EXPECT_EQ(registry->kernels[1].create, &MakeNothing);
  EXPECT_EQ(registry->kernels[1].state, &state);
  EXPECT_EQ(CodeOf(EpApi().KernelRegistry_AddKernel(registry, nullptr, MakeNothing, &state)), ORT_INVALID_ARGUMENT);
  EpApi().ReleaseKernelRegistry(registry);
  EpApi().ReleaseKernelRegistry(nullptr);
}

TEST(OpSchemas, TellOfTheNewestVersionUpToAnOpset) {
  OrtOpSchema* made = nullptr;
  RequireOk(EpApi().GetOpSchema("Reshape", 13, "ai.onnx", &made));
  ASSERT_NE(made, nullptr);
  const OrtOpSchema* schema = made;
  EXPECT_EQ(Ask(EpApi().OpSchema_GetSinceVersion, schema), 13);
  ASSERT_EQ(Ask(EpApi().OpSchema_GetNumInputs, schema), 2u);
  EXPECT_EQ(Ask(EpApi().OpSchema_GetNumOutputs, schema), 1u);
  EXPECT_STREQ(Ask(EpApi().OpSchema_GetInputName, schema, size_t{1}), "shape");
  EXPECT_STREQ(Ask(EpApi().OpSchema_GetOutputName, schema, size_t{0}), "reshaped");
  // The shape is int64, which is no parameter.
  EXPECT_EQ(Ask(EpApi().OpSchema_GetInputTypeConstraint, schema, size_t{1}), nullptr);
  ASSERT_EQ(Ask(EpApi().OpSchema_GetTypeConstraintCount, schema), 1u);
  const OrtOpSchemaTypeConstraint* constraint = Ask(EpApi().OpSchema_GetTypeConstraint, schema, size_t{0});
  EXPECT_EQ(Ask(EpApi().OpSchema_GetInputTypeConstraint, schema, size_t{0}), constraint);
  EXPECT_EQ(Ask(EpApi().OpSchema_GetOutputTypeConstraint, schema, size_t{0}), constraint);
  EXPECT_STREQ(Ask(EpApi().OpSchemaTypeConstraint_GetTypeParamName, constraint), "T");
  const char* const* types = nullptr;
  size_t count = 0;
  RequireOk(EpApi().OpSchemaTypeConstraint_GetAllowedTypes(constraint, &types, &count));
  EXPECT_THAT(std::vector<std::string>(types, types + count), ::testing::Contains("tensor(float)"));
  const size_t* indices = nullptr;
  RequireOk(EpApi().OpSchemaTypeConstraint_GetInputIndices(constraint, &indices, &count));
  EXPECT_THAT(std::vector<size_t>(indices, indices + count), ElementsAre(0u));
  RequireOk(EpApi().OpSchemaTypeConstraint_GetOutputIndices(constraint, &indices, &count));
  EXPECT_THAT(std::vector<size_t>(indices, indices + count), ElementsAre(0u));
  const char* name = nullptr;
  EXPECT_EQ(CodeOf(EpApi().OpSchema_GetInputName(schema, 2, &name)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().OpSchema_GetTypeConstraint(schema, 1, &constraint)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().OpSchema_GetInputTypeConstraint(nullptr, 0, &constraint)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().OpSchema_GetOutputTypeConstraint(nullptr, 0, &constraint)), ORT_INVALID_ARGUMENT);
  EpApi().ReleaseOpSchema(made);
}

TEST(OpSchemas, AreNullWhereThereIsNone) {
  OrtOpSchema* schema = nullptr;
  RequireOk(EpApi().GetOpSchema("NoSuchOperator", 21, "", &schema));
  EXPECT_EQ(schema, nullptr);
  RequireOk(EpApi().GetOpSchema("FusedMatMul", 1, "com.microsoft", &schema));
  EXPECT_NE(schema, nullptr);
  EpApi().ReleaseOpSchema(schema);
  EXPECT_EQ(CodeOf(EpApi().GetOpSchema(nullptr, 21, "", &schema)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().GetOpSchema("Add", 21, nullptr, &schema)), ORT_INVALID_ARGUMENT);
  EpApi().ReleaseOpSchema(nullptr);
}

TEST(ProfilingEvents, HoldWhatTheyWereMadeOf) {
  const char* keys[] = {"queue", "bytes"};
  const char* values[] = {"0", "64"};
  OrtProfilingEvent* made = nullptr;
  RequireOk(EpApi().CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, 1, 2, "gemm", 30, 40, keys, values, 2, &made));
  const OrtProfilingEvent* event = made;
  EXPECT_EQ(Ask(EpApi().ProfilingEvent_GetCategory, event), OrtProfilingEventCategory_KERNEL);
  EXPECT_STREQ(Ask(EpApi().ProfilingEvent_GetName, event), "gemm");
  EXPECT_EQ(Ask(EpApi().ProfilingEvent_GetTimestampUs, event), 30);
  EXPECT_EQ(Ask(EpApi().ProfilingEvent_GetDurationUs, event), 40);
  EXPECT_STREQ(Ask(EpApi().ProfilingEvent_GetArgValue, event, "bytes"), "64");
  EXPECT_EQ(Ask(EpApi().ProfilingEvent_GetArgValue, event, "absent"), nullptr);

  OrtProfilingEventsContainer container;
  const OrtProfilingEvent *events[] = {event, event}, *broken[] = {event, nullptr};
  RequireOk(EpApi().ProfilingEventsContainer_AddEvents(&container, events, 2));
  EXPECT_EQ(CodeOf(EpApi().ProfilingEventsContainer_AddEvents(&container, broken, 2)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().ProfilingEventsContainer_AddEvents(&container, events, 0)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().ProfilingEventsContainer_AddEvents(nullptr, events, 1)), ORT_INVALID_ARGUMENT);
  EpApi().ReleaseProfilingEvent(made);
  ASSERT_EQ(container.events.size(), 2u);
  EXPECT_EQ(container.events[1].thread, 2);
}

TEST(ProfilingEvents, RefuseWhatIsNothing) {
  const char* keys[] = {"queue"};
  OrtProfilingEvent* event = nullptr;
  const auto none = static_cast<OrtProfilingEventCategory>(4);
  const auto node = OrtProfilingEventCategory_NODE;
  EXPECT_EQ(CodeOf(EpApi().CreateProfilingEvent(none, 1, 2, "gemm", 3, 4, nullptr, nullptr, 0, &event)),
            ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().CreateProfilingEvent(node, 1, 2, nullptr, 3, 4, nullptr, nullptr, 0, &event)),
            ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().CreateProfilingEvent(node, 1, 2, "gemm", 3, 4, keys, nullptr, 1, &event)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EpApi().CreateProfilingEvent(node, 1, 2, "gemm", 3, 4, nullptr, nullptr, 0, nullptr)),
            ORT_INVALID_ARGUMENT);
  EXPECT_EQ(event, nullptr);
  EpApi().ReleaseProfilingEvent(nullptr);
}

}  // namespace
}  // namespace tessera::testing
