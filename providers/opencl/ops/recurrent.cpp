#include "opencl/ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/ops/slices.h"
#include "ops/rnn/recurrent.h"

namespace tessera::opencl {
namespace {

constexpr size_t kStateLanes = 32;
constexpr int64_t kPositionsPerItem = 4;

/// The same struct stands in recurrent.cl.
struct RecurrentSizes {
  cl_long steps, batch, input, hidden, gates, directions;
  cl_int batch_first, reverse, input_forget, padding = 0;
};

/// Of x; {0} is alpha, {1} beta.
const char* Expression(RecurrentFunction function) {
  switch (function) {
    case RecurrentFunction::kTanh: return "act_tanh(x)";
    case RecurrentFunction::kSigmoid: return "act_sigmoid(x)";
    case RecurrentFunction::kRelu: return "act_relu(x)";
    case RecurrentFunction::kAffine: return "act_affine(x, R({0:.9e}), R({1:.9e}))";
    case RecurrentFunction::kLeakyRelu: return "act_leaky(x, R({0:.9e}))";
    case RecurrentFunction::kThresholdedRelu: return "act_thresholded(x, R({0:.9e}))";
    case RecurrentFunction::kScaledTanh: return "act_scaled_tanh(x, R({0:.9e}), R({1:.9e}))";
    case RecurrentFunction::kHardSigmoid: return "act_hard_sigmoid(x, R({0:.9e}), R({1:.9e}))";
    case RecurrentFunction::kElu: return "act_elu(x, R({0:.9e}))";
    case RecurrentFunction::kSoftsign: return "act_softsign(x)";
    case RecurrentFunction::kSoftplus: return "act_softplus(x)";
  }
  return "";
}

/// Macros F, G, H of x, which look at the direction d.
std::string Activations(const RecurrentAttributes& attributes) {
  const auto text = [](const RecurrentActivation& activation) {
    Require(std::isfinite(activation.alpha) && std::isfinite(activation.beta), "alpha is {} and beta {} of an activation",
            activation.alpha, activation.beta);
    return fmt::format(fmt::runtime(Expression(activation.function)), activation.alpha, activation.beta);
  };
  const auto first = attributes.ActivationsOf(0), last = attributes.ActivationsOf(attributes.directions - 1);
  std::string macros;
  for (size_t i = 0; i < first.size(); ++i)
    macros += fmt::format("#define {}(x) (d == 0 ? {} : {})\n", "FGH"[i], text(first[i]), text(last[i]));
  return macros;
}

class Recurrent final : public Kernel {
 public:
  explicit Recurrent(const KernelInfo& info)
      : attributes_(info.node()),
        lstm_(info.node().op_type == "LSTM"),
        gru_(info.node().op_type == "GRU"),
        types_(Computed('X', info.input_type(0))),
        load_(DeviceOf(info), "recurrent", types_, "load_state"),
        store_(DeviceOf(info), "recurrent", types_, "store_state"),
        by_panels_(!SettingsOf(info).tiles &&
                   (info.input_type(0) == ElementType::kFloat || info.input_type(0) == ElementType::kDouble)),
        block_rows_(RowsOfBlock(info)),
        step_(DeviceOf(info), "recurrent", StepDefines(info), StepName()),
        lengths_(info, 4),
        computed_bytes_(info.input_type(0) == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float)),
        directions_(attributes_.directions),
        hidden_(attributes_.hidden_size),
        batch_first_(attributes_.batch_first),
        linear_before_reset_(gru_ && attributes_.linear_before_reset) {
    if (gru_ && !linear_before_reset_)
      reset_.emplace(DeviceOf(info), "recurrent", StepDefines(info), by_panels_ ? "gru_reset_panel" : "gru_reset");
    if (by_panels_) {
      panels_.emplace(info, PanelGemm::Left::kAlongK);
      PackConstants(info);
      if (packed_w_ == nullptr || packed_r_ == nullptr) panels_->PreparePack();
    } else {
      input_matmuls_.emplace(DeviceOf(info), "recurrent", types_ + fmt::format("#define PER {}\n", kPositionsPerItem),
                             "input_matmuls");
    }
  }

  void Compute(KernelContext& context) override {
    const RecurrentSizes s = CheckedSizes(context);
    const Shape state = batch_first_ ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
    const Tensor* y = context.output(0, batch_first_ ? Shape{s.batch, s.steps, s.directions, s.hidden}
                                                     : Shape{s.steps, s.directions, s.batch, s.hidden});
    const Tensor *y_h = context.output(1, state), *y_c = lstm_ ? context.output(2, state) : nullptr;
    const int64_t count = state.num_elements(), width = s.gates * s.hidden, positions = s.steps * s.batch;
    if (count == 0) return;
    const auto bytes = [&](int64_t n) { return static_cast<size_t>(std::max<int64_t>(CheckedMul(n, computed_bytes_), 1)); };
    const DeviceScratch gates(context, bytes(CheckedMul(CheckedMul(s.directions, positions), width)));
    const DeviceScratch h0(context, bytes(count)), h1(context, bytes(count)), extra(context, bytes(count));
    const bool uses_extra = lstm_ || reset_.has_value();
    const SentData lengths = SendLengths(context, s);
    const BufferRange sent = lengths.range(), none;
    load_.Linear(context, count, context.input(5), h0.range(), s);
    if (lstm_) load_.Linear(context, count, context.input(6), extra.range(), s);
    const Tensor *bias = context.input(3), &r = context.required_input(2);
    std::optional<DeviceScratch> packed_here;
    if (by_panels_) {
      MultiplyInputs(context, s, gates.range());
      if (packed_r_ == nullptr) {
        packed_here.emplace(context, bytes(CheckedMul(PackedElements(s.hidden, s.hidden), s.directions * s.gates)));
        panels_->Pack(context, r, packed_here->range(), s.hidden, s.hidden, 1, static_cast<cl_int>(s.hidden),
                      s.directions * s.gates);
      }
    } else {
      input_matmuls_->Grid(context, width, CeilDiv(positions, kPositionsPerItem), s.directions, context.required_input(0),
                           context.required_input(1), bias, gates.range(), s,
                           cl_long{linear_before_reset_ ? 2 * s.hidden : width});
    }
    const BufferRange packed_r = packed_here ? packed_here->range() : packed_r_ != nullptr ? packed_r_->range() : none;
    const Tensor* by_step = lstm_ ? context.input(7) : linear_before_reset_ ? bias : nullptr;
    const auto launch = [&](Launchable& kernel, cl_long iteration, BufferRange from, BufferRange to, BufferRange result,
                            BufferRange other) {
      if (by_panels_) {
        const std::array<size_t, 3> items = {static_cast<size_t>(PanelGemm::Panels(s.hidden)),
                                             static_cast<size_t>(CeilDiv<int64_t>(s.batch, block_rows_)),
                                             static_cast<size_t>(s.directions)};
        return kernel(context, items, {1, 1, 1}, gates.range(), packed_r, sent, from, to, result, other,
                      lstm_ ? by_step : nullptr, bias, s, iteration, attributes_.clip);
      }
      const std::array<size_t, 3> global = {kStateLanes, static_cast<size_t>(s.hidden),
                                            static_cast<size_t>(s.batch * s.directions)};
      kernel(context, global, {kStateLanes, 1, 1}, gates.range(), r, sent, from, to, result, other, by_step, s, iteration,
             attributes_.clip);
    };
    for (cl_long iteration = 0; iteration < s.steps; ++iteration) {
      const BufferRange from = (iteration % 2 == 0 ? h0 : h1).range(), to = (iteration % 2 == 0 ? h1 : h0).range();
      if (reset_) launch(*reset_, iteration, from, extra.range(), none, none);
      launch(step_, iteration, from, to, y == nullptr ? none : RangeOf(*y), uses_extra ? extra.range() : none);
    }
    if (y_h != nullptr) store_.Linear(context, count, (s.steps % 2 == 0 ? h0 : h1).range(), sent, *y_h, s);
    if (y_c != nullptr) store_.Linear(context, count, extra.range(), sent, *y_c, s);
  }

 private:
  std::string StepDefines(const KernelInfo& info) const {
    const std::string functions = Activations(attributes_);
    if (by_panels_) return BlockDefines(info.input_type(0), "#define ALONG_K_A\n", block_rows_) + functions;
    return types_ + fmt::format("#define LANES {}\n", kStateLanes) + functions;
  }
  /// As few blocks as possible, of as many entries each.
  int64_t RowsOfBlock(const KernelInfo& info) const {
    const auto& x = info.input_info(0).shape;
    const size_t axis = attributes_.batch_first ? 0 : 1;
    if (!x || x->size() != 3 || !(*x)[axis].known() || (*x)[axis].value < 1) return kBlockRows;
    const int64_t batch = (*x)[axis].value;
    return CeilDiv(batch, CeilDiv(batch, kBlockRows));
  }
  const char* StepName() const {
    if (by_panels_) return lstm_ ? "lstm_panel" : gru_ ? "gru_panel" : "rnn_panel";
    return lstm_ ? "lstm_step" : gru_ ? "gru_step" : "rnn_step";
  }

  static int64_t PackedElements(int64_t k, int64_t n) { return CheckedMul(CheckedMul(PanelGemm::Panels(n), kPanel), k); }

  /// Constant W and R are needed in panels only; those of a gate of R are apart. What does not fit together, a run says.
  void PackConstants(const KernelInfo& info) {
    const int64_t gates = lstm_ ? 4 : gru_ ? 3 : 1;
    const auto known = [&](size_t input) {
      const Tensor* tensor = info.constant_input(input);
      const bool fits = tensor != nullptr && tensor->shape().rank() == 3 && tensor->shape()[0] == directions_ &&
                        tensor->shape()[1] % gates == 0 && tensor->type() == info.input_type(0) &&
                        std::max(tensor->shape()[1], tensor->shape()[2]) <= std::numeric_limits<cl_int>::max();
      return fits ? tensor : nullptr;
    };
    if (const Tensor* w = known(1)) {
      const int64_t width = w->shape()[1], input = w->shape()[2];
      packed_w_ = panels_->PackRight(info, *w, input, width, 1, static_cast<cl_int>(input), directions_);
      if (packed_w_ != nullptr) info.ReleaseConstant(1);
    }
    if (const Tensor* r = known(2); r != nullptr && r->shape()[1] == gates * r->shape()[2]) {
      const int64_t hidden = r->shape()[2];
      packed_r_ = panels_->PackRight(info, *r, hidden, hidden, 1, static_cast<cl_int>(hidden), directions_ * gates);
      if (packed_r_ != nullptr) info.ReleaseConstant(2);
    }
  }

  /// gates[direction, position of X, gate] = X * W and W's bias; R's is added by the steps.
  void MultiplyInputs(KernelContext& context, const RecurrentSizes& s, BufferRange gates) {
    const int64_t width = s.gates * s.hidden, positions = CheckedMul<int64_t>(s.steps, s.batch),
                  packed = PackedElements(s.input, width);
    Require(std::max({positions, width, int64_t{s.input}}) <= std::numeric_limits<cl_int>::max(),
            "{} positions of {} inputs and {} gates are more than kernels count", positions, s.input, width);
    const auto n = static_cast<cl_int>(width), k = static_cast<cl_int>(s.input);
    std::optional<DeviceScratch> here;
    if (packed_w_ == nullptr) {
      here.emplace(context, static_cast<size_t>(CheckedMul(CheckedMul(packed, s.directions), computed_bytes_)));
      panels_->Pack(context, context.required_input(1), here->range(), s.input, width, 1, k, s.directions);
    }
    Strided stack;
    stack.rank = 1;
    stack.dims[0] = s.directions;
    stack.b[0] = packed;
    stack.c[0] = 2 * width;
    const PanelGemmShape shape{
        .b_panel = s.input * kPanel, .m = static_cast<cl_int>(positions), .n = n, .k = k, .row_a = k};
    panels_->Multiply(
        context, {RangeOf(context.required_input(0)), here ? here->range() : packed_w_->range(), context.input(3), gates},
        shape, PanelGemm::Panels(width), stack, s.directions);
  }

  RecurrentSizes CheckedSizes(const KernelContext& context) const {
    const Tensor& x_tensor = context.required_input(0);
    const Shape &x = x_tensor.shape(), &r = context.required_input(2).shape();
    Require(x.rank() == 3 && r.rank() == 3, "X is {} and R {}, three axes are expected", x, r);
    Require(hidden_ == 0 || hidden_ == r[2], "hidden_size is {} and R is {}", hidden_, r);
    const RecurrentSizes s{.steps = x[batch_first_ ? 1 : 0],
                           .batch = x[batch_first_ ? 0 : 1],
                           .input = x[2],
                           .hidden = r[2],
                           .gates = lstm_  ? 4
                                    : gru_ ? 3
                                           : 1,
                           .directions = directions_,
                           .batch_first = batch_first_,
                           .reverse = attributes_.reverse,
                           .input_forget = attributes_.input_forget};
    const int64_t width = CheckedMul<int64_t>(s.gates, s.hidden);
    const auto check = [&](size_t input, const char* name, const Shape& expected) {
      const Tensor* tensor = context.input(input);
      Require(tensor == nullptr || (tensor->shape() == expected && tensor->type() == x_tensor.type()),
              "{} is {}, {} is expected", name, OptionalShape{tensor}, expected);
    };
    const Shape state = batch_first_ ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
    context.required_input(1);
    check(1, "W", {s.directions, width, s.input});
    check(2, "R", {s.directions, width, s.hidden});
    check(3, "B", {s.directions, 2 * width});
    check(5, "initial_h", state);
    if (lstm_) {
      check(6, "initial_c", state);
      check(7, "P", {s.directions, 3 * s.hidden});
    }
    return s;
  }

  /// Nothing where every sequence has all steps.
  SentData SendLengths(KernelContext& context, const RecurrentSizes& s) {
    const Tensor* given = context.input(4);
    if (given == nullptr) return {};
    Require(given->is(ElementType::kInt32) && given->shape() == Shape{s.batch},
            "sequence_lens is {}, [{}] of int32 is expected", given->shape(), s.batch);
    for (int32_t length : given->values<int32_t>())
      Require(length >= 0 && length <= s.steps, "a sequence length is {} of {}", length, s.steps);
    return lengths_.Send(context, given->shape(), s.batch,
                         [&](std::span<int64_t> lengths) { std::ranges::copy(given->values<int32_t>(), lengths.begin()); });
  }

  const RecurrentAttributes attributes_;
  bool lstm_, gru_;
  std::string types_;
  Launchable load_, store_;
  bool by_panels_;      // on processors, where states are stored as they are computed
  int64_t block_rows_;  // entries of the batch that an item computes
  Launchable step_;
  std::optional<Launchable> input_matmuls_, reset_;  // reset: GRU that resets before the product
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_w_, packed_r_;
  SentIntegers lengths_;
  int64_t computed_bytes_, directions_, hidden_;
  bool batch_first_, linear_before_reset_;
};

}  // namespace

std::unique_ptr<Kernel> MakeRecurrent(const KernelInfo& info) { return std::make_unique<Recurrent>(info); }

}  // namespace tessera::opencl
