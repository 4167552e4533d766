// NegativeLogLikelihoodLoss (12-22), SoftmaxCrossEntropyLoss (12, 13). Labels are read on the host, which checks them.

#include <algorithm>
#include <optional>

#include "opencl/device/scratch.h"
#include "opencl/ops/slices.h"
#include "ops/training/loss.h"

namespace tessera::opencl {
namespace {

class Loss final : public Kernel {
 public:
  explicit Loss(const KernelInfo& info)
      : loss_(DeviceOf(info), "losses", Defines(info), "loss"),
        combine_(DeviceOf(info), "losses", Defines(info), "combine"),
        sent_labels_(info, 1),
        element_bytes_(info.input_type(0) == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float)),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& labels = context.required_input(1);
    const Tensor* weights = context.input(2);
    const Shape& shape = x.shape();
    const Shape rest = LossAttributes::CheckLabels(x, labels.shape(), weights);
    const int64_t classes = shape[1], inner = shape.SizeOfRange(2, shape.rank());
    const int64_t count = rest.num_elements();
    const Tensor* logarithms = context.num_outputs() > 1 ? context.output(1, shape) : nullptr;
    const bool reduces = attributes_.reduction != LossReduction::kNone;
    const Tensor& y = *context.output(0, reduces ? Shape{} : rest);
    // One place more, so that no labels are not an empty buffer.
    const SentData sent = sent_labels_.Send(context, shape, count + 1,
                                            [&](std::span<int64_t> labels_sent) { Check(labels, classes, labels_sent); });
    const BufferRange labels_sent = sent.range();
    if (!reduces)
      return loss_.Linear(context, count, x, labels_sent, weights, y, logarithms, cl_long{classes}, cl_long{inner},
                          cl_int{0});
    const DeviceScratch losses(context, static_cast<size_t>(count + 1) * element_bytes_);
    loss_.Linear(context, count, x, labels_sent, weights, losses.range(), logarithms, cl_long{classes}, cl_long{inner},
                 cl_int{1});
    combine_.Groups(context, 1, kLanes, losses.range(), labels_sent, weights, y, cl_long{count},
                    static_cast<cl_int>(attributes_.reduction == LossReduction::kMean));
  }

 private:
  static constexpr size_t kLanes = 64;

  static std::string Defines(const KernelInfo& info) {
    return Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kLanes) +
           (LossAttributes(info.node()).softmax ? "#define SOFTMAX\n" : "");
  }

  /// The class of each position; -1 where it does not count.
  void Check(const Tensor& labels, int64_t classes, std::span<int64_t> labels_sent) const {
    const HostIndices given(labels);
    std::ranges::fill(labels_sent, -1);
    for (int64_t i = 0; i < labels.num_elements(); ++i) {
      const int64_t label = given[i];
      if (attributes_.Counts(label, classes)) labels_sent[static_cast<size_t>(i)] = label;
    }
  }

  Launchable loss_, combine_;
  SentIntegers sent_labels_;
  size_t element_bytes_;
  LossAttributes attributes_;
};

}  // namespace

void RegisterLosses(KernelRegistry& registry) {
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    registry.Add(Op(op)
                     .Versions(12)
                     .Types(0, kReals)
                     .Types(1, {ElementType::kInt32, ElementType::kInt64})
                     .HostInput(1)
                     .Make<Loss>());
  }
}

}  // namespace tessera::opencl
