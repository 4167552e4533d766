#include "graph/op_traits.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "graph/microsoft/schemas.h"
#include "graph/operator_definitions.h"
#include "graph/private_names.h"

namespace tessera {
namespace {

using enum OpTrait;

struct Row {
  std::string_view op_type;
  OpTraits traits;
  int since = 1;
};

// clang-format off: a row each
constexpr Row kOnnx[] = {
    {"Abs", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Acos", kUnary | kReal | kFiniteAtZero},
    {"Acosh", kUnary | kReal},
    {"Add", kBroadcasts | kReal | kContinuous, 7},
    {"And", kBroadcasts, 7},
    {"Asin", kUnary | kReal | kFiniteAtZero},
    {"Asinh", kUnary | kReal | kFiniteAtZero},
    {"Atan", kUnary | kReal | kFiniteAtZero},
    {"Atanh", kUnary | kReal | kFiniteAtZero},
    {"Attention", kMatMul},
    {"AveragePool", kContinuous},
    {"BatchNormalization", kContinuous},
    {"Bernoulli", kRandom},
    {"BitShift", kBroadcasts, 7},
    {"BitwiseAnd", kBroadcasts, 7},
    {"BitwiseNot", kUnary},
    {"BitwiseOr", kBroadcasts, 7},
    {"BitwiseXor", kBroadcasts, 7},
    {"Cast", kUnary},
    {"CausalConvWithState", kMatMul},
    {"Ceil", kUnary | kReal | kFiniteAtZero},
    {"Celu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Clip", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Compress", kMoves},
    {"Conv", kMatMul},
    {"ConvInteger", kMatMul},
    {"ConvTranspose", kMatMul},
    {"Cos", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Cosh", kUnary | kReal | kFiniteAtZero},
    {"CumSum", kContinuous},
    {"DeformConv", kMatMul},
    {"DepthToSpace", kMoves},
    {"DequantizeLinear", kContinuous},
    {"Div", kBroadcasts | kReal | kContinuous, 7},
    {"Dropout", kContinuous | kRandom},
    {"Einsum", kMatMul},
    {"Elu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Equal", kBroadcasts, 7},
    {"Erf", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Exp", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Expand", kMoves},
    {"Flatten", kMoves},
    {"FlexAttention", kMatMul},
    {"Floor", kUnary | kReal | kFiniteAtZero},
    {"GRU", kMatMul},
    {"Gather", kMoves},
    {"GatherElements", kMoves},
    {"GatherND", kMoves},
    {"Gelu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Gemm", kMatMul},
    {"GlobalAveragePool", kContinuous},
    {"GlobalMaxPool", kContinuous},
    {"Greater", kBroadcasts, 7},
    {"GreaterOrEqual", kBroadcasts, 7},
    {"GridSample", kContinuous},
    {"GroupNormalization", kContinuous},
    {"HardSigmoid", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"HardSwish", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Identity", kUnary | kReal | kFiniteAtZero | kMoves},
    {"InstanceNormalization", kContinuous},
    {"IsInf", kUnary},
    {"IsNaN", kUnary},
    {"LRN", kContinuous},
    {"LSTM", kMatMul},
    {"LayerNormalization", kContinuous},
    {"LeakyRelu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Less", kBroadcasts, 7},
    {"LessOrEqual", kBroadcasts, 7},
    {"LinearAttention", kMatMul},
    {"Log", kUnary | kReal | kContinuous},
    {"LogSoftmax", kContinuous},
    {"LpNormalization", kContinuous},
    {"LpPool", kContinuous},
    {"MatMul", kMatMul},
    {"MatMulInteger", kMatMul},
    {"Max", kBroadcasts | kReal | kContinuous, 8},
    {"MaxPool", kContinuous},
    {"Mean", kBroadcasts | kReal | kContinuous, 8},
    {"MeanVarianceNormalization", kContinuous},
    {"Min", kBroadcasts | kReal | kContinuous, 8},
    {"Mish", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Mod", kBroadcasts | kReal, 7},
    {"Mul", kBroadcasts | kReal | kContinuous, 7},
    {"Multinomial", kRandom},
    {"Neg", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Not", kUnary},
    {"Or", kBroadcasts, 7},
    {"PRelu", kBroadcasts | kReal | kContinuous, 7},
    {"Pow", kBroadcasts | kReal | kContinuous, 7},
    {"QLinearConv", kMatMul},
    {"QLinearMatMul", kMatMul},
    {"QuantizeLinear", kContinuous},
    {"RMSNormalization", kContinuous},
    {"RNN", kMatMul},
    {"RandomNormal", kRandom},
    {"RandomNormalLike", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformLike", kRandom},
    {"Reciprocal", kUnary | kReal | kContinuous},
    {"ReduceL1", kReduces | kContinuous},
    {"ReduceL2", kReduces | kContinuous},
    {"ReduceLogSum", kReduces | kContinuous},
    {"ReduceLogSumExp", kReduces | kContinuous},
    {"ReduceMax", kReduces | kContinuous},
    {"ReduceMean", kReduces | kContinuous},
    {"ReduceMin", kReduces | kContinuous},
    {"ReduceProd", kReduces | kContinuous},
    {"ReduceSum", kReduces | kContinuous},
    {"ReduceSumSquare", kReduces | kContinuous},
    {"Relu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Reshape", kMoves},
    {"Resize", kContinuous},
    {"ReverseSequence", kMoves},
    {"RotaryEmbedding", kContinuous},
    {"Round", kUnary | kReal | kFiniteAtZero},
    {"Selu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Shrink", kUnary | kReal | kFiniteAtZero},
    {"Sigmoid", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Sign", kUnary | kReal | kFiniteAtZero},
    {"SimplifiedLayerNormalization", kContinuous},
    {"Sin", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Sinh", kUnary | kReal | kFiniteAtZero},
    {"Slice", kMoves},
    {"Softmax", kContinuous},
    {"Softplus", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Softsign", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"SpaceToDepth", kMoves},
    {"Split", kMoves},
    {"Sqrt", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Squeeze", kMoves},
    {"Sub", kBroadcasts | kReal | kContinuous, 7},
    {"Sum", kBroadcasts | kReal | kContinuous, 8},
    {"Swish", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Tan", kUnary | kReal | kFiniteAtZero},
    {"Tanh", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"ThresholdedRelu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"Tile", kMoves},
    {"Transpose", kMoves},
    {"Unsqueeze", kMoves},
    {"Upsample", kContinuous},
    {"Where", kBroadcasts | kContinuous, 7},
    {"Xor", kBroadcasts, 7},
};

/// Biases of BiasGelu and FastGelu are rows, which broadcast, but whose kernels take no other shape.
constexpr Row kMicrosoft[] = {
    {"BiasGelu", kContinuous},
    {"DynamicQuantizeLSTM", kMatMul},
    {"DynamicQuantizeMatMul", kMatMul},
    {"FastGelu", kContinuous},
    {"FusedConv", kMatMul},
    {"FusedGemm", kMatMul},
    {"FusedMatMul", kMatMul},
    {"Gelu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"GroupQueryAttention", kMatMul},
    {"MatMulNBits", kMatMul},
    {"MultiHeadAttention", kMatMul},
    {"QGemm", kMatMul},
    {"QuickGelu", kUnary | kReal | kFiniteAtZero | kContinuous},
    {"RotaryEmbedding", kContinuous},
    {"SimplifiedLayerNormalization", kContinuous},
    {"SkipLayerNormalization", kContinuous},
    {"SkipSimplifiedLayerNormalization", kContinuous},
};

/// Attention as recognize_broadcast_attention makes it, with operands that broadcast.
constexpr Row kTessera[] = {
    {"Attention", kMatMul},
};
// clang-format on
static_assert(std::ranges::is_sorted(kOnnx, {}, &Row::op_type) && std::ranges::is_sorted(kMicrosoft, {}, &Row::op_type));

std::span<const Row> RowsOf(std::string_view domain) {
  if (domain.empty()) return kOnnx;
  if (domain == kMicrosoftDomain) return kMicrosoft;
  if (domain == kTesseraDomain) return kTessera;
  return {};
}

}  // namespace

OpTraits TraitsOf(const Node& node) {
  const std::span<const Row> rows = RowsOf(node.domain);
  const auto row = std::ranges::lower_bound(rows, node.op_type, {}, &Row::op_type);
  return row == rows.end() || row->op_type != node.op_type || node.since_version < row->since ? OpTraits() : row->traits;
}

OpTraits TraitsOf(const Graph& graph, const Node& node) {
  return DefinerOf(graph, node) == nullptr ? TraitsOf(node) : OpTraits();
}

}  // namespace tessera
