#include "graph/op_traits.h"
#include "graph/private_names.h"

#include <unordered_map>

namespace tessera {
namespace {

struct Row {
  OpTraits traits;
  int since = 1;
};

const std::unordered_map<std::string_view, Row>& Table() {
  using enum OpTrait;
  static const std::unordered_map<std::string_view, Row> table = {
      // clang-format off: a row each
      {"Abs", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Acos", {kUnary | kReal | kFiniteAtZero}},
      {"Acosh", {kUnary | kReal}},
      {"Add", {kBroadcasts | kContinuous, 7}},
      {"And", {kBroadcasts, 7}},
      {"Asin", {kUnary | kReal | kFiniteAtZero}},
      {"Asinh", {kUnary | kReal | kFiniteAtZero}},
      {"Atan", {kUnary | kReal | kFiniteAtZero}},
      {"Atanh", {kUnary | kReal | kFiniteAtZero}},
      {"Attention", {kMatMul}},
      {"AveragePool", {kContinuous}},
      {"BatchNormalization", {kContinuous}},
      {"Bernoulli", {kRandom}},
      {"BitShift", {kBroadcasts, 7}},
      {"BitwiseAnd", {kBroadcasts, 7}},
      {"BitwiseNot", {kUnary}},
      {"BitwiseOr", {kBroadcasts, 7}},
      {"BitwiseXor", {kBroadcasts, 7}},
      {"Cast", {kUnary}},
      {"Ceil", {kUnary | kReal | kFiniteAtZero}},
      {"Celu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Clip", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Conv", {kMatMul}},
      {"ConvInteger", {kMatMul}},
      {"ConvTranspose", {kMatMul}},
      {"Cos", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Cosh", {kUnary | kReal | kFiniteAtZero}},
      {"CumSum", {kContinuous}},
      {"DeformConv", {kMatMul}},
      {"DepthToSpace", {kMoves}},
      {"DequantizeLinear", {kContinuous}},
      {"Div", {kBroadcasts | kContinuous, 7}},
      {"Dropout", {kContinuous | kRandom}},
      {"Einsum", {kMatMul}},
      {"Elu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Equal", {kBroadcasts, 7}},
      {"Erf", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Exp", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Expand", {kMoves}},
      {"Flatten", {kMoves}},
      {"FlexAttention", {kMatMul}},
      {"Floor", {kUnary | kReal | kFiniteAtZero}},
      {"Gather", {kMoves}},
      {"Gelu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Gemm", {kMatMul}},
      {"GlobalAveragePool", {kContinuous}},
      {"GlobalMaxPool", {kContinuous}},
      {"Greater", {kBroadcasts, 7}},
      {"GreaterOrEqual", {kBroadcasts, 7}},
      {"GridSample", {kContinuous}},
      {"GroupNormalization", {kContinuous}},
      {"GRU", {kMatMul}},
      {"HardSigmoid", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"HardSwish", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Identity", {kUnary | kReal | kFiniteAtZero | kMoves}},
      {"InstanceNormalization", {kContinuous}},
      {"IsInf", {kUnary}},
      {"IsNaN", {kUnary}},
      {"LayerNormalization", {kContinuous}},
      {"LeakyRelu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Less", {kBroadcasts, 7}},
      {"LessOrEqual", {kBroadcasts, 7}},
      {"Log", {kUnary | kReal | kContinuous}},
      {"LogSoftmax", {kContinuous}},
      {"LpNormalization", {kContinuous}},
      {"LpPool", {kContinuous}},
      {"LRN", {kContinuous}},
      {"LSTM", {kMatMul}},
      {"MatMul", {kMatMul}},
      {"MatMulInteger", {kMatMul}},
      {"Max", {kBroadcasts | kContinuous, 8}},
      {"MaxPool", {kContinuous}},
      {"Mean", {kBroadcasts | kContinuous, 8}},
      {"MeanVarianceNormalization", {kContinuous}},
      {"Min", {kBroadcasts | kContinuous, 8}},
      {"Mish", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Mod", {kBroadcasts, 7}},
      {"Mul", {kBroadcasts | kContinuous, 7}},
      {"Multinomial", {kRandom}},
      {"Neg", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Not", {kUnary}},
      {"Or", {kBroadcasts, 7}},
      {"Pow", {kBroadcasts | kContinuous, 7}},
      {"PRelu", {kBroadcasts | kContinuous, 7}},
      {"QLinearConv", {kMatMul}},
      {"QLinearMatMul", {kMatMul}},
      {"QuantizeLinear", {kContinuous}},
      {"RandomNormal", {kRandom}},
      {"RandomNormalLike", {kRandom}},
      {"RandomUniform", {kRandom}},
      {"RandomUniformLike", {kRandom}},
      {"Reciprocal", {kUnary | kReal | kContinuous}},
      {"ReduceL1", {kReduces | kContinuous}},
      {"ReduceL2", {kReduces | kContinuous}},
      {"ReduceLogSum", {kReduces | kContinuous}},
      {"ReduceLogSumExp", {kReduces | kContinuous}},
      {"ReduceMax", {kReduces | kContinuous}},
      {"ReduceMean", {kReduces | kContinuous}},
      {"ReduceMin", {kReduces | kContinuous}},
      {"ReduceProd", {kReduces | kContinuous}},
      {"ReduceSum", {kReduces | kContinuous}},
      {"ReduceSumSquare", {kReduces | kContinuous}},
      {"Relu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Reshape", {kMoves}},
      {"Resize", {kContinuous}},
      {"RMSNormalization", {kContinuous}},
      {"RNN", {kMatMul}},
      {"RotaryEmbedding", {kContinuous}},
      {"Round", {kUnary | kReal | kFiniteAtZero}},
      {"Selu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Shrink", {kUnary | kReal | kFiniteAtZero}},
      {"Sigmoid", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Sign", {kUnary | kReal | kFiniteAtZero}},
      {"Sin", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Sinh", {kUnary | kReal | kFiniteAtZero}},
      {"Slice", {kMoves}},
      {"Softmax", {kContinuous}},
      {"Softplus", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Softsign", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"SpaceToDepth", {kMoves}},
      {"Split", {kMoves}},
      {"Sqrt", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Squeeze", {kMoves}},
      {"Sub", {kBroadcasts | kContinuous, 7}},
      {"Sum", {kBroadcasts | kContinuous, 8}},
      {"Swish", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Tan", {kUnary | kReal | kFiniteAtZero}},
      {"Tanh", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"ThresholdedRelu", {kUnary | kReal | kFiniteAtZero | kContinuous}},
      {"Tile", {kMoves}},
      {"Transpose", {kMoves}},
      {"Unsqueeze", {kMoves}},
      {"Upsample", {kContinuous}},
      {"Where", {kBroadcasts | kContinuous, 7}},
      {"Xor", {kBroadcasts, 7}},
      // clang-format on
  };
  return table;
}

}  // namespace

OpTraits TraitsOf(const Node& node) {
  // Attention as recognize_attention makes it, with operands that broadcast.
  if (node.domain == kTesseraDomain && node.op_type == "Attention") return OpTrait::kMatMul;
  if (!node.domain.empty()) return {};
  const auto row = Table().find(node.op_type);
  return row == Table().end() || node.since_version < row->second.since ? OpTraits() : row->second.traits;
}

}  // namespace tessera
