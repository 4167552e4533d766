// DynamicTimeWarping, com.microsoft, version 1: the cheapest path through a matrix of costs from its first to its last
// element, by steps down, right or both. Whisper's timestamps of words come from it.

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

/// Where the path to an element comes from.
enum class Step : uint8_t { kBoth, kDown, kRight };

class DynamicTimeWarping final : public Kernel {
 public:
  explicit DynamicTimeWarping(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& shape = input.shape();
    const size_t rank = shape.rank();
    Require(rank == 2 || (rank == 3 && shape[0] == 1), "the input is {}; [m,n] or [1,m,n] is expected", shape);
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    Require(rows <= kMost && columns <= kMost, "the input is {}; sizes of 32 bits are expected", shape);
    const auto steps = context.scratch<Step>(static_cast<size_t>(CheckedMul(rows, columns)));
    FindSteps(input.data<float>(), rows, columns, steps, context.scratch<float>(static_cast<size_t>(columns) + 1));

    std::vector<std::pair<int32_t, int32_t>> path;
    PacedCancellationPoint look(5);
    for (int64_t i = rows - 1, j = columns - 1; i >= 0 && j >= 0;) {
      look.Pass();
      path.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(j));
      const Step step = steps[static_cast<size_t>(i * columns + j)];
      if (step != Step::kRight) --i;
      if (step != Step::kDown) --j;
    }
    const auto length = static_cast<int64_t>(path.size());
    Tensor* output = context.output(0, {2, length});
    if (output == nullptr) return;
    auto* target = output->mutable_data<int32_t>();
    for (int64_t k = 0; k < length; ++k) {
      look.Pass();
      std::tie(target[k], target[k + length]) = path[static_cast<size_t>(length - 1 - k)];
    }
  }

 private:
  /// `best` holds the costs of the paths to the row above, and becomes those of the row, element by element. Of equal ones
  /// the step to the right is taken.
  static void FindSteps(const float* costs, int64_t rows, int64_t columns, std::span<Step> steps, std::span<float> best) {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    FillCancellably(best.data(), static_cast<int64_t>(best.size()), kNone);
    best[0] = 0;
    PacedCancellationPoint look(3);
    for (int64_t i = 0; i < rows; ++i) {
      float diagonal = best[0];
      best[0] = kNone;
      for (int64_t j = 0; j < columns; ++j) {
        look.Pass();
        float& at = best[static_cast<size_t>(j) + 1];
        const float above = at, left = best[static_cast<size_t>(j)];
        Step step = Step::kRight;
        if (diagonal < above && diagonal < left) step = Step::kBoth;
        else if (above < diagonal && above < left) step = Step::kDown;
        at = (step == Step::kBoth ? diagonal : step == Step::kDown ? above : left) + costs[i * columns + j];
        steps[static_cast<size_t>(i * columns + j)] = step;
        diagonal = above;
      }
    }
  }
};

}  // namespace

void RegisterDynamicTimeWarping(KernelRegistry& registry) {
  registry.Add(Op("DynamicTimeWarping", "com.microsoft").Types(0, {ElementType::kFloat}).Make<DynamicTimeWarping>());
}

}  // namespace tessera::cpu
