#include "tiles.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/rounding.h"
#include "product.h"

namespace tessera::opencl {
namespace {

// The work items of a group share the vectors of four that a tile of each operand consists of, without rest.
constexpr Tile kTiles[] = {
    {128, 128, 8, 8, 8}, {128, 64, 16, 8, 4}, {64, 128, 16, 4, 8}, {64, 64, 16, 4, 4},
    {64, 64, 8, 8, 8},   {32, 64, 16, 4, 4},  {32, 32, 16, 4, 4},  {16, 64, 16, 4, 4},
};
static_assert(std::ranges::all_of(kTiles, [](const Tile& t) {
  const int items = t.m / t.rows * (t.n / t.columns);
  return t.rows % 4 == 0 && t.columns % 4 == 0 && t.m * t.k / 4 % items == 0 && t.n * t.k / 4 % items == 0;
}));

size_t LocalBytes(const Tile& tile, size_t element_bytes) {
  constexpr size_t kPadding = 4, kBuffers = 2;
  return kBuffers * static_cast<size_t>(tile.k) * (static_cast<size_t>(tile.m + tile.n) + 2 * kPadding) * element_bytes;
}

/// What one element of C costs by a tile: the more of both operands it shares, the less; work items with larger blocks read
/// less of local memory.
double CostOfElement(const Tile& t) {
  const double fetched = 1.0 / t.m + 1.0 / t.n, read = 1.0 / t.rows + 1.0 / t.columns;
  return 1 + 16 * fetched + 2 * read;
}

size_t BytesComputed(ElementType type) { return BitWidth(type) <= 32 ? 4 : 8; }

}  // namespace

std::string Tile::Defines() const {
  return fmt::format("#define TM {}\n#define TN {}\n#define TK {}\n#define RM {}\n#define RN {}\n", m, n, k, rows, columns);
}

TileProduct::TileProduct(const KernelInfo& info, Layout layout, const std::optional<Expected>& expected)
    : device_(DeviceOf(info)),
      layout_(layout),
      element_bytes_((BitWidth(info.input_type(0)) + 7) / 8),
      halves_(SettingsOf(info).fp16 && kReals.contains(info.input_type(0)) && info.input_type(0) != ElementType::kDouble),
      local_bytes_(halves_ ? sizeof(cl_half) : BytesComputed(info.input_type(0))),
      epilogue_(layout.follows ? EpilogueOf(info) : Epilogue()),
      defines_(Computed('X', info.input_type(0)) + epilogue_.defines) {
  if (halves_) defines_ += "#define HALF\n";
  if (layout.along_k_a) defines_ += "#define ALONG_K_A\n";
  if (layout.along_k_b) defines_ += "#define ALONG_K_B\n";
  if (layout.windows) defines_ += "#define WINDOWS\n";
  if (!expected) return;
  const TileProductShape& shape = expected->shape;
  if (HasFewRows(shape)) {
    CompileFewRows();
    return;
  }
  if (SettingsOf(info).tuning) Tune(*expected);
  Choose({shape.m, shape.n, shape.k, expected->stacks});
}

void TileProduct::Multiply(KernelContext& context, const Operands& operands, const TileProductShape& shape, const Strided& stack,
                           int64_t stacks, const Geometry* geometry) {
  Launchable* kernel = nullptr;
  std::array<size_t, 3> local{}, groups{};
  {
    const std::lock_guard lock(mutex_);
    if (HasFewRows(shape)) {
      if (few_rows_ == nullptr) CompileFewRows();
      kernel = few_rows_.get();
      local = {kLines, kLanes, 1};
      groups = {static_cast<size_t>(CeilDiv(shape.n, kLines)), 1, static_cast<size_t>(stacks)};
    } else {
      const size_t at = Choose({shape.m, shape.n, shape.k, stacks});
      const Tile& tile = kTiles[at];
      kernel = kernels_.at(at).get();
      local = {static_cast<size_t>(tile.n / tile.columns), static_cast<size_t>(tile.m / tile.rows), 1};
      groups = {static_cast<size_t>(CeilDiv(shape.n, tile.n)), static_cast<size_t>(CeilDiv(shape.m, tile.m)), static_cast<size_t>(stacks)};
    }
  }
  const std::array<size_t, 3> global = {groups[0] * local[0], groups[1] * local[1], groups[2]};
  if (geometry != nullptr) {
    (*kernel)(context, global, local, operands.a, operands.b, operands.bias, operands.y, shape, stack, *geometry, operands.epilogue);
  } else {
    (*kernel)(context, global, local, operands.a, operands.b, operands.bias, operands.y, shape, stack, operands.epilogue);
  }
}

void TileProduct::CompileFewRows() {
  few_rows_ = std::make_unique<Launchable>(
      device_, "tiles", defines_ + fmt::format("#define ROWS {}\n#define LINES {}\n#define LANES {}\n", kFewRows, kLines, kLanes), "few_rows");
}

bool TileProduct::Compile(size_t tile) {
  auto [at, made] = kernels_.try_emplace(tile);
  if (!made) return at->second != nullptr;
  const auto& limits = device_.capabilities();
  const auto items = static_cast<size_t>(kTiles[tile].items());
  if (items > limits.largest_group || LocalBytes(kTiles[tile], local_bytes_) > limits.local_bytes) return false;
  try {
    auto kernel = std::make_unique<Launchable>(device_, "tiles", defines_ + kTiles[tile].Defines(), "multiply");
    if (kernel->largest_group() >= items) at->second = std::move(kernel);
  } catch (const Error& error) {
    // Too many registers, say. A smaller tile may do; where none does, the caller says so.
    refusal_ = error.what();
  }
  return at->second != nullptr;
}

std::vector<size_t> TileProduct::Ranked(const Sizes& sizes) const {
  const auto [m, n, k, stacks] = sizes;
  // Groups run in waves, a few on each compute unit.
  constexpr double kItemsOfUnit = 512;
  const double units = std::max<double>(device_.capabilities().compute_units, 1);
  std::array<double, std::size(kTiles)> cost{};
  for (size_t i = 0; i < cost.size(); ++i) {
    const Tile& t = kTiles[i];
    const double groups = static_cast<double>(CeilDiv(m, t.m)) * static_cast<double>(CeilDiv(n, t.n)) * static_cast<double>(stacks);
    const double together = units * std::max(1.0, kItemsOfUnit / t.items());
    cost[i] = std::ceil(groups / together) * t.m * t.n * std::max(1.0, kItemsOfUnit / t.items()) * CostOfElement(t);
  }
  std::vector<size_t> order(cost.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return cost[i]; });
  return order;
}

size_t TileProduct::Choose(const Sizes& sizes) {
  constexpr size_t kMostShapes = 1024;  // dynamic shapes have no end
  if (const auto known = chosen_.find(sizes); known != chosen_.end()) return known->second;
  if (chosen_.size() >= kMostShapes) chosen_.clear();
  std::vector<size_t> order = Ranked(sizes);
  if (const auto tuned = device_.Remembered(Key(sizes))) {
    for (size_t i = 0; i < std::size(kTiles); ++i) {
      if (kTiles[i].Defines() == *tuned) order.insert(order.begin(), i);
    }
  }
  for (const size_t tile : order) {
    if (Compile(tile)) return chosen_[sizes] = tile;
  }
  Fail(ErrorCode::kEpFail, "{} takes none of the kernels for products{}{}", device_.capabilities().name, refusal_.empty() ? "" : ": ", refusal_);
}

std::string TileProduct::Key(const Sizes& sizes) const { return fmt::format("tile of {}\n{}", fmt::join(sizes, " "), defines_); }

void TileProduct::Tune(const Expected& expected) {
  const TileProductShape& shape = expected.shape;
  const Sizes sizes = {shape.m, shape.n, shape.k, expected.stacks};
  const std::string key = Key(sizes);
  if (device_.Remembered(key)) return;
  const auto bytes = [&](int64_t elements) { return std::max<size_t>(1, static_cast<size_t>(elements) * element_bytes_); };
  // Epilogues read what has the result's shape: the result itself will do.
  const int64_t result = int64_t{shape.m} * shape.n * expected.stacks;
  const Buffer a = device_.NewBuffer(bytes(int64_t{shape.m} * shape.k * expected.stacks)), b = device_.NewBuffer(bytes(expected.elements_b)),
               y = device_.NewBuffer(bytes(result));
  const Queue queue = device_.CreateQueue();
  const cl_uchar zero = 0;
  for (const Buffer* buffer : {&a, &b, &y}) {
    size_t size = 0;
    Check(clGetMemObjectInfo(buffer->get(), CL_MEM_SIZE, sizeof size, &size, nullptr), "clGetMemObjectInfo");
    Check(clEnqueueFillBuffer(queue.get(), buffer->get(), &zero, 1, 0, size, 0, nullptr, nullptr), "clEnqueueFillBuffer");
  }
  const BufferRange buffers[] = {{a.get(), 0}, {b.get(), 0}, {y.get(), 0}};
  std::optional<size_t> best;
  double least = 0;
  constexpr size_t kCandidates = 5;
  const std::vector<size_t> order = Ranked(sizes);
  for (const size_t tile : std::span(order).first(std::min(kCandidates, order.size()))) {
    if (!Compile(tile)) continue;
    const double time = Time(tile, expected, buffers, queue.get());
    if (best && time >= least) continue;
    best = tile;
    least = time;
  }
  if (best) device_.Remember(key, kTiles[*best].Defines());
}

double TileProduct::Time(size_t tile, const Expected& expected, std::span<const BufferRange> buffers, cl_command_queue queue) {
  const Tile& t = kTiles[tile];
  const std::array<size_t, 3> local = {static_cast<size_t>(t.n / t.columns), static_cast<size_t>(t.m / t.rows), 1};
  const std::array<size_t, 3> global = {static_cast<size_t>(CeilDiv(expected.shape.n, t.n)) * local[0],
                                        static_cast<size_t>(CeilDiv(expected.shape.m, t.m)) * local[1],
                                        static_cast<size_t>(expected.stacks)};
  const std::vector<BufferRange> more(epilogue_.places.size(), buffers[2]);
  const BufferRange none{};
  double least = 0;
  constexpr int kRuns = 4;  // the first one warms up
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    if (expected.geometry) {
      kernels_.at(tile)->On(queue, global, local, buffers[0], buffers[1], none, buffers[2], expected.shape, expected.stack,
                            *expected.geometry, std::span<const BufferRange>(more));
    } else {
      kernels_.at(tile)->On(queue, global, local, buffers[0], buffers[1], none, buffers[2], expected.shape, expected.stack,
                            std::span<const BufferRange>(more));
    }
    Finish(queue);
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run == 1 || (run > 1 && time < least)) least = time;
  }
  return least;
}

}  // namespace tessera::opencl
