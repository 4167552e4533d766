// Attention (23-25), and what the optimizer makes of matmuls that broadcast.

#include "opencl/ops/attention.h"

#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include "base/checked.h"
#include "base/rounding.h"
#include "graph/private_names.h"
#include "opencl/device/scratch.h"
#include "opencl/ops/slices.h"
#include "ops/attention/attention.h"

namespace tessera::opencl {

std::string AttentionDefines(const AttentionTypes& types) {
  constexpr int kColumns = 4;  // of the values that a work item of a group sums
  const bool wide = types.q == ElementType::kDouble || types.v == ElementType::kDouble;
  std::string text = Computed('X', wide ? ElementType::kDouble : ElementType::kFloat);
  text += Computed('Q', types.q) + Computed('K', types.k) + Computed('V', types.v) + Computed('Y', types.y);
  text += Computed('C', types.captured) + Computed('M', types.mask);
  if (types.mask == ElementType::kBool) text += "#define MASKS\n";
  text += wide ? "#define EXP exp\n#define TX4 double4\n#define TX8 double8\n#define TX16 double16\n#define TO_TX4 "
                 "convert_double4\n"
               : "#define EXP exponential\n#define TX4 float4\n#define TX8 float8\n#define TX16 float16\n#define TO_TX4 "
                 "convert_float4\n";
  text += fmt::format("#define LANES {}\n#define COLUMNS {}\n#define STEP {}\n#define MOST_VALUES {}\n", kAttentionLanes,
                      kColumns, ScaledDotProduct::kStep, ScaledDotProduct::kMostValues);
  return text + fmt::format("#define ROWS {}\n#define DOWN {}\n", ScaledDotProduct::kRows, ScaledDotProduct::kRowsTogether);
}

KnownHeads::KnownHeads(const KernelInfo& info, int64_t q_heads, int64_t kv_heads) {
  const auto width_of = [&](size_t input, int64_t heads) -> std::optional<int64_t> {
    const auto& dims = info.input_info(input).shape;
    if (!dims || dims->empty() || !dims->back().known()) return std::nullopt;
    if (dims->size() == 4) return dims->back().value;
    return dims->size() == 3 && heads > 0 ? std::optional(dims->back().value / heads) : std::nullopt;
  };
  width = width_of(0, q_heads);
  value_width = info.has_input(2) ? width_of(2, kv_heads) : width;
  const auto& dims = info.input_info(0).shape;
  if (!dims || dims->size() < 3 || dims->size() > 4) return;
  const Dimension& rows = (*dims)[dims->size() - 2];
  if (rows.known()) queries = rows.value;
}

ScaledDotProduct::ScaledDotProduct(const KernelInfo& info, const AttentionTypes& types, const KnownHeads& known)
    : device_(DeviceOf(info)),
      element_bytes_(types.q == ElementType::kDouble || types.v == ElementType::kDouble ? sizeof(cl_double)
                                                                                        : sizeof(cl_float)),
      by_rows_(!SettingsOf(info).tiles),
      attend_(DeviceOf(info), "attention", AttentionDefines(types), "attend"),
      attend_row_(DeviceOf(info), "attention", AttentionDefines(types), "attend_row"),
      attend_rows_(DeviceOf(info), "attention", AttentionDefines(types), "attend_rows"),
      join_slices_(DeviceOf(info), "attention", AttentionDefines(types), "join_slices") {
  const bool wide = types.q == ElementType::kDouble || types.v == ElementType::kDouble;
  const auto fits = [&](int64_t row) {
    const int64_t elements = (kQueries + 2 * kKeys) * (row + 4) + kQueries * (kKeys + 4 + kParts);
    return static_cast<cl_ulong>(elements) * sizeof(cl_float) <= DeviceOf(info).capabilities().local_bytes;
  };
  const std::string defines = AttentionDefines(types);
  for (int64_t row = kWidthStep; !by_rows_ && !wide && row <= kMostWidth && fits(row); row += kWidthStep) {
    const std::string sizes = fmt::format("#define WIDTH {}\n#define QUERIES {}\n#define KEYS {}\n#define PARTS {}\n", row,
                                          kQueries, kKeys, kParts);
    tiles_.push_back(std::make_unique<LazyLaunchable>(DeviceOf(info), "attention", defines + sizes, "attend_tile"));
  }
  if (by_rows_) {
    if (!known.queries || !HasRows(*known.queries, known.width.value_or(0))) attend_row_.Compile();
    if (!known.queries || HasRows(*known.queries, known.width.value_or(0))) attend_rows_.Compile();
    if (known.value_width.value_or(0) > kMostValues) attend_.Compile();
    return;
  }
  const bool tiled = known.width && TileKernel(std::max(*known.width, known.value_width.value_or(0))) != nullptr;
  if (!tiled || known.queries.value_or(0) <= kFewQueries) attend_.Compile();
}

Launchable* ScaledDotProduct::TileKernel(int64_t width) {
  const auto at = static_cast<size_t>(CeilDiv(std::max<int64_t>(width, 1), kWidthStep)) - 1;
  return at < tiles_.size() ? tiles_[at]->TryCompile() : nullptr;
}

void ScaledDotProduct::RunSliced(KernelContext& context, LazyLaunchable& kernel, size_t local, int64_t rows,
                                 const BufferRange& q, const BufferRange& k, const BufferRange& v, const Tensor* mask,
                                 const BufferRange& lengths, const Tensor& y, AttentionProblem p) {
  constexpr int64_t kFewestKeys = 512;  // of a slice
  constexpr int64_t kGroupsOfUnit = 4;  // that keep a device busy
  constexpr double kMostWork =
      1 << 26;  // multiply-adds of a group: some 20 ms of a processor's core, which cannot be stopped
  constexpr int64_t kMostBytes = int64_t{64} << 20;  // of what slices leave
  const int64_t items = CeilDiv<int64_t>(p.queries, rows), heads = p.batch * p.q_heads;
  const int64_t wanted =
      CeilDiv<int64_t>(kGroupsOfUnit * static_cast<int64_t>(device_.capabilities().compute_units), items * heads);
  const double work =
      static_cast<double>(p.keys) * static_cast<double>(std::min<int64_t>(rows, p.queries) * (p.width + p.value_width));
  const int64_t part_bytes =
      CheckedMul(CheckedMul(p.queries, heads), (p.value_width + 2) * static_cast<int64_t>(element_bytes_));
  const int64_t most = std::min(p.keys / kFewestKeys, kMostBytes / part_bytes);
  const int64_t slices =
      std::clamp<int64_t>(std::max(wanted, static_cast<int64_t>(work / kMostWork)), 1, std::max<int64_t>(most, 1));
  const std::array<size_t, 3> global = {local * static_cast<size_t>(items), static_cast<size_t>(slices),
                                        static_cast<size_t>(heads)};
  p.slices = static_cast<cl_int>(slices);
  if (slices == 1) return kernel.Compile()(context, global, {local, 1, 1}, q, k, v, mask, lengths, y, BufferRange{}, p);
  const DeviceScratch parts(context, static_cast<size_t>(part_bytes * slices));
  kernel.Compile()(context, global, {local, 1, 1}, q, k, v, mask, lengths, y, parts.range(), p);
  join_slices_.Compile().Grid(context, p.value_width, p.queries, heads, parts.range(), y, p);
}

void ScaledDotProduct::Run(KernelContext& context, const BufferRange& q, const BufferRange& k, const BufferRange& v,
                           const Tensor* mask, const BufferRange& lengths, const Tensor& y, const AttentionProblem& p) {
  if (by_rows_ && p.value_width <= kMostValues && HasRows(p.queries, p.width)) {
    return RunSliced(context, attend_rows_, 1, kRows, q, k, v, mask, lengths, y, p);
  }
  if (by_rows_ && p.value_width <= kMostValues) return RunSliced(context, attend_row_, 1, 1, q, k, v, mask, lengths, y, p);
  Launchable* tile = p.queries > kFewQueries ? TileKernel(std::max(p.width, p.value_width)) : nullptr;
  if (tile != nullptr) {
    constexpr size_t kItems = kQueries * kParts;
    return (*tile)(
        context, {kItems * static_cast<size_t>(CeilDiv(p.queries, kQueries)), 1, static_cast<size_t>(p.batch * p.q_heads)},
        {kItems, 1, 1}, q, k, v, mask, lengths, y, BufferRange{}, p);
  }
  RunSliced(context, attend_, kAttentionLanes, 1, q, k, v, mask, lengths, y, p);
}

namespace {

AttentionTypes TypesOf(const KernelInfo& info) {
  AttentionTypes types{info.input_type(0), info.input_type(1), info.input_type(2), info.output_type(0)};
  if (info.has_input(3)) types.mask = info.input_type(3);
  if (info.has_output(3)) types.captured = info.output_type(3);
  return types;
}

class Attention final : public Kernel {
 public:
  explicit Attention(const KernelInfo& info)
      : attributes_(info.node()),
        attention_(info, TypesOf(info), KnownHeads(info, attributes_.q_heads, attributes_.kv_heads)),
        append_key_(DeviceOf(info), "slices", Moved('X', info.input_type(1)), "append"),
        append_value_(DeviceOf(info), "slices", Moved('X', info.input_type(2)), "append"),
        lengths_(info, 6) {
    if (info.has_output(3)) capture_.emplace(DeviceOf(info), "attention", AttentionDefines(TypesOf(info)), "capture");
  }

  void Compute(KernelContext& context) override {
    const Tensor& q = context.required_input(0);
    const Tensor& k = context.required_input(1);
    const Tensor& v = context.required_input(2);
    const Tensor *mask = context.input(3), *past_key = context.input(4), *past_value = context.input(5);
    HeadSizes qh = ReadHeads(q.shape(), attributes_.q_heads, nullptr, "Q"),
              kh = ReadHeads(k.shape(), attributes_.kv_heads, nullptr, "K"),
              vh = ReadHeads(v.shape(), attributes_.kv_heads, nullptr, "V");
    const MaskDims mask_dims = mask == nullptr ? MaskDims{1, 1, 1, 1} : ReadMask(mask->shape());
    const int64_t past = PastRows(past_key, past_value, kh, vh);
    const Operand key = WithPast(context, append_key_, 1, past_key, past, k, kh),
                  value = WithPast(context, append_value_, 2, past_value, past, v, vh);
    const std::array<cl_long, 3> q_strides = {qh.batch_stride(), qh.head_stride(), qh.row_stride()};
    if (attributes_.broadcasts) BroadcastHeads(mask_dims, qh, kh, vh);
    const AttentionSizes sizes = CombineHeads(qh, kh, vh, past);
    AttentionProblem p{.batch = sizes.batch,
                       .q_heads = sizes.query_heads,
                       .kv_heads = sizes.kv_heads,
                       .queries = sizes.queries,
                       .keys = sizes.keys,
                       .width = sizes.width,
                       .value_width = sizes.value_width,
                       .q_batch = qh.repeats_batch ? 0 : q_strides[0],
                       .q_head = q_strides[1],
                       .q_row = qh.repeats_row ? 0 : q_strides[2]};
    std::tie(p.k_batch, p.k_head, p.k_row) = key.steps;
    std::tie(p.v_batch, p.v_head, p.v_row) = value.steps;
    if (kh.repeats_batch) p.k_batch = 0;
    if (vh.repeats_batch) p.v_batch = 0;
    const HeadSizes yh = ResultHeads(qh, vh);
    p.y_batch = yh.batch_stride();
    p.y_head = yh.head_stride();
    p.y_row = yh.row_stride();
    p.offset = past;
    p.left = attributes_.left;
    p.right = attributes_.right;
    p.causal = attributes_.causal;
    p.stage = static_cast<cl_int>(attributes_.capture);
    p.scale = static_cast<cl_float>(attributes_.Scale(sizes.width));
    p.softcap = attributes_.softcap;
    p.nothing = attributes_.nan_rows && p.keys > 0 ? std::numeric_limits<cl_float>::quiet_NaN() : 0;
    if (mask != nullptr) FitMask(mask_dims, sizes, p);
    const SentData lengths = SendLengths(context, sizes, past_key != nullptr);
    const Tensor* y = context.output(0, ShapeOf(yh));
    const std::array<size_t, 3> rows = {kAttentionLanes * static_cast<size_t>(p.queries), 1,
                                        static_cast<size_t>(CheckedMul(p.batch, p.q_heads))};
    if (capture_) {
      const Tensor& captured = *context.output(3, Shape{p.batch, p.q_heads, p.queries, p.keys});
      if (captured.num_elements() > 0) {
        (*capture_)(context, rows, {kAttentionLanes, 1, 1}, q, key.range, value.range, mask, lengths.range(), captured,
                    BufferRange{}, p);
      }
    }
    if (y == nullptr || y->num_elements() == 0) return;
    const BufferRange queries = q.num_elements() == 0 ? BufferRange{} : DeviceAllocator::Find(q.raw());
    attention_.Run(context, queries, key.range, value.range, mask, lengths.range(), *y, p);
  }

 private:
  /// Keys or values as attention reads them.
  struct Operand {
    BufferRange range;
    std::tuple<cl_long, cl_long, cl_long> steps;
    std::unique_ptr<DeviceScratch> own;
  };

  /// The past and the new rows, which may also be output `i`.
  static Operand WithPast(KernelContext& context, Launchable& append, size_t i, const Tensor* past, int64_t before,
                          const Tensor& x, const HeadSizes& heads) {
    Operand operand;
    operand.steps = {heads.batch_stride(), heads.head_stride(), heads.row_stride()};
    if (before == 0 && !context.has_output(i)) {
      if (x.num_elements() > 0) operand.range = DeviceAllocator::Find(x.raw());
      return operand;
    }
    const int64_t rows = CheckedAdd(before, heads.rows);
    const Shape shape{heads.batch, heads.heads, rows, heads.width};
    operand.steps = {CheckedMul(CheckedMul(heads.heads, rows), heads.width), CheckedMul(rows, heads.width), heads.width};
    if (shape.num_elements() == 0) {
      context.has_output(i) ? static_cast<void>(context.output(i, shape)) : void();
      return operand;
    }
    if (context.has_output(i)) {
      operand.range = DeviceAllocator::Find(context.output(i, shape)->raw());
    } else {
      operand.own = std::make_unique<DeviceScratch>(context, static_cast<size_t>(ByteSize(x.type(), shape.num_elements())));
      operand.range = operand.own->range();
    }
    append.Linear(context, shape.num_elements(), past, x, operand.range, cl_long{heads.heads}, cl_long{before},
                  cl_long{rows}, cl_long{heads.width}, cl_long{heads.batch_stride()}, cl_long{heads.head_stride()},
                  cl_long{heads.row_stride()});
    return operand;
  }

  void FitMask(const MaskDims& dims, const AttentionSizes& sizes, AttentionProblem& p) const {
    CheckMask(dims, sizes, attributes_.broadcasts);
    const bool one_a_row = attributes_.broadcasts && dims[3] == 1;
    p.m_key = one_a_row ? 0 : 1;
    p.m_keys = one_a_row ? p.keys : dims[3];
    p.m_row = dims[2] == 1 ? 0 : dims[3];
    p.m_head = dims[1] == 1 ? 0 : dims[2] * dims[3];
    p.m_batch = dims[0] == 1 ? 0 : dims[1] * dims[2] * dims[3];
  }

  SentData SendLengths(KernelContext& context, const AttentionSizes& sizes, bool has_past) {
    const Tensor* given = context.input(6);
    const auto lengths = KeyLengths(given, sizes, has_past);
    if (lengths.empty()) return {};
    return lengths_.Send(context, given->shape(), sizes.batch,
                         [&](std::span<int64_t> sent) { std::ranges::copy(lengths, sent.begin()); });
  }

  AttentionAttributes attributes_;
  ScaledDotProduct attention_;
  Launchable append_key_, append_value_;
  std::optional<Launchable> capture_;
  SentIntegers lengths_;
};

std::string ColumnsRefusal(const NodeInfo& info) {
  return AttentionAttributes(info.node()).columns.empty() ? "" : "columns are picked by the CPU provider";
}

}  // namespace

void RegisterAttention(KernelRegistry& registry) {
  for (const std::string_view domain : {std::string_view(), kTesseraDomain}) {
    registry.Add(Op("Attention", domain)
                     .Versions(domain.empty() ? 23 : 1)
                     .Types(0, kReals)
                     .Types(1, kReals)
                     .Types(2, kReals)
                     .Types(3, kNumbers | TypeSet{ElementType::kBool})
                     .HostInput(6)
                     .Unless(ColumnsRefusal)
                     .Make<Attention>());
  }
}

}  // namespace tessera::opencl
