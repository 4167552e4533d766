#pragma once

// What CausalConvWithState takes, on any provider.

#include <string>
#include <utility>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct CausalConvSizes {
  int64_t batch, channels, length, k;
  int64_t carried() const { return k - 1; }
};

inline CausalConvSizes InferCausalConv(const Shape& x, const Shape& weight, const Tensor* bias, const Tensor* past) {
  Require(x.rank() == 3, "input is {}; [batch,channels,length] is expected", x);
  Require(weight.rank() == 3 && weight[0] == x[1] && weight[1] == 1 && weight[2] > 0, "weight is {}; [{},1,k] is expected",
          weight, x[1]);
  const CausalConvSizes sizes{x[0], x[1], x[2], weight[2]};
  Require(bias == nullptr || bias->shape() == Shape{x[1]}, "bias needs one element for each of {} channels", x[1]);
  Require(past == nullptr || past->shape() == Shape({x[0], x[1], sizes.carried()}), "past_state needs the shape [{},{},{}]",
          x[0], x[1], sizes.carried());
  return sizes;
}

/// Whether silu follows. Throws Error for attributes that ask for what is not supported.
inline bool CausalConvHasSilu(const Node& node) {
  const auto activation = AttributeOr<std::string>(node, "activation", "none");
  Require(activation == "none" || activation == "silu" || activation == "swish",
          "activation is '{}'; none, silu and swish are known", activation);
  for (const auto& [attribute, expected] :
       {std::pair{"ndim", 1}, {"dilation", 1}, {"channels_last", 0}, {"state_window", 0}}) {
    const auto value = AttributeOr<int64_t>(node, attribute, expected);
    Require(value == expected, "{} is {}; only {} is supported", attribute, value, expected);
  }
  return activation != "none";
}

}  // namespace tessera
