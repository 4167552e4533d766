#include "optimizer/analysis/folding_work.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "ops/math/einsum_equation.h"
#include "ops/math/gemm.h"
#include "ops/nn/window.h"
#include "ops/normalization/lrn.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();

/// Operators whose cost does not follow from the sizes of operands and results as below: it is that of text or boxes, of
/// models that attributes hold, or grows by steps of a recurrence or pairs of rows. Operators that hold graphs are never
/// folded; what is not named here costs about a constant for each element that it reads, writes or sums.
bool DecidedByContents(const Node& node) {
  static const std::set<std::string_view> operators = {
      // boxes and images
      "CropAndResize", "DeformConv", "ImageDecoder", "MaxRoiPool", "NonMaxSuppression", "RoiAlign",
      // text
      "RegexFullMatch", "StringNormalizer", "TfIdfVectorizer", "Tokenizer",
      // recurrences
      "DynamicQuantizeLSTM", "GRU", "LinearAttention", "LSTM", "RNN",
      // pairs of rows
      "Attention", "DecoderMaskedMultiHeadAttention", "Det", "FlexAttention", "GroupQueryAttention", "Inverse",
      "MultiHeadAttention",
      // models, or chosen experts
      "LinearClassifier", "LinearRegressor", "MoE", "QMoE", "SVMClassifier", "SVMRegressor", "TreeEnsemble",
      "TreeEnsembleClassifier", "TreeEnsembleRegressor"};
  return operators.contains(node.op_type);
}

double Elements(const Tensor& tensor) { return static_cast<double>(tensor.num_elements()); }

double OutputElements(const Graph& graph, const Node& node) {
  double elements = 0;
  for (const ValueIndex output : node.outputs) {
    if (output != kNone && ShapeOf(graph, output) != nullptr) elements += KnownElements(graph, output);
  }
  return elements;
}

/// A size of an input; 1 where it has no such axis.
double Size(const Tensor& tensor, int64_t axis) {
  const auto rank = static_cast<int64_t>(tensor.shape().rank());
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? 1.0 : static_cast<double>(tensor.shape()[static_cast<size_t>(axis)]);
}

/// Families of matmuls, by the names that all kinds have in common (QLinearMatMul, MatMulInteger, ConvTranspose,
/// QGemm).
bool IsMatMul(const Node& node) { return node.op_type.find("MatMul") != std::string::npos; }
bool IsGemm(const Node& node) { return node.op_type.find("Gemm") != std::string::npos; }
bool IsConv(const Node& node) { return node.op_type.find("Conv") != std::string::npos; }

/// Operands of QLinear operators stand behind each other's scales and zero points.
size_t WeightsOf(const Node& node) { return node.op_type.starts_with("QLinear") ? 3 : 1; }

double EinsumOperations(const Graph& graph, const Node& node) {
  const auto equation = ValidAttributes<EinsumEquation>(node);
  if (!equation) return 0;  // the kernel says so
  std::vector<const Shape*> shapes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* operand = ConstantInput(graph, node, i);
    if (operand == nullptr) return kWithoutEnd;
    shapes.push_back(&operand->shape());
  }
  return equation->Combinations(shapes);
}

/// Multiplications for each element of the output.
double InnerSize(const Graph& graph, const Node& node) {
  const Tensor* first = ConstantInput(graph, node, 0);
  const Tensor* weights = ConstantInput(graph, node, WeightsOf(node));
  if (IsMatMul(node) && first != nullptr) return Size(*first, -1);
  if (IsGemm(node) && first != nullptr) return Size(*first, GemmAttributes(node).trans_a ? 0 : 1);
  if (IsConv(node) && weights != nullptr)
    return Elements(*weights) / std::max(Size(*weights, node.op_type == "ConvTranspose" ? 1 : 0), 1.0);
  if (const auto window = ValidAttributes<WindowAttributes>(node); window && window->has_kernel()) {
    double elements = 1;
    for (const int64_t size : window->kernel()) elements *= static_cast<double>(size);
    return elements;
  }
  if (node.op_type == "LRN") {
    const auto attributes = ValidAttributes<LrnAttributes>(node);
    return attributes ? static_cast<double>(attributes->size) : 1;
  }
  // Lengths that are prime are computed by matmuls in the worst case.
  if ((node.op_type == "DFT" || node.op_type == "STFT") && first != nullptr) return Elements(*first);
  return 1;
}

}  // namespace

double EstimatedOperations(const Graph& graph, const Node& node) {
  if (DecidedByContents(node)) return kWithoutEnd;
  if (IsOp(node, "Einsum")) return EinsumOperations(graph, node);
  double operations = OutputElements(graph, node) * InnerSize(graph, node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (const Tensor* input = ConstantInput(graph, node, i)) operations += Elements(*input);
  }
  return operations;
}

}  // namespace tessera
