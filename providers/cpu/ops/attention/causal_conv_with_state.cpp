// CausalConvWithState (27), and version 1 of com.microsoft, from which it came.

#include <algorithm>

#include "base/checked.h"
#include "ops/attention/real_tensor.h"
#include "ops/ops.h"
#include "simd/causal_conv.h"
#include "simd/swish.h"

namespace tessera::cpu {
namespace {

struct CausalConvSizes {
  int64_t batch, channels, length, k;
  int64_t carried() const { return k - 1; }
};

class CausalConvWithState final : public Kernel {
 public:
  explicit CausalConvWithState(const KernelInfo& info) {
    const auto activation = info.attribute<std::string>("activation", "none");
    Require(activation == "none" || activation == "silu" || activation == "swish", "activation is '{}'; none, silu and swish are known",
            activation);
    for (const auto& [attribute, expected] : {std::pair{"ndim", 1}, {"dilation", 1}, {"channels_last", 0}, {"state_window", 0}}) {
      const auto value = info.attribute<int64_t>(attribute, expected);
      Require(value == expected, "{} is {}; only {} is supported", attribute, value, expected);
    }
    silu_ = activation != "none";
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& weight = context.required_input(1);
    const Tensor* bias = context.input(2);
    const Tensor* past = context.input(3);
    const CausalConvSizes sizes = Check(x.shape(), weight.shape(), bias, past);
    Tensor* y = context.output(0, x.shape());
    Tensor* present = context.output(1, Shape{sizes.batch, sizes.channels, sizes.carried()});
    const float* weights = RealView<float>(context, weight);
    const float* biases = bias == nullptr ? nullptr : RealView<float>(context, *bias);
    const int64_t padded = sizes.carried() + sizes.length;
    const int64_t parts = std::clamp<int64_t>(sizes.batch * sizes.channels, 1, 4 * context.threads().num_threads());
    const auto buffer = context.scratch<float>(static_cast<size_t>(CheckedMul(parts, CheckedAdd(padded, sizes.length))));
    const int64_t rows = sizes.batch * sizes.channels;
    const double cost = (static_cast<double>(padded) * 1.0 + static_cast<double>(sizes.length) * static_cast<double>(sizes.k) * 0.1 + 20) *
                        static_cast<double>(rows) / static_cast<double>(parts);
    context.threads().ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* whole = buffer.data() + part * (padded + sizes.length);
        float* out = whole + padded;
        for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
          const int64_t channel = row % sizes.channels;
          if (past == nullptr) {
            std::fill_n(whole, sizes.carried(), 0.0f);
          } else {
            LoadReals(*past, row * sizes.carried(), sizes.carried(), whole);
          }
          LoadReals(x, row * sizes.length, sizes.length, whole + sizes.carried());
          if (present != nullptr) StoreReals(whole + sizes.length, sizes.carried(), *present, row * sizes.carried());
          if (y == nullptr) continue;
          CausalConvRow(whole, weights + channel * sizes.k, sizes.k, biases == nullptr ? 0.0f : biases[channel], sizes.length, out);
          if (silu_) {
            if (!x.is(ElementType::kFloat)) {  // the function acts on the rounded sums
              StoreReals(out, sizes.length, *y, row * sizes.length);
              LoadReals(*y, row * sizes.length, sizes.length, out);
            }
            SwishRow(out, sizes.length, 1);
          }
          StoreReals(out, sizes.length, *y, row * sizes.length);
        }
      }
    });
  }

 private:
  static CausalConvSizes Check(const Shape& x, const Shape& weight, const Tensor* bias, const Tensor* past) {
    Require(x.rank() == 3, "input is {}; [batch,channels,length] is expected", x);
    Require(weight.rank() == 3 && weight[0] == x[1] && weight[1] == 1 && weight[2] > 0, "weight is {}; [{},1,k] is expected",
            weight, x[1]);
    const CausalConvSizes sizes{x[0], x[1], x[2], weight[2]};
    Require(bias == nullptr || bias->shape() == Shape{x[1]}, "bias needs one element for each of {} channels", x[1]);
    Require(past == nullptr || past->shape() == Shape({x[0], x[1], sizes.carried()}), "past_state needs the shape [{},{},{}]", x[0], x[1],
            sizes.carried());
    return sizes;
  }

  bool silu_;
};

}  // namespace

void RegisterCausalConvWithState(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Add(Op("CausalConvWithState", domain).Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}).Make<CausalConvWithState>());
  }
}

}  // namespace tessera::cpu
