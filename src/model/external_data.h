#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "model/proto.h"

namespace tessera {

/// Where a model's external data may lie.
struct DataFolders {
  std::filesystem::path named;  // the folder of the path that the model was given by; empty: nowhere
  std::filesystem::path real;   // where that path is a link: the folder of the file that it leads to; else empty
};

using FileOpener = std::function<MappedFile(const std::filesystem::path&)>;

/// Files that lie in memory, by the names that models have for them.
using FilesInMemory = std::map<std::string, SharedBytes, std::less<>>;

/// Finds tensors' external data: in memory where a file of the name lies there. Every other file must lie inside one of the
/// folders, with links followed; each is opened once.
class ExternalData {
 public:
  /// `on_file`: hears of each file's size, as far as it is stored.
  explicit ExternalData(DataFolders folders, std::function<void(size_t bytes)> on_file = {}, FileOpener open = nullptr,
                        FilesInMemory in_memory = {})
      : folders_(std::move(folders)), on_file_(std::move(on_file)), open_(std::move(open)), files_(std::move(in_memory)) {}

  struct File {
    std::string location;  // as the model has it
    std::filesystem::path path;
    std::string stamp;  // FileStamp before it was mapped
  };
  /// What was found so far.
  const std::vector<File>& files() const noexcept { return found_; }

  /// The bytes of a tensor with data_location EXTERNAL. Throws Error naming the location and what is wrong with it.
  SharedBytes Find(const onnx::TensorProto& tensor);

 private:
  SharedBytes Open(const std::string& location);

  DataFolders folders_;
  std::function<void(size_t)> on_file_;
  const FileOpener open_;  // null: files are mapped
  FilesInMemory files_;
  std::vector<File> found_;
};

}  // namespace tessera
