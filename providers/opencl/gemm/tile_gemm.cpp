#include "opencl/gemm/tile_gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/sources.h"
#include "opencl/gemm/panel_gemm.h"

namespace tessera::opencl {
namespace {

// Slices share the work where a matmul has few groups for the device. The work items of a slice share the vectors of four
// that a tile of each operand consists of, without rest.
constexpr Tile kTiles[] = {
    {128, 128, 8, 8, 8},
    {64, 64, 8, 8, 8},
    {64, 64, 16, 4, 4},
    {32, 64, 16, 4, 4},
    {32, 64, 16, 4, 4, 2},
    {32, 32, 16, 4, 4},
    {32, 32, 16, 4, 4, 2},
    {32, 32, 16, 4, 4, 4},
    {32, 32, 8, 4, 4, 8},
    {16, 64, 16, 4, 4},
    {64, 16, 16, 4, 4},
    {64, 16, 16, 4, 4, 4},
    {32, 16, 32, 4, 4, 4},
    {128, 64, 32, 32, 32, 1, true},
    {64, 64, 32, 32, 16, 1, true},
    {64, 64, 32, 32, 32, 2, true},
    {64, 32, 32, 32, 16, 2, true},
    {32, 32, 32, 16, 16, 1, true},
    {32, 32, 32, 16, 16, 4, true},
};
static_assert(std::ranges::all_of(kTiles, [](const Tile& t) {
  const int least = t.units ? 16 : 4, vectors_a = t.m * t.k / 4, vectors_b = t.n * t.k / 4;
  return t.rows % least == 0 && t.columns % least == 0 && vectors_a % t.items() == 0 && vectors_b % t.items() == 0;
}));

/// What drivers answer where a kernel needs more registers, local memory or work items of a group than there are.
bool IsTooLarge(cl_int status) {
  return status == CL_OUT_OF_RESOURCES || status == CL_BUILD_PROGRAM_FAILURE || status == CL_INVALID_WORK_GROUP_SIZE ||
         status == CL_INVALID_WORK_ITEM_SIZE;
}

/// How long a matmul takes by a tile, in no particular unit: groups run in waves, and each step of k takes the time that
/// memory answers in or that the groups on a compute unit need to multiply. Fitted to the times of 36 products by each tile
/// on an NVIDIA H100, where it misses the best by 3.6 % on average.
double Estimate(const Tile& tile, double m, double n, double k, double stacks, double units) {
  struct Rates {
    double answer, multiply_adds, items_of_unit, fetch, read, slice;
  };
  constexpr Rates kItems = {1.85, 1.3e5, 1536, 25, 4.8, 0.74}, kUnits = {1.47, 2.78e5, 1024, 29, 1.9, 0.08};
  const Rates& rates = tile.units ? kUnits : kItems;
  const double groups = std::ceil(m / tile.m) * std::ceil(n / tile.n) * stacks,
               steps = std::ceil(k / (tile.k * tile.slices));
  const double resident = std::max(1.0, std::floor(rates.items_of_unit / (tile.items() * tile.slices)));
  const double together = std::min(resident, std::ceil(groups / units)), waves = std::ceil(groups / (units * resident));
  // The more of both operands a group and a work item share, the less they read.
  const double work =
      tile.m * tile.n * tile.k * tile.slices *
      (1 + rates.fetch * (1.0 / tile.m + 1.0 / tile.n) + rates.read * (1.0 / tile.rows + 1.0 / tile.columns));
  constexpr double kEnds = 2;
  return waves *
         (steps * std::max(rates.answer, together * work / rates.multiply_adds) + rates.slice * (tile.slices - 1) + kEnds);
}

size_t BytesComputed(ElementType type) { return BitWidth(type) <= 32 ? 4 : 8; }

/// Integers of 16 bits whose accumulators are int.
constexpr char kShorts[] =
    "#define SHORT\n#define TX int\n#define GET_X(p, i) ((int)((__global const short*)(p))[i])\n"
    "#define GET4_X(p, i) convert_int4(vload4(0, (__global const short*)(p) + (i)))\n"
    "#define ALIGNED4_X(p, i) convert_int4(*(__global const short4*)((__global const short*)(p) + (i)))\n";

/// Ints of four signed bytes each.
std::string QuadDefines(Int8Dots dots) {
  const char* by = dots == Int8Dots::kOpenclC ? "#define DOTS_OF_OPENCL_C\n" : "";
  return fmt::format("#define QUADS\n{}{}", by, Computed('X', ElementType::kInt32));
}

ElementType TypeOf(const KernelInfo& info, const TileGemm::Layout& layout) {
  switch (layout.integers) {
    case TileGemm::Integers::kShorts: return ElementType::kInt16;
    case TileGemm::Integers::kQuads: return ElementType::kInt32;
    case TileGemm::Integers::kNone: break;
  }
  return layout.scratch ? ElementType::kFloat : info.input_type(0);
}

std::string DefinesOf(const TileGemm::Layout& layout, ElementType type, const Device& device) {
  if (layout.integers == TileGemm::Integers::kShorts) return kShorts;
  return layout.integers == TileGemm::Integers::kQuads ? QuadDefines(device.capabilities().int8_dots) : Computed('X', type);
}

std::array<size_t, 3> Times(const std::array<size_t, 3>& groups, const std::array<size_t, 3>& local) {
  return {groups[0] * local[0], groups[1] * local[1], groups[2] * local[2]};
}

/// Whether every vector of an operand starts at a multiple of its size: `row_step` elements lie between lines.
bool IsAligned(BufferRange range, size_t element_bytes, int64_t row_step, const Strided& stack,
               const std::array<cl_long, kMostDims>& strides) {
  constexpr int64_t kVector = 4;
  bool aligned = range.offset % (static_cast<size_t>(kVector) * element_bytes) == 0 && row_step % kVector == 0;
  for (size_t i = 0; i < static_cast<size_t>(stack.rank); ++i)
    aligned = aligned && (stack.dims[i] == 1 || strides[i] % kVector == 0);
  return aligned;
}

}  // namespace

std::array<size_t, 3> Tile::local() const {
  const auto across = static_cast<size_t>(n / columns), down = static_cast<size_t>(m / rows),
             deep = static_cast<size_t>(slices);
  return units ? std::array<size_t, 3>{kWarp, across * down, deep} : std::array<size_t, 3>{across, down, deep};
}

std::array<size_t, 3> Tile::groups(const TileGemmShape& shape, int64_t stacks) const {
  return {static_cast<size_t>(CeilDiv(shape.n, n)), static_cast<size_t>(CeilDiv(shape.m, m)), static_cast<size_t>(stacks)};
}

size_t Tile::LocalBytes(size_t element_bytes) const {
  constexpr int kPadding = 4, kPaddingOfUnits = 8, kBuffers = 2;
  // Whichever way operands lie, these are the most that padding takes.
  const int padded =
      units ? std::max(k * (m + n + 2 * kPaddingOfUnits), (m + n) * (k + kPaddingOfUnits)) : k * (m + n + 2 * kPadding);
  const size_t tiles =
      static_cast<size_t>(slices) * kBuffers * static_cast<size_t>(padded) * (units ? sizeof(cl_half) : element_bytes);
  return std::max(tiles, static_cast<size_t>(slices - 1) * static_cast<size_t>(m) * static_cast<size_t>(n) *
                             std::max(element_bytes, sizeof(cl_float)));
}

std::string Tile::Defines() const {
  return fmt::format(
      "#define TM {}\n#define TN {}\n#define TK {}\n#define RM {}\n#define RN {}\n#define SLICES {}\n#define ITEMS {}\n", m,
      n, k, rows, columns, slices, items());
}

bool TileGemm::UsesUnits(const KernelInfo& info) {
  const ElementType type = info.input_type(0);
  return DeviceOf(info).capabilities().matrix_units && (type == ElementType::kFloat16 || type == ElementType::kBFloat16 ||
                                                        (type == ElementType::kFloat && SettingsOf(info).fp16));
}

TileGemm::Expected TileGemm::OfFilters(const Shape& input, const Shape& filters, const Geometry& geometry, int64_t columns,
                                       cl_int row_bias) {
  const int64_t k = filters.SizeOfRange(1, filters.rank()), groups = filters[0] / geometry.group_out;
  Require(std::max(columns, k) <= std::numeric_limits<cl_int>::max(),
          "{} positions and {} taps are more than kernels count", columns, k);
  Expected expected{.shape = {.m = geometry.group_out,
                              .n = static_cast<cl_int>(columns),
                              .k = static_cast<cl_int>(k),
                              .row_a = static_cast<cl_int>(k),
                              .col_a = 1,
                              .row_bias = row_bias},
                    .stack = {},
                    .stacks = groups,
                    .elements_b = input.num_elements()};
  expected.stack.rank = 1;
  expected.stack.dims = {groups};
  expected.stack.a = {geometry.group_out * k};
  expected.stack.c = {geometry.group_out};
  return expected;
}

TileGemm::Expected TileGemm::OfWindows(const Shape& input, const Shape& filters, const Geometry& geometry,
                                       cl_int row_bias) {
  Expected expected = OfFilters(input, filters, geometry, CheckedMul(Positions(geometry), input[0]), row_bias);
  expected.geometry = geometry;
  return expected;
}

TileGemm::TileGemm(const KernelInfo& info, Layout layout, const std::optional<Expected>& expected)
    : device_(DeviceOf(info)),
      queue_(QueueOf(info)),
      layout_(std::move(layout)),
      type_(TypeOf(info, layout_)),
      element_bytes_((BitWidth(type_) + 7) / 8),
      units_(!layout_.scratch && layout_.integers == Integers::kNone && UsesUnits(info)),
      fp16_(!layout_.scratch && !units_ && device_.capabilities().fp16 && SettingsOf(info).fp16 &&
            (type_ == ElementType::kFloat || type_ == ElementType::kFloat16)),
      local_bytes_(fp16_                                   ? sizeof(cl_half)
                   : layout_.integers == Integers::kShorts ? sizeof(cl_short)
                                                           : BytesComputed(type_)),
      epilogue_(layout_.results   ? *layout_.results
                : layout_.follows ? EpilogueOf(info)
                                  : Epilogue()),
      defines_(DefinesOf(layout_, type_, device_) + epilogue_.defines) {
  if (fp16_) defines_ += "#define HALF\n";
  if (type_ == ElementType::kBFloat16) defines_ += "#define BFLOAT16\n";
  if (layout_.along_k_a) defines_ += "#define ALONG_K_A\n";
  if (layout_.along_k_b) defines_ += "#define ALONG_K_B\n";
  if (layout_.windows) defines_ += "#define WINDOWS\n";
  if (layout_.taps) {
    const Shape& taps = *layout_.taps;
    if (taps.rank() < 3) defines_ += "#define FLAT\n";
    for (size_t i = 0; i < 3; ++i)
      defines_ += fmt::format("#define W{} {}\n", i, i + taps.rank() < 3 ? 1 : taps[i + taps.rank() - 3]);
  }
  if (expected) Prepare(info, *expected);
}

void TileGemm::Prepare(const KernelInfo& info, const Expected& expected) {
  const std::lock_guard lock(mutex_);
  if (HasFewRows(expected.shape)) {
    FewRowsFor(expected.shape, expected.stacks);
    return;
  }
  if (SettingsOf(info).tuning && layout_.tunable) Tune(expected);
  Choose(expected.shape, expected.stack, expected.stacks, {}, {});
}

void TileGemm::Multiply(KernelContext& context, const Operands& operands, const TileGemmShape& shape, const Strided& stack,
                        int64_t stacks, const std::optional<Geometry>& geometry) {
  Launchable* kernel = nullptr;
  std::array<size_t, 3> local{}, groups{};
  {
    const std::lock_guard lock(mutex_);
    if (HasFewRows(shape)) {
      const FewRows few = FewRowsFor(shape, stacks);
      kernel = Compile(few);
      local = few.local();
      groups = {static_cast<size_t>(CeilDiv(shape.n, few.columns)), 1, static_cast<size_t>(stacks)};
    } else {
      const Variant variant = Choose(shape, stack, stacks, operands.a, operands.b);
      kernel = kernels_.at(variant).get();
      local = kTiles[variant.tile].local();
      groups = kTiles[variant.tile].groups(shape, stacks);
    }
  }
  (*kernel)(context, Times(groups, local), local, operands.a, operands.b, operands.bias, operands.y, shape, stack, geometry,
            operands.epilogue, operands.more);
}

TileGemm::FewRows TileGemm::FewRowsFor(const TileGemmShape& shape, int64_t stacks) {
  // Memory is read at full speed by groups on all compute units only, and in lines of no less than these.
  constexpr int64_t kMostColumns = 32, kFewestColumns = 8, kGroupsOfUnit = 2, kFewestLanes = 8, kStepsOfLane = 8,
                    kMostItems = 1024;
  FewRows few{.rows = shape.m == 1 ? 1 : kFewRows, .columns = kMostColumns, .lanes = kFewestLanes};
  while (few.columns > kFewestColumns &&
         CeilDiv(shape.n, few.columns) * stacks < kGroupsOfUnit * device_.capabilities().compute_units)
    few.columns /= 2;
  while (few.columns * few.lanes < kMostItems && few.lanes * kStepsOfLane < shape.k) few.lanes *= 2;
  while (Compile(few) == nullptr) {
    if (few.lanes == 1)
      Fail(ErrorCode::kEpFail, "{} takes no group of {} work items{}{}", device_.capabilities().name, few.columns,
           refusal_.empty() ? "" : ": ", refusal_);
    few.lanes /= 2;
  }
  return few;
}

Launchable* TileGemm::Compile(const FewRows& few) {
  if (const auto known = few_rows_.find(few); known != few_rows_.end()) return known->second.get();
  const std::string sizes =
      fmt::format("#define ROWS {}\n#define COLUMNS {}\n#define LANES {}\n", few.rows, few.columns, few.lanes);
  return few_rows_.emplace(few, Compile("tile_gemm", sizes, "few_rows", few.local())).first->second.get();
}

Launchable* TileGemm::Compile(const Variant& variant) {
  if (const auto known = kernels_.find(variant); known != kernels_.end()) return known->second.get();
  const Tile& tile = kTiles[variant.tile];
  std::unique_ptr<Launchable> kernel;
  if (tile.LocalBytes(local_bytes_) <= device_.capabilities().local_bytes) {
    const std::string sizes =
        fmt::format("{}{}{}#define KERNEL_multiply\n", tile.Defines(), variant.aligned_a ? "#define ALIGNED_A\n" : "",
                    variant.aligned_b ? "#define ALIGNED_B\n" : "");
    kernel = Compile(tile.units ? "matrix_units" : "tile_gemm", sizes, "multiply", tile.local());
  }
  return kernels_.emplace(variant, std::move(kernel)).first->second.get();
}

std::unique_ptr<Launchable> TileGemm::Compile(std::string_view source, const std::string& defines, const char* name,
                                              std::array<size_t, 3> local) {
  const size_t items = local[0] * local[1] * local[2];
  if (items > device_.capabilities().largest_group) return nullptr;
  try {
    auto kernel = std::make_unique<Launchable>(
        device_, source, fmt::format("{}{}{}", defines_, defines, KernelSource("tile_operands")), name, true);
    if (kernel->largest_group() < items) {
      // Some drivers say so of every kernel (NVIDIA: 256), whatever group it is compiled for. An empty matmul shows who
      // means it.
      const BufferRange nothing;
      const std::vector<BufferRange> more(epilogue_.broadcasts.size(), nothing);
      const auto geometry = layout_.windows ? std::optional(Geometry{}) : std::nullopt;
      kernel->On(queue_, local, local, nothing, nothing, nothing, nothing, TileGemmShape{}, Strided{}, geometry,
                 std::span<const BufferRange>(more));
      Finish(queue_);
    }
    return kernel;
  } catch (const DeviceError& error) {
    // A smaller tile may do; where none does, the caller says so.
    if (!IsTooLarge(error.status())) throw;
    refusal_ = error.what();
    return nullptr;
  }
}

std::vector<size_t> TileGemm::Ranked(const Sizes& sizes) const {
  std::array<double, 4> counts{};
  std::ranges::transform(sizes, counts.begin(), [](int64_t size) { return static_cast<double>(size); });
  const double compute_units = std::max<double>(device_.capabilities().compute_units, 1);
  std::array<double, std::size(kTiles)> cost{};
  std::vector<size_t> order;
  for (size_t i = 0; i < cost.size(); ++i) {
    cost[i] = Estimate(kTiles[i], counts[0], counts[1], counts[2], counts[3], compute_units);
    if (units_ || !kTiles[i].units) order.push_back(i);
  }
  // Where the device refuses all that its matrix units should take, the others do.
  std::ranges::stable_sort(order, {}, [&](size_t i) { return std::pair(kTiles[i].units != units_, cost[i]); });
  return order;
}

TileGemm::Variant TileGemm::VariantOf(size_t tile, const TileGemmShape& shape, const Strided& stack, BufferRange a,
                                      BufferRange b) const {
  return {tile, IsAligned(a, element_bytes_, layout_.along_k_a ? shape.row_a : shape.col_a, stack, stack.a),
          !layout_.windows && IsAligned(b, element_bytes_, layout_.along_k_b ? shape.col_b : shape.row_b, stack, stack.b)};
}

TileGemm::Variant TileGemm::Choose(const TileGemmShape& shape, const Strided& stack, int64_t stacks, BufferRange a,
                                   BufferRange b) {
  constexpr size_t kMostShapes = 1024;  // dynamic shapes have no end
  const Sizes sizes = {shape.m, shape.n, shape.k, stacks};
  if (const auto known = chosen_.find(sizes); known != chosen_.end()) {
    const Variant variant = VariantOf(known->second, shape, stack, a, b);
    if (Compile(variant) != nullptr) return variant;
  }
  if (chosen_.size() >= kMostShapes) chosen_.clear();
  std::vector<size_t> order = Ranked(sizes);
  if (const auto tuned = device_.Remembered(Key(sizes))) {
    for (size_t i = 0; i < std::size(kTiles); ++i) {
      if (kTiles[i].Defines() == *tuned && kTiles[i].units == units_) order.insert(order.begin(), i);
    }
  }
  for (const size_t tile : order) {
    const Variant variant = VariantOf(tile, shape, stack, a, b);
    if (Compile(variant) == nullptr) continue;
    chosen_[sizes] = tile;
    return variant;
  }
  Fail(ErrorCode::kEpFail, "{} takes none of the matmul kernels{}{}", device_.capabilities().name,
       refusal_.empty() ? "" : ": ", refusal_);
}

std::string TileGemm::Key(const Sizes& sizes) const {
  return fmt::format("tile of {}\n{}", fmt::join(sizes, " "), defines_);
}

void TileGemm::Tune(const Expected& expected) {
  const TileGemmShape& shape = expected.shape;
  const Sizes sizes = {shape.m, shape.n, shape.k, expected.stacks};
  const std::string key = Key(sizes);
  if (device_.Remembered(key)) return;
  // Results of matmuls of integers are no wider than their accumulators.
  const auto bytes = [&](int64_t elements) {
    return std::max<size_t>(
        1, static_cast<size_t>(elements) * (layout_.integers == Integers::kNone ? element_bytes_ : sizeof(cl_int)));
  };
  // Epilogues read what has the result's shape: the result itself will do.
  const int64_t result = int64_t{shape.m} * shape.n * expected.stacks;
  const Buffer a = device_.NewBuffer(bytes(int64_t{shape.m} * shape.k * expected.stacks)),
               b = device_.NewBuffer(bytes(expected.elements_b)), y = device_.NewBuffer(bytes(result));
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
  constexpr size_t kCandidates = 6;
  const std::vector<size_t> order = Ranked(sizes);
  for (const size_t tile : std::span(order).first(std::min(kCandidates, order.size()))) {
    const Variant variant = VariantOf(tile, shape, expected.stack, buffers[0], buffers[1]);
    if (Compile(variant) == nullptr) continue;
    const double time = Time(variant, expected, buffers, queue.get());
    if (best && time >= least) continue;
    best = tile;
    least = time;
  }
  if (best) device_.Remember(key, kTiles[*best].Defines());
}

double TileGemm::Time(const Variant& variant, const Expected& expected, std::span<const BufferRange> buffers,
                      cl_command_queue queue) {
  const std::array<size_t, 3> local = kTiles[variant.tile].local();
  const std::array<size_t, 3> global = Times(kTiles[variant.tile].groups(expected.shape, expected.stacks), local);
  const std::vector<BufferRange> more(epilogue_.broadcasts.size(), buffers[2]);
  const BufferRange none{};
  double least = 0;
  constexpr int kRuns = 4;  // the first one warms up
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    kernels_.at(variant)->On(queue, global, local, buffers[0], buffers[1], none, buffers[2], expected.shape, expected.stack,
                             expected.geometry, std::span<const BufferRange>(more));
    Finish(queue);
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run == 1 || (run > 1 && time < least)) least = time;
  }
  return least;
}

}  // namespace tessera::opencl
