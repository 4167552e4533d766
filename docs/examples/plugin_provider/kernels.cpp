#include "kernels.h"

#include <algorithm>
#include <cmath>

#include "graph.h"

namespace teaching {
namespace {

class Kernel : public OrtKernelImpl {
 public:
  Kernel(const Api& api, const Operator& entry) : OrtKernelImpl{}, api_(api), entry_(entry) {
    ort_version_supported = kApiVersion;
    OrtKernelImpl::Compute = [](OrtKernelImpl* kernel, OrtKernelContext* context) noexcept {
      const auto* self = static_cast<Kernel*>(kernel);
      return self->api_.Guarded([&] { self->Run(*context); });
    };
    OrtKernelImpl::Release = [](OrtKernelImpl* kernel) { delete static_cast<Kernel*>(kernel); };
  }

 private:
  void Run(OrtKernelContext& context) const;

  const Api api_;
  const Operator& entry_;
};

/// Memory for the output of a shape.
float* Output(const Api& api, OrtKernelContext& context, const std::vector<int64_t>& shape) {
  OrtValue* value = nullptr;
  api.Check(api->KernelContext_GetOutput(&context, 0, shape.data(), shape.size(), &value));
  void* data = nullptr;
  api.Check(api->GetTensorMutableData(value, &data));
  return static_cast<float*>(data);
}

TensorView Input(const Api& api, const OrtKernelContext& context, size_t index) {
  const OrtValue* value = nullptr;
  api.Check(api->KernelContext_GetInput(&context, index, &value));
  return ViewOf(api, *value);
}

int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

/// The shape of two tensors that are stretched over each other: aligned at their last dimensions, where one is 1 or both
/// are the same.
std::vector<int64_t> Broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> shape(std::max(a.size(), b.size()), 1);
  for (const std::vector<int64_t>* part : {&a, &b}) {
    for (size_t i = 0; i < part->size(); ++i) {
      const int64_t size = (*part)[part->size() - 1 - i];
      int64_t& whole = shape[shape.size() - 1 - i];
      if (size != 1 && whole != 1 && size != whole) throw Error(ORT_INVALID_ARGUMENT, "shapes that do not fit together");
      if (size != 1) whole = size;
    }
  }
  return shape;
}

/// How far the input moves on for a step in each dimension of the output: not at all where it is stretched.
std::vector<int64_t> StepsOf(const std::vector<int64_t>& input, size_t rank) {
  std::vector<int64_t> steps(rank, 0);
  int64_t step = 1;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t size = input[input.size() - 1 - i];
    if (size != 1) steps[rank - 1 - i] = step;
    step *= size;
  }
  return steps;
}

void Kernel::Run(OrtKernelContext& context) const {
  const TensorView a = Input(api_, context, 0);
  const auto* from_a = static_cast<const float*>(a.data);
  if (entry_.unary != nullptr) {
    float* to = Output(api_, context, a.shape);
    std::transform(from_a, from_a + CountOf(a.shape), to, entry_.unary);
    return;
  }
  const TensorView b = Input(api_, context, 1);
  const auto* from_b = static_cast<const float*>(b.data);
  const std::vector<int64_t> shape = Broadcast(a.shape, b.shape);
  const std::vector<int64_t> steps_a = StepsOf(a.shape, shape.size()), steps_b = StepsOf(b.shape, shape.size());
  float* to = Output(api_, context, shape);
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t count = CountOf(shape); count > 0; --count) {
    *to++ = entry_.binary(*from_a, *from_b);
    // The next index, last dimension fastest; a dimension that is through starts again, and the one before it moves on.
    for (size_t d = shape.size(); d-- > 0;) {
      from_a += steps_a[d];
      from_b += steps_b[d];
      if (++index[d] < shape[d]) break;
      from_a -= steps_a[d] * shape[d];
      from_b -= steps_b[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

const std::vector<Operator>& Operators() {
  static const std::vector<Operator> operators = {
      {"Relu", 6, 14, [](float x) { return x < 0 ? 0 : x; }, nullptr},  // as it stands NaN remains NaN
      {"Sigmoid", 6, 13, [](float x) { return 1 / (1 + std::exp(-x)); }, nullptr},
      {"Add", 7, 14, nullptr, [](float a, float b) { return a + b; }},
      {"Mul", 7, 14, nullptr, [](float a, float b) { return a * b; }},
  };
  return operators;
}

OrtStatus* CreateKernel(void* source, const OrtKernelInfo* /*info*/, OrtKernelImpl** kernel) {
  const auto& from = *static_cast<const KernelSource*>(source);
  // A kernel with attributes reads them from `info` here, once (KernelInfoGetAttribute_float and its like).
  return from.api.Guarded([&] { *kernel = new Kernel(from.api, from.entry); });
}

}  // namespace teaching
