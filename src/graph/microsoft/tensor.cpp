// Data movement, images and linear algebra.

#include <fmt/format.h>

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

using Context = Define::Context;
using Body = onnx::FunctionBuilder;

/// In opset 20 the modes changed their names.
bool GridSampleBody(const Context& context, Body& body) {
  const std::string mode = StringOf(context, "mode", "bilinear");
  const std::string name = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  body.Add("Y = GridSample <align_corners: int = @align_corners, padding_mode: string = @padding_mode> (X, Grid)", "mode",
           name);
  return true;
}

/// A transposed convolution without pads, then its borders off.
bool ConvTransposeBody(const Context& context, Body& body) {
  const char* attributes =
      R"( = ConvTranspose <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group,
      kernel_shape: ints = @kernel_shape, output_padding: ints = @output_padding, strides: ints = @strides> (X, W, B))";
  if (!context.hasInput(2)) {
    body.Add(fmt::format("Y{}", attributes).c_str());
    return true;
  }
  const auto* weights = context.getInputType(1);
  if (weights == nullptr || !weights->tensor_type().has_shape()) return false;
  std::vector<int64_t> axes;
  for (int i = 2; i < weights->tensor_type().shape().dim_size(); ++i) axes.push_back(i);
  body.Add(fmt::format("full{}", attributes).c_str());
  body.Const("axes", axes);
  body.Add(R"(removed = Neg (Pads) Y = Pad (full, removed, "", axes))");
  return true;
}

bool PadBody(const Context& context, Body& body) {
  body.Add("flat = Constant <value = int64[1] {-1}> () sizes = Reshape (pads, flat)");
  body.Add(context.hasInput(2) ? "scalar = Squeeze (value) output = Pad <mode: string = @mode> (data, sizes, scalar)"
                               : "output = Pad <mode: string = @mode> (data, sizes)");
  return true;
}

/// Squared distances as sums of squares less twice the products, which are one matmul.
bool DistanceBody(const Context& context, Body& body) {
  const std::string metric = StringOf(context, "metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") return false;
  body.Add(R"(
      axis = Constant <value = int64[1] {1}> ()
      a = ReduceSumSquare (A, axis)
      b = ReduceSumSquare <keepdims = 0> (B, axis)
      products = com.microsoft.FusedMatMul <alpha = -2.0, transB = 1> (A, B)
      part = Add (products, a)
      sum = Add (part, b)
      squared = Relu (sum))");
  body.Add(metric == "euclidean" ? "C = Sqrt (squared)" : "C = Identity (squared)");
  return true;
}

bool RangeBody(const Context& context, Body& body) {
  body.Add("first = Squeeze (start) end = Squeeze (limit)");
  body.Add(context.hasInput(2) ? "step = Squeeze (delta)"
                               : "one = Constant <value = int64 {1}> () step = CastLike (one, first)");
  body.Add("Y = Range (first, end, step)");
  return true;
}

const Types kEverything = {"tensor(uint8)",   "tensor(uint16)", "tensor(uint32)",    "tensor(uint64)",
                           "tensor(int8)",    "tensor(int16)",  "tensor(int32)",     "tensor(int64)",
                           "tensor(float16)", "tensor(float)",  "tensor(double)",    "tensor(bfloat16)",
                           "tensor(string)",  "tensor(bool)",   "tensor(complex64)", "tensor(complex128)"};
const Types kFloats = {"tensor(float16)", "tensor(float)", "tensor(double)"};
const Types kHashed = {"tensor(uint32)", "tensor(int32)",  "tensor(uint64)", "tensor(int64)",
                       "tensor(float)",  "tensor(double)", "tensor(string)"};

void InferMurmurHash(onnx::InferenceContext& context) {
  const bool positive = onnx::getAttribute(context, "positive", 1) != 0;
  onnx::updateOutputElemType(context, 0, positive ? onnx::TensorProto::UINT32 : onnx::TensorProto::INT32);
  if (ShapeOfInput(context, 0) != nullptr) onnx::propagateShapeFromInputToOutput(context, 0, 0);
}

/// One dimension more: the tokens of each text.
void InferTokenizer(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* texts = ShapeOfInput(context, 0);
  if (texts == nullptr) return;
  onnx::TensorShapeProto result = *texts;
  result.add_dim();
  onnx::updateOutputShape(context, 0, result);
}

/// The slices' elements come last.
void InferUnfold(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* x = ShapeOfInput(context, 0);
  if (x == nullptr) return;
  const int64_t size = onnx::getAttribute(context, "size", 0), step = onnx::getAttribute(context, "step", 1);
  int64_t dim = onnx::getAttribute(context, "dim", -1);
  if (dim < 0) dim += x->dim_size();
  if (dim < 0 || dim >= x->dim_size() || size <= 0 || step <= 0) return;
  onnx::TensorShapeProto result = *x;
  auto* slices = result.mutable_dim(static_cast<int>(dim));
  if (const int64_t length = slices->dim_value(); slices->has_dim_value() && length >= size)
    slices->set_dim_value((length - size) / step + 1);
  else slices->Clear();
  result.add_dim()->set_dim_value(size);
  onnx::updateOutputShape(context, 0, result);
}

void InferWordEmbedding(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
  const auto* words = ShapeOfInput(context, 0);
  const auto* filters = ShapeOfInput(context, 1);
  if (words == nullptr || filters == nullptr || words->dim_size() != 2 || filters->dim_size() != 4) return;
  onnx::TensorShapeProto result;
  *result.add_dim() = words->dim(0);
  *result.add_dim() = filters->dim(0);
  onnx::updateOutputShape(context, 0, result);
}

void InferCropAndResize(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* x = ShapeOfInput(context, 0);
  const auto* boxes = ShapeOfInput(context, 1);
  if (x == nullptr || boxes == nullptr || x->dim_size() != 4 || boxes->dim_size() != 2) return;
  onnx::TensorShapeProto result;
  *result.add_dim() = boxes->dim(0);
  *result.add_dim() = x->dim(1);
  result.add_dim();
  result.add_dim();
  onnx::updateOutputShape(context, 0, result);
}

void AddGathers(MicrosoftSchemas& schemas) {
  Define(schemas, "GatherBlockQuantized")
      .Int("bits", 4)
      .Int("block_size", 128)
      .Int("gather_axis", 0)
      .Int("quantize_axis", 1)
      .In("data", "T1")
      .In("indices", "Tind")
      .In("scales", "T2")
      .OptionalIn("zero_points", "T1")
      .Out("output", "T2")
      .Type("T1", {"tensor(int4)", "tensor(uint4)", "tensor(uint8)"})
      .Type("T2", kFloatAndHalves)
      .Type("Tind", {"tensor(int32)", "tensor(int64)"})
      .Infer(InferGatherBlockQuantized);
  Define(schemas, "GatherND")
      .In("data")
      .In("indices", "Tind")
      .Out("output")
      .Type("T", kEverything)
      .Type("Tind", {"tensor(int32)", "tensor(int64)"})
      .Body("wide = Cast <to = 7> (indices) output = GatherND (data, wide)");
}

void AddMovement(MicrosoftSchemas& schemas) {
  const Types echoed = {"tensor(uint32)",  "tensor(uint64)", "tensor(int32)", "tensor(int64)",
                        "tensor(float16)", "tensor(float)",  "tensor(double)"};
  Define(schemas, "Trilu")
      .Int("upper", 1)
      .In("X")
      .OptionalIn("k", "tensor(int64)")
      .Out("Y")
      .Type("T", kEverything)
      .Body("Y = Trilu <upper: int = @upper> (X, k)");
  Define(schemas, "Unique")
      .In("x")
      .Out("y")
      .Out("idx", "tensor(int64)")
      .Out("counts", "tensor(int64)")
      .Type("T", kEverything)
      .Body("y, first, idx, counts = Unique <sorted = 0> (x)");
  Define(schemas, "ExpandDims").In("X").In("axis", "tensor(int32)").Out("Y").Type("T", kEverything).Body(R"(
      one = Constant <value = int64[1] {1}> ()
      wide = Cast <to = 7> (axis)
      axes = Reshape (wide, one)
      Y = Unsqueeze (X, axes))");
  Define(schemas, "Pad")
      .String("mode", "constant")
      .In("data")
      .In("pads", "tensor(int64)")
      .OptionalIn("value")
      .Out("output")
      .Type("T", kFloats)
      .Body(PadBody);
  Define(schemas, "UnfoldTensor")
      .Int("dim", -1)
      .RequiredInt("size")
      .Int("step", 1)
      .In("input")
      .Out("output")
      .Type("T", kEverything)
      .Infer(InferUnfold);
  Define(schemas, "SampleOp").In("X").Out("Y").Type("T", echoed).Body("Y = Identity (X)");
}

void AddImageOperators(MicrosoftSchemas& schemas) {
  Define(schemas, "GridSample")
      .Int("align_corners", 0)
      .String("mode", "bilinear")
      .String("padding_mode", "zeros")
      .In("X", "T1")
      .In("Grid", "T1")
      .Out("Y", "T1")
      .Type("T1", kEverything)
      .Body(GridSampleBody);
  Define(schemas, "ConvTransposeWithDynamicPads")
      .String("auto_pad", "NOTSET")
      .Ints("dilations")
      .Int("group", 1)
      .Ints("kernel_shape")
      .Ints("output_padding")
      .Ints("strides")
      .In("X")
      .In("W")
      .OptionalIn("Pads", "tensor(int64)")
      .OptionalIn("B")
      .Out("Y")
      .Type("T", kFloats)
      .Body(ConvTransposeBody);
  Define(schemas, "CropAndResize")
      .Float("extrapolation_value", 0)
      .String("mode", "bilinear")
      .In("X", "T1")
      .In("rois", "T1")
      .In("batch_indices", "T2")
      .In("crop_size", "T2")
      .Out("Y", "T1")
      .Type("T1", kFloats)
      .Type("T2", {"tensor(int32)"})
      .Infer(InferCropAndResize);
}

void AddArithmetic(MicrosoftSchemas& schemas) {
  Define(schemas, "Inverse").In("X").Out("Y").Type("T", kFloats).LikeFirstInput();
  Define(schemas, "CDist")
      .String("metric", "sqeuclidean")
      .In("A")
      .In("B")
      .Out("C")
      .Type("T", {"tensor(float)", "tensor(double)"})
      .Body(DistanceBody);
  Define(schemas, "Range")
      .In("start")
      .In("limit")
      .OptionalIn("delta")
      .Out("Y")
      .Type("T", {"tensor(float)", "tensor(double)", "tensor(int16)", "tensor(int32)", "tensor(int64)"})
      .Body(RangeBody);
  Define(schemas, "MurmurHash3")
      .Int("positive", 1)
      .Int("seed", 0)
      .In("X", "T1")
      .Out("Y", "T2")
      .Type("T1", kHashed)
      .Type("T2", {"tensor(uint32)", "tensor(int32)"})
      .Infer(InferMurmurHash);
}

void AddTextOperators(MicrosoftSchemas& schemas) {
  Define(schemas, "Tokenizer")
      .RequiredInt("mark")
      .RequiredInt("mincharnum")
      .RequiredString("pad_value")
      .Strings("separators")
      .String("tokenexp")
      .In("X")
      .Out("Y")
      .Type("T", {"tensor(string)"})
      .Infer(InferTokenizer);
  Define(schemas, "WordConvEmbedding")
      .Int("embedding_size")
      .Int("conv_window_size")
      .Int("char_embedding_size")
      .In("Sequence")
      .In("W", "T1")
      .In("B", "T1")
      .In("C", "T1")
      .Out("Y", "T1")
      .Type("T", {"tensor(int32)"})
      .Type("T1", {"tensor(float)"})
      .Infer(InferWordEmbedding);
}

}  // namespace

void AddTensorSchemas(MicrosoftSchemas& schemas) {
  AddGathers(schemas);
  AddMovement(schemas);
  AddImageOperators(schemas);
  AddArithmetic(schemas);
  AddTextOperators(schemas);
}

}  // namespace tessera
