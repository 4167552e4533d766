#pragma once

// What tests of loading share.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "error_of.h"
#include "model_builder.h"

namespace tessera::testing {

inline SessionOptions OnCpu() {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = 1;
  return options;
}

/// An initializer of floats whose data is external; `entries` as the format has them: location, offset, length.
inline void ExternalFloats(ModelBuilder& model, const std::string& name, std::initializer_list<int64_t> dims,
                           std::initializer_list<std::pair<const char*, std::string>> entries) {
  auto& tensor = *model.proto().mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

/// The number as protobuf writes it.
inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string LoadError(const ModelBuilder& model) {
  return ErrorOf([&] { model.Session(OnCpu()); });
}

inline std::vector<float> RunOnce(const Session& session, std::vector<Value> inputs) {
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return ToVector(results[0]);
}

}  // namespace tessera::testing
