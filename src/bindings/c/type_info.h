#pragma once

// Types of values, as clients ask for them.

#include <memory>
#include <string>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/recycled.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/type_info.h"
#include "tessera/value.h"

struct OrtTensorTypeAndShapeInfo : tessera::c_abi::Recycled<OrtTensorTypeAndShapeInfo> {
  tessera::c_abi::Mark<OrtTensorTypeAndShapeInfo> mark;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_shape = true;
  tessera::Shape dims;               // -1: open
  std::vector<std::string> symbols;  // of open ones; empty: none has a name
};

// Parts of the type info that they were asked of.
struct OrtMapTypeInfo {
  tessera::c_abi::Mark<OrtMapTypeInfo> mark;
  const OrtTypeInfo* whole;
};
struct OrtSequenceTypeInfo {
  tessera::c_abi::Mark<OrtSequenceTypeInfo> mark;
  const OrtTypeInfo* whole;
};
struct OrtOptionalTypeInfo {
  tessera::c_abi::Mark<OrtOptionalTypeInfo> mark;
  const OrtTypeInfo* whole;
};

struct OrtTypeInfo : tessera::c_abi::Recycled<OrtTypeInfo> {
  OrtTypeInfo() = default;
  OrtTypeInfo(const OrtTypeInfo&) = delete;
  OrtTypeInfo& operator=(const OrtTypeInfo&) = delete;

  tessera::c_abi::Mark<OrtTypeInfo> mark;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  OrtTensorTypeAndShapeInfo tensor;  // of a tensor, sparse or not
  ONNXTensorElementDataType key = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  tessera::TypeInfo inner;  // of a sequence's, a map's or an optional's value
  std::string denotation;
  const OrtMapTypeInfo map{{}, this};
  const OrtSequenceTypeInfo sequence{{}, this};
  const OrtOptionalTypeInfo optional{{}, this};
};

namespace tessera::c_abi {

/// The two enumerations have other numbers for the newest types.
ONNXTensorElementDataType ElementOf(ElementType type) noexcept;
/// Throws Error for types that Tessera does not have.
ElementType ElementOf(ONNXTensorElementDataType type);

std::unique_ptr<OrtTypeInfo> InfoOf(const TypeInfo& type);
std::unique_ptr<OrtTensorTypeAndShapeInfo> InfoOf(const Tensor& tensor);
/// Of a tensor, sparse or not, whose dimensions may be open.
void Describe(const TypeInfo& type, OrtTensorTypeAndShapeInfo& info);
/// A shape of a client's. Throws Error for negative dimensions and for more elements than there can be.
Shape ShapeOf(const int64_t* dims, size_t rank);

}  // namespace tessera::c_abi
