#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "model/proto.h"

namespace tessera {

/// Finds tensors' external data. Every path must stay inside the model's folder, links included; each file is mapped once.
class ExternalData {
 public:
  /// With an empty folder every look-up fails.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The bytes of a tensor with data_location EXTERNAL. Throws Error naming the location and what is wrong with it.
  SharedBytes Find(const onnx::TensorProto& tensor);

 private:
  std::filesystem::path folder_;
  std::map<std::string, SharedBytes> files_;
};

}  // namespace tessera
