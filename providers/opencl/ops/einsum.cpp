// Sums of products of dimensions in any order: Einsum (12) of one or two operands; com.microsoft FusedMatMul and its older
// name TransposeMatMul (1).

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"
#include "ops/math/einsum_equation.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"

namespace tessera::opencl {
namespace {

constexpr size_t kContractionTile = 16, kContractionPer = 4, kMostGrouped = 12;

/// The same struct stands in einsum.cl.
struct Groups {
  cl_int rank[4];
  cl_long dims[kMostGrouped], a[kMostGrouped], b[kMostGrouped], y[kMostGrouped];
};

/// A dimension of the whole computation; strides of 0 where an operand does not have it.
struct Dim {
  int64_t size = 1;
  cl_long a = 0, b = 0, y = 0;
  bool in_a = false, in_b = false, in_y = false;

  int group() const { return !in_y ? 3 : in_a && in_b ? 0 : in_a ? 1 : 2; }
};

/// y = alpha * the sum over dimensions that y lacks of a * b.
class Contraction {
 public:
  explicit Contraction(const KernelInfo& info)
      : kernel_(DeviceOf(info), "einsum",
                Computed('X', info.input_type(0)) +
                    fmt::format("#define TILE {}\n#define PER {}\n", kContractionTile, kContractionPer),
                "contract"),
        zero_(DeviceOf(info), "fill", Moved('X', info.input_type(0)), "fill") {
    if (SettingsOf(info).tiles || !kReals.contains(info.input_type(0)) || info.num_inputs() < 2) return;
    panels_.emplace(info, PanelGemm::Left::kStrided);
    panels_->PreparePack();
  }

  void Run(KernelContext& context, const Tensor& a, const Tensor* b, const Tensor& y, std::span<const Dim> dims,
           float alpha) {
    if (y.num_elements() == 0) return;
    Groups groups{};
    std::array<int64_t, 4> sizes = {1, 1, 1, 1};
    size_t filled = 0;
    for (int group = 0; group < 4; ++group) {
      const size_t first = filled;
      for (const Dim& dim : dims) {
        if (dim.group() != group) continue;
        sizes[static_cast<size_t>(group)] = CheckedMul(sizes[static_cast<size_t>(group)], dim.size);
        if (dim.size == 1) continue;
        const size_t last = filled - 1;
        if (filled > first && groups.a[last] == dim.a * dim.size && groups.b[last] == dim.b * dim.size &&
            groups.y[last] == dim.y * dim.size) {
          groups.dims[last] *= dim.size;
        } else {
          Require(filled < kMostGrouped, "more than {} dimensions in a contraction", kMostGrouped);
          groups.dims[filled++] = dim.size;
        }
        groups.a[filled - 1] = dim.a;
        groups.b[filled - 1] = dim.b;
        groups.y[filled - 1] = dim.y;
      }
      groups.rank[group] = static_cast<cl_int>(filled - first);
    }
    if (sizes[3] == 0) return zero_.Linear(context, y.num_elements(), y, cl_ulong{0});
    if (panels_ && b != nullptr && IsMatMul(groups, sizes)) return ByPanels(context, a, *b, y, groups, sizes, alpha);
    const auto up = [](int64_t size) { return (static_cast<size_t>(size) + kContractionTile - 1) / kContractionTile; };
    kernel_(context,
            {up(sizes[2]) * kContractionTile, up(sizes[1]) * (kContractionTile / kContractionPer),
             static_cast<size_t>(sizes[0])},
            {kContractionTile, kContractionTile / kContractionPer, 1}, a, b, y, groups, cl_long{sizes[1]},
            cl_long{sizes[2]}, cl_long{sizes[3]}, alpha);
  }

 private:
  /// Whether it is a stack of matmuls, those of the result one after the other.
  static bool IsMatMul(const Groups& groups, const std::array<int64_t, 4>& sizes) {
    size_t d = 0;
    std::array<Dim, 4> dims{};
    for (size_t group = 0; group < 4; d += static_cast<size_t>(groups.rank[group]), ++group) {
      if (groups.rank[group] > 1) return false;
      if (groups.rank[group] == 1)
        dims[group] = {.size = groups.dims[d], .a = groups.a[d], .b = groups.b[d], .y = groups.y[d]};
    }
    const auto [stacks, m, n, k] = sizes;
    const int64_t most = std::numeric_limits<cl_int>::max();
    const auto fits = [&](cl_long step) { return step <= most; };
    return std::max({m, n, k}) <= most && fits(dims[1].a) && fits(dims[3].a) && fits(dims[2].b) && fits(dims[3].b) &&
           (stacks == 1 || dims[0].y == m * n) && (m == 1 || dims[1].y == n) && (n == 1 || dims[2].y == 1);
  }

  void ByPanels(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& y, const Groups& groups,
                const std::array<int64_t, 4>& sizes, float alpha) {
    const auto [stacks, m, n, k] = sizes;
    const auto step = [&](int group, const cl_long* steps) {
      const int first = std::accumulate(groups.rank, groups.rank + group, 0);
      return groups.rank[group] == 0 ? 0 : steps[first];
    };
    const int64_t panel = CheckedMul(k, kPanel), matrix = CheckedMul(PanelGemm::Panels(n), panel);
    const DeviceScratch packed(context, static_cast<size_t>(CheckedMul(matrix, stacks)) * panels_->element_bytes());
    panels_->Pack(context, b, packed.range(), k, n, static_cast<cl_int>(step(3, groups.b)),
                  static_cast<cl_int>(step(2, groups.b)), stacks, step(0, groups.b));
    Strided stack;
    stack.rank = 1;
    stack.dims[0] = stacks;
    stack.a[0] = step(0, groups.a);
    stack.b[0] = matrix;
    const PanelGemmShape shape{.b_panel = panel,
                               .m = static_cast<cl_int>(m),
                               .n = static_cast<cl_int>(n),
                               .k = static_cast<cl_int>(k),
                               .row_a = static_cast<cl_int>(step(1, groups.a)),
                               .col_a = static_cast<cl_int>(step(3, groups.a)),
                               .alpha = alpha};
    const PanelOperands operands{.a = RangeOf(a), .b = packed.range(), .bias = nullptr, .y = RangeOf(y)};
    panels_->Multiply(context, operands, shape, PanelGemm::Panels(n), stack, stacks);
  }

  Launchable kernel_, zero_;
  std::optional<PanelGemm> panels_;  // on processors
};

/// Every dimension that an ellipsis stands for is a label of its own, counted from the right.
class Einsum final : public Kernel {
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

/// An operand of FusedMatMul: its dimensions as numpy.matmul would have them, and their strides.
struct Arranged {
  Arranged(const Shape& given, const FusedMatMulAttributes::Operand& operand) : shape(given), strides(RowMajor(given)) {
    Require(given.rank() > 0, "scalars cannot be multiplied");
    operand.Arrange(shape, given.rank());
    operand.Arrange(strides, given.rank());
  }
  size_t batch_rank() const { return shape.rank() < 2 ? 0 : shape.rank() - 2; }
  cl_long row() const { return shape.rank() < 2 ? 0 : strides[shape.rank() - 2]; }
  cl_long last() const { return strides[shape.rank() - 1]; }

  Shape shape;
  std::array<cl_long, kMostDims> strides;
};

class FusedMatMul final : public Kernel {
 public:
  explicit FusedMatMul(const KernelInfo& info) : attributes_(info.node()), contraction_(info) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Arranged left(a.shape(), attributes_.a), right(b.shape(), attributes_.b);
    const MatMulShape shape = InferMatMulShape(left.shape, right.shape);
    std::vector<Dim> dims;
    cl_long stride = shape.output.num_elements();
    for (size_t i = 0; i < shape.batch.rank(); ++i) {
      Dim dim{.size = shape.batch[i], .in_y = true};
      stride = shape.batch[i] == 0 ? 0 : stride / shape.batch[i];
      dim.y = stride;
      dim.in_a = StrideOf(left, i, shape.batch.rank(), dim.a);
      dim.in_b = StrideOf(right, i, shape.batch.rank(), dim.b);
      if (!dim.in_a && !dim.in_b) dim.in_a = true;  // of one element
      dims.push_back(dim);
    }
    dims.push_back({.size = shape.m, .a = left.row(), .y = shape.n, .in_a = true, .in_y = true});
    dims.push_back({.size = shape.n, .b = b.shape().rank() < 2 ? 0 : right.last(), .y = 1, .in_b = true, .in_y = true});
    dims.push_back({.size = shape.k,
                    .a = left.last(),
                    .b = b.shape().rank() < 2 ? right.last() : right.row(),
                    .in_a = true,
                    .in_b = true});
    contraction_.Run(context, a, &b, *context.output(0, shape.output), dims, attributes_.alpha);
  }

 private:
  /// Whether an operand has batch axis `i` with more than one matrix, and its stride.
  static bool StrideOf(const Arranged& operand, size_t i, size_t rank, cl_long& stride) {
    const size_t skipped = rank - operand.batch_rank();
    if (i < skipped || operand.shape[i - skipped] == 1) return false;
    stride = operand.strides[i - skipped];
    return true;
  }

  FusedMatMulAttributes attributes_;
  Contraction contraction_;
};

std::string ManyOperandsRefusal(const NodeInfo& info) {
  return info.num_inputs() > 2 ? "three operands and more are left to the CPU provider" : "";
}

}  // namespace

void RegisterEinsum(KernelRegistry& registry) {
  constexpr TypeSet kSummed =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("Einsum").Versions(12).Types(0, kSummed).Unless(ManyOperandsRefusal).Make<Einsum>());
  registry.Add(Op("FusedMatMul", "com.microsoft").Types(0, kReals).Make<FusedMatMul>());
  registry.Add(Op("TransposeMatMul", "com.microsoft").Types(0, kReals).Make<FusedMatMul>());
}

}  // namespace tessera::opencl
