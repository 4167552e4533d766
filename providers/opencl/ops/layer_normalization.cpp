// LayerNormalization (17; ONNX Runtime's 1), RMSNormalization (23), ONNX Runtime's SimplifiedLayerNormalization.

#include "ops/normalization/layer_normalization.h"
#include "opencl/ops/standardize.h"
#include "ops/normalization/row_parameter.h"

namespace tessera::opencl {
namespace {

/// LayerNormalization, RMSNormalization, ONNX Runtime's SimplifiedLayerNormalization: the dimensions from an axis on are a
/// row.
class TrailingNormalization final : public Standardize {
 public:
  explicit TrailingNormalization(const KernelInfo& info)
      : TrailingNormalization(info, LayerNormalizationAttributes(info.node())) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const size_t axis = NormalizeAxis(attributes_.axis, shape.rank());
    const Shape reduced = LayerNormalizationAttributes::StatisticsShape(shape, axis);
    const Tensor& y = *context.output(0, shape);
    const Tensor *mean = attributes_.centers ? context.output(1, reduced) : nullptr,
                 *inverse = context.output(attributes_.inverse_output(), reduced);
    Launch(context, {shape.SizeOfRange(axis, shape.rank()), 1, 0, 1}, y, mean, inverse);
  }

 private:
  TrailingNormalization(const KernelInfo& info, const LayerNormalizationAttributes& attributes)
      : Standardize(info, attributes.epsilon, attributes.centers), attributes_(attributes) {}

  LayerNormalizationAttributes attributes_;
};

std::string BroadcastRefusal(const NodeInfo& info) {
  const auto& shape = info.input_info(0).shape;
  const auto first = AxisWithin(LayerNormalizationAttributes(info.node()).axis, shape ? shape->size() : 0);
  if (!first) return "the normalized dimensions are not known";
  for (size_t i = 1; i < info.num_inputs(); ++i) {
    const auto& parameter = info.input_info(i).shape;
    if (info.has_input(i) && !(parameter && IsOfRow(*shape, *first, *parameter)))
      return "a scale or bias that broadcasts is left to the CPU provider";
  }
  return {};
}

}  // namespace

void RegisterLayerNormalization(KernelRegistry& registry) {
  registry.Add(
      Op("LayerNormalization").Versions(1).Types(0, kReals).Unless(BroadcastRefusal).Make<TrailingNormalization>());
  registry.Add(Op("SimplifiedLayerNormalization")
                   .Types(0, kReals)
                   .Types(1, kReals)
                   .Unless(BroadcastRefusal)
                   .Make<TrailingNormalization>());
  registry.Add(Op("RMSNormalization")
                   .Versions(23)
                   .Types(0, kReals)
                   .Types(1, kReals)
                   .Unless(BroadcastRefusal)
                   .Make<TrailingNormalization>());
}

}  // namespace tessera::opencl
