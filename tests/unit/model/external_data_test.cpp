#include <gmock/gmock.h>

#include <filesystem>

#include "error_of.h"
#include "loading.h"
#include "model/model.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::ExternalFloats;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;
using testing::TemporaryFolder;

namespace fs = std::filesystem;

struct ExternalCase {
  std::string location, offset, length, error;
};

TEST(ExternalData, StaysInTheFolder) {
  const TemporaryFolder outside, folder;
  const float numbers[] = {9, 9, 1, 2};
  const std::string_view bytes(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  outside.Write("w.bin", bytes);
  folder.Write("w.bin", bytes);
  fs::create_directory(folder.path() / "sub");
  folder.Write("sub/w.bin", bytes);
  fs::create_symlink(outside.path() / "w.bin", folder.path() / "link.bin");
  fs::create_directory_symlink(outside.path(), folder.path() / "elsewhere");
  fs::create_symlink(folder.path() / "w.bin", folder.path() / "near.bin");
  const ExternalCase cases[] = {
      {"w.bin", "8", "8", ""},
      {"sub/w.bin", "8", "8", ""},
      {"sub/../w.bin", "8", "8", ""},
      {"near.bin", "8", "8", ""},
      {"../" + outside.path().filename().string() + "/w.bin", "8", "8", "outside the model's folder"},
      {"sub/../../w.bin", "8", "8", "outside the model's folder"},
      {(outside.path() / "w.bin").string(), "8", "8", "outside the model's folder"},
      {"link.bin", "8", "8", "outside the model's folder through a link"},
      {"elsewhere/w.bin", "8", "8", "outside the model's folder through a link"},
      {"missing.bin", "8", "8", "does not exist"},
      {"sub", "0", "8", "not a regular file"},
      {"", "8", "8", "outside the model's folder"},
      {"w.bin", "12", "8", "do not fit"},
      {"w.bin", "18446744073709551608", "16", "do not fit"},
      {"w.bin", "-8", "8", "not a size"},
      {"w.bin", "8", "4", "w"},
  };
  for (const ExternalCase& test : cases) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
    model.Node("Add", {"x", "w"}, {"y"});
    ExternalFloats(model, "w", {2}, {{"location", test.location}, {"offset", test.offset}, {"length", test.length}});
    const fs::path path = folder.Write("model.onnx", model.bytes());
    if (test.error.empty()) {
      EXPECT_THAT(RunOnce(Session(path, OnCpu()), {Floats({2}, {10, 20})}), ElementsAre(11, 22)) << test.location;
      EXPECT_THAT(LoadError(model), HasSubstr("a model from memory has no folder"));
    } else {
      EXPECT_THAT(ErrorOf([&] { Session(path, OnCpu()); }), HasSubstr(test.error)) << test.location;
    }
  }
}

/// The data in the folder of the file that the model's path leads to, as caches of downloads keep it.
TEST(ExternalData, LiesBesideTheFileThatALinkLeadsTo) {
  const TemporaryFolder folder, outside;
  for (const char* name : {"blobs", "snapshot", "elsewhere"}) fs::create_directory(folder.path() / name);
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Add", {"x", "w"}, {"y"});
  ExternalFloats(model, "w", {2}, {{"location", "model.onnx_data"}});
  const float numbers[] = {1, 2};
  const std::string_view bytes(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  folder.Write("blobs/1a2b", model.bytes());
  folder.Write("blobs/3c4d", bytes);
  outside.Write("w.bin", bytes);
  const fs::path path = folder.path() / "snapshot/model.onnx", data = folder.path() / "snapshot/model.onnx_data";
  fs::create_symlink("../blobs/1a2b", path);
  fs::create_symlink("../blobs/3c4d", data);
  const auto run = [](const fs::path& at) { return RunOnce(Session(at, OnCpu()), {Floats({2}, {10, 20})}); };
  EXPECT_THAT(run(path), ElementsAre(11, 22));
  fs::remove(data);  // not linked, but beside the model under its own name
  EXPECT_THAT(ErrorOf([&] { run(path); }), HasSubstr("does not exist"));
  folder.Write("blobs/model.onnx_data", bytes);
  EXPECT_THAT(run(path), ElementsAre(11, 22));
  for (const fs::path& target : {outside.path() / "w.bin", folder.path() / "elsewhere/w.bin"}) {
    folder.Write("elsewhere/w.bin", bytes);
    fs::remove(data);
    fs::create_symlink(target, data);
    EXPECT_THAT(ErrorOf([&] { run(path); }), HasSubstr("leads outside the model's folder through a link")) << target;
  }
  fs::remove(path);  // a model that is no link opens no other folder
  folder.Write("snapshot/model.onnx", model.bytes());
  fs::remove(data);
  fs::create_symlink("../blobs/3c4d", data);
  EXPECT_THAT(ErrorOf([&] { run(path); }), HasSubstr("leads outside the model's folder through a link"));
}

}  // namespace
}  // namespace tessera
