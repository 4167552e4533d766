// Types and shapes.

#include "bindings/c/type_info.h"

#include <algorithm>

#include "base/rank.h"
#include "bindings/c/entry.h"

namespace tessera::c_abi {
namespace {

const OrtTypeInfo& Type(const OrtTypeInfo* info) { return Given(info, "the type info"); }
OrtTensorTypeAndShapeInfo& Info(OrtTensorTypeAndShapeInfo* info) { return Given(info, "the tensor info"); }
const OrtTensorTypeAndShapeInfo& Info(const OrtTensorTypeAndShapeInfo* info) { return Given(info, "the tensor info"); }

constexpr std::pair<ElementType, ONNXTensorElementDataType> kRenumbered[] = {
    {ElementType::kUInt2, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2},
    {ElementType::kInt2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2},
    {ElementType::kFloat8E8M0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0},
};

ONNXType KindOf(ValueKind kind) noexcept {
  switch (kind) {
    case ValueKind::kNone: return ONNX_TYPE_UNKNOWN;
    case ValueKind::kTensor: return ONNX_TYPE_TENSOR;
    case ValueKind::kSequence: return ONNX_TYPE_SEQUENCE;
    case ValueKind::kMap: return ONNX_TYPE_MAP;
    case ValueKind::kSparseTensor: return ONNX_TYPE_SPARSETENSOR;
    case ValueKind::kOptional: return ONNX_TYPE_OPTIONAL;
  }
  return ONNX_TYPE_UNKNOWN;
}

}  // namespace

ONNXTensorElementDataType ElementOf(ElementType type) noexcept {
  if (type <= ElementType::kFloat4E2M1) return static_cast<ONNXTensorElementDataType>(type);
  for (const auto& [ours, theirs] : kRenumbered) {
    if (ours == type) return theirs;
  }
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

ElementType ElementOf(ONNXTensorElementDataType type) {
  if (type > ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED && type <= ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1)
    return static_cast<ElementType>(type);
  for (const auto& [ours, theirs] : kRenumbered) {
    if (theirs == type) return ours;
  }
  Fail(ErrorCode::kInvalidArgument, "there is no element type {}", static_cast<int>(type));
}

void Describe(const TypeInfo& type, OrtTensorTypeAndShapeInfo& info) {
  info.element = ElementOf(type.element);
  info.has_shape = type.shape.has_value();
  if (!type.shape) return;
  info.dims = Shape(type.shape->size());
  for (size_t i = 0; i < type.shape->size(); ++i) {
    const Dimension& dimension = (*type.shape)[i];
    info.dims[i] = dimension.value;
    if (dimension.symbol.empty()) continue;
    info.symbols.resize(type.shape->size());
    info.symbols[i] = dimension.symbol;
  }
}

std::unique_ptr<OrtTypeInfo> InfoOf(const TypeInfo& type) {
  auto info = std::make_unique<OrtTypeInfo>();
  info->kind = KindOf(type.kind);
  if (type.kind == ValueKind::kMap) {
    info->key = ElementOf(type.element);
  } else {
    Describe(type, info->tensor);
  }
  if (type.inner != nullptr) info->inner = *type.inner;
  return info;
}

std::unique_ptr<OrtTensorTypeAndShapeInfo> InfoOf(const Tensor& tensor) {
  auto info = std::make_unique<OrtTensorTypeAndShapeInfo>();
  info->element = ElementOf(tensor.type());
  info->dims = tensor.shape();
  return info;
}

Shape ShapeOf(const int64_t* dims, size_t rank) {
  Require(dims != nullptr || rank == 0, "the shape is null; give its {} dimensions", rank);
  Require(rank <= kMostRank, "{} dimensions, a tensor has at most {}", rank, kMostRank);
  Shape shape(std::span<const int64_t>(dims, rank));
  (void)shape.num_elements();
  return shape;
}

OrtStatusPtr CastTypeInfoToTensorInfo(const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guarded([&] {
    const ONNXType kind = Type(type_info).kind;
    const bool tensor = kind == ONNX_TYPE_TENSOR || kind == ONNX_TYPE_SPARSETENSOR;
    Given(out, "out") = tensor ? &type_info->tensor : nullptr;
  });
}

OrtStatusPtr CastTypeInfoToMapTypeInfo(const OrtTypeInfo* type_info, const OrtMapTypeInfo** out) noexcept {
  return Guarded([&] { Given(out, "out") = Type(type_info).kind == ONNX_TYPE_MAP ? &type_info->map : nullptr; });
}

OrtStatusPtr CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo* type_info, const OrtSequenceTypeInfo** out) noexcept {
  return Guarded([&] { Given(out, "out") = Type(type_info).kind == ONNX_TYPE_SEQUENCE ? &type_info->sequence : nullptr; });
}

OrtStatusPtr CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo* type_info, const OrtOptionalTypeInfo** out) noexcept {
  return Guarded([&] { Given(out, "out") = Type(type_info).kind == ONNX_TYPE_OPTIONAL ? &type_info->optional : nullptr; });
}

OrtStatusPtr GetOnnxTypeFromTypeInfo(const OrtTypeInfo* type_info, ONNXType* out) noexcept {
  return Guarded([&] { Given(out, "out") = Type(type_info).kind; });
}

OrtStatusPtr GetDenotationFromTypeInfo(const OrtTypeInfo* type_info, const char** const denotation, size_t* len) noexcept {
  return Guarded([&] {
    Given(denotation, "out") = Type(type_info).denotation.c_str();
    Given(len, "the length") = type_info->denotation.size();
  });
}

OrtStatusPtr GetMapKeyType(const OrtMapTypeInfo* map_type_info, ONNXTensorElementDataType* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(map_type_info, "the map info").whole->key; });
}

OrtStatusPtr GetMapValueType(const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return InfoOf(Given(map_type_info, "the map info").whole->inner).release(); });
}

OrtStatusPtr GetSequenceElementType(const OrtSequenceTypeInfo* sequence_type_info, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return InfoOf(Given(sequence_type_info, "the sequence info").whole->inner).release(); });
}

OrtStatusPtr GetOptionalContainedTypeInfo(const OrtOptionalTypeInfo* optional_type_info, OrtTypeInfo** out) noexcept {
  return Making(out, [&] { return InfoOf(Given(optional_type_info, "the optional's info").whole->inner).release(); });
}

void ReleaseTypeInfo(OrtTypeInfo* input) { Release(input); }

// Parts go with the whole.
void ReleaseMapTypeInfo(OrtMapTypeInfo* /*input*/) {}
void ReleaseSequenceTypeInfo(OrtSequenceTypeInfo* /*input*/) {}

OrtStatusPtr CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo** out) noexcept {
  return Making(out, [&] {
    auto info = std::make_unique<OrtTensorTypeAndShapeInfo>();
    info->has_shape = false;  // until it is given one
    return info.release();
  });
}

void ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* input) { Release(input); }

OrtStatusPtr SetTensorElementType(OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType type) noexcept {
  return Guarded([&] { Info(info).element = type; });
}

OrtStatusPtr SetDimensions(OrtTensorTypeAndShapeInfo* info, const int64_t* dim_values, size_t dim_count) noexcept {
  return Guarded([&] {
    Require(dim_values != nullptr || dim_count == 0, "the dimensions are null; give {}", dim_count);
    Require(dim_count <= kMostRank, "{} dimensions, a tensor has at most {}", dim_count, kMostRank);
    for (const int64_t dim : std::span(dim_values, dim_count))
      Require(dim >= -1, "a dimension is {}, expected a size, or -1 where it is open", dim);
    Info(info).dims = Shape(std::span<const int64_t>(dim_values, dim_count));
    info->has_shape = true;
    info->symbols.clear();
  });
}

OrtStatusPtr SetSymbolicDimensions(OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                                   size_t dim_params_length) noexcept {
  return Guarded([&] {
    const size_t rank = Info(info).dims.rank();
    Require(rank == dim_params_length, "{} names are given for {} dimensions", dim_params_length, rank);
    Require(dim_params != nullptr || rank == 0, "the names are null; give {}", rank);
    std::vector<std::string> symbols;
    symbols.reserve(dim_params_length);
    for (size_t i = 0; i < dim_params_length; ++i) symbols.emplace_back(dim_params[i] == nullptr ? "" : dim_params[i]);
    info->symbols = std::move(symbols);
  });
}

OrtStatusPtr GetTensorElementType(const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out) noexcept {
  return Guarded([&] { Given(out, "out") = Info(info).element; });
}

OrtStatusPtr GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Info(info).dims.rank(); });
}

OrtStatusPtr GetDimensions(const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values, size_t dim_values_length) noexcept {
  return Guarded([&] {
    const size_t count = std::min(dim_values_length, Info(info).dims.rank());
    if (count > 0) std::copy_n(info->dims.data(), count, &Given(dim_values, "the dimensions"));
  });
}

OrtStatusPtr GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                                   size_t dim_params_length) noexcept {
  return Guarded([&] {
    const size_t count = std::min(dim_params_length, Info(info).dims.rank());
    for (size_t i = 0; i < count; ++i) dim_params[i] = info->symbols.empty() ? "" : info->symbols[i].c_str();
  });
}

OrtStatusPtr GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo* info, size_t* out) noexcept {
  return Guarded([&] {
    const Shape& dims = Info(info).dims;
    const bool open = std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; });
    if (open) Fail(ErrorCode::kFail, "the shape has open dimensions, so that nobody can say how many elements it has");
    Given(out, "out") = info->has_shape ? static_cast<size_t>(dims.num_elements()) : 0;
  });
}

bool TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo* info) noexcept {
  return info != nullptr && info->has_shape;
}

}  // namespace tessera::c_abi
