// Names that lead to what is no regular file, wherever a session opens one: an error, and no waiting.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "error_of.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using testing::AddModel;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::TemporaryFolder;

namespace fs = std::filesystem;

fs::path Fifo(const TemporaryFolder& folder, const std::string& name) {
  const fs::path path = folder.path() / name;
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  return path;
}

TEST(FilesTest, AFifoIsNoModel) {
  const TemporaryFolder folder;
  EXPECT_THAT(ErrorOf([&] { Session{Fifo(folder, "model.onnx")}; }), HasSubstr("not a regular file"));
}

TEST(FilesTest, AFifoIsNoExternalData) {
  const TemporaryFolder folder;
  Fifo(folder, "weights");
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2}).Floats("w", {2}, {1, 2});
  auto& weights = *model.proto().mutable_graph()->mutable_initializer(0);
  weights.clear_raw_data();
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value("weights");
  model.Node("Add", {"x", "w"}, {"y"});
  const fs::path file = folder.Write("model.onnx", model.bytes());
  EXPECT_THAT(ErrorOf([&] { Session{file}; }), HasSubstr("not a regular file"));
}

TEST(FilesTest, AFifoIsNoContextAndIsReplacedByOne) {
  const TemporaryFolder folder;
  const fs::path file = folder.Write("model.onnx", AddModel().bytes());
  SessionOptions options;
  options.log_level = LogLevel::kError;
  options.config["session.context_enable"] = "1";
  options.config["session.context_file_path"] = Fifo(folder, "context").string();
  EXPECT_THAT(Session(file, options).context().detail, HasSubstr("not a regular file"));
  EXPECT_TRUE(Session(file, options).context().used);
}

/// x + w, with w of 64 KiB in a file beside the model.
fs::path ModelWithExternalData(const TemporaryFolder& folder) {
  constexpr int64_t kCount = 16384;
  std::vector<float> numbers(kCount, 1.5f);
  folder.Write("weights", {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kCount})
      .Output("y", ElementType::kFloat, {kCount})
      .Output("z", ElementType::kFloat, {kCount});
  model.Floats("w", {kCount}, {}).Floats("v", {kCount}, std::vector<float>(kCount, 2.5f));
  auto& weights = *model.proto().mutable_graph()->mutable_initializer(0);
  weights.clear_raw_data();
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value("weights");
  model.Node("Add", {"x", "w"}, {"y"});
  model.Node("Mul", {"x", "v"}, {"z"});
  return folder.Write("model.onnx", model.bytes());
}

void ExpectSums(const Session& session) {
  std::vector<Value> results(2);
  session.Run(std::vector<Value>{testing::Floats({16384}, std::vector<float>(16384, 2.0f))}, results);
  EXPECT_EQ(testing::ToVector(results[0]), std::vector<float>(16384, 3.5f));
  EXPECT_EQ(testing::ToVector(results[1]), std::vector<float>(16384, 5.0f));
}

TEST(FilesTest, CopiedFilesMayBeTruncatedWhileTheSessionLives) {
  const TemporaryFolder folder;
  const fs::path model = ModelWithExternalData(folder);
  SessionOptions options;
  options.log_level = LogLevel::kError;
  options.config["session.map_files"] = "0";
  options.config["session.context_enable"] = "1";
  const Session first(model, options), second(model, options);
  EXPECT_TRUE(second.context().used) << second.context().detail;
  for (const fs::path& file : {model, folder.path() / "weights", second.context().path}) fs::resize_file(file, 0);
  ExpectSums(first);
  ExpectSums(second);
}

TEST(FilesTest, CopiesCountForTheLimitOfTheLoad) {
  const TemporaryFolder folder;
  const fs::path model = ModelWithExternalData(folder);
  fs::resize_file(folder.path() / "weights", uintmax_t{1} << 40);  // a hole
  SessionOptions options;
  options.config["session.map_files"] = "0";
  EXPECT_THAT(ErrorOf([&] { Session(model, options); }), HasSubstr("session.load_memory_limit"));
}

}  // namespace
}  // namespace tessera
