#pragma once

// What MoE and QMoE have in common (com.microsoft, version 1): tokens choose k of the experts, each of which is two
// matmuls with an activation between them, and the results are summed with the tokens' weights. Switch Transformers,
// arXiv:2101.03961.

#include <limits>
#include <optional>

#include "tessera/provider/kernel.h"

namespace tessera::cpu {

enum class ExpertActivation : uint8_t { kRelu, kGelu, kSilu, kSwiGlu, kIdentity };

/// Where a fused SwiGLU has its gates (g) and values (l) in the first matmul's columns.
enum class GateColumns : uint8_t { kSeparate, kInterleaved, kSplit };

/// Which of the experts' probabilities weigh their results.
enum class RouterSoftmax : uint8_t { kOfAll, kOfChosen };

struct MixtureAttributes {
  explicit MixtureAttributes(const KernelInfo& info);

  /// Columns of the first matmul for each of an expert's inner numbers.
  int64_t fused() const { return gates == GateColumns::kSeparate ? 1 : 2; }

  int64_t k;
  bool normalizes;
  bool sparse_mixer;  // SparseMixer's two experts, arXiv:2409.12136, without its noise
  ExpertActivation activation;
  GateColumns gates;
  float alpha, beta, limit;
};

struct MixtureSizes {
  int64_t rows, hidden, inner, experts;
};

/// One mixture's weights. Matmuls of expert `e` with rows of `a`, biases included.
class Experts {
 public:
  enum Matrix { kFirst, kSecond, kThird };  // fc1 [fused * inner, hidden], fc2 [hidden, inner], fc3 [inner, hidden]

  virtual ~Experts() = default;
  virtual bool has_third() const = 0;
  virtual void Multiply(KernelContext& context, Matrix matrix, int64_t expert, const float* a, int64_t rows,
                        float* c) const = 0;
};

/// The sizes that X [..., hidden], router [rows, experts] and the weights' [experts, fused * inner, *] imply; throws Error
/// where they contradict each other.
MixtureSizes CheckMixture(const MixtureAttributes& attributes, const Shape& x, const Shape& router, const Shape& first,
                          const Shape& second);

/// y = the mixture of x's rows. `logits` [rows, experts]; `weights` of the same shape, or null: the logits' softmax.
void RunMixture(KernelContext& context, const MixtureAttributes& attributes, const MixtureSizes& sizes,
                RouterSoftmax softmax, const float* x, const float* logits, const float* weights, const Experts& experts,
                float* y);

}  // namespace tessera::cpu
