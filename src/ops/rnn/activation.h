#pragma once

// The functions that gates of the recurrent operators may apply.

#include <cstdint>

namespace tessera {

enum class RecurrentFunction : uint8_t {
  kTanh,
  kSigmoid,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

struct RecurrentActivation {
  RecurrentFunction function = RecurrentFunction::kTanh;
  float alpha = 0;
  float beta = 0;

  bool operator==(const RecurrentActivation&) const = default;
};

}  // namespace tessera
