// Quantized pools and convolutions, whose channels may be last.

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <vector>

#include "graph/microsoft/quantize.h"

namespace tessera {
namespace {

using Context = Define::Context;
using Body = onnx::FunctionBuilder;

/// The permutations between channels last and channels first for `spatial` dimensions.
std::vector<int64_t> ToChannelsFirst(int64_t spatial) {
  std::vector<int64_t> perm(static_cast<size_t>(spatial) + 2);
  perm[0] = 0;
  perm[1] = spatial + 1;
  std::iota(perm.begin() + 2, perm.end(), 1);
  return perm;
}
std::vector<int64_t> ToNhwc(int64_t spatial) {
  std::vector<int64_t> perm(static_cast<size_t>(spatial) + 2);
  std::iota(perm.begin(), perm.end(), 1);
  perm[0] = 0;
  perm.back() = 1;
  return perm;
}

/// Spatial dimensions of input 0, or -1.
int64_t SpatialRank(const Context& context) {
  const auto* type = context.getInputType(0);
  if (type == nullptr || !type->tensor_type().has_shape()) return -1;
  return type->tensor_type().shape().dim_size() - 2;
}

/// `middle` turns "first" into "result", both channels first; `from` and `to` have channels last.
bool AroundTransposes(const Context& context, Body& body, const std::string& from, const std::string& to,
                      const std::string& middle) {
  const int64_t spatial = SpatialRank(context);
  if (spatial < 0) return false;
  body.Add(("first = Transpose (" + from + ")").c_str(), "perm", ToChannelsFirst(spatial));
  body.Add(middle.c_str());
  body.Add((to + " = Transpose (result)").c_str(), "perm", ToNhwc(spatial));
  return true;
}

/// The body of a quantized pool; `pool` turns "first" into "result".
std::function<bool(const Context&, Body&)> QuantizedPool(const char* pool) {
  return [pool](const Context& context, Body& body) {
    body.Add("real = DequantizeLinear (X, x_scale, x_zero_point)");
    if (IntOf(context, "channels_last", 0) != 0) {
      if (!AroundTransposes(context, body, "real", "pooled", pool)) return false;
    } else {
      body.Add("first = Identity (real)").Add(pool).Add("pooled = Identity (result)");
    }
    AddQuantize(context, body, "Y", "pooled", "y_scale", "y_zero_point", 4);
    return true;
  };
}

constexpr const char* kAveragePool = R"(result = AveragePool <auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode,
    count_include_pad: int = @count_include_pad, kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> (first))";
constexpr const char* kMaxPool =
    R"(result = MaxPool <auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode, dilations: ints = @dilations,
    kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> (first))";
constexpr const char* kQLinearConv =
    R"( = QLinearConv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group,
    kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides>
    (first, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B))";

void InferGlobalAverage(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* x = ShapeOfInput(context, 0);
  if (x == nullptr || x->dim_size() < 2) return;
  onnx::TensorShapeProto result = *x;
  const int channels = onnx::getAttribute(context, "channels_last", int64_t{0}) != 0 ? x->dim_size() - 1 : 1;
  for (int i = 1; i < result.dim_size(); ++i) {
    if (i != channels) result.mutable_dim(i)->set_dim_value(1);
  }
  onnx::updateOutputShape(context, 0, result);
}

void AddQuantizedPools(MicrosoftSchemas& schemas) {
  Define(schemas, "QLinearAveragePool")
      .String("auto_pad", "NOTSET")
      .Int("ceil_mode", 0)
      .Int("channels_last", 0)
      .Int("count_include_pad", 0)
      .Ints("kernel_shape")
      .Ints("pads")
      .Ints("strides")
      .In("X")
      .In("x_scale", "tensor(float)")
      .OptionalIn("x_zero_point")
      .In("y_scale", "tensor(float)")
      .OptionalIn("y_zero_point")
      .Out("Y")
      .Type("T", kBytes)
      .Body(QuantizedPool(kAveragePool));
  Define(schemas, "QLinearGlobalAveragePool")
      .Int("channels_last", 0)
      .In("X")
      .In("x_scale", "tensor(float)")
      .In("x_zero_point")
      .In("y_scale", "tensor(float)")
      .In("y_zero_point")
      .Out("Y")
      .Type("T", kBytes)
      .Body(QuantizedPool("result = GlobalAveragePool (first)"))
      .Infer(InferGlobalAverage);
  Define(schemas, "NhwcMaxPool")
      .String("auto_pad", "NOTSET")
      .Int("ceil_mode", 0)
      .Ints("dilations")
      .Ints("kernel_shape")
      .Ints("pads")
      .Ints("strides")
      .In("x")
      .Out("y")
      .Type("T", kBytes)
      .Body([](const Context& context, Body& body) { return AroundTransposes(context, body, "x", "y", kMaxPool); });
}

void AddQuantizedConv(MicrosoftSchemas& schemas) {
  Define(schemas, "QLinearConv")
      .Int("channels_last", 0)
      .With(ConvAttributes)
      .With(QLinearConvOperands)
      .Body([](const Context& context, Body& body) {
        if (IntOf(context, "channels_last", 0) != 0)
          return AroundTransposes(context, body, "x", "y", fmt::format("result{}", kQLinearConv));
        body.Add("first = Identity (x)").Add(fmt::format("y{}", kQLinearConv).c_str());
        return true;
      });
}

}  // namespace

void AddQuantizedWindowSchemas(MicrosoftSchemas& schemas) {
  AddQuantizedPools(schemas);
  AddQuantizedConv(schemas);
}

}  // namespace tessera
