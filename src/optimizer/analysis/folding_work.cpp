#include "optimizer/analysis/folding_work.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "ops/math/einsum_equation.h"
#include "ops/math/gemm.h"
#include "ops/nn/window.h"
#include "ops/normalization/lrn.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();

/// Operators whose cost does not follow from sizes, or grows by steps of a recurrence or pairs of boxes.
bool DecidedByContents(const Node& node) {
  static const std::set<std::string_view> operators = {"RoiAlign",
                                                       "MaxRoiPool",
                                                       "CropAndResize",
                                                       "NonMaxSuppression",
                                                       "ImageDecoder",
                                                       "RegexFullMatch",
                                                       "TfIdfVectorizer",
                                                       "StringNormalizer",
                                                       "Tokenizer",
                                                       "RNN",
                                                       "GRU",
                                                       "LSTM",
                                                       "DeformConv",
                                                       "Inverse",
                                                       "Det",
                                                       "Attention",
                                                       "MultiHeadAttention",
                                                       "FlexAttention"};
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

/// All combinations of the labels' sizes.
double EinsumOperations(const Graph& graph, const Node& node) {
  std::array<double, 53> sizes;
  sizes.fill(1);
  double of_ellipsis = 1;
  try {
    const EinsumEquation equation(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor* operand = ConstantInput(graph, node, i);
      if (operand == nullptr) return kWithoutEnd;
      double labelled = 1;
      const EinsumEquation::Term& term = equation.inputs()[i];
      const bool dots = std::ranges::find(term, kEllipsis) != term.end();
      int64_t axis = 0;
      for (const int8_t label : term) {
        if (label == kEllipsis) {
          axis -= static_cast<int64_t>(term.size());  // from the end on
        } else {
          const double size = Size(*operand, axis);
          sizes[static_cast<size_t>(label)] = std::max(sizes[static_cast<size_t>(label)], size);
          labelled *= size;
        }
        ++axis;
      }
      if (dots) of_ellipsis = std::max(of_ellipsis, Elements(*operand) / std::max(labelled, 1.0));
    }
  } catch (const Error&) {
    return 0;  // the kernel says so
  }
  double operations = of_ellipsis;
  for (const double size : sizes) operations *= std::max(size, 1.0);
  return operations;
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
