#include "model/replaced_weights.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {
namespace {

/// No file has such a name.
constexpr std::string_view kGivenMark = "\x01tessera given ";

void CheckReplacement(const onnx::TensorProto& own, const Tensor& given) {
  const auto type = static_cast<ElementType>(own.data_type());
  const Shape shape(std::span<const int64_t>(own.dims().data(), static_cast<size_t>(own.dims_size())));
  if (given.is(type) && given.shape() == shape) return;
  Fail(ErrorCode::kFail, "initializer '{}' is {} {} in the model, {} {} is given", own.name(), ElementTypeName(type), shape,
       ElementTypeName(given.type()), given.shape());
}

void Replace(onnx::TensorProto& own, const Tensor& given, FilesInMemory& files) {
  CheckReplacement(own, given);
  if (given.is(ElementType::kString)) {
    own = ToProto(given, own.name());
    return;
  }
  Require(given.memory().host_accessible, "the tensor for initializer '{}' lies in {} memory", own.name(),
          given.memory().name);
  onnx::TensorProto outside;
  outside.set_name(own.name());
  outside.set_data_type(own.data_type());
  *outside.mutable_dims() = own.dims();
  outside.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *outside.add_external_data();
  entry.set_key("location");
  entry.set_value(std::string(kGivenMark) + own.name());
  const auto keep = std::make_shared<Tensor>(given);
  const auto* bytes = static_cast<const std::byte*>(keep->unaligned_raw());
  files.emplace(entry.value(), SharedBytes{{bytes, keep->byte_size()}, keep});
  own = std::move(outside);
}

}  // namespace

void ReplaceWeights(onnx::ModelProto& model, const LoadOptions& options, FilesInMemory& files) {
  size_t found = 0;
  for (onnx::TensorProto& own : *model.mutable_graph()->mutable_initializer()) {
    const auto given = options.initializers.find(own.name());
    if (given == options.initializers.end()) continue;
    Replace(own, given->second, files);
    ++found;
  }
  if (options.ignore_unknown_initializers || found == options.initializers.size()) return;
  for (const auto& [name, tensor] : options.initializers) {
    const bool known =
        std::ranges::any_of(model.graph().initializer(), [&](const auto& own) { return own.name() == name; });
    if (!known) Fail(ErrorCode::kFail, "the model has no initializer '{}', which is given", name);
  }
}

void FixDenotedDimensions(onnx::ModelProto& model, const LoadOptions& options, std::map<std::string, int64_t>& sizes) {
  if (options.free_dimensions_by_denotation.empty()) return;
  for (onnx::ValueInfoProto& input : *model.mutable_graph()->mutable_input()) {
    if (!input.type().has_tensor_type()) continue;
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      const auto size = options.free_dimensions_by_denotation.find(dim.denotation());
      if (dim.denotation().empty() || size == options.free_dimensions_by_denotation.end() || dim.has_dim_value()) continue;
      Require(size->second >= 0, "free dimension '{}' cannot be {}", size->first, size->second);
      if (!dim.dim_param().empty()) sizes.emplace(dim.dim_param(), size->second);
      dim.set_dim_value(size->second);
    }
  }
}

}  // namespace tessera
