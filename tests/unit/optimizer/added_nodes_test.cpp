// What portable passes add to a graph: the same whichever providers a session has, of types that the standard allows, and
// all of it has a kernel on the CPU provider, to which everything falls.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "attributes.h"
#include "error_of.h"
#include "graph/op_traits.h"
#include "graph/operator_definitions.h"
#include "onnx/defs/schema.h"
#include "optimizer/added_nodes_models.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/rewriting.h"
#include "partition/partition.h"
#include "session/session_state.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

/// The last provider of a session, without a kernel.
class WithoutKernels final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return "WithoutKernels"; }
  const KernelRegistry& kernels() const noexcept override { return kernels_; }

 private:
  KernelRegistry kernels_;
};

/// One that says what operators of com.microsoft mean.
class DefinesItsOwn final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return "DefinesItsOwn"; }
  const KernelRegistry& kernels() const noexcept override { return kernels_; }
  bool Defines(std::string_view domain, std::string_view, int) const override { return domain == "com.microsoft"; }

 private:
  KernelRegistry kernels_;
};

/// A model that these passes rewrote for a session whose last provider has no kernel.
class RewrittenWithoutKernels {
 public:
  RewrittenWithoutKernels(const ModelBuilder& model, const std::vector<std::string>& passes, bool writable = false) {
    resources_.providers.push_back({.provider = std::make_unique<WithoutKernels>()});
    resources_.threads = lender_.state()->model->resources.threads;
    const std::string bytes = model.bytes();
    model_ = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
    std::vector<RewriteEntry> entries;
    std::ranges::copy_if(Rewrites(), std::back_inserter(entries),
                         [&](const RewriteEntry& entry) { return std::ranges::find(passes, entry.name) != passes.end(); });
    EXPECT_EQ(entries.size(), passes.size());
    RunRewrites(*model_.graph, resources_, entries, {.writable = writable});
  }

  /// As Rewriting has it.
  std::string after() const {
    std::string operators;
    for (const NodeIndex index : model_.graph->TopologicalOrder())
      operators += (operators.empty() ? "" : " ") + model_.graph->node(index).op_type;
    return operators;
  }

  /// What the session says that finds nobody to run it.
  std::string Error() {
    return ErrorOf([&] { AssignProviders(*model_.graph, resources_, {}, {}); });
  }

 private:
  const Session lender_ = ErfGelu(ElementType::kFloat).model.Session();  // of threads
  SessionResources resources_;
  Model model_;
};

/// How far results may be apart whose steps are rounded to a type.
double ToleranceOf(ElementType type) {
  return type == ElementType::kBFloat16 ? 6e-2 : type == ElementType::kFloat16 ? 8e-3 : 1e-4;
}

std::vector<double> NumbersOf(const Tensor& tensor) {
  const auto numbers = [](const auto& values) {
    std::vector<double> result;
    for (const auto value : values) result.push_back(static_cast<double>(value));
    return result;
  };
  if (tensor.is(ElementType::kInt8)) return numbers(tensor.values<int8_t>());
  if (tensor.is(ElementType::kUInt8)) return numbers(tensor.values<uint8_t>());
  return WithFloatType(tensor.type(), [&](auto zero) { return numbers(tensor.values<decltype(zero)>()); });
}

/// A whole session on the CPU provider.
std::vector<double> ResultsAt(OptimizationLevel level, const ModelBuilder& model, const std::vector<Value>& inputs) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  std::vector<Value> results(1);
  model.Session(options).Run(inputs, results);
  return NumbersOf(results[0].tensor());
}

/// The passes write the operator into the model; what they write needs no provider, and gives on CPU what the model did.
void ExpectAdded(const WritingModel& w, const std::string& op) {
  const Rewriting rewriting(w.model, w.passes);
  EXPECT_NE(rewriting.after(), rewriting.before());
  EXPECT_THAT(rewriting.after() + " ", HasSubstr(op + " "));
  EXPECT_EQ(rewriting.Difference(w.inputs, true), "");
  RewrittenWithoutKernels without(w.model, w.passes);
  EXPECT_EQ(without.after(), rewriting.after());
  EXPECT_THAT(without.Error(), HasSubstr("no provider runs it"));

  const std::vector<double> expected = ResultsAt(OptimizationLevel::kNone, w.model, w.inputs),
                            given = ResultsAt(OptimizationLevel::kAll, w.model, w.inputs);
  ASSERT_EQ(given.size(), expected.size());
  for (size_t i = 0; i < given.size(); ++i)
    ASSERT_LE(std::abs(given[i] - expected[i]), ToleranceOf(w.type) * (1 + std::abs(expected[i]))) << i;
}

void ExpectLeft(const WritingModel& w) {
  const Rewriting rewriting(w.model, w.passes);
  EXPECT_EQ(rewriting.after(), rewriting.before());
  EXPECT_EQ(RewrittenWithoutKernels(w.model, w.passes).after(), rewriting.before());
}

TEST(AddedNodes, HaveKernelsForAllFloats) {
  for (const ElementType type : kAllFloats) {
    SCOPED_TRACE(ElementTypeName(type));
    ExpectAdded(ErfGelu(type), "Gelu");
    ExpectAdded(TanhGelu(type), "Gelu");
    ExpectAdded(GatedByHardSigmoid(type), "HardSwish");
    ExpectAdded(Normalization(type, true), "LayerNormalization");
    ExpectAdded(Normalization(type, false), "RMSNormalization");
    ExpectAdded(RepeatedHeads(type), "Attention");
  }
}

TEST(AddedNodes, HaveKernelsForFloat) {
  ExpectAdded(ClippedGate(false), "HardSigmoid");
  ExpectAdded(ClippedGate(true), "HardSwish");
  ExpectAdded(InGroups(ElementType::kFloat), "GroupNormalization");
  ExpectLeft(InGroups(ElementType::kDouble));
}

/// The standard's RotaryEmbedding has no doubles, nor has com.microsoft's.
TEST(AddedNodes, HaveKernelsForTypesThatOperatorsTake) {
  for (const ElementType type : kAllFloats) {
    SCOPED_TRACE(ElementTypeName(type));
    for (const bool one_batch : {false, true})
      type == ElementType::kDouble ? ExpectLeft(Rotation(type, one_batch))
                                   : ExpectAdded(Rotation(type, one_batch), "RotaryEmbedding");
    if (type != ElementType::kDouble) ExpectAdded(NBitsWeights(type), "MatMulNBits");
  }
}

TEST(AddedNodes, HaveKernelsForAllBytes) {
  for (const ElementType x : kAllBytes) {
    for (const ElementType w : kAllBytes) {
      SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(x), ElementTypeName(w)));
      ExpectAdded(IntegerMatMul(x, w), "MatMulIntegerToFloat");
      ExpectAdded(QuantizedConcat(x, w), "Concat");
      for (const ElementType y : kAllBytes) {
        for (const std::string op : {"Conv", "MatMul"}) ExpectAdded(QuantizedWeights(op, x, w, y), "QLinear" + op);
        ExpectAdded(QuantizedWeights("Gemm", x, w, y), "QGemm");
      }
    }
    for (const std::string op : {"Add", "Mul"}) ExpectAdded(QuantizedBinary(op, x), "QLinear" + op);
    ExpectAdded(QuantizedAverage(x), "QLinearGlobalAveragePool");
  }
}

/// A node of an operator, whose inputs of its first one's type are of `type`, and others of the first type that the schema
/// names.
Node NodeOf(Graph& graph, const onnx::OpSchema& schema, ElementType type) {
  const auto value = [&](const onnx::OpSchema::FormalParameter& formal) {
    if (formal.GetTypeStr() == schema.inputs()[0].GetTypeStr()) return graph.AddValue("", TypeInfo::OfTensor(type));
    std::string first = **formal.GetTypes().begin();
    first = first.substr(7, first.size() - 8);  // of tensor(first)
    return graph.AddValue("", TypeInfo::OfTensor(ElementTypeFromName(first)));
  };
  Node node;
  node.op_type = schema.Name();
  node.since_version = schema.since_version();
  for (const auto& formal : schema.inputs()) node.inputs.push_back(value(formal));
  node.outputs.push_back(value(schema.outputs()[0]));
  return node;
}

bool MovesQuantizedValues(const onnx::OpSchema& schema) {
  Node node;
  node.op_type = schema.Name();
  node.since_version = schema.since_version();
  return schema.domain().empty() && (Has(node, OpTrait::kMoves) || schema.Name() == "MaxPool" ||
                                     schema.Name() == "Resize" || schema.Name() == "Concat");
}

/// sink_dequantize lets any operator move quantized values whose schema takes them.
TEST(AddedNodes, HaveKernelsWhereBytesAreMoved) {
  const Session session = AddModel().Session();
  const SessionResources& resources = session.state()->model->resources;
  Graph graph;
  int movers = 0;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!MovesQuantizedValues(schema)) continue;
    for (const ElementType type : kAllBytes) {
      const Node node = NodeOf(graph, schema, type);
      if (!MayAdd(graph, node, {.resources = resources})) continue;
      std::string why;
      EXPECT_NE(resources.providers.back().provider->kernels().Find(GraphViewer(graph), node, &why), nullptr)
          << node.op_type << " of version " << node.since_version << " on " << ElementTypeName(type) << ": " << why;
      ++movers;
    }
  }
  EXPECT_GT(movers, 100);
}

/// What is written as a model holds no operator that is newer than its imports, or of a domain that it does not import.
TEST(AddedNodes, AreOfTheModelsImportsWhereItIsWritten) {
  for (const bool writable : {false, true}) {
    for (const auto& [w, op] : {std::pair{ErfGelu(ElementType::kFloat, 17), "Gelu"},
                                std::pair{NBitsWeights(ElementType::kFloat), "MatMulNBits"}}) {
      const std::string after = RewrittenWithoutKernels(w.model, w.passes, writable).after();
      EXPECT_EQ(after.find(op) == std::string::npos, writable) << after;
    }
  }
}

/// A node whose types are not known, or of no version of an operator.
TEST(AddedNodes, AreKnown) {
  Graph graph;
  const SessionResources resources;
  Node gelu;
  gelu.op_type = "Gelu";
  gelu.since_version = 20;
  gelu.inputs = {graph.AddValue("x", TypeInfo::OfTensor(ElementType::kFloat))};
  gelu.outputs = {graph.AddValue("y", TypeInfo::OfTensor(ElementType::kFloat))};
  const RewriteContext context{.resources = resources};
  EXPECT_TRUE(MayAdd(graph, gelu, context));
  Node early = gelu;
  early.since_version = 19;
  EXPECT_FALSE(MayAdd(graph, early, context));
  graph.value(gelu.outputs[0]).type = TypeInfo::OfTensor(ElementType::kDouble);
  EXPECT_FALSE(MayAdd(graph, gelu, context));
  graph.value(gelu.outputs[0]).type = {};
  EXPECT_FALSE(MayAdd(graph, gelu, context));
}

/// An operator that a provider of the session defines in place of com.microsoft's means something else.
TEST(AddedNodes, MeanWhatTheirSchemasSay) {
  Graph graph;
  const SessionResources resources;
  const RewriteContext context{.resources = resources};
  const auto add = [&](ElementType type) { return graph.AddValue("", TypeInfo::OfTensor(type)); };
  const ValueIndex bytes = add(ElementType::kUInt8), scale = add(ElementType::kFloat);
  Node average;
  average.op_type = "QLinearGlobalAveragePool";
  average.domain = "com.microsoft";
  average.since_version = 1;
  average.inputs = {bytes, scale, bytes, scale, bytes};
  average.outputs = {add(ElementType::kUInt8)};
  EXPECT_TRUE(MayAdd(graph, average, context));
  const DefinesItsOwn provider;
  const OperatorDefinitions definitions({&provider});
  graph.set_definitions(&definitions);
  EXPECT_FALSE(MayAdd(graph, average, context));
}

/// Such an operator has none of the traits that com.microsoft's has.
TEST(OpTraits, AreOfOperatorsThatNoProviderDefines) {
  Graph graph;
  Node gelu;
  gelu.op_type = "QuickGelu";
  gelu.domain = "com.microsoft";
  gelu.since_version = 1;
  EXPECT_TRUE(TraitsOf(graph, gelu).Has(OpTrait::kUnary));
  const DefinesItsOwn provider;
  const OperatorDefinitions definitions({&provider});
  graph.set_definitions(&definitions);
  EXPECT_FALSE(TraitsOf(graph, gelu).Has(OpTrait::kUnary));
  gelu.domain = "another";
  EXPECT_FALSE(Has(gelu, OpTrait::kUnary));
  gelu.domain = "";
  EXPECT_FALSE(Has(gelu, OpTrait::kUnary));  // ai.onnx has none of that name
}

}  // namespace
}  // namespace tessera::testing
