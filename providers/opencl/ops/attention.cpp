// Attention (23-25), and what the optimizer makes of products that broadcast.

#include "opencl/ops/attention.h"

#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include "base/checked.h"
#include "graph/private_names.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/ops/slices.h"

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

/// Sizes of Q, K or V: [batch, heads, rows, width], or [batch, rows, heads * width].
struct Heads {
  Heads(const Shape& shape, int64_t given_heads, const char* name) {
    packed = shape.rank() == 3;
    Require(packed || shape.rank() == 4, "{} is {}; 3 or 4 dimensions are expected", name, shape);
    Require(!packed || (given_heads > 0 && shape[2] % given_heads == 0), "{} is {}, which does not divide into {} heads",
            name, shape, given_heads);
    batch = shape[0];
    heads = packed ? given_heads : shape[1];
    rows = shape[packed ? 1 : 2];
    width = packed ? shape[2] / given_heads : shape[3];
  }
  cl_long batch_step() const { return CheckedMul(CheckedMul(heads, rows), width); }
  cl_long head_step() const { return packed ? width : CheckedMul(rows, width); }
  cl_long row_step() const { return packed ? CheckedMul(heads, width) : width; }

  int64_t batch, heads, rows, width;
  bool packed, repeats = false;  // one batch for all
};

AttentionTypes TypesOf(const KernelInfo& info) {
  AttentionTypes types{info.input_type(0), info.input_type(1), info.input_type(2), info.output_type(0)};
  if (info.has_input(3)) types.mask = info.input_type(3);
  if (info.has_output(3)) types.captured = info.output_type(3);
  return types;
}

class Attention final : public Kernel {
 public:
  explicit Attention(const KernelInfo& info)
      : attention_(info, TypesOf(info),
                   KnownHeads(info, info.attribute<int64_t>("q_num_heads", 0), info.attribute<int64_t>("kv_num_heads", 0))),
        append_key_(DeviceOf(info), "slices", Moved('X', info.input_type(1)), "append"),
        append_value_(DeviceOf(info), "slices", Moved('X', info.input_type(2)), "append"),
        lengths_(info, 6),
        q_heads_(info.attribute<int64_t>("q_num_heads", 0)),
        kv_heads_(info.attribute<int64_t>("kv_num_heads", 0)),
        left_(info.attribute<int64_t>("left_window_size", -1)),
        right_(info.attribute<int64_t>("right_window_size", -1)),
        stage_(info.attribute<int64_t>("qk_matmul_output_mode", 0)),
        causal_(info.attribute<int64_t>("is_causal", 0) != 0),
        broadcasts_(info.attribute<int64_t>("broadcast", 0) != 0),
        nan_rows_(info.attribute<int64_t>("nan_rows", 0) != 0),
        softcap_(info.attribute<float>("softcap", 0)) {
    if (info.has_attribute("scale")) scale_ = info.attribute<float>("scale");
    Require(stage_ >= 0 && stage_ <= 3, "qk_matmul_output_mode is {}; 0 to 3 are known", stage_);
    Require(left_ >= -1 && right_ >= -1, "a window size is below -1: left {}, right {}", left_, right_);
    if (info.has_output(3)) capture_.emplace(DeviceOf(info), "attention", AttentionDefines(TypesOf(info)), "capture");
  }

  void Compute(KernelContext& context) override {
    const Tensor& q = context.required_input(0);
    const Tensor& k = context.required_input(1);
    const Tensor& v = context.required_input(2);
    const Tensor *mask = context.input(3), *past_key = context.input(4), *past_value = context.input(5);
    Heads qh(q.shape(), q_heads_, "Q"), kh(k.shape(), kv_heads_, "K"), vh(v.shape(), kv_heads_, "V");
    const std::array<int64_t, 4> mask_dims = MaskDims(mask);
    const int64_t past = PastRows(past_key, past_value, kh, vh);
    const Operand key = WithPast(context, append_key_, 1, past_key, past, k, kh),
                  value = WithPast(context, append_value_, 2, past_value, past, v, vh);
    const int64_t q_rows = qh.rows;
    const std::array<cl_long, 3> q_steps = {qh.batch_step(), qh.head_step(), qh.row_step()};
    if (broadcasts_) Broadcast(mask_dims, qh, kh, vh);
    Require(qh.batch == kh.batch && qh.batch == vh.batch && qh.width == kh.width && kh.heads == vh.heads &&
                kh.rows == vh.rows && kh.heads > 0 && qh.heads % kh.heads == 0,
            "Q is {}, K {}, V {}", q.shape(), k.shape(), v.shape());
    AttentionProblem p{.batch = qh.batch,
                       .q_heads = qh.heads,
                       .kv_heads = kh.heads,
                       .queries = qh.rows,
                       .keys = CheckedAdd(past, kh.rows),
                       .width = qh.width,
                       .value_width = vh.width,
                       .q_batch = qh.repeats ? 0 : q_steps[0],
                       .q_head = q_steps[1],
                       .q_row = qh.rows != q_rows ? 0 : q_steps[2]};
    std::tie(p.k_batch, p.k_head, p.k_row) = key.steps;
    std::tie(p.v_batch, p.v_head, p.v_row) = value.steps;
    if (kh.repeats) p.k_batch = 0;
    if (vh.repeats) p.v_batch = 0;
    Heads yh = qh;
    yh.width = vh.width;
    p.y_batch = yh.batch_step();
    p.y_head = yh.head_step();
    p.y_row = yh.row_step();
    p.offset = past;
    p.left = left_;
    p.right = right_;
    p.causal = causal_;
    p.stage = static_cast<cl_int>(stage_);
    p.scale = scale_ ? *scale_ : DefaultAttentionScale(qh.width);
    p.softcap = softcap_;
    p.nothing = nan_rows_ && p.keys > 0 ? std::numeric_limits<cl_float>::quiet_NaN() : 0;
    FitMask(mask, mask_dims, p);
    const Buffer lengths = SendLengths(context, p, past_key != nullptr);
    const Tensor* y = context.output(
        0, yh.packed ? Shape{yh.batch, yh.rows, yh.row_step()} : Shape{yh.batch, yh.heads, yh.rows, yh.width});
    const std::array<size_t, 3> rows = {kAttentionLanes * static_cast<size_t>(p.queries), 1,
                                        static_cast<size_t>(CheckedMul(p.batch, p.q_heads))};
    if (capture_) {
      const Tensor& captured = *context.output(3, Shape{p.batch, p.q_heads, p.queries, p.keys});
      if (captured.num_elements() > 0) {
        (*capture_)(context, rows, {kAttentionLanes, 1, 1}, q, key.range, value.range, mask, BufferRange{lengths.get(), 0},
                    captured, BufferRange{}, p);
      }
    }
    if (y == nullptr || y->num_elements() == 0) return;
    const BufferRange queries = q.num_elements() == 0 ? BufferRange{} : DeviceAllocator::Find(q.raw());
    attention_.Run(context, queries, key.range, value.range, mask, BufferRange{lengths.get(), 0}, *y, p);
  }

 private:
  /// Keys or values as attention reads them.
  struct Operand {
    BufferRange range;
    std::tuple<cl_long, cl_long, cl_long> steps;
    std::unique_ptr<DeviceScratch> own;
  };

  static int64_t PastRows(const Tensor* key, const Tensor* value, const Heads& k, const Heads& v) {
    Require((key == nullptr) == (value == nullptr), "past_key and past_value must be given together");
    if (key == nullptr) return 0;
    const auto fits = [](const Tensor& past, const Heads& sizes) {
      const Shape& s = past.shape();
      return s.rank() == 4 && s[0] == sizes.batch && s[1] == sizes.heads && s[3] == sizes.width;
    };
    Require(fits(*key, k) && fits(*value, v) && key->shape()[2] == value->shape()[2],
            "past_key {} and past_value {} do not fit K and V", key->shape(), value->shape());
    return key->shape()[2];
  }

  /// The past and the new rows, which may also be output `i`.
  static Operand WithPast(KernelContext& context, Launchable& append, size_t i, const Tensor* past, int64_t before,
                          const Tensor& x, const Heads& heads) {
    Operand operand;
    operand.steps = {heads.batch_step(), heads.head_step(), heads.row_step()};
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
                  cl_long{rows}, cl_long{heads.width}, heads.batch_step(), heads.head_step(), heads.row_step());
    return operand;
  }

  /// Along batch, heads, queries and keys: 1 where there is none.
  static std::array<int64_t, 4> MaskDims(const Tensor* mask) {
    std::array<int64_t, 4> dims = {1, 1, 1, 1};
    if (mask == nullptr) return dims;
    const Shape& shape = mask->shape();
    Require(shape.rank() >= 1 && shape.rank() <= 4, "attn_mask {} does not have 1 to 4 dimensions", shape);
    for (size_t i = 0; i < shape.rank(); ++i) dims[4 - shape.rank() + i] = shape[i];
    return dims;
  }

  /// Batches, and queries under the mask, repeat as in MatMul and Add.
  static void Broadcast(const std::array<int64_t, 4>& mask, Heads& q, Heads& k, Heads& v) {
    int64_t batch = mask[0];
    for (const Heads* heads : {&q, &k, &v}) batch = batch == 1 ? heads->batch : batch;
    for (Heads* heads : {&q, &k, &v}) {
      if (heads->batch != 1 || batch == 1) continue;
      heads->batch = batch;
      heads->repeats = true;
    }
    if (q.rows == 1) q.rows = mask[2];
  }

  void FitMask(const Tensor* mask, const std::array<int64_t, 4>& dims, AttentionProblem& p) const {
    if (mask == nullptr) return;
    const std::array<int64_t, 4> wanted = {p.batch, p.q_heads, p.queries, p.keys};
    for (size_t i = 0; i < 4; ++i) {
      const bool pads = i == 3 && !broadcasts_ && dims[3] < wanted[3];
      Require(dims[i] == 1 || dims[i] == wanted[i] || pads, "attn_mask {} does not broadcast to [{},{},{},{}]",
              mask->shape(), wanted[0], wanted[1], wanted[2], wanted[3]);
    }
    const bool one_a_row = broadcasts_ && dims[3] == 1;
    p.m_key = one_a_row ? 0 : 1;
    p.m_keys = one_a_row ? p.keys : dims[3];
    p.m_row = dims[2] == 1 ? 0 : dims[3];
    p.m_head = dims[1] == 1 ? 0 : dims[2] * dims[3];
    p.m_batch = dims[0] == 1 ? 0 : dims[1] * dims[2] * dims[3];
  }

  Buffer SendLengths(KernelContext& context, const AttentionProblem& p, bool has_past) {
    const Tensor* lengths = context.input(6);
    if (lengths == nullptr) return {};
    Require(!has_past, "nonpad_kv_seqlen cannot be combined with past_key");
    Require(lengths->is(ElementType::kInt64) && lengths->num_elements() == p.batch,
            "nonpad_kv_seqlen is {}, the batch is {}", lengths->shape(), p.batch);
    for (int64_t length : lengths->values<int64_t>())
      Require(length >= 0 && length <= p.keys, "nonpad_kv_seqlen holds {} of {} keys", length, p.keys);
    if (p.batch == 0) return {};
    return lengths_.Send(context, lengths->shape(), p.batch,
                         [&](std::span<int64_t> sent) { std::ranges::copy(lengths->values<int64_t>(), sent.begin()); });
  }

  ScaledDotProduct attention_;
  Launchable append_key_, append_value_;
  std::optional<Launchable> capture_;
  SentIntegers lengths_;
  int64_t q_heads_, kv_heads_, left_, right_, stage_;
  bool causal_, broadcasts_, nan_rows_;
  std::optional<float> scale_;
  float softcap_;
};

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
                     .Make<Attention>());
  }
}

}  // namespace tessera::opencl
