#include "cpu/ops/nn/packed_matrices.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/work_array.h"
#include "cpu/rounding.h"
#include "kernels/gemm/gemm_bf16.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kBlock = 1024;  // floats that are checked together

bool FitsBFloat16(const float* values, int64_t count) {
  uint32_t low = 0;
  for (int64_t i = 0; i < count; ++i) low |= std::bit_cast<uint32_t>(values[i]) & 0xffff;
  return low == 0;
}

bool FitsFloat16(const float* values, int64_t count) {
  Float16 narrow[kBlock];
  float wide[kBlock];
  ConvertFromFloat(values, narrow, count);
  ConvertToFloat(narrow, wide, count);
  return std::memcmp(values, wide, static_cast<size_t>(count) * sizeof(float)) == 0;
}

/// Whether `fits` holds for all blocks of a constant of floats, at any address. The first that does not ends the
/// search.
template <class Fits>
bool AllFit(ThreadPool& threads, const Tensor& constant, const Fits& fits) {
  const auto* values = static_cast<const std::byte*>(constant.unaligned_raw());
  const int64_t elements = constant.num_elements();
  std::atomic<bool> all = true;
  threads.ParallelFor(CeilDiv(elements, kBlock), kBlock * 0.3, [&](int64_t begin, int64_t end) {
    float block[kBlock];
    for (int64_t i = begin; i < end && all.load(std::memory_order_relaxed); ++i) {
      const int64_t count = std::min(kBlock, elements - i * kBlock);
      std::memcpy(block, values + i * kBlock * static_cast<int64_t>(sizeof(float)),
                  static_cast<size_t>(count) * sizeof(float));
      if (!fits(block, count)) all = false;
    }
  });
  return all;
}

constexpr int64_t kMostWidth = 64;  // columns of a panel
constexpr int64_t kTogether = 128;  // rows of a panel that are converted together

/// Rows of a panel, as floats first. Elements of S may have any address.
template <class S>
class PanelConverter {
 public:
  PanelConverter(int64_t row, bool transposed, PanelType type) : row_(row), transposed_(transposed), type_(type) {}

  void Pack(const S* from, int64_t depth, int64_t width, void* packed, int64_t to) {
    const int64_t panel_width = GemmPanelWidth<float>();
    for (int64_t p = 0; p < depth; p += kTogether) {
      const int64_t rows = std::min(kTogether, depth - p), at = to + p * panel_width;
      float* panel = type_ == PanelType::kWhole ? static_cast<float*>(packed) + at : panel_;
      PackRows(from + p * (transposed_ ? 1 : row_), rows, width, panel);
      if (type_ != PanelType::kWhole) NarrowGemmPanel(type_, panel, rows, static_cast<uint16_t*>(packed) + at);
    }
  }

 private:
  void PackRows(const S* from, int64_t rows, int64_t width, float* panel) {
    const int64_t num_rows = transposed_ ? width : rows, length = transposed_ ? rows : width;
    if constexpr (std::is_same_v<S, float>) {
      PackGemmPanel<float>(from, transposed_ ? 1 : row_, transposed_ ? row_ : 1, rows, width, panel);
    } else {
      for (int64_t i = 0; i < num_rows; ++i) {
        S loaded[kTogether];
        std::memcpy(loaded, reinterpret_cast<const std::byte*>(from) + i * row_ * static_cast<int64_t>(sizeof(S)),
                    static_cast<size_t>(length) * sizeof(S));
        ConvertToFloat(loaded, rows_as_float_ + i * length, length);
      }
      PackGemmPanel<float>(rows_as_float_, transposed_ ? 1 : length, transposed_ ? length : 1, rows, width, panel);
    }
  }

  int64_t row_;  // elements from row to row of the matrix
  bool transposed_;
  PanelType type_;
  const WorkArray<float> rows_as_float_{kTogether * kMostWidth};
  const WorkArray<float> panel_{kTogether * kMostWidth};
};

}  // namespace

PanelType PanelTypeFor(ThreadPool& threads, const Tensor& matrices) {
  const bool float16 = HasGemmPanels(PanelType::kFloat16);
  if (matrices.is(ElementType::kBFloat16)) return PanelType::kBFloat16;
  if (matrices.is(ElementType::kFloat16)) return float16 ? PanelType::kFloat16 : PanelType::kWhole;
  if (AllFit(threads, matrices, FitsBFloat16)) return PanelType::kBFloat16;
  return float16 && AllFit(threads, matrices, FitsFloat16) ? PanelType::kFloat16 : PanelType::kWhole;
}

template <class S>
void PackMatrix(ThreadPool& threads, int64_t k, int64_t n, const S* b, bool transposed, PanelType type, void* packed) {
  VisitPanelsInStrips<float>(threads, k, n, b, transposed, [&](const S* from, int64_t depth, int64_t width, int64_t to) {
    PanelConverter<S>(transposed ? k : n, transposed, type).Pack(from, depth, width, packed, to);
  });
}

template void PackMatrix(ThreadPool&, int64_t, int64_t, const float*, bool, PanelType, void*);
template void PackMatrix(ThreadPool&, int64_t, int64_t, const Float16*, bool, PanelType, void*);
template void PackMatrix(ThreadPool&, int64_t, int64_t, const BFloat16*, bool, PanelType, void*);

namespace {

Shape PanelShape(int64_t count, int64_t k, int64_t n) {
  return {count, static_cast<int64_t>(PackedGemmBSize<float>(k, n))};
}

template <class S>
Tensor PackAs(PanelType type, ThreadPool& threads, const Tensor& matrices, int64_t count, int64_t k, int64_t n,
              bool transposed) {
  Tensor packed(ElementOf(type), PanelShape(count, k, n), WeightMemory());
  auto* to = static_cast<std::byte*>(packed.mutable_raw());
  const auto* from = static_cast<const S*>(matrices.unaligned_raw());
  for (int64_t i = 0; i < count; ++i, from += k * n, to += packed.byte_size() / static_cast<size_t>(count)) {
    PackMatrix<S>(threads, k, n, from, transposed, type, to);
  }
  return packed;
}

/// One matrix as pairs of bfloat16, whose panels may begin in the middle of a strip of it.
template <class S>
void PackPairs(ThreadPool& threads, const Tensor& matrix, int64_t k, int64_t n, bool transposed, BFloat16* packed) {
  const int64_t panel = GemmPanelWidth<float>() * k, paired_panel = GemmPanelWidth<float>() * PairedSize(k);
  const auto* from = static_cast<const S*>(matrix.unaligned_raw());
  VisitPanelsInStrips<float>(threads, k, n, from, transposed, [&](const S* b, int64_t depth, int64_t width, int64_t to) {
    PackGemmBf16Panel(b, transposed ? k : n, transposed, depth, width, packed + to / panel * paired_panel + to % panel);
  });
}

std::shared_ptr<Tensor> PackAsPairs(ThreadPool& threads, const Tensor& matrix, int64_t k, int64_t n, bool transposed) {
  auto packed = std::make_shared<Tensor>(ElementType::kBFloat16, Shape{1, static_cast<int64_t>(PackedGemmBf16Size(k, n))},
                                         WeightMemory());
  const auto pack = matrix.is(ElementType::kFloat)     ? PackPairs<float>
                    : matrix.is(ElementType::kFloat16) ? PackPairs<Float16>
                                                       : PackPairs<BFloat16>;
  pack(threads, matrix, k, n, transposed, packed->mutable_data<BFloat16>());
  return packed;
}

}  // namespace

Tensor PackAsPanels(ThreadPool& threads, const Tensor& matrices, int64_t count, int64_t k, int64_t n, bool transposed) {
  const PanelType type = PanelTypeFor(threads, matrices);
  const auto pack = matrices.is(ElementType::kFloat)     ? PackAs<float>
                    : matrices.is(ElementType::kFloat16) ? PackAs<Float16>
                                                         : PackAs<BFloat16>;
  return pack(type, threads, matrices, count, k, n, transposed);
}

PackedMatrices PackFloatMatrices(const KernelInfo& info, size_t i, int64_t count, int64_t k, int64_t n, bool transposed) {
  const Tensor* constant = info.constant_input(i);
  if (constant == nullptr || constant->num_elements() == 0) return {};
  if (std::find(std::begin(kPanelElements), std::end(kPanelElements), constant->type()) == std::end(kPanelElements))
    return {};
  const std::string form = transposed ? "gemm_b_transposed" : "gemm_b";
  const Shape shape = PanelShape(count, k, n), pairs_shape{1, static_cast<int64_t>(PackedGemmBf16Size(k, n))};
  PackedMatrices packed;
  switch (RoundingOf(info.provider(), info.graph(), info.node())) {
    case Rounding::kNone:
      packed = PackedMatrices(SharedTensor(info, *constant, form, kPanelElements, shape, [&] {
        return std::make_shared<Tensor>(PackAsPanels(info.threads(), *constant, count, k, n, transposed));
      }));
      break;
    case Rounding::kWeights:
      packed = PackedMatrices(SharedTensor(info, *constant, form + ".rounded", ElementType::kBFloat16, shape, [&] {
        return std::make_shared<Tensor>(
            PackAs<float>(PanelType::kBFloat16, info.threads(), *constant, count, k, n, transposed));
      }));
      break;
    case Rounding::kOperands:
      packed = PackedMatrices(SharedTensor(info, *constant, form + ".bf16", ElementType::kBFloat16, pairs_shape,
                                           [&] { return PackAsPairs(info.threads(), *constant, k, n, transposed); }),
                              PanelType::kPairs);
      break;
  }
  info.ReleaseConstant(i);
  return packed;
}

}  // namespace tessera::cpu
