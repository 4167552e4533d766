// Residual streams in parallel (hyper-connections): C branches of H features each, grouped [..., C, H] or flattened [..., C
// * H]. All are computed in float32.

#include <fmt/format.h>

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

using Context = Define::Context;
using Body = onnx::FunctionBuilder;

/// Adds `grouped`, the streams as floats [..., C, H], and of their shape `lead` ([...]), `branches` ([C]) and `features`
/// ([H]).
bool AddGroups(const Context& context, Body& body, const char* streams) {
  const int64_t branches = IntOf(context, "num_branches", 0);
  if (branches < 0) return false;
  body.Add(fmt::format("shape = Shape ({0}) wide_streams = Cast <to = 1> ({0})", streams).c_str());
  body.Add("begin = Constant <value = int64[1] {0}> () last = Constant <value = int64[1] {-1}> ()");
  if (branches == 0) {
    body.Add(R"(
        before = Constant <value = int64[1] {-2}> ()
        branches = Slice (shape, before, last)
        lead = Slice (shape, begin, before))");
  } else {
    body.Add("lead = Slice (shape, begin, last)");
    body.Const("branches", std::vector<int64_t>{branches});
  }
  body.Add(fmt::format("width = Shape <start = -1> ({})", streams).c_str());
  body.Add(branches == 0 ? "features = Identity (width)" : "features = Div (width, branches)");
  body.Add(R"(
      groups = Concat <axis = 0> (lead, branches, features)
      grouped = Reshape <allowzero = 1> (wide_streams, groups))");
  return true;
}

/// Adds `result`, the gates `name` as floats [..., C, 1] or [..., C, H], however their last dimensions are written.
void AddGates(Body& body, const char* name, const char* result) {
  body.Add(fmt::format(R"(
      {1}_shape = Shape ({0})
      {1}_lead = Size (lead)
      {1}_from = Reshape ({1}_lead, last)
      {1}_end = Constant <value = int64[1] {{9223372036854775807}}> ()
      {1}_tail = Slice ({1}_shape, {1}_from, {1}_end)
      {1}_count = ReduceProd <keepdims = 1> ({1}_tail)
      {1}_width = Div ({1}_count, branches)
      {1}_groups = Concat <axis = 0> (lead, branches, {1}_width)
      {1}_wide = Cast <to = 1> ({0})
      {1} = Reshape <allowzero = 1> ({1}_wide, {1}_groups))",
                       name, result)
               .c_str());
}

/// Adds `normal`: `numbers` over the root of the mean of their squares along `axis`, with `epsilon`.
void AddNormal(Body& body, const char* numbers, const char* normal) {
  body.Add(fmt::format(R"(
      {1}_squares = Mul ({0}, {0})
      {1}_mean = ReduceMean <keepdims = 1> ({1}_squares, axis)
      {1}_above = Add ({1}_mean, epsilon)
      {1}_root = Sqrt ({1}_above)
      {1} = Div ({0}, {1}_root))",
                       numbers, normal)
               .c_str());
}

bool PreMixBody(const Context& context, Body& body) {
  if (!AddGroups(context, body, "streams")) return false;
  AddGates(body, "pre_mix", "gates");
  body.Add(R"(
      opened = Mul (grouped, gates)
      axis = Constant <value = int64[1] {-2}> ()
      sum = ReduceSum <keepdims = 0> (opened, axis)
      factor = Constant <value_float: float = @reduction_scale> ()
      scaled = Mul (sum, factor)
      output = CastLike (scaled, streams))");
  return true;
}

bool PostMixBody(const Context& context, Body& body) {
  if (!AddGroups(context, body, "streams")) return false;
  AddGates(body, "post_mix", "gates");
  body.Add(R"(
      block = Cast <to = 1> (block_output)
      row = Constant <value = int64[1] {-2}> ()
      injected = Unsqueeze (block, row)
      added = Mul (gates, injected))");
  if (context.hasInput(3)) {
    body.Add("matrix = Cast <to = 1> (stream_mix) mixed = com.microsoft.FusedMatMul <transA = 1> (matrix, grouped)");
  } else {
    body.Add("mixed = Identity (grouped)");
  }
  body.Add(
      "sum = Add (mixed, added) together = Reshape <allowzero = 1> (sum, shape) output = CastLike (together, streams)");
  return true;
}

bool BranchwiseNormBody(const Context& context, Body& body) {
  if (!AddGroups(context, body, "X")) return false;
  body.Add(R"(
      axis = Constant <value = int64[1] {-1}> ()
      epsilon = Constant <value_float: float = @epsilon> ())");
  AddNormal(body, "grouped", "normal");
  if (context.hasInput(1)) {
    // One row for each branch, or one for all.
    body.Add(R"(
        rows = Concat <axis = 0> (last, features)
        wide_scale = Cast <to = 1> (scale)
        weights = Reshape (wide_scale, rows)
        scaled = Mul (normal, weights))");
  } else {
    body.Add("scaled = Identity (normal)");
  }
  body.Add("together = Reshape <allowzero = 1> (scaled, shape) Y = CastLike (together, X)");
  return true;
}

/// gate = sigmoid(sign(d) sqrt(max(|d|, 1e-6))) of d, the product of the normalized key and query.
bool EngramGateBody(const Context& context, Body& body) {
  body.Add(R"(
      epsilon = Constant <value_float: float = @epsilon> ()
      axis = Constant <value = int64[1] {-1}> ()
      branch = Constant <value = int64[1] {-2}> ()
      keys = Cast <to = 1> (key)
      queries = Cast <to = 1> (query))");
  AddNormal(body, "keys", "key_normal");
  AddNormal(body, "queries", "query_normal");
  body.Add(R"(
      key_scale = Cast <to = 1> (key_norm_scale)
      normal_key = Mul (key_normal, key_scale)
      query_scale = Cast <to = 1> (query_norm_scale)
      normal_query = Mul (query_normal, query_scale)
      products = Mul (normal_key, normal_query)
      dot = ReduceSum <keepdims = 1> (products, axis)
      width = Shape <start = -1> (key)
      wide_width = Cast <to = 1> (width)
      width_root = Sqrt (wide_width)
      product = Div (dot, width_root)
      size = Abs (product)
      least = Constant <value = float {0.000001}> ()
      bounded = Max (size, least)
      magnitude = Sqrt (bounded)
      sign = Sign (product)
      signed = Mul (sign, magnitude)
      gate = Sigmoid (signed)
      values = Cast <to = 1> (value)
      shared = Unsqueeze (values, branch)
      gated = Mul (gate, shared)
      output = CastLike (gated, key))");
  if (!context.hasOutput(1)) return true;
  if (!context.hasInput(5)) return false;
  AddNormal(body, "gated", "normal");
  body.Add(R"(
      wide_scale = Cast <to = 1> (conv_norm_scale)
      scaled = Mul (normal, wide_scale)
      gated_value_normed = CastLike (scaled, key))");
  return true;
}

}  // namespace

void AddStreamSchemas(MicrosoftSchemas& schemas) {
  Define(schemas, "HyperConnectionPreMix")
      .Int("num_branches", 0)
      .Float("reduction_scale", 1)
      .In("streams")
      .In("pre_mix", "M")
      .Out("output")
      .Type("T", kFloatAndHalves)
      .Type("M", kFloatAndHalves)
      .Body(PreMixBody);
  Define(schemas, "HyperConnectionPostMix")
      .Int("num_branches", 0)
      .In("streams")
      .In("block_output")
      .In("post_mix", "M")
      .OptionalIn("stream_mix", "M")
      .Out("output")
      .Type("T", kFloatAndHalves)
      .Type("M", kFloatAndHalves)
      .Body(PostMixBody);
  Define(schemas, "BranchwiseRMSNorm")
      .Int("num_branches", 0)
      .Float("epsilon", 1e-5f)
      .In("X")
      .OptionalIn("scale", "M")
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Type("M", kFloatAndHalves)
      .Body(BranchwiseNormBody);
  Define(schemas, "EngramGate")
      .Float("epsilon", 1e-5f)
      .In("key")
      .In("query")
      .In("value")
      .In("key_norm_scale")
      .In("query_norm_scale")
      .OptionalIn("conv_norm_scale")
      .Out("output")
      .OptionalOut("gated_value_normed")
      .Type("T", kFloatAndHalves)
      .Body(EngramGateBody);
}

}  // namespace tessera
