// DynamicQuantizeLSTM, com.microsoft, version 1: LSTM with weights of 8 bits. What they meet, X and the state of each step,
// becomes integers on the way (gate_matmul.h).

#include <algorithm>

#include "base/mapped_file.h"
#include "base/weight_memory.h"
#include "cpu/ops/microsoft/gate_matmul.h"
#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/shared_weights.h"
#include "cpu/ops/ops.h"
#include "cpu/ops/rnn/lstm.h"
#include "cpu/types.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr int kGates = 4;
constexpr int64_t kRowsTogether = 64;  // of X

class DynamicQuantizeLstm final : public Lstm<float> {
 public:
  explicit DynamicQuantizeLstm(const KernelInfo& info) : Lstm<float>(info) {
    for (size_t m = 0; m < 2; ++m) {
      const Tensor *quantized_weights = info.constant_input(1 + m), *scale = info.constant_input(ScaleOf(m)),
                   *zero = info.constant_input(ScaleOf(m) + 1);
      if (quantized_weights == nullptr || scale == nullptr || zero == nullptr || quantized_weights->shape().rank() != 3 ||
          quantized_weights->shape()[0] != directions_)
        continue;
      CheckParameters(*quantized_weights, *scale, *zero);
      MultipliesLimbs() ? PackLimbs(info, m, *quantized_weights) : PackPanels(info, m, *quantized_weights);
    }
  }

 private:
  /// The input that has the scales of W (0) or R (1); zero points follow.
  static size_t ScaleOf(size_t m) { return 8 + 2 * m; }

  /// W or R, [directions, inner, gates * hidden]; scales and zero points [directions] or [directions, gates * hidden].
  void CheckParameters(const Tensor& quantized_weights, const Tensor& scale, const Tensor& zero) const {
    const Shape& shape = quantized_weights.shape();
    const int64_t columns = shape[2], all = CheckedMul(directions_, columns);
    Require(scale.is(ElementType::kFloat) && (scale.num_elements() == directions_ || scale.num_elements() == all),
            "a scale is {} for weights {}; [{}] or [{},{}] is expected", scale.shape(), shape, directions_, directions_,
            columns);
    Require(zero.type() == quantized_weights.type() && (zero.num_elements() == directions_ || zero.num_elements() == all),
            "a zero point is {} of {} for weights {} of {}", zero.shape(), ElementTypeName(zero.type()), shape,
            ElementTypeName(quantized_weights.type()));
  }

  void Pack(ThreadPool& threads, const Tensor& quantized_weights, int8_t* panels) const {
    const int64_t k = quantized_weights.shape()[1], n = quantized_weights.shape()[2];
    for (int64_t d = 0; d < directions_; ++d, panels += GatePanelsSize(k, n)) {
      PackGatePanels(threads, static_cast<const uint8_t*>(quantized_weights.raw()) + d * k * n,
                     IsSigned(quantized_weights.type()), k, n, panels);
    }
  }

  void PackPanels(const KernelInfo& info, size_t m, const Tensor& quantized_weights) {
    const Shape& shape = quantized_weights.shape();
    const Shape size{directions_, static_cast<int64_t>(GatePanelsSize(shape[1], shape[2]))};
    panels_[m] = SharedTensor(info, quantized_weights, "dynamic_quantize_lstm", ElementType::kInt8, size, [&] {
      auto made = std::make_shared<Tensor>(ElementType::kInt8, size, WeightMemory());
      Pack(info.threads(), quantized_weights, made->mutable_data<int8_t>());
      ForgetPages(quantized_weights.raw(), quantized_weights.byte_size());
      return made;
    });
  }

  void PackLimbs(const KernelInfo& info, size_t m, const Tensor& quantized_weights) {
    const int64_t k = quantized_weights.shape()[1], n = quantized_weights.shape()[2];
    const auto* bytes = static_cast<const uint8_t*>(quantized_weights.raw());
    if (k == 0 || n == 0) return;
    for (int64_t d = 0; d < directions_; ++d) {
      for (int64_t k0 = 0; k0 < k; k0 += GateMatrix::kDepth) {
        const WeightSource source{
            bytes + (d * k + k0) * n, IsSigned(quantized_weights.type()), n, std::min(GateMatrix::kDepth, k - k0), 1, n};
        limbs_[m].emplace_back(SharedWeights(info, quantized_weights, fmt::format("u8s8_limbs {} of {}", k0, d),
                                             {n, source.k, PanelLayout::kVectors},
                                             [&] { return PackWeightsS8(info.threads(), source, PanelLayout::kVectors); }));
      }
    }
    ForgetPages(bytes, quantized_weights.byte_size());
  }

  /// Zero points of what panels hold; null: all are 0.
  static const float* Zeros(KernelContext& context, const Tensor& zero) {
    const int32_t shift = IsSigned(zero.type()) ? 0 : 128;
    const std::span<float> zeros = context.scratch<float>(static_cast<size_t>(zero.num_elements()));
    for (size_t i = 0; i < zeros.size(); ++i)
      zeros[i] = static_cast<float>(QuantizedOf(zero, static_cast<int64_t>(i)) - shift);
    return std::ranges::all_of(zeros, [](float point) { return point == 0; }) ? nullptr : zeros.data();
  }

  /// W (0) or R (1), by direction.
  std::span<const GateMatrix> Matrices(KernelContext& context, size_t m) const {
    const Tensor &quantized_weights = context.required_input(1 + m), &scale = context.required_input(ScaleOf(m)),
                 &zero = context.required_input(ScaleOf(m) + 1);
    const int64_t k = quantized_weights.shape()[1], n = quantized_weights.shape()[2];
    const size_t size = GatePanelsSize(k, n);
    const int8_t* panels = nullptr;
    if (panels_[m] != nullptr) {
      panels = panels_[m]->data<int8_t>();
    } else if (limbs_[m].empty()) {
      CheckParameters(quantized_weights, scale, zero);
      int8_t* packed = context.scratch<int8_t>(CheckedMul(static_cast<size_t>(directions_), size)).data();
      Pack(context.threads(), quantized_weights, packed);
      panels = packed;
    }
    const int64_t scales_each = scale.num_elements() / directions_, zeros_each = zero.num_elements() / directions_;
    const float* zeros = Zeros(context, zero);
    const std::span<GateMatrix> matrices = context.scratch<GateMatrix>(static_cast<size_t>(directions_));
    const size_t parts = limbs_[m].size() / matrices.size();
    for (size_t i = 0; i < matrices.size(); ++i) {
      const auto d = static_cast<int64_t>(i);
      matrices[i] = {k,
                     n,
                     panels == nullptr ? nullptr : panels + i * size,
                     std::span(limbs_[m]).subspan(i * parts, parts),
                     {scale.data<float>() + d * scales_each, scales_each == 1 ? 0 : 1,
                      zeros == nullptr ? nullptr : zeros + d * zeros_each, zeros_each == 1 ? 0 : 1}};
    }
    return matrices;
  }

  int64_t HiddenOf(const Shape& r) const override { return r[1]; }

  void CheckWeights(const KernelContext& context, const RecurrentSizes& s) const override {
    const ElementType type = context.required_input(1).type();
    CheckInput(context, 1, "W", type, {s.directions, s.input, kGates * s.hidden});
    CheckInput(context, 2, "R", context.required_input(2).type(), {s.directions, s.hidden, kGates * s.hidden});
  }

  void InputMatMuls(KernelContext& context, const RecurrentSizes& s, const float* bias, float* gates) const override {
    const std::span<const GateMatrix> matrices = Matrices(context, 0);
    const int64_t rows = s.steps * s.batch, width = kGates * s.hidden;
    const float* x = context.required_input(0).data<float>();
    const auto workspace = context.scratch<std::byte>(
        CheckedMul(static_cast<size_t>(std::min(rows, kRowsTogether)), GateWorkspaceOfRow(s.input, width)));
    FillGates(context, s, bias, gates);
    for (const GateMatrix& matrix : matrices) {
      for (int64_t r = 0; r < rows; r += kRowsTogether) {
        AddGateMatMul(context.threads(), matrix, std::min(kRowsTogether, rows - r), x + r * s.input, gates + r * width,
                      width, workspace.data());
      }
      gates += rows * width;
    }
  }

  std::span<const void* const> StateWeights(KernelContext& context, const RecurrentSizes&) const override {
    const std::span<const GateMatrix> matrices = Matrices(context, 1);
    const std::span<const void*> pointers = context.scratch<const void*>(matrices.size());
    for (size_t d = 0; d < pointers.size(); ++d) pointers[d] = &matrices[d];
    return pointers;
  }

  size_t StateWorkspace(const RecurrentSizes& s) const override { return GateWorkspaceOfRow(s.hidden, kGates * s.hidden); }

  void AddMatMul(const RecurrentRun<float>& run, size_t part, const float* state, float* out, int64_t out_row,
                 bool accumulate, const float* bias) const override {
    const auto& matrix = *static_cast<const GateMatrix*>(run.packed_r[part]);
    for (int64_t r = 0; r < run.sizes.batch && !accumulate; ++r) {
      bias == nullptr ? std::fill_n(out + r * out_row, matrix.n, 0.0f) : std::copy_n(bias, matrix.n, out + r * out_row);
    }
    AddGateMatMul(*run.threads, matrix, run.sizes.batch, state, out, out_row, run.state_workspace);
  }

  // Of W and R. Neither: they are no constants.
  std::shared_ptr<const Tensor> panels_[2];
  std::vector<LimbWeights> limbs_[2];  // by direction and part
};

}  // namespace

void RegisterDynamicQuantizeLstm(KernelRegistry& registry) {
  registry.Add(Op("DynamicQuantizeLSTM", "com.microsoft").Types(0, {ElementType::kFloat}).Make<DynamicQuantizeLstm>());
}

}  // namespace tessera::cpu
