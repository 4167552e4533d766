// Data movement, images and linear algebra.

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

void InferGatherBlockQuantized(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 2, 0);
  const auto* data = ShapeOfInput(context, 0);
  const auto* indices = ShapeOfInput(context, 1);
  if (data == nullptr || indices == nullptr) return;
  const int rank = data->dim_size();
  int64_t axis = onnx::getAttribute(context, "gather_axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return;
  const bool in_bytes = context.getInputType(0)->tensor_type().elem_type() == onnx::TensorProto::UINT8;
  const int64_t bits = onnx::getAttribute(context, "bits", 4);
  const int64_t packed = in_bytes && (bits == 2 || bits == 4) ? 8 / bits : 1;
  onnx::TensorShapeProto result;
  const auto append = [&](int i) {
    auto* dim = result.add_dim();
    *dim = data->dim(i);
    if (i != rank - 1 || packed == 1) return;
    if (dim->has_dim_value()) dim->set_dim_value(dim->dim_value() * packed);
    else dim->clear_dim_param();
  };
  for (int i = 0; i < axis; ++i) append(i);
  for (const auto& dim : indices->dim()) *result.add_dim() = dim;
  for (int i = static_cast<int>(axis) + 1; i < rank; ++i) append(i);
  onnx::updateOutputShape(context, 0, result);
}

}  // namespace

void AddTensorSchemas(MicrosoftSchemas& schemas) {
  Define(schemas, "GatherBlockQuantized")
      .Int("bits", 4).Int("block_size", 128).Int("gather_axis", 0).Int("quantize_axis", 1)
      .In("data", "T1").In("indices", "Tind").In("scales", "T2").OptionalIn("zero_points", "T1").Out("output", "T2")
      .Type("T1", {"tensor(int4)", "tensor(uint4)", "tensor(uint8)"}).Type("T2", {"tensor(float)", "tensor(float16)", "tensor(bfloat16)"})
      .Type("Tind", {"tensor(int32)", "tensor(int64)"}).Infer(InferGatherBlockQuantized);
}

}  // namespace tessera
