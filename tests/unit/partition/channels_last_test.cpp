// Providers that prefer channels last: what they are given, and what becomes of what they then leave.

#include "partition/channels_last.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>

#include "attributes.h"
#include "base/check.h"
#include "model_builder.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using testing::ModelBuilder;
using testing::ToVector;

std::vector<std::string>& Compiled() {
  static std::vector<std::string> operators;
  return operators;
}

Tensor Transposed(const Tensor& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> dims, strides(x.shape().rank(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * x.shape()[i];
  for (const int64_t axis : perm) dims.push_back(x.shape()[static_cast<size_t>(axis)]);
  Tensor y(ElementType::kFloat, Shape(dims));
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
      from += rest % dims[axis] * strides[static_cast<size_t>(perm[axis])];
    y.mutable_data<float>()[i] = x.data<float>()[from];
  }
  return y;
}

/// Of [N, H, W, C].
Tensor GlobalMax(const Tensor& x) {
  const int64_t images = x.shape()[0], pixels = x.shape()[1] * x.shape()[2], channels = x.shape()[3];
  Tensor y(ElementType::kFloat, Shape{images, 1, 1, channels});
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      float most = x.data<float>()[n * pixels * channels + c];
      for (int64_t p = 1; p < pixels; ++p) most = std::max(most, x.data<float>()[(n * pixels + p) * channels + c]);
      y.mutable_data<float>()[n * channels + c] = most;
    }
  }
  return y;
}

class Chain final : public Kernel {
 public:
  explicit Chain(const GraphViewer& graph) : graph_(graph) {}
  void Compute(KernelContext& context) override {
    Tensor value = context.required_input(0);
    for (const NodeIndex index : graph_.nodes()) {
      const Node& node = graph_.node(index);
      value = node.op_type == "Transpose" ? Transposed(value, std::get<std::vector<int64_t>>(*node.FindAttribute("perm")))
                                          : GlobalMax(value);
    }
    Tensor* output = context.output(0, value.shape());
    std::copy_n(value.data<float>(), value.num_elements(), output->mutable_data<float>());
  }

 private:
  const GraphViewer graph_;
};

/// Takes maxima with channels last, and what is needed around them. Of Resize it thinks that it can, until it sees it.
class LastProvider final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return "LastExecutionProvider"; }
  bool ClaimsModelAsWritten() const noexcept override { return true; }
  bool ClaimsOnlyAsWritten() const noexcept override { return true; }
  bool PrefersChannelsLast() const override { return true; }
  const KernelRegistry& kernels() const noexcept override {
    static const KernelRegistry none;
    return none;
  }
  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup&, RefusalSink&) const override {
    ComputeCapability claim{.fuse = true, .name = "Last"};
    std::vector<ComputeCapability> claims;
    const bool asked_before = std::ranges::any_of(
        graph.nodes(), [&](NodeIndex index) { return graph.node(index).domain == kChannelsLastDomain; });
    for (const NodeIndex index : graph.nodes()) {
      const Node& node = graph.node(index);
      const bool of_pool = node.op_type == "GlobalMaxPool" || (node.op_type == "Transpose" && IsBesidePool(graph, node));
      if (of_pool) claim.nodes.push_back(index);
      if (node.op_type == "Resize" && !asked_before) claims.push_back({.nodes = {index}, .fuse = true, .name = "Resize"});
    }
    if (!claim.nodes.empty()) claims.push_back(std::move(claim));
    return claims;
  }
  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs, const CompileContext&) override {
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const FusedSubgraph& subgraph : subgraphs) {
      for (const NodeIndex index : subgraph.graph.nodes()) {
        const Node& node = subgraph.graph.node(index);
        Compiled().push_back(node.domain.empty() ? node.op_type : node.domain + ":" + node.op_type);
      }
      kernels.push_back(std::make_unique<Chain>(subgraph.graph));
    }
    return kernels;
  }

 private:
  static bool IsBesidePool(const GraphViewer& graph, const Node& node) {
    const NodeIndex producer = graph.value(node.inputs[0]).producer;
    const auto is_pool = [&](NodeIndex other) { return graph.node(other).op_type == "GlobalMaxPool"; };
    return (producer != kNone && is_pool(producer)) || std::ranges::any_of(graph.value(node.outputs[0]).consumers, is_pool);
  }
};

SessionOptions WithLast() {
  static const ProviderFactory factory = {.name = "LastExecutionProvider",
                                          .cli_name = "last",
                                          .create = [](const ProviderOptions&) -> std::unique_ptr<ExecutionProvider> {
                                            return std::make_unique<LastProvider>();
                                          }};
  static std::once_flag once;
  std::call_once(once, [] { AddProvider(factory); });
  Compiled().clear();
  SessionOptions options;
  options.providers = {{"last", {}}};
  return options;
}

std::vector<float> RunOne(const Session& session, const Tensor& input) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{input}, results);
  return ToVector(results[0]);
}

Tensor Image() {
  std::vector<float> pixels(2 * 3 * 4 * 5);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>((i * 7919) % 101);
  return Tensor::Of(Shape{2, 3, 4, 5}, std::span<const float>(pixels));
}

TEST(ChannelsLast, OperatorsBecomeThoseOfTheOtherDomain) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Output("y", ElementType::kFloat, {2, 3, 1, 1});
  model.Node("GlobalMaxPool", {"x"}, {"y"});
  const Session session = model.Session(WithLast());
  EXPECT_THAT(Compiled(), ElementsAre("Transpose", "com.ms.internal.nhwc:GlobalMaxPool", "Transpose"));
  EXPECT_EQ(RunOne(session, Image()), RunOne(model.Session({}), Image()));
  ASSERT_EQ(session.placement().model_nodes.size(), 1u);
  EXPECT_EQ(session.placement().model_nodes[0].provider, "LastExecutionProvider");
}

TEST(ChannelsLast, TransposesThatMeetAreTakenAway) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Output("y", ElementType::kFloat, {2, 3, 1, 1});
  model.Node("GlobalMaxPool", {"x"}, {"m"});
  model.Node("GlobalMaxPool", {"m"}, {"y"});
  const Session session = model.Session(WithLast());
  EXPECT_THAT(Compiled(), ElementsAre("Transpose", "com.ms.internal.nhwc:GlobalMaxPool",
                                      "com.ms.internal.nhwc:GlobalMaxPool", "Transpose"));
  EXPECT_EQ(RunOne(session, Image()), RunOne(model.Session({}), Image()));
}

/// Resize by scales, or by sizes of two axes, beside a pool that is taken.
ModelBuilder Resizes(bool by_axes) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Output("y", ElementType::kFloat, {2, 3, 8, 15});
  model.Output("m", ElementType::kFloat, {2, 3, 1, 1});
  model.Node("GlobalMaxPool", {"x"}, {"m"});
  if (by_axes) {
    model.Ints("sizes", {15, 8});
    auto* axes = model.Node("Resize", {"x", "", "", "sizes"}, {"y"}).add_attribute();
    axes->set_name("axes");
    axes->set_type(onnx::AttributeProto::INTS);
    axes->add_ints(-1);
    axes->add_ints(2);
  } else {
    model.Floats("scales", {4}, {1, 1, 2, 3});
    model.Node("Resize", {"x", "", "scales"}, {"y"});
  }
  return model;
}

class ReturnedResize : public ::testing::TestWithParam<bool> {};

TEST_P(ReturnedResize, ComputesAsTheModelSays) {
  const ModelBuilder model = Resizes(GetParam());
  const Session session = model.Session(WithLast()), plain = model.Session({});
  std::vector<Value> results(2), expected(2);
  session.Run(std::vector<Value>{Image()}, results);
  plain.Run(std::vector<Value>{Image()}, expected);
  EXPECT_EQ(ToVector(results[0]), ToVector(expected[0]));
  EXPECT_EQ(ToVector(results[1]), ToVector(expected[1]));
  for (const PlacementReport::ModelNode& node : session.placement().model_nodes)
    EXPECT_EQ(node.provider, node.op_type == "Resize" ? "CPUExecutionProvider" : "LastExecutionProvider");
}

INSTANTIATE_TEST_SUITE_P(ChannelsLast, ReturnedResize, ::testing::Bool(),
                         [](const auto& given) { return given.param ? "by_axes" : "by_scales"; });

}  // namespace
}  // namespace tessera
