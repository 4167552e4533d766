#include "graph/infer_range.h"

#include <cstring>
#include <optional>

#include "onnx/defs/shape_inference.h"
#include "ops/movement/range.h"

namespace tessera {
namespace {

std::optional<int64_t> Scalar(const onnx::InferenceContext& context, size_t input) {
  const onnx::TensorProto* data = context.getNumInputs() > input ? context.getInputData(input) : nullptr;
  if (data == nullptr || data->data_type() != onnx::TensorProto::INT64 || data->dims_size() != 0) return std::nullopt;
  if (data->int64_data_size() == 1) return data->int64_data(0);
  int64_t value = 0;
  if (!data->has_raw_data() || data->raw_data().size() != sizeof(value)) return std::nullopt;
  std::memcpy(&value, data->raw_data().data(), sizeof(value));
  return value;
}

}  // namespace

bool InferRange(onnx::InferenceContext& context) {
  const auto start = Scalar(context, 0), limit = Scalar(context, 1), delta = Scalar(context, 2);
  if (!start || !limit || !delta || *delta == 0) return false;
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  onnx::TensorShapeProto shape;
  onnx::TensorShapeProto::Dimension& size = *shape.add_dim();
  if (const auto length = RangeLength(*start, *limit, *delta)) size.set_dim_value(*length);
  onnx::updateOutputShape(context, 0, shape);
  return true;
}

}  // namespace tessera
