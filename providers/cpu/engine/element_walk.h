#pragma once

// GatherElements and ScatterElements walk the positions of `indices` and address `data` with the same position, but for one
// axis whose coordinate is the index.

#include "cpu/engine/indices.h"

namespace tessera::cpu {

class ElementWalk {
 public:
  /// `axis` is that of ElementsAxis.
  ElementWalk(const Shape& data, const Shape& indices, size_t axis) {
    const size_t rank = data.rank();
    axis_size = data[axis];
    if (indices.num_elements() == 0) return;
    empty = false;
    int64_t stride = data.num_elements();
    if (axis_size == 0) stride = 0;  // every index will be refused
    for (size_t i = 0; i < rank; ++i) {
      stride = data[i] == 0 ? 0 : stride / data[i];
      if (i == axis) axis_stride = stride;
      Add(indices[i], i == axis ? 0 : stride, i == axis);
    }
    if (count == 0) Add(1, 0, true);
  }

  struct Dim {
    int64_t size;
    int64_t stride;  // in data; 0 on the axis
    bool is_axis;
  };

  /// The dimension other than the axis that has most positions: threads may share it out, their elements never meet.
  int SharedDim() const {
    int best = -1;
    for (int i = 0; i < count; ++i) {
      if (!dims[i].is_axis && (best < 0 || dims[i].size > dims[best].size)) best = i;
    }
    return best;
  }

  /// Calls row(position, offset, length, stride) for each innermost row: `position` in indices, `offset` in data; positions
  /// of dimension `shared` only in [begin, end).
  template <class Row>
  void ForEachRow(int shared, int64_t begin, int64_t end, Row&& row) const {
    int64_t lower[kMaxRank], upper[kMaxRank], at[kMaxRank], step[kMaxRank];
    int64_t size = 1;
    for (int i = count - 1; i >= 0; --i) {
      step[i] = size;
      size *= dims[i].size;
      lower[i] = at[i] = i == shared ? begin : 0;
      upper[i] = i == shared ? end : dims[i].size;
      if (lower[i] >= upper[i]) return;
    }
    const int last = count - 1;
    while (true) {
      int64_t position = lower[last], offset = lower[last] * dims[last].stride;
      for (int i = 0; i < last; ++i) {
        position += at[i] * step[i];
        offset += at[i] * dims[i].stride;
      }
      row(position, offset, upper[last] - lower[last], dims[last].stride);
      int i = last - 1;
      for (; i >= 0; --i) {
        if (++at[i] < upper[i]) break;
        at[i] = lower[i];
      }
      if (i < 0) return;
    }
  }

  static constexpr int kMaxRank = 64;  // dimensions of size 1 are left out
  Dim dims[kMaxRank];
  int count = 0;
  bool empty = true;
  int64_t axis_size = 0;
  int64_t axis_stride = 0;

 private:
  void Add(int64_t size, int64_t stride, bool is_axis) {
    if (size == 1 && count > 0) return;
    if (count > 0) {
      Dim& outer = dims[count - 1];
      if (outer.size == 1) {
        outer = {size, stride, is_axis};
        return;
      }
      if (!outer.is_axis && !is_axis && outer.stride == stride * size) {
        outer = {outer.size * size, stride, false};
        return;
      }
    }
    dims[count++] = {size, stride, is_axis};
  }
};

}  // namespace tessera::cpu
