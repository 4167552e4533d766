#include "cpu/ops/microsoft/nbits_gemm.h"

#include <atomic>

#include "base/rounding.h"
#include "base/weight_memory.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/nbits/quantized.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr size_t kCacheLine = 64;

void MultiplyFew(KernelContext& context, const NBitsWeights& w, int64_t rows, const float* a, const float* bias, float* c) {
  const int64_t padded = ArrangedNBitsSize(w);
  const auto arranged = context.scratch<float>(static_cast<size_t>(rows * padded));
  const auto sums = context.scratch<float>(static_cast<size_t>(rows * w.blocks));
  for (int64_t r = 0; r < rows; ++r)
    ArrangeForNBits(w, a + r * w.k, arranged.data() + r * padded, sums.data() + r * w.blocks);
  const double cost = static_cast<double>(padded) * (0.08 + 0.04 * static_cast<double>(rows));
  context.threads().ParallelFor(w.n, cost, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < rows; r += kNBitsRows) {
      MultiplyNBits(w, std::min(kNBitsRows, rows - r), arranged.data() + r * padded, sums.data() + r * w.blocks, begin, end,
                    bias, c + r * w.n, w.n);
    }
  });
}

/// Bytes that each row needs.
size_t QuantizedWorkspace(const NBitsWeights& w, int limbs) {
  const auto groups = static_cast<size_t>(NBitsGroups(w)), blocks = static_cast<size_t>(w.blocks);
  return RoundUp<size_t>(static_cast<size_t>(QuantizedNBitsSize(w, limbs)), kCacheLine) +
         RoundUp(3 * groups * sizeof(float), kCacheLine) + RoundUp(blocks * sizeof(float), kCacheLine);
}

/// The GEMM with A as integers of the choice's limbs. False where these cannot stand for A.
bool MultiplyQuantized(KernelContext& context, const NBitsWeights& w, const NBitsChoice& choice, int64_t rows,
                       const float* a, const float* bias, float* c) {
  ThreadPool& threads = context.threads();
  const int64_t groups = NBitsGroups(w);
  const int limbs = choice.limbs;
  std::byte* workspace = context.scratch<std::byte>(static_cast<size_t>(rows) * QuantizedWorkspace(w, limbs)).data();
  const bool few = choice.few();
  QuantizedRows quantized{.quantized = reinterpret_cast<int8_t*>(workspace), .limbs = limbs, .few = few};
  quantized.scales =
      reinterpret_cast<float*>(workspace + rows * RoundUp<int64_t>(QuantizedNBitsSize(w, limbs), kCacheLine));
  quantized.unit_sums = quantized.scales + rows * groups;
  quantized.starts = reinterpret_cast<int32_t*>(quantized.unit_sums + rows * groups);
  quantized.block_sums = reinterpret_cast<float*>(quantized.starts + rows * groups);
  const auto work = static_cast<double>(groups) * (32 / w.bits);
  std::atomic<bool> exact = true;
  threads.ParallelFor(rows, work * 0.1 * limbs, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (!QuantizeForNBits(w, a + r * w.k, quantized.From(w, groups, r))) exact = false;
    }
  });
  if (!exact) return false;
  if (few) {
    const double row_cost = 0.01 + 0.005 * limbs;
    threads.ParallelFor(w.n, work * (0.03 + row_cost * static_cast<double>(rows)), [&](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < rows; r += kNBitsRows) {
        MultiplyQuantizedNBits(w, std::min(kNBitsRows, rows - r), quantized.From(w, groups, r), begin, end, bias,
                               c + r * w.n, w.n);
      }
    });
    return true;
  }
  const PanelTasks tasks = ChooseNBitsTasks(w, rows, limbs, threads.num_threads());
  const int64_t width = QuantizedNBitsWidth(), parts = tasks.row_tasks;
  threads.ParallelFor(tasks.tasks(), tasks.task_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n0 = i / parts * width, part = i % parts;
      MultiplyQuantizedNBitsPanels(w, quantized, rows * part / parts, rows * (part + 1) / parts, n0,
                                   std::min(w.n, n0 + width), bias, c, w.n);
    }
  });
  return true;
}

}  // namespace

std::shared_ptr<const Tensor> ConstantAsFloats(const KernelInfo& info, size_t input) {
  const Tensor* fp16 = info.constant_input(input);
  const bool float16 = fp16 != nullptr && fp16->is(ElementType::kFloat16);
  if (!float16 && (fp16 == nullptr || !fp16->is(ElementType::kBFloat16))) return nullptr;
  return SharedTensor(info, *fp16, "as_float", ElementType::kFloat, fp16->shape(), [&] {
    auto converted = std::make_shared<Tensor>(ElementType::kFloat, fp16->shape(), WeightMemory());
    float* to = converted->mutable_data<float>();
    float16 ? ConvertToFloat(info.threads(), fp16->data<Float16>(), to, fp16->num_elements())
            : ConvertToFloat(info.threads(), fp16->data<BFloat16>(), to, fp16->num_elements());
    return converted;
  });
}

void MultiplyByNBits(KernelContext& context, const NBitsWeights& weights, bool quantizes, int64_t rows, const float* a,
                     const float* bias, float* c, bool shares_panels) {
  NBitsChoice choice = ChooseNBitsGemm(weights, rows, quantizes);
  if (choice.quantized()) {
    if (MultiplyQuantized(context, weights, choice, rows, a, bias, c)) return;
    choice = ChooseNBitsGemm(weights, rows, false, false);
  }
  if (choice.few()) return MultiplyFew(context, weights, rows, a, bias, c);
  const NBitsPanels panels(weights, nullptr);
  const GemmProblem<float> args = panels.MakeGemm(rows, a, bias, c);
  if (shares_panels) {
    RunGemms<float>(context, 1, [&](int64_t) { return args; });
  } else {
    Gemm(context.threads(), args);
  }
}

}  // namespace tessera::cpu
