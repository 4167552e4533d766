#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/c/editor/write_graph.h"
#include "model/proto.h"
#include "onnx/onnx_pb.h"
#include "tessera/session.h"

namespace tessera::c_abi {

/// A model that is changed before a session loads it.
class EditedModel {
 public:
  /// Throws Error for what cannot be read, or is no model.
  explicit EditedModel(std::filesystem::path file);
  /// `folder`: where external data lies; empty: nowhere.
  EditedModel(SharedBytes model, std::filesystem::path folder);

  /// Nothing for a domain that the model does not import.
  std::optional<int> Opset(std::string_view domain) const;
  /// Adds what the program made. Throws Error for what the model cannot be changed by, which leaves it as it was.
  void Apply(const OrtModel& changes);

  /// What a session of the model, as it is now, would be given and give.
  const std::vector<NamedType>& inputs() const noexcept { return inputs_; }
  const std::vector<NamedType>& outputs() const noexcept { return outputs_; }
  const std::vector<NamedType>& overridable_initializers() const noexcept { return overridable_; }
  /// What the model says that a value's type stands for.
  std::string Denotation(std::string_view value) const;
  ModelMetadata metadata() const;
  bool has_version() const noexcept { return proto_.has_model_version(); }
  /// Empty for a model that came as bytes.
  const std::filesystem::path& file() const noexcept { return file_; }

  tessera::Session Load(const SessionOptions& options, const Environment& environment) const;
  /// Keeps what a session reads of the model.
  std::shared_ptr<const void> owner() const;

 private:
  void Declare();
  tessera::Session LoadUnchanged(const SessionOptions& options, const Environment& environment) const;

  std::filesystem::path file_, folder_;
  SharedBytes model_;
  WeightsInMemory weights_;
  onnx::ModelProto proto_;
  bool is_changed_ = false;
  std::vector<NamedType> inputs_, outputs_, overridable_;
};

}  // namespace tessera::c_abi
