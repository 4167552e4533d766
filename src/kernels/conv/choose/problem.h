#pragma once

// A convolution as the chooser sees it: sizes, types, layout, and what is known before it runs.

#include <algorithm>
#include <optional>

#include "ops/nn/window.h"

namespace tessera::cpu {

/// Windows over images with fewer axes have ones before them: one slice.
constexpr size_t kSpatialAxes = 3;

/// How images lie in memory.
enum class ConvLayout : uint8_t {
  kNchw,
  kNchw8c,            // input and output
  kNchw8cFromPlanes,  // only the output; the planes of few channels are read as they lie
  kNchw8cFromNchw,    // only the output; the input is converted while it is padded
  kNchwc,             // blocks of as many channels as a vector holds: oneDNN's
  kNhwc,
};

enum class ConvTypes : uint8_t {
  kFloat,
  kOtherFloat,    // double, or half as float
  kBytes,         // 8-bit values, requantized
  kBytesToInt32,  // 8-bit values, whose accumulators are the result
};

struct ConvProblem {
  ConvLayout layout = ConvLayout::kNchw;
  ConvTypes types = ConvTypes::kFloat;
  bool transposed = false;  // `window` slides over the output and says what its pixels read
  int64_t batch = 1;        // 0: not known
  int64_t channels = 0;     // of all groups
  int64_t outputs = 0;      // of all groups
  int64_t groups = 1;
  Window window;                 // spatial sizes are 0 where they are not known
  bool constant_weights = true;  // packed for an algorithm when the kernel is made
  bool known_image = true;       // its sizes then, too
  int64_t threads = 1;

  /// As if there were one where they are not known.
  int64_t images() const { return std::max<int64_t>(batch, 1); }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  int64_t taps() const { return window.kernel.num_elements(); }
  int64_t depth() const { return group_channels() * taps(); }
  /// One input channel in each of several groups.
  bool depthwise() const { return groups > 1 && channels == groups; }
  bool strided() const { return HasOther(window.strides); }
  bool dilated() const { return HasOther(window.dilations); }
  /// Numbers of pixels, as if there were one along axes and images that are not known.
  double input_pixels() const { return Known(batch, window.input); }
  double output_pixels() const { return Known(batch, window.output); }
  double multiply_adds() const;
  /// Whether memory could hold the images and results. Models may declare others, which are as good as not known: products
  /// of sizes need not be checked.
  bool possible() const;

 private:
  static bool HasOther(const Shape& sizes) {
    return std::ranges::any_of(sizes, [](int64_t size) { return size != 1; });
  }
  static double Known(int64_t images, const Shape& sizes);
};

/// Of a node's images: Nchw8cConv (ai.tessera) says by its attributes what its input is.
ConvLayout LayoutOf(const Node& node);

/// The convolution that a node is, Conv or another with its attributes, of images [N, C, ...] and weights [M, C / group,
/// ...] of these shapes. `output`: the result's shape, where some of it is known beside the image's; may be null. Throws
/// Error where attributes are wrong or sizes do not fit.
ConvProblem DescribeConv(const Node& node, const SymbolicShape& image, const Shape& weights,
                         const SymbolicShape* output = nullptr);

/// The same where a kernel may still refuse the node: nothing then.
std::optional<ConvProblem> DescribeValidConv(const Node& node, const SymbolicShape& image, const Shape& weights,
                                             const SymbolicShape* output = nullptr);

/// As a kernel sees the node when it is made: the layout, with a window of kSpatialAxes where that is NCHW8c, over an image
/// of a usual size, or one that the window just fits, where not all of its size is known.
ConvProblem DescribeLikelyConv(const Node& node, const SymbolicShape& input, const Shape& weights);

}  // namespace tessera::cpu
