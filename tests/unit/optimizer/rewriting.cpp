#include "optimizer/rewriting.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "attributes.h"
#include "graph/check_graph.h"
#include "session/context/graph_bytes.h"
#include "session/session_state.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::testing {
namespace {

std::string Operators(const Graph& graph) {
  std::string text;
  for (const NodeIndex index : graph.TopologicalOrder()) {
    text += (text.empty() ? "" : " ") + graph.node(index).op_type;
    const auto nested = graph.Subgraphs(index);
    for (const auto& [name, inner] : nested) text += "(" + Operators(*inner) + ")";
  }
  return text;
}

SessionOptions CpuOptions() {
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = 1;
  return options;
}

/// A session whose resources serve for folding.
Session CpuSession(const std::string& bytes) { return Session(std::as_bytes(std::span(bytes)), CpuOptions()); }

std::string EmptyModel() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Relu", {"x"}, {"y"});
  return model.bytes();
}

/// A session on a graph that WriteGraph wrote.
std::shared_ptr<Session::State> GraphSession(std::span<const std::byte> bytes, std::span<const Tensor> tensors) {
  auto session = std::make_shared<Session::State>(CpuOptions(), Environment::Default().state());
  session->Load({.bytes = bytes}, [&](const LoadOptions&) {
    Model model;
    model.graph = std::make_unique<Graph>();
    ByteReader reader(bytes);
    ReadGraph(reader, tensors, *model.graph);
    return model;
  });
  return session;
}

std::vector<Value> RunGraph(Session::State& session, const std::vector<Value>& inputs) {
  std::vector<const Value*> given(session.model->graph->inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) given[session.model->required[i]] = &inputs[i];
  std::vector<Value> results(session.model->outputs.size());
  session.Run({given, session.model->all_outputs, results, {}}, RunOptions());
  return results;
}

/// `relative` is what rounding may change a number by, and of one below `least` as much as of that.
template <class T>
std::string DifferenceOf(const Tensor& a, const Tensor& b, bool rounding, double relative = 1e-4, double least = 0.1) {
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const auto x = static_cast<double>(a.data<T>()[i]), y = static_cast<double>(b.data<T>()[i]);
    const bool same_bits = std::memcmp(a.data<T>() + i, b.data<T>() + i, sizeof(T)) == 0;
    if (same_bits || (std::isnan(x) && std::isnan(y))) continue;
    if (rounding && std::abs(x - y) <= relative * (least + std::abs(x))) continue;
    return fmt::format("element {} is {} instead of {}", i, y, x);
  }
  return "";
}

std::string DifferenceOf(const Value& expected, const Value& given, bool rounding) {
  if (!expected.is_tensor() || !given.is_tensor()) return expected.kind() == given.kind() ? "" : "another kind";
  const Tensor &a = expected.tensor(), &b = given.tensor();
  if (a.type() != b.type() || a.shape() != b.shape()) {
    return fmt::format("{} {} instead of {} {}", ElementTypeName(b.type()), b.shape().ToString(), ElementTypeName(a.type()),
                       a.shape().ToString());
  }
  if (a.is(ElementType::kFloat)) return DifferenceOf<float>(a, b, rounding);
  if (a.is(ElementType::kDouble)) return DifferenceOf<double>(a, b, rounding);
  if (a.is(ElementType::kFloat16)) return DifferenceOf<Float16>(a, b, rounding, 8e-3, 1);
  if (a.is(ElementType::kBFloat16)) return DifferenceOf<BFloat16>(a, b, rounding, 6e-2, 1);
  return std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0 ? "" : "other bytes";
}

/// Those that are portable, and the CPU provider's own.
std::vector<RewriteEntry> AllRewrites() {
  std::vector<RewriteEntry> all(Rewrites().begin(), Rewrites().end());
  const std::span<const RewriteEntry> own = FindProvider("cpu")->lowering();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace

Rewriting::Rewriting(const ModelBuilder& model, std::vector<std::string> passes, Precision precision)
    : original_(model.bytes()) {
  const Session session = CpuSession(EmptyModel());
  model_ = LoadModel(std::as_bytes(std::span(original_)), nullptr, {});
  before_ = Operators(*model_.graph);
  std::vector<RewriteEntry> entries;
  for (const RewriteEntry& entry : AllRewrites()) {
    if (passes.empty() || std::find(passes.begin(), passes.end(), entry.name) != passes.end()) entries.push_back(entry);
  }
  if (!passes.empty() && entries.size() != passes.size()) throw std::invalid_argument("there is no such pass");
  report_ = RunRewrites(
      *model_.graph, session.state()->model->resources, entries,
      {.precision = precision, .lowered_for = session.state()->model->resources.providers.back().provider.get()});
  EXPECT_EQ(FindFault(*model_.graph), "");
  EXPECT_EQ(FindBeyondSchemas(*model_.graph), "");
  after_ = Operators(*model_.graph);
  ByteWriter writer;
  TensorTable table;
  WriteGraph(*model_.graph, writer, table);
  rewritten_.assign(writer.bytes().begin(), writer.bytes().end());
  tensors_.assign(table.tensors().begin(), table.tensors().end());
}

void Transpose(ModelBuilder& model, const std::string& from, const std::string& to, const std::vector<int64_t>& perm) {
  Ints(model.Node("Transpose", {from}, {to}), "perm", perm);
}

std::vector<float> Numbers(size_t count, float first) {
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(first + static_cast<float>(i % 7) * 0.25f - static_cast<float>(i % 3));
  return numbers;
}

std::vector<Value> MakeInputs(const Session& session, int seed, int64_t size) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<Value> inputs;
  for (const NamedType& input : session.inputs()) {
    Shape shape(input.type.shape->size());
    for (size_t i = 0; i < shape.rank(); ++i)
      shape[i] = (*input.type.shape)[i].known() ? (*input.type.shape)[i].value : size;
    Tensor tensor(input.type.element, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const auto number = static_cast<double>(random() % 4096) / 1024.0 - 2;
      if (tensor.is(ElementType::kFloat)) tensor.mutable_data<float>()[i] = static_cast<float>(number);
      if (tensor.is(ElementType::kDouble)) tensor.mutable_data<double>()[i] = number;
      if (tensor.is(ElementType::kFloat16)) tensor.mutable_data<Float16>()[i] = Float16(static_cast<float>(number));
      if (tensor.is(ElementType::kBFloat16)) tensor.mutable_data<BFloat16>()[i] = BFloat16(static_cast<float>(number));
      if (tensor.is(ElementType::kInt64)) tensor.mutable_data<int64_t>()[i] = static_cast<int64_t>(random() % 5);
      if (tensor.is(ElementType::kInt32)) tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(random() % 5);
      if (tensor.is(ElementType::kBool)) tensor.mutable_data<bool>()[i] = random() % 2 == 0;
    }
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

std::string Rewriting::Difference(int seed, int64_t size, bool rounding) const {
  return Difference(MakeInputs(CpuSession(original_), seed, size), rounding);
}

std::string Rewriting::Difference(const std::vector<Value>& inputs, bool rounding) const {
  const Session original = CpuSession(original_);
  const std::shared_ptr<Session::State> rewritten = GraphSession(rewritten_, tensors_);
  std::vector<Value> expected(original.outputs().size());
  if (expected.size() != rewritten->model->outputs.size()) return "another number of outputs";
  for (size_t i = 0; i < expected.size(); ++i) {
    const NamedType &a = original.outputs()[i], &b = rewritten->model->outputs[i];
    if (a.name != b.name || a.type.ToString() != b.type.ToString())
      return fmt::format("output {} is {} {}", a.name, b.name, b.type.ToString());
  }
  original.Run(inputs, expected);
  const std::vector<Value> given = RunGraph(*rewritten, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (const std::string difference = DifferenceOf(expected[i], given[i], rounding); !difference.empty()) {
      return original.outputs()[i].name + ": " + difference;
    }
  }
  return "";
}

LevelResults RunAt(const ModelBuilder& model, OptimizationLevel level, const Tensor& x, size_t outputs) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  options.intra_op_threads = 3;
  const Session session = model.Session(options);
  LevelResults results;
  for (const PlacementReport::NodeEntry& node : session.placement().nodes) results.operators.insert(node.op_type);
  results.values.resize(outputs);
  session.Run(std::vector<Value>{Value(x)}, results.values);
  return results;
}

}  // namespace tessera::testing
