// Nearest resampling: rows of the output are gathered from rows of the input by element size; repeated rows are copied.

#include <algorithm>
#include <complex>
#include <cstring>
#include <string>

#include "base/cancellable_memory.h"
#include "cpu/engine/on_texts.h"
#include "cpu/ops/image/resample.h"
#include "cpu/types.h"
#include "kernels/image/resample.h"

namespace tessera::cpu {
namespace {

template <int kBytes>
struct Element {
  unsigned char bytes[kBytes];
};

/// The last resized axis and what is contiguous behind it: one row of the output.
struct RowGather {
  const int32_t* first;
  const uint8_t* outside;  // null: never
  int64_t count;
  size_t block;  // bytes of one position
  int repeat;    // >= 2 when first[o] == o / repeat throughout
  const void* fill;
};

/// Positions [begin, end) of a row; whole repetitions.
template <class T>
void GatherElements(const RowGather& row, int64_t begin, int64_t end, const void* source, void* target) {
  const T* __restrict in = static_cast<const T*>(source);
  T* __restrict out = static_cast<T*>(target);
  if (row.repeat > 1) {
    out += begin;
    for (int64_t i = begin / row.repeat; i < end / row.repeat; ++i) {
      for (int r = 0; r < row.repeat; ++r) *out++ = in[i];
    }
  } else {
    for (int64_t i = begin; i < end; ++i) out[i] = in[row.first[i]];
  }
}

void GatherBlocks(const RowGather& row, int64_t begin, int64_t end, const void* source, void* target) {
  const auto* in = static_cast<const unsigned char*>(source);
  auto* out = static_cast<unsigned char*>(target);
  for (int64_t i = begin; i < end; ++i)
    std::memcpy(out + static_cast<size_t>(i) * row.block, in + static_cast<size_t>(row.first[i]) * row.block, row.block);
}

void GatherPositions(const RowGather& row, int64_t begin, int64_t end, const void* source, void* target) {
  switch (row.block) {
    case 1: return GatherElements<uint8_t>(row, begin, end, source, target);
    case 2: return GatherElements<uint16_t>(row, begin, end, source, target);
    case 3: return GatherElements<Element<3>>(row, begin, end, source, target);
    case 4: return GatherElements<uint32_t>(row, begin, end, source, target);
    case 8: return GatherElements<uint64_t>(row, begin, end, source, target);
    case 12: return GatherElements<Element<12>>(row, begin, end, source, target);
    case 16: return GatherElements<Element<16>>(row, begin, end, source, target);
    case 32:  // a pixel of an NCHW8c image
      return GatherElements<Element<32>>(row, begin, end, source, target);
    default: return GatherBlocks(row, begin, end, source, target);
  }
}

double GatherCost(const RowGather& row) { return 0.4 + static_cast<double>(row.block) * 0.05; }

void GatherRow(const RowGather& row, const void* source, void* target) {
  const int64_t repeat = row.repeat;
  InCancellablePieces(
      0, row.count / repeat, GatherCost(row) * static_cast<double>(repeat),
      [&](int64_t begin, int64_t end) { GatherPositions(row, begin * repeat, end * repeat, source, target); });
}

int RepeatFactor(const AxisTable& table) {
  if (table.out % table.in != 0 || table.out / table.in < 2 || table.out / table.in > 64) return 1;
  const int64_t repeat = table.out / table.in;
  PacedCancellationPoint look(2);
  for (int64_t o = 0; o < table.out; ++o) {
    look.Pass();
    if (table.first[static_cast<size_t>(o)] != o / repeat) return 1;
  }
  return static_cast<int>(repeat);
}

/// The extrapolation value as an element of `type`; zero bytes for types that are not numbers.
void MakeFill(ElementType type, float value, void* fill) {
  std::memset(fill, 0, 16);
  if (type == ElementType::kComplex64 || type == ElementType::kFloat) {
    std::memcpy(fill, &value, sizeof(value));
  } else if (type == ElementType::kComplex128) {
    const double wide = value;
    std::memcpy(fill, &wide, sizeof(wide));
  } else if (type == ElementType::kBool) {
    *static_cast<uint8_t*>(fill) = value != 0;
  } else if (ToTypeSet(FloatTypes{}).contains(type)) {
    VisitType(FloatTypes{}, type, [&]<class T>() {
      const T element = static_cast<T>(value);
      std::memcpy(fill, &element, sizeof(T));
    });
  } else if (kInts.contains(type)) {
    VisitType(IntTypes{}, type, [&]<class T>() {
      const double low = static_cast<double>(std::numeric_limits<T>::min());
      const double high = static_cast<double>(std::numeric_limits<T>::max());
      const double rounded = std::nearbyint(static_cast<double>(value));
      T element = 0;
      if (rounded >= high) {
        element = std::numeric_limits<T>::max();
      } else if (rounded > low) {
        element = static_cast<T>(rounded);
      } else if (rounded <= low) {
        element = std::numeric_limits<T>::min();
      }
      std::memcpy(fill, &element, sizeof(T));
    });
  }
}

void FillBlocks(void* target, size_t bytes, const void* fill, size_t element) {
  auto* out = static_cast<unsigned char*>(target);
  InCancellablePieces(0, static_cast<int64_t>(bytes / element), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::memcpy(out + static_cast<size_t>(i) * element, fill, element);
  });
}

struct Layout {
  std::span<const ResampleDim> outer;  // every axis but the row's
  int64_t rows = 1;
  RowGather row{};
  int64_t row_in = 1;  // source positions of one row
};

Layout MakeLayout(const ResamplePlan& plan, size_t element) {
  Layout layout;
  std::span<const ResampleDim> dims = plan.dims;
  size_t block = element;
  if (dims.back().table == nullptr) {
    block *= static_cast<size_t>(dims.back().in);
    dims = dims.first(dims.size() - 1);
  }
  const AxisTable& table = *dims.back().table;
  layout.outer = dims.first(dims.size() - 1);
  for (const ResampleDim& dim : layout.outer) layout.rows *= dim.out;
  layout.row_in = table.in;
  layout.row = {table.first.data(),  table.outside.empty() ? nullptr : table.outside.data(),
                table.out,           block,
                RepeatFactor(table), nullptr};
  return layout;
}

/// Source row of output row `row`; -1 when it lies outside.
int64_t SourceRow(std::span<const ResampleDim> outer, int64_t row) {
  int64_t source = 0, stride = 1;
  for (size_t i = outer.size(); i-- > 0;) {
    const ResampleDim& dim = outer[i];
    const int64_t position = row % dim.out;
    row /= dim.out;
    if (dim.table == nullptr) {
      source += position * stride;
    } else {
      if (!dim.table->outside.empty() && dim.table->outside[static_cast<size_t>(position)]) return -1;
      source += dim.table->first[static_cast<size_t>(position)] * stride;
    }
    stride *= dim.in;
  }
  return source;
}

/// The source rows of consecutive output rows, without divisions within the last of the outer axes.
class SourceRows {
 public:
  SourceRows(std::span<const ResampleDim> outer, int64_t row)
      : last_(outer.empty() ? kOne : outer.back()), before_(outer.first(outer.empty() ? 0 : outer.size() - 1)) {
    position_ = row % last_.out;
    group_ = row / last_.out;
    base_ = SourceRow(before_, group_);
  }

  int64_t Next() {
    if (position_ == last_.out) {
      position_ = 0;
      base_ = SourceRow(before_, ++group_);
    }
    const auto at = static_cast<size_t>(position_++);
    if (base_ < 0) return -1;
    if (last_.table == nullptr) return base_ * last_.in + static_cast<int64_t>(at);
    if (!last_.table->outside.empty() && last_.table->outside[at]) return -1;
    return base_ * last_.in + last_.table->first[at];
  }

 private:
  static constexpr ResampleDim kOne{.in = 1, .out = 1, .table = nullptr};
  const ResampleDim last_;
  const std::span<const ResampleDim> before_;
  int64_t position_, group_, base_;
};

void GatherStrings(KernelContext& context, const ResamplePlan& plan, const Tensor& input, const Shape& shape) {
  const Layout layout = MakeLayout(plan, 1);
  const std::string* in = input.data<std::string>();
  const auto texts = context.scratch<std::string_view>(static_cast<size_t>(shape.num_elements()));
  std::string_view* out = texts.data();
  const auto block = static_cast<int64_t>(layout.row.block);
  PacedCancellationPoint look(5);
  for (int64_t r = 0; r < layout.rows; ++r) {
    const int64_t source = SourceRow(layout.outer, r);
    for (int64_t o = 0; o < layout.row.count; ++o, out += block) {
      look.Pass(block);
      const bool outside = source < 0 || (layout.row.outside != nullptr && layout.row.outside[o]);
      if (outside) {
        std::fill_n(out, block, std::string_view());
      } else {
        std::copy_n(in + (source * layout.row_in + layout.row.first[o]) * block, block, out);
      }
    }
  }
  WriteTexts(context, 0, shape, texts);
}

}  // namespace

void ResampleNearest(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output) {
  if (input.is(ElementType::kString)) return GatherStrings(context, plan, input, output.shape());
  const size_t element = static_cast<size_t>(BitWidth(input.type())) / 8;
  Layout layout = MakeLayout(plan, element);
  alignas(16) unsigned char fill[16];
  MakeFill(input.type(), plan.options.extrapolation_value, fill);

  const RowGather& row = layout.row;
  const size_t in_bytes = static_cast<size_t>(layout.row_in) * row.block;
  const size_t out_bytes = static_cast<size_t>(row.count) * row.block;
  const auto* in = static_cast<const unsigned char*>(input.raw());
  auto* out = static_cast<unsigned char*>(output.mutable_raw());
  const double cost = static_cast<double>(row.count) * GatherCost(row);
  const bool brief = cost < kCancellationPointNs;  // what has no cancellation points
  const RepeatTwice twice = row.repeat == 2 && row.outside == nullptr && brief ? FindRepeatTwice(row.block) : nullptr;
  context.threads().ParallelFor(layout.rows, cost, [&](int64_t begin, int64_t end) {
    SourceRows sources(layout.outer, begin);
    int64_t source = sources.Next(), next = -1, rows = 0;
    for (int64_t r = begin; r < end; r += rows, source = next) {
      // Rows of the same source are made once.
      for (rows = 1; r + rows < end && (next = sources.Next()) == source; ++rows) {
      }
      unsigned char* target = out + static_cast<size_t>(r) * out_bytes;
      if (source < 0) {
        FillBlocks(target, static_cast<size_t>(rows) * out_bytes, fill, element);
        continue;
      }
      const unsigned char* from = in + static_cast<size_t>(source) * in_bytes;
      if (twice != nullptr) {
        twice(from, layout.row_in, target, rows);
        continue;
      }
      GatherRow(row, from, target);
      if (row.outside != nullptr) {
        PacedCancellationPoint look(1);
        for (int64_t o = 0; o < row.count; ++o) {
          look.Pass();
          if (row.outside[o]) FillBlocks(target + static_cast<size_t>(o) * row.block, row.block, fill, element);
        }
      }
      for (int64_t copy = 1; copy < rows; ++copy)
        CopyBytesCancellably(target + static_cast<size_t>(copy) * out_bytes, target, out_bytes);
    }
  });
}

}  // namespace tessera::cpu
