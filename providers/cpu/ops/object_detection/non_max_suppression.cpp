// NonMaxSuppression (ai.onnx 10, 11).

#include <algorithm>
#include <bit>
#include <functional>

#include "base/cancellable_sort.h"
#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/image/boxes.h"

namespace tessera::cpu {
namespace {

struct Limits {
  int64_t max_output = 0;
  float iou = 0;
  bool by_score = false;
  float score = 0;
};

/// Boxes of one image as corners, whatever their order was.
void ToCorners(const float* boxes, int64_t count, bool center, const BoxArrays& corners) {
  PacedCancellationPoint look(3);
  for (int64_t i = 0; i < count; ++i, boxes += 4) {
    look.Pass();
    float x_min, x_max, y_min, y_max;
    if (center) {
      const float half_width = boxes[2] / 2, half_height = boxes[3] / 2;
      x_min = boxes[0] - half_width;
      x_max = boxes[0] + half_width;
      y_min = boxes[1] - half_height;
      y_max = boxes[1] + half_height;
    } else {
      x_min = std::min(boxes[1], boxes[3]);
      x_max = std::max(boxes[1], boxes[3]);
      y_min = std::min(boxes[0], boxes[2]);
      y_max = std::max(boxes[0], boxes[2]);
    }
    corners.x_min[i] = x_min;
    corners.x_max[i] = x_max;
    corners.y_min[i] = y_min;
    corners.y_max[i] = y_max;
    corners.area[i] = (x_max - x_min) * (y_max - y_min);
  }
}

/// Orders by score, then by lower index first, when sorted descending. Total even with NaN among the scores.
uint64_t SortKey(float score, uint32_t index) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);
  const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(ordered) << 32 | (~index & 0xffffffffu);
}

/// Greedy selection in one class of one image. Writes box indices, returns how many.
int64_t Select(const float* scores, int64_t boxes, const BoxArrays& corners, const Limits& limits, uint64_t* keys,
               const BoxArrays& selected, int32_t* result) {
  int64_t candidates = 0;
  PacedCancellationPoint look(2);
  for (int64_t i = 0; i < boxes; ++i) {
    look.Pass();
    keys[candidates] = SortKey(scores[i], static_cast<uint32_t>(i));
    candidates += !limits.by_score || scores[i] > limits.score;
  }
  // The best candidates are sorted first, more only when those do not suffice.
  int64_t count = 0, sorted = 0;
  for (int64_t next = 0; next < candidates && count < limits.max_output; ++next) {
    if (next == sorted) {
      const int64_t end = std::min(candidates, sorted + std::max<int64_t>(512, 2 * limits.max_output));
      if (end < candidates) NthElementCancellably(keys + sorted, keys + end, keys + candidates, std::greater<>());
      SortCancellably(keys + sorted, keys + end, std::greater<>());
      sorted = end;
    }
    look.Pass(8 + count);
    const auto box = static_cast<int32_t>(~static_cast<uint32_t>(keys[next]));
    const float x_min = corners.x_min[box], y_min = corners.y_min[box], x_max = corners.x_max[box],
                y_max = corners.y_max[box];
    const float area = corners.area[box];
    if (OverlapsAny(selected, count, x_min, y_min, x_max, y_max, area, limits.iou)) continue;
    selected.x_min[count] = x_min;
    selected.y_min[count] = y_min;
    selected.x_max[count] = x_max;
    selected.y_max[count] = y_max;
    selected.area[count] = area;
    result[count++] = box;
  }
  return count;
}

BoxArrays Slice(float* memory, int64_t stride) {
  return {memory, memory + stride, memory + 2 * stride, memory + 3 * stride, memory + 4 * stride};
}

template <class T>
bool ReadScalar(KernelContext& context, size_t index, T& value) {
  const Tensor* tensor = context.input(index);
  if (tensor == nullptr || tensor->num_elements() == 0) return false;
  Require(tensor->is(ElementTypeOf<T>), "input {} is {}, {} is expected", index, ElementTypeName(tensor->type()),
          ElementTypeName(ElementTypeOf<T>));
  value = *tensor->data<T>();
  return true;
}

class NonMaxSuppression final : public Kernel {
 public:
  explicit NonMaxSuppression(const KernelInfo& info) {
    const auto center = info.attribute<int64_t>("center_point_box", 0);
    Require(center == 0 || center == 1, "center_point_box is {}, 0 or 1 is expected", center);
    center_ = center == 1;
  }

  void Compute(KernelContext& context) override {
    const Tensor& boxes = context.required_input(0);
    const Tensor& scores = context.required_input(1);
    const Shape& shape = scores.shape();
    Require(boxes.shape().rank() == 3 && boxes.shape()[2] == 4, "boxes are {}, [batches, boxes, 4] is expected",
            boxes.shape());
    Require(shape.rank() == 3, "scores are {}, [batches, classes, boxes] is expected", shape);
    const int64_t batches = shape[0], classes = shape[1], count = shape[2];
    Require(boxes.shape()[0] == batches && boxes.shape()[1] == count,
            "boxes are {} and scores {}: batches and boxes differ", boxes.shape(), shape);
    Require(count <= std::numeric_limits<int32_t>::max(), "{} boxes are too many", count);

    Limits limits;
    ReadScalar(context, 2, limits.max_output);
    ReadScalar(context, 3, limits.iou);
    limits.by_score = ReadScalar(context, 4, limits.score);
    Require(limits.iou >= 0 && limits.iou <= 1, "iou_threshold is {}, a number in [0, 1] is expected", limits.iou);
    limits.max_output = std::clamp<int64_t>(limits.max_output, 0, count);
    const int64_t problems = CheckedMul(batches, classes);
    if (limits.max_output == 0 || problems == 0) {
      context.output(0, Shape{0, 3});
      return;
    }

    // Corners of every image, then each class of each image on its own.
    const int64_t stride = (count + 31) / 16 * 16;
    const std::span<float> corners =
        context.scratch<float>(static_cast<size_t>(CheckedMul(CheckedMul(batches, stride), int64_t{5})));
    for (int64_t b = 0; b < batches; ++b) {
      ToCorners(boxes.data<float>() + b * count * 4, count, center_, Slice(corners.data() + b * stride * 5, stride));
    }
    const int64_t kept = limits.max_output;
    const std::span<int32_t> results = context.scratch<int32_t>(static_cast<size_t>(CheckedMul(problems, kept)));
    const std::span<int64_t> counts = context.scratch<int64_t>(static_cast<size_t>(problems));
    const int64_t chunks = std::min<int64_t>(problems, context.threads().num_threads());
    const int64_t selected_stride = (kept + 31) / 16 * 16;
    const std::span<uint64_t> keys = context.scratch<uint64_t>(static_cast<size_t>(CheckedMul(chunks, stride)));
    const std::span<float> selected = context.scratch<float>(static_cast<size_t>(CheckedMul(chunks * 5, selected_stride)));
    InCancellablePieces(0, static_cast<int64_t>(selected.size()), 0.5, [&](int64_t begin, int64_t end) {
      std::fill(selected.begin() + begin, selected.begin() + end, 0.0f);
    });
    context.threads().ParallelFor(
        chunks, static_cast<double>(count) * 10 * static_cast<double>(problems) / static_cast<double>(chunks),
        [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c) {
            for (int64_t p = problems * c / chunks; p < problems * (c + 1) / chunks; ++p) {
              counts[static_cast<size_t>(p)] =
                  Select(scores.data<float>() + p * count, count, Slice(corners.data() + p / classes * stride * 5, stride),
                         limits, keys.data() + c * stride,
                         Slice(selected.data() + c * 5 * selected_stride, selected_stride), results.data() + p * kept);
            }
          }
        });
    Write(context, counts, results, classes, kept);
  }

 private:
  static void Write(KernelContext& context, std::span<const int64_t> counts, std::span<const int32_t> results,
                    int64_t classes, int64_t kept) {
    int64_t total = 0;
    for (int64_t n : counts) total += n;
    Tensor* output = context.output(0, Shape{total, 3});
    if (output == nullptr) return;
    int64_t* out = output->mutable_data<int64_t>();
    PacedCancellationPoint look(2);
    for (size_t p = 0; p < counts.size(); ++p) {
      look.Pass(1 + counts[p]);
      const auto problem = static_cast<int64_t>(p);
      for (int64_t i = 0; i < counts[p]; ++i) {
        *out++ = problem / classes;
        *out++ = problem % classes;
        *out++ = results[static_cast<size_t>(problem * kept + i)];
      }
    }
  }

  bool center_;
};

}  // namespace

void RegisterNonMaxSuppression(KernelRegistry& registry) {
  registry.Add(Op("NonMaxSuppression")
                   .Versions(10)
                   .Types(0, {ElementType::kFloat})
                   .Types(1, {ElementType::kFloat})
                   .Make<NonMaxSuppression>());
}

}  // namespace tessera::cpu
