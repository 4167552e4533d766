#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/proto.h"

namespace tessera {

/// Finds tensors' external data. Every path must stay inside the model's folder, links included; each file is mapped once.
class ExternalData {
 public:
  /// With an empty folder every look-up fails.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

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
  std::filesystem::path folder_;
  std::map<std::string, SharedBytes> files_;
  std::vector<File> found_;
};

}  // namespace tessera
