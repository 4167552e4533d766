// Weights of models in files are mapped: large ones are not copied, and sessions share them.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "loading.h"
#include "model/model.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;
using testing::TemporaryFolder;
using testing::Varint;

namespace fs = std::filesystem;

int64_t StatusKib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1));
  }
  return -1;
}

/// Starts the peak of the resident memory anew.
bool ResetPeak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << 5;
  refs.flush();
  return refs.good();
}

/// y = w[i], with a w of 1 GiB of zeros: in the file itself, or beside it.
ModelBuilder GatherModel() {
  ModelBuilder model;
  model.Input("i", ElementType::kInt64, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Gather", {"w", "i"}, {"y"});
  return model;
}

constexpr int64_t kGibibyte = int64_t{1} << 30;

fs::path WriteLargeModel(const fs::path& folder, bool aligned) {
  ModelBuilder model = GatherModel();
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(kGibibyte / 4);
  // The data at the end of each message, so that the end of the file need not be written.
  const std::string w = tensor.SerializeAsString() + "\x4a" + Varint(kGibibyte);
  std::string graph = model.proto().graph().SerializeAsString();
  graph += "\x2a" + Varint(w.size() + kGibibyte) + w;
  model.proto().clear_graph();
  std::string bytes;
  do {
    model.proto().set_doc_string(model.proto().doc_string() + "-");
    bytes = model.bytes() + "\x3a" + Varint(graph.size() + kGibibyte) + graph;
  } while ((bytes.size() % 4 == 0) != aligned);
  const fs::path path = folder / (aligned ? "aligned.onnx" : "unaligned.onnx");
  std::ofstream(path, std::ios::binary) << bytes;
  fs::resize_file(path, bytes.size() + kGibibyte);
  return path;
}

fs::path WriteModelWithLargeData(const fs::path& folder) {
  ModelBuilder model = GatherModel();
  auto* tensor = model.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(kGibibyte / 4);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("large.bin");
  std::ofstream(folder / "large.bin").close();
  fs::resize_file(folder / "large.bin", kGibibyte);
  std::ofstream(folder / "external.onnx", std::ios::binary) << model.bytes();
  return folder / "external.onnx";
}

TEST(MappedWeights, StayInTheFile) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own memory counts too";
#endif
  const TemporaryFolder folder;
  const auto peak_mib = [&](const fs::path& path) -> int64_t {
    if (!ResetPeak()) return -1;
    const int64_t before = StatusKib("VmRSS");
    const Session session(path, OnCpu());
    const std::vector<int64_t> index = {12345};
    EXPECT_THAT(RunOnce(session, {Tensor::Of<int64_t>({1}, index)}), ElementsAre(0));
    return (StatusKib("VmHWM") - before) >> 10;
  };
  EXPECT_LT(peak_mib(WriteLargeModel(folder.path(), true)), 100);
  EXPECT_LT(peak_mib(WriteModelWithLargeData(folder.path())), 100);
  EXPECT_LT(peak_mib(WriteLargeModel(folder.path(), false)), 1200);  // the copy, and not the file's pages as well
}

TEST(MappedWeights, AreSharedBySessions) {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {512}).Output("y", ElementType::kFloat, {512});
  model.Node("Add", {"x", "w"}, {"y"});
  auto* tensor = model.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(512);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  folder.Write("w.bin", std::string(2048, 'w'));
  const fs::path path = folder.Write("model.onnx", model.bytes());
  const Model first = LoadModel(path), second = LoadModel(path);
  const auto data = [](const Model& loaded) { return loaded.graph->constant(loaded.graph->FindValue("w"))->raw(); };
  EXPECT_EQ(data(first), data(second));
  folder.Write("new.bin", std::string(2048, 'v'));
  fs::rename(folder.path() / "new.bin", folder.path() / "w.bin");  // another file of that name
  EXPECT_NE(data(first), data(LoadModel(path)));
}

}  // namespace
}  // namespace tessera
