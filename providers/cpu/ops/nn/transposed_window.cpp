#include "cpu/ops/nn/transposed_window.h"

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/nn/multi_index.h"

namespace tessera::cpu {

TransposedTables::TransposedTables(KernelContext& context, const Window& window)
    : context_(context), window_(window), last_(window.rank() - 1) {
  geometry_.output_width = window.input[last_];
  geometry_.input_width = window.output[last_];
  geometry_.stride = window.strides[last_];
  geometry_.kernel_width = window.kernel[last_];
  geometry_.phases = std::min(geometry_.stride, geometry_.output_width);
  FindColumns();
  FindMeetings();
}

void TransposedTables::FindColumns() {
  const int64_t stride = geometry_.stride;
  const auto starts = context_.scratch<int64_t>(static_cast<size_t>(geometry_.phases + 1));
  const auto columns = context_.scratch<TransposedColumn>(static_cast<size_t>(geometry_.kernel_width));
  std::fill(starts.begin(), starts.end(), 0);
  const auto shift_of = [&](int64_t k) {
    const int64_t x = k * window_.dilations[last_] - window_.begin[last_];
    return x >= 0 ? x / stride : -((stride - 1 - x) / stride);
  };
  const auto phase_of = [&](int64_t k) {
    return k * window_.dilations[last_] - window_.begin[last_] - shift_of(k) * stride;
  };
  for (int64_t k = 0; k < geometry_.kernel_width; ++k) {
    if (phase_of(k) < geometry_.phases) ++starts[static_cast<size_t>(phase_of(k) + 1)];
  }
  for (size_t i = 1; i < starts.size(); ++i) {
    most_columns_ = std::max(most_columns_, starts[i]);
    starts[i] += starts[i - 1];
  }
  for (int64_t k = geometry_.kernel_width; k-- > 0;) {
    const int64_t phase = phase_of(k), shift = shift_of(k);
    if (phase >= geometry_.phases) continue;
    const int64_t pixels = CeilDiv(geometry_.output_width - phase, stride);
    const int64_t first = std::clamp<int64_t>(shift, 0, pixels);
    columns[static_cast<size_t>(--starts[static_cast<size_t>(phase + 1)])] = {
        k, shift, first, std::clamp<int64_t>(geometry_.input_width + shift, first, pixels)};
  }
  // Each start has moved down to where its phase begins.
  for (size_t i = 0; i + 1 < starts.size(); ++i) starts[i] = starts[i + 1];
  int64_t used = 0;
  for (int64_t k = 0; k < geometry_.kernel_width; ++k) used += phase_of(k) < geometry_.phases ? 1 : 0;
  starts.back() = used;
  geometry_.phase_starts = starts.data();
  geometry_.columns = columns.data();
}

int64_t TransposedTables::MeetingRow(const Shape& kernel, const Shape& input) const {
  int64_t row = 0;
  for (size_t i = 0; i < last_; ++i) {
    const int64_t pixel = input[i] * window_.strides[i] + kernel[i] * window_.dilations[i] - window_.begin[i];
    if (pixel < 0 || pixel >= window_.input[i]) return -1;
    row = row * window_.input[i] + pixel;
  }
  return row;
}

void TransposedTables::FindMeetings() {
  for (size_t i = 0; i < last_; ++i) output_rows_ = CheckedMul(output_rows_, window_.input[i]);
  const auto kernel_rows = window_.kernel.dims().first(last_), input_rows = window_.output.dims().first(last_);
  const auto starts = context_.scratch<int64_t>(static_cast<size_t>(CheckedAdd(output_rows_, int64_t{1})));
  std::fill(starts.begin(), starts.end(), 0);
  const auto visit = [&](auto&& body) {
    PacedCancellationPoint look(5);
    int64_t kernel_row = 0;
    ForEachIndex(kernel_rows, [&](const Shape& kernel) {
      int64_t input_row = 0;
      ForEachIndex(input_rows, [&](const Shape& input) {
        look.Pass();
        const int64_t row = MeetingRow(kernel, input);
        if (row >= 0) body(row, TransposedMeeting{kernel_row, input_row});
        ++input_row;
      });
      ++kernel_row;
    });
  };
  int64_t count = 0;
  visit([&](int64_t row, const TransposedMeeting&) {
    most_meetings_ = std::max(most_meetings_, ++starts[static_cast<size_t>(row)]);
    ++count;
  });
  const auto meetings = context_.scratch<TransposedMeeting>(static_cast<size_t>(count));
  for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  visit([&](int64_t row, const TransposedMeeting& meeting) {
    meetings[static_cast<size_t>(--starts[static_cast<size_t>(row)])] = meeting;
  });
  geometry_.row_starts = starts.data();
  geometry_.meetings = meetings.data();
}

}  // namespace tessera::cpu
