#pragma once

// Which algorithm computes a convolution on the processor: the only place that decides it. Kernels take the first candidate
// that they can run, lowering and oneDNN's claims ask what would be taken, and tuning times the candidates.

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/conv/choose/problem.h"
#include "kernels/conv/winograd/axis.h"

namespace tessera::cpu {

struct BatchedIm2colLimits;
struct ConvCosts;

enum class ConvAlgorithm : uint8_t {
  kGemm,               // of one tap without padding: the image is the matrix
  kIm2col,             // GEMM of weights by the windows of each image, which are gathered panel by panel
  kGemmPackedWeights,  // these with weights as the packed operand, for images of few pixels
  kIm2colPackedWeights,
  kBatchedIm2col,         // one GEMM over the windows of all images
  kImplicitGemm,          // of few outputs: pixels are read where they lie
  kKn2Row,                // a GEMM for all taps, whose results are added up
  kWinograd,              // GEMMs of transformed tiles
  kDirect,                // NCHW8c, bytes of few outputs: accumulates over taps in a padded image
  kDirectByRegions,       // NCHW8c: in place, by regions that read the same taps
  kDepthwise,             // tap by tap
  kDepthwisePlanes,       // NCHW: small square windows, whose rows share what they load
  kDepthwiseSmallPlanes,  // NCHW: a plane in each lane
  kDepthwiseNchw8c,       // NCHW: blocks of channels are converted one by one
  kIm2colInt16,           // 8-bit values widened to 16 bits
  kCol2im,                // transposed: a GEMM of weights by pixels, whose columns are added up where they overlap
  kGather,                // transposed, of few channels: outputs read the pixels themselves
};

/// As profiles and reports say it.
std::string_view NameOf(ConvAlgorithm algorithm);

/// What a node's hint asks for (graph/algorithm.h): "direct", "winograd", or an algorithm's name; others ask for nothing.
struct ConvPreference {
  enum Kind : uint8_t { kNothing, kDirect, kAlgorithm };

  static ConvPreference Parse(std::string_view hint);
  /// Whether it puts the algorithm before others.
  bool Wants(ConvAlgorithm other) const {
    return kind == kDirect ? other != ConvAlgorithm::kWinograd : kind == kAlgorithm && other == algorithm;
  }

  Kind kind = kNothing;
  ConvAlgorithm algorithm = ConvAlgorithm::kWinograd;
};

struct ConvCandidate {
  ConvAlgorithm algorithm;
  double ns;  // estimated, on one core; of Winograd's over the share of direct convolution's time that it must beat
  WinogradForm form{};  // of kWinograd in NCHW8c
};

/// Best first, by estimated time. Where several do the same multiplications, the one that was measured to be faster within
/// its limits comes first.
class ConvCandidates {
 public:
  const ConvCandidate* begin() const { return held_.data(); }
  const ConvCandidate* end() const { return held_.data() + count_; }
  bool empty() const { return count_ == 0; }
  const ConvCandidate& front() const { return held_.front(); }
  /// The first of this algorithm; null: it does not compute this convolution, or never pays.
  const ConvCandidate* Find(ConvAlgorithm algorithm) const;

  /// Behind those that take as long.
  void Add(ConvAlgorithm algorithm, double ns, WinogradForm form = {});
  /// With what is preferred first.
  ConvCandidates Preferring(ConvPreference preference) const;

 private:
  std::array<ConvCandidate, 12> held_{};
  size_t count_ = 0;
};

/// Empty: no kernel computes it in this layout.
ConvCandidates RankConvAlgorithms(const ConvProblem& problem, const ConvCosts& costs);
ConvCandidates RankConvAlgorithms(const ConvProblem& problem);

/// Whether the windows of all images make one GEMM with the packed weights: the output is so small, and known to be.
bool FitsBatched(const ConvProblem& problem, const BatchedIm2colLimits& limits);

/// Whether Winograd's transform may compute the convolution, whatever its image: its window fits a form, and it has neither
/// so few channels that the transforms cost more than they save nor so many that their weights fill memory.
bool MayTransform(const ConvProblem& problem);

}  // namespace tessera::cpu
