// Einsum (12) of one or two operands.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "opencl/ops/contraction.h"
#include "ops/math/einsum_equation.h"

namespace tessera::opencl {
namespace {

/// Every dimension that an ellipsis stands for is a label of its own, counted from the right.
class Einsum final : public Kernel {
  using Dim = Contraction::Dim;

 public:
  explicit Einsum(const KernelInfo& info) : contraction_(info), equation_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor* b = context.num_inputs() > 1 ? &context.required_input(1) : nullptr;
    std::map<int, Dim> labels;
    size_t dots = AddOperand(a.shape(), equation_.inputs()[0], labels, &Dim::a, &Dim::in_a);
    if (b != nullptr) dots = std::max(dots, AddOperand(b->shape(), equation_.inputs()[1], labels, &Dim::b, &Dim::in_b));
    Shape result;
    std::vector<int> order;
    for (const int8_t label : equation_.output()) {
      if (label != kEllipsis) order.push_back(label);
      for (size_t i = dots; label == kEllipsis && i-- > 0;) order.push_back(kDots + static_cast<int>(i));
    }
    for (int label : order) result.Append(labels.at(label).size);
    cl_long stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      Dim& dim = labels.at(order[i]);
      dim.y = stride;
      dim.in_y = true;
      stride *= dim.size;
    }
    // Of each group in the order of the result, so that neighbours merge.
    std::vector<Dim> dims;
    dims.reserve(labels.size());
    for (int label : order) dims.push_back(labels.at(label));
    for (const auto& [label, dim] : labels) {
      if (!dim.in_y) dims.push_back(dim);
    }
    contraction_.Run(context, a, b, *context.output(0, result), dims, 1.0f);
  }

 private:
  static constexpr int kDots = 64;  // labels of dimensions that an ellipsis stands for

  /// Adds an operand's strides; returns how many dimensions its ellipsis stands for.
  static size_t AddOperand(const Shape& shape, const EinsumEquation::Term& term, std::map<int, Dim>& labels,
                           cl_long Dim::* stride, bool Dim::* in) {
    const bool has_dots = std::ranges::find(term, kEllipsis) != term.end();
    const size_t named = term.size() - (has_dots ? 1 : 0);
    Require(has_dots ? shape.rank() >= named : shape.rank() == named, "an operand {} does not fit its {} labels", shape,
            named);
    const size_t dots = shape.rank() - named;
    const auto strides = RowMajor(shape);
    size_t axis = 0;
    const auto add = [&](int label) {
      Dim& dim = labels[label];
      const int64_t size = shape[axis];
      Require(size == dim.size || size == 1 || dim.size == 1, "a label has sizes {} and {}", dim.size, size);
      if (size != 1) {
        dim.size = size;
        dim.*stride += strides[axis];
      }
      dim.*in = true;
      ++axis;
    };
    for (const int8_t label : term) {
      if (label != kEllipsis) add(label);
      for (size_t i = dots; label == kEllipsis && i-- > 0;) add(kDots + static_cast<int>(i));
    }
    return dots;
  }

  Contraction contraction_;
  EinsumEquation equation_;
};

std::string ManyOperandsRefusal(const NodeInfo& info) {
  return info.num_inputs() > 2 ? "three operands and more are left to the CPU provider" : "";
}

}  // namespace

void RegisterEinsum(KernelRegistry& registry) {
  constexpr TypeSet kSummed =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("Einsum").Versions(12).Types(0, kSummed).Unless(ManyOperandsRefusal).Make<Einsum>());
}

}  // namespace tessera::opencl
