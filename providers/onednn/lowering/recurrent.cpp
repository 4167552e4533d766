// LSTM (7) and GRU (7) -> lstm_forward, gru_forward and lbr_gru_forward, in both directions, from and to states.

#include <array>

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/shared_weights.h"
#include "ops/rnn/recurrent.h"

namespace tessera::onednn {
namespace {

enum Input : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

bool IsLstm(const Node& node) { return node.op_type == "LSTM"; }
bool ResetsAfter(const Node& node) { return !IsLstm(node) && RecurrentAttributes(node).linear_before_reset; }

/// Where oneDNN's gates stand in ONNX's weights: input, forget, cell, output; or update, reset, new.
std::span<const int64_t> GatesOf(const Node& node) {
  static constexpr int64_t kLstm[] = {0, 2, 3, 1}, kGru[] = {0, 1, 2};
  return IsLstm(node) ? std::span<const int64_t>(kLstm) : std::span<const int64_t>(kGru);
}

std::string RefuseRecurrent(const GraphViewer& graph, const Node& node) {
  const auto has = [&](size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; };
  if (has(kLengths)) return "lengths of sequences are left to the CPU provider";
  if (IsLstm(node) && has(kPeepholes)) return "peepholes are left to the CPU provider";
  const RecurrentAttributes attributes(node);
  if (attributes.clips()) return "clipped gates are left to the CPU provider";
  if (attributes.input_forget) return "coupled gates are left to the CPU provider";
  if (attributes.batch_first) return "a layout with the batch first is left to the CPU provider";
  if (!attributes.default_activations) return "other activations than Sigmoid and Tanh are left to the CPU provider";
  for (const size_t i : {kW, kR, kBias}) {
    if (has(i) && graph.constant(node.inputs[i]) == nullptr) return "its parameters are not constants";
  }
  if (graph.value(node.inputs[kX]).type.shape->size() != 3) return "its input has not 3 dimensions";
  for (const size_t i : {kW, kR}) {
    const Shape& shape = graph.constant(node.inputs[i])->shape();
    if (shape.rank() != 3) return "its weights have not 3 dimensions";
    if (shape.num_elements() == 0) return "its weights are empty";
  }
  return {};
}

struct RecurrentShape {
  int64_t steps, batch, inputs, hidden, directions, gates;
  Dims state() const { return {1, directions, batch, hidden}; }
};

RecurrentShape RecurrentShapeOf(const Node& node, const Dims& x, const Shape& w, const Shape& r) {
  const auto gates = static_cast<int64_t>(GatesOf(node).size());
  RecurrentShape shape{x[0], x[1], x[2], w[1] / gates, w[0], gates};
  const RecurrentAttributes attributes(node);
  Require(shape.directions == attributes.directions, "W is for {} directions", shape.directions);
  Require(attributes.hidden_size == 0 || attributes.hidden_size == shape.hidden, "hidden_size is {} and R is {}",
          attributes.hidden_size, r);
  Require(w == Shape({shape.directions, gates * shape.hidden, shape.inputs}) &&
              r == Shape({shape.directions, gates * shape.hidden, shape.hidden}),
          "W {} and R {} do not fit an input of {} numbers", w, r, shape.inputs);
  return shape;
}

/// W or R, [directions, gates * hidden, k], as [1, directions, k, gates, hidden].
MemoryIndex AddWeights(ProgramBuilder& builder, const Node& node, size_t input, const RecurrentShape& s, int64_t k) {
  const MemoryIndex given = builder.InPlainLayout(builder.input(node, input));
  const auto gates = GatesOf(node);
  const Desc desc = Plain({1, s.directions, k, s.gates, s.hidden});
  const std::string operation = "gates of " + node.op_type;
  return builder.Constant(
      desc, builder.weights().Converted(
                operation, builder.constant(given), desc, [&](std::span<const float> from, std::span<float> to) {
                  size_t at = 0;
                  for (int64_t d = 0; d < s.directions; ++d) {
                    for (int64_t i = 0; i < k; ++i) {
                      for (const int64_t gate : gates) {
                        for (int64_t o = 0; o < s.hidden; ++o, ++at)
                          to[at] = LoadUnaligned(from.data() + ((d * s.gates + gate) * s.hidden + o) * k + i);
                      }
                    }
                  }
                }));
}

/// The biases of W and of R are one, but for the new gate of a GRU that resets what R gives: oneDNN has R's as a fourth.
MemoryIndex AddBias(ProgramBuilder& builder, const Node& node, const RecurrentShape& s) {
  const auto gates = GatesOf(node);
  const bool apart = ResetsAfter(node);
  const Dims dims = {1, s.directions, s.gates + (apart ? 1 : 0), s.hidden};
  std::vector<float> bias_sums(static_cast<size_t>(Elements(dims)), 0.0f);
  const Tensor* bias = builder.constant(node, kBias);
  if (bias != nullptr) {
    Require(bias->shape() == Shape({s.directions, 2 * s.gates * s.hidden}),
            "B is {}, which does not fit {} directions of {} numbers", bias->shape(), s.directions, s.hidden);
    const auto values = bias->values<float>();
    for (int64_t d = 0; d < s.directions; ++d) {
      const float* of_w = values.data() + d * 2 * s.gates * s.hidden;
      const float* of_r = of_w + s.gates * s.hidden;
      float* to = bias_sums.data() + d * dims[2] * s.hidden;
      for (size_t g = 0; g < gates.size(); ++g) {
        const bool is_apart = apart && g + 1 == gates.size();
        for (int64_t o = 0; o < s.hidden; ++o) {
          const int64_t from = gates[g] * s.hidden + o, at = static_cast<int64_t>(g) * s.hidden + o;
          to[at] = of_w[from] + (is_apart ? 0.0f : of_r[from]);
          if (is_apart) to[at + s.hidden] = of_r[from];
        }
      }
    }
  }
  return builder.Constant(dims, bias_sums);
}

/// An initial state; -1 for zeros.
MemoryIndex AddState(ProgramBuilder& builder, const Node& node, size_t input, const RecurrentShape& s) {
  if (!builder.has_input(node, input)) return -1;
  const RegionValue value = builder.input(node, input);
  Require(value.dims == Dims({s.directions, s.batch, s.hidden}),
          "input {} is not of {} directions, {} sequences and {} numbers", input, s.directions, s.batch, s.hidden);
  return builder.Alias(builder.InPlainLayout(value), Plain(s.state()));
}

struct RecurrentMemories {
  MemoryIndex x, initial_h, initial_c, w, r, bias, y, last_h, last_c;
};

template <class Primitive, class PrimitiveDesc>
void AddRecurrent(ProgramBuilder& builder, const PrimitiveDesc& pd, const RecurrentMemories& m) {
  std::vector<std::pair<int, MemoryIndex>> arguments = {
      {DNNL_ARG_SRC_LAYER, m.x},
      {DNNL_ARG_WEIGHTS_LAYER, builder.InLayout(m.w, pd.weights_layer_desc())},
      {DNNL_ARG_WEIGHTS_ITER, builder.InLayout(m.r, pd.weights_iter_desc())},
      {DNNL_ARG_BIAS, m.bias},
      {DNNL_ARG_DST_LAYER, m.y},
      {DNNL_ARG_DST_ITER, m.last_h}};
  if (m.initial_h >= 0) arguments.emplace_back(DNNL_ARG_SRC_ITER, m.initial_h);
  if (m.initial_c >= 0) arguments.emplace_back(DNNL_ARG_SRC_ITER_C, m.initial_c);
  if (m.last_c >= 0) arguments.emplace_back(DNNL_ARG_DST_ITER_C, m.last_c);
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(Primitive(pd), std::move(arguments), &scratchpad);
}

void AddPrimitive(ProgramBuilder& builder, const Node& node, const RecurrentShape& s, const RecurrentMemories& m) {
  const auto desc = [&](MemoryIndex memory) { return memory < 0 ? Desc() : builder.desc(memory); };
  const auto weights = [&](int64_t k) { return AnyLayout({1, s.directions, k, s.gates, s.hidden}); };
  const RecurrentDescs descs{desc(m.x),    desc(m.initial_h), desc(m.initial_c), weights(s.inputs), weights(s.hidden),
                             desc(m.bias), desc(m.y),         desc(m.last_h),    desc(m.last_c)};
  const bool reverse = RecurrentAttributes(node).reverse;
  const auto direction = s.directions == 2 ? dnnl::rnn_direction::bidirectional_concat
                         : reverse         ? dnnl::rnn_direction::unidirectional_right2left
                                           : dnnl::rnn_direction::unidirectional_left2right;
  if (IsLstm(node)) {
    AddRecurrent<dnnl::lstm_forward>(builder, LstmDesc(CpuEngine(), direction, descs, OwnScratchpad()), m);
  } else if (ResetsAfter(node)) {
    AddRecurrent<dnnl::lbr_gru_forward>(builder,
                                        GruDesc<dnnl::lbr_gru_forward>(CpuEngine(), direction, descs, OwnScratchpad()), m);
  } else {
    AddRecurrent<dnnl::gru_forward>(builder, GruDesc<dnnl::gru_forward>(CpuEngine(), direction, descs, OwnScratchpad()), m);
  }
}

/// No step of any sequence: the last states are the initial ones.
void SetUnchanged(ProgramBuilder& builder, const Node& node, const RecurrentShape& s) {
  const Dims y = {s.steps, s.directions, s.batch, s.hidden}, last = {s.directions, s.batch, s.hidden};
  builder.SetOutput(node, {y, builder.Temporary(Plain(y))});
  const std::vector<float> zeros(static_cast<size_t>(Elements(last)), 0.0f);
  for (const size_t output : {1, 2}) {
    if (output == 2 && !IsLstm(node)) continue;
    const MemoryIndex given = AddState(builder, node, output == 1 ? kInitialH : kInitialC, s);
    builder.SetOutput(node, output, {last, given < 0 ? builder.Constant(last, zeros) : builder.Alias(given, Plain(last))});
  }
}

void LowerRecurrent(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, kX);
  const RecurrentShape s =
      RecurrentShapeOf(node, x.dims, builder.constant(node, kW)->shape(), builder.constant(node, kR)->shape());
  if (s.steps == 0 || s.batch == 0) return SetUnchanged(builder, node, s);
  builder.CountOperations(2.0 * static_cast<double>(s.steps * s.batch * s.directions * s.gates * s.hidden) *
                          static_cast<double>(s.inputs + s.hidden));
  RecurrentMemories m;
  m.x = builder.InPlainLayout(x);
  m.w = AddWeights(builder, node, kW, s, s.inputs);
  m.r = AddWeights(builder, node, kR, s, s.hidden);
  m.bias = AddBias(builder, node, s);
  m.initial_h = AddState(builder, node, kInitialH, s);
  m.initial_c = IsLstm(node) ? AddState(builder, node, kInitialC, s) : -1;
  if (IsLstm(node) && (m.initial_h < 0) != (m.initial_c < 0)) {  // it takes both or none
    const std::vector<float> zeros(static_cast<size_t>(Elements(s.state())), 0.0f);
    (m.initial_h < 0 ? m.initial_h : m.initial_c) = builder.Constant(s.state(), zeros);
  }
  m.y = builder.Temporary(Plain({s.steps, s.batch, s.directions * s.hidden}));
  m.last_h = builder.Temporary(Plain(s.state()));
  m.last_c = IsLstm(node) ? builder.Temporary(Plain(s.state())) : -1;
  AddPrimitive(builder, node, s, m);
  const Dims y = {s.steps, s.directions, s.batch, s.hidden}, last = {s.directions, s.batch, s.hidden};
  const int64_t row = s.directions * s.hidden;
  const MemoryIndex batch_first = builder.Alias(m.y, Desc(y, DataType::f32, Dims{s.batch * row, s.hidden, row, 1}));
  builder.SetOutput(node, {y, s.directions == 1 ? builder.Alias(m.y, Plain(y)) : builder.InLayout(batch_first, Plain(y))});
  builder.SetOutput(node, 1, {last, builder.Alias(m.last_h, Plain(last))});
  if (IsLstm(node)) builder.SetOutput(node, 2, {last, builder.Alias(m.last_c, Plain(last))});
}

constexpr TypeSet kRecurrentTypes[] = {kSingles, kSingles, kSingles, kSingles, kAccumulators, kSingles};

constexpr Lowering kRecurrentLowerings[] = {
    {"LSTM", 7, kLatestVersion, false, RefuseRecurrent, LowerRecurrent, "", kRecurrentTypes, kSingles, true, true},
    {"GRU", 7, kLatestVersion, false, RefuseRecurrent, LowerRecurrent, "", kRecurrentTypes, kSingles, true, true}};

}  // namespace

std::span<const Lowering> RecurrentLowerings() { return kRecurrentLowerings; }

}  // namespace tessera::onednn
