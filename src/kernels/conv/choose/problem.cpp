#include "kernels/conv/choose/problem.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/nn/conv.h"
#include "tessera/error.h"
#include "tessera/provider/attributes.h"

namespace tessera::cpu {
namespace {

/// Whether the shape, of as many axes as the weights, tells this one.
bool Tells(const SymbolicShape& shape, const Shape& weights, size_t axis) {
  return shape.size() == weights.rank() && shape[axis].known();
}

/// Spatial sizes, with those that the window just fits where they are not known; these are `least` at least.
SymbolicShape Fill(const WindowAttributes& attributes, const SymbolicShape& image, const Shape& weights, int64_t least) {
  const auto kernel = weights.dims().subspan(2);
  const Window window = attributes.Expand(Shape(kernel.size(), 1).dims(), kernel);
  SymbolicShape filled(weights.rank());
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t fits = window.extent(i) - window.begin[i] - window.end[i];
    filled[i + 2].value = Tells(image, weights, i + 2) ? image[i + 2].value : std::max(least, fits);
  }
  return filled;
}

}  // namespace

ConvLayout LayoutOf(const Node& node) {
  if (node.op_type != "Nchw8cConv") return ConvLayout::kNchw;
  if (AttributeOr<int64_t>(node, "plain_input", 0) != 0) return ConvLayout::kNchw8cFromPlanes;
  return AttributeOr<int64_t>(node, "from_nchw", 0) != 0 ? ConvLayout::kNchw8cFromNchw : ConvLayout::kNchw8c;
}

double ConvProblem::Known(int64_t images, const Shape& sizes) {
  double count = static_cast<double>(std::max<int64_t>(images, 1));
  for (const int64_t size : sizes) count *= static_cast<double>(std::max<int64_t>(size, 1));
  return count;
}

bool ConvProblem::possible() const {
  constexpr double kMostElements = 1e14;
  return input_pixels() * static_cast<double>(channels) <= kMostElements &&
         output_pixels() * static_cast<double>(outputs) <= kMostElements;
}

double ConvProblem::multiply_adds() const {
  if (transposed) return input_pixels() * static_cast<double>(channels) * static_cast<double>(group_outputs() * taps());
  return output_pixels() * static_cast<double>(outputs) * static_cast<double>(depth());
}

ConvProblem DescribeConv(const Node& node, const SymbolicShape& image, const Shape& weights, const SymbolicShape* output) {
  const ConvAttributes attributes(node);
  Require(attributes.FitsGroups(weights), "{} outputs in {} groups", weights[0], attributes.group);
  ConvProblem problem;
  problem.batch = Tells(image, weights, 0) ? image[0].value : 0;
  problem.channels = CheckedMul(weights[1], attributes.group);
  problem.outputs = weights[0];
  problem.groups = attributes.group;
  const SymbolicShape filled = Fill(attributes.window, image, weights, 1);
  Shape sizes(filled.size() - 2);
  for (size_t i = 0; i < sizes.rank(); ++i) sizes[i] = filled[i + 2].value;
  Window& window = problem.window = attributes.window.Fit(sizes.dims(), weights.dims().subspan(2));
  const bool declared = !image.empty() || output != nullptr;
  if (declared && !problem.possible()) return DescribeConv(node, {}, weights);
  for (size_t i = 0; i < sizes.rank(); ++i) {
    if (Tells(image, weights, i + 2)) continue;
    problem.known_image = false;
    window.input[i] = 0;
    window.output[i] = output != nullptr && Tells(*output, weights, i + 2) ? (*output)[i + 2].value : 0;
  }
  return declared && !problem.possible() ? DescribeConv(node, {}, weights) : problem;
}

std::optional<ConvProblem> DescribeValidConv(const Node& node, const SymbolicShape& image, const Shape& weights,
                                             const SymbolicShape* output) {
  try {
    return DescribeConv(node, image, weights, output);
  } catch (const Error&) {
    return std::nullopt;
  }
}

ConvProblem DescribeLikelyConv(const Node& node, const SymbolicShape& input, const Shape& weights) {
  constexpr int64_t kLine = 1024, kSide = 56, kVolumeSide = 16;
  const ConvLayout layout = LayoutOf(node);
  SymbolicShape image = input;
  if (layout == ConvLayout::kNchw8c && !image.empty()) image.pop_back();  // [N, C/8, ..., 8]
  ConvProblem problem = DescribeConv(node, image, weights);
  const bool known = problem.known_image;
  if (!known) {
    const bool volume = weights.rank() == 5 && layout == ConvLayout::kNchw;
    image = Fill(ConvAttributes(node).window, {}, weights, weights.rank() == 3 ? kLine : volume ? kVolumeSide : kSide);
    image[0].value = 1;
    problem = DescribeConv(node, image, weights);
  }
  problem.layout = layout;
  problem.known_image = known;
  if (layout != ConvLayout::kNchw) problem.window = problem.window.WithRank(kSpatialAxes);
  return problem;
}

}  // namespace tessera::cpu
