#pragma once

// Where the weights of a model that is written go.

#include <cstdint>
#include <optional>
#include <string>

#include "base/new_file.h"
#include "tessera/session.h"

namespace tessera {

/// A file that others may read and write as far as the process's mask lets them, as files made the usual way.
void GiveUsualMode(const std::filesystem::path& file);

class WeightWriter {
 public:
  /// Throws Error for an output that cannot be: a weights file in another folder, an alignment that is no power of two.
  explicit WeightWriter(const ModelOutput& output);

  /// Writes the weight, or lets the program place it; nothing where it is to lie in the model. Throws Error for a place
  /// that it cannot lie in.
  std::optional<WeightPlace> Place(const std::string& name, const Tensor& weight);
  /// The file gets its name, if there is one.
  void Publish();

 private:
  void Write(const void* data, size_t bytes);

  const ModelOutput& output_;
  std::optional<NewFile> file_;
  size_t at_ = 0;
};

}  // namespace tessera
