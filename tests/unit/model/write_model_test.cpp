// The optimized model as a file: it means what the session computes, or is refused.

#include <gmock/gmock.h>

#include "error_of.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::TemporaryFolder;

/// y = Outer(own.Soft(x)), where the body of Soft is of an opset in which Softmax without axis normalizes everything after
/// the first dimension as one.
ModelBuilder SoftmaxOfOldFunction(int opset, const std::string& outer) {
  ModelBuilder model(opset);
  model.Input("x", ElementType::kFloat, {1, 2, 2}).Output("y", ElementType::kFloat, {1, 2, 2});
  auto& own = *model.proto().add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  model.Node("Soft", {"x"}, {"s"}, "call").set_domain("own");
  model.Node(outer, {"s"}, {"y"}, "outer");
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("own");
  function.set_name("Soft");
  function.add_input("in");
  function.add_output("out");
  function.add_opset_import()->set_version(11);
  onnx::NodeProto& body = *function.add_node();
  body.set_op_type("Softmax");
  body.add_input("in");
  body.add_output("out");
  return model;
}

std::vector<float> RunOn(const Session& session) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{testing::Floats({1, 2, 2}, {0, 0.25F, 0.5F, 0.75F})}, results);
  return testing::ToVector(results[0]);
}

SessionOptions WritingTo(const std::filesystem::path& path, OptimizationLevel level) {
  SessionOptions options;
  options.optimization_level = level;
  options.optimized_model_path = path;
  return options;
}

constexpr OptimizationLevel kLevels[] = {OptimizationLevel::kNone, OptimizationLevel::kBasic, OptimizationLevel::kAll};

TEST(WriteModel, KeepsWhatFunctionsOfOtherOpsetsMean) {
  for (const OptimizationLevel level : kLevels) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "written.onnx";
    // Atan is the same from opset 7 to 21: opset 11 has both.
    const auto expected = RunOn(SoftmaxOfOldFunction(21, "Atan").Session(WritingTo(path, level)));
    const Session again(path);
    EXPECT_EQ(again.metadata().opsets.at(""), 11);
    EXPECT_EQ(RunOn(again), expected);
  }
}

TEST(WriteModel, RefusesWhatOneImportCannotSay) {
  for (const OptimizationLevel level : kLevels) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "written.onnx";
    // Mish came with opset 18, where Softmax has been another for long.
    const ModelBuilder model = SoftmaxOfOldFunction(21, "Mish");
    EXPECT_THAT(ErrorOf([&] { model.Session(WritingTo(path, level)); }),
                AllOf(HasSubstr("one import of ai.onnx"), HasSubstr("Softmax"), HasSubstr("Mish 'outer' needs opset 18")));
    EXPECT_FALSE(exists(path));
    EXPECT_EQ(RunOn(model.Session()).size(), 4u);  // it is the writing alone that fails
  }
}

TEST(WriteModel, MayReplaceTheModelThatItWasMadeOf) {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 2, 2}).Output("y", ElementType::kFloat, {1, 2, 2});
  model.Floats("w", {1, 2, 2}, {1, 2, 3, 4}).Node("Identity", {"x"}, {"same"});
  model.Node("Add", {"same", "w"}, {"y"});
  const std::filesystem::path path = folder.Write("model.onnx", model.bytes());
  const Session session(path, WritingTo(path, OptimizationLevel::kAll));
  const Session again(path);
  EXPECT_EQ(again.sizes().nodes, 1u);
  EXPECT_EQ(RunOn(session), RunOn(again));
}

TEST(WriteModel, ReplacesRegularFilesOnly) {
  const TemporaryFolder folder;
  EXPECT_THAT(ErrorOf([&] { testing::AddModel().Session(WritingTo(folder.path(), OptimizationLevel::kAll)); }),
              HasSubstr("no regular file"));
  EXPECT_THAT(ErrorOf([&] {
                testing::AddModel().Session(WritingTo(folder.path() / "none" / "model.onnx", OptimizationLevel::kAll));
              }),
              HasSubstr("cannot write"));
}

}  // namespace
}  // namespace tessera
