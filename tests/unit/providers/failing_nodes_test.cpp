// Errors of runs name the model's own node, whoever runs it and whatever it was rewritten to.

#include <gmock/gmock.h>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "providers_here.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FailingNodes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!IsCompiledIn(GetParam())) GTEST_SKIP() << "not compiled in";
    if (GetParam() == "opencl") NeedDevice();
  }

  /// What a run on images of five channels says, where the weights take four.
  static std::string ErrorOfRun(const std::string& name, const std::string& activation) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, -1, 8, 8}).Output("y", ElementType::kFloat, {1, 8, 8, 8});
    model.Floats("w", {8, 4, 3, 3}, std::vector<float>(8 * 4 * 9, 0.5f));
    Ints(model.Node("Conv", {"x", "w"}, {"convolved"}, name), "pads", {1, 1, 1, 1});
    model.Node(activation, {"convolved"}, {"y"}, "activation");
    const Session session = model.Session(OnProvider(GetParam()));
    return ErrorOf([&] { ResultsOf(session, {Floats({1, 5, 8, 8}, std::vector<float>(5 * 64, 1))}); });
  }
};

INSTANTIATE_TEST_SUITE_P(On, FailingNodes, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return info.param; });

/// OpenCL compiles both nodes as one part, which is called by the node that gives its result.
TEST_P(FailingNodes, AreCalledAsInTheModel) {
  for (const std::string activation : {"Relu", "LeakyRelu", "Sigmoid"}) {
    const std::string part = "the nodes compiled with " + activation + " 'activation'";
    const bool compiles = GetParam() == "opencl";
    EXPECT_THAT(ErrorOfRun("conv1", activation),
                AllOf(HasSubstr(compiles ? part : "Conv 'conv1'"), Not(HasSubstr("ai.tessera"))));
    EXPECT_THAT(ErrorOfRun("", activation),
                AllOf(HasSubstr(compiles ? part : "Conv -> 'convolved'"), Not(HasSubstr("ai.tessera"))));
  }
}

}  // namespace
}  // namespace tessera::testing
