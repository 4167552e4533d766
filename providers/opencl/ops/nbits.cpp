// com.microsoft MatMulNBits (1): products with weights of 2, 4 or 8 bits. accuracy_level allows less precision: it is not used.

#include <bit>
#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernel.h"
#include "product.h"
#include "sources.h"
#include "tiles.h"

namespace tessera::opencl {
namespace {

constexpr size_t kNBitsLanes = 32;
constexpr int64_t kNBitsLines = 256;    // bytes that an item packs of a column
constexpr int64_t kRowsOfItem = 4;      // at most that the kernel for few rows computes on GPUs
constexpr int64_t kMostSingleRows = 3;  // on processors: blocks in registers have rows for six

class MatMulNBits final : public Kernel {
 public:
  explicit MatMulNBits(const KernelInfo& info)
      : bits_(Checked(info.attribute<int64_t>("bits", 4))),
        k_(info.attribute<int64_t>("K")),
        n_(info.attribute<int64_t>("N")),
        block_(info.attribute<int64_t>("block_size")),
        tiled_(SettingsOf(info).tiles),
        weights_(WeightsOf(info)),
        pack_(DeviceOf(info), "nbits", fmt::format("#define COLUMNS {}\n#define LINES {}\n", kPanel, kNBitsLines), "pack_codes"),
        one_row_(DeviceOf(info), "nbits", PanelDefines(info) + weights_.defines, "one_row"),
        single_(DeviceOf(info), "nbits", FewRowsDefines(info, 1), "few_rows"),
        few_(DeviceOf(info), "nbits", FewRowsDefines(info, kRowsOfItem), "few_rows") {
    Require(k_ > 0 && n_ > 0 && std::max(k_, n_) <= std::numeric_limits<cl_int>::max(), "K is {} and N {}; both must be positive, and at most {}", k_, n_,
            std::numeric_limits<cl_int>::max());
    Require(block_ >= 16 && block_ <= (int64_t{1} << 30) && std::has_single_bit(static_cast<uint64_t>(block_)),
            "block_size is {}; a power of two from 16 on is expected", block_);
    Require(info.attribute<int64_t>("weight_prepacked", 0) == 0, "the weights are packed for another device");
    blocks_ = CeilDiv(k_, block_);
    row_bytes_ = CheckedMul(blocks_, block_ * bits_ / 8);
    Require(row_bytes_ <= std::numeric_limits<cl_int>::max(), "a column has {} bytes; OpenCL kernels count to {}", row_bytes_, std::numeric_limits<cl_int>::max());
    const auto a = KnownShape(info.input_info(0));
    const std::optional<int64_t> rows = a ? std::optional(a->num_elements() / k_) : std::nullopt;
    const bool few = !rows || *rows <= MostFewRows(), many = !rows || *rows > MostFewRows();
    if (tiled_) {
      if (few && rows.value_or(1) <= 1) single_.Compile();
      if (few && rows.value_or(2) > 1) few_.Compile();
      if (many) MakeTiles(info, rows);
      return;
    }
    if (few) one_row_.Compile();
    if (many) panels_.emplace(info, info.input_type(0), BlockDefines(info, "#define ALONG_K_A\n"), weights_.defines);
    PackConstant(info);
    if (packed_ == nullptr) pack_.Compile();
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& codes = context.required_input(1);
    const Tensor* bias = context.input(5);
    Check(context, a, codes, bias);
    Shape shape = a.shape();
    shape[shape.rank() - 1] = n_;
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    const int64_t rows = a.num_elements() / k_;
    Require(rows <= std::numeric_limits<cl_int>::max(), "A has {} rows; OpenCL kernels count to {}", rows, std::numeric_limits<cl_int>::max());
    const std::array<const Tensor*, 2> scales = {&context.required_input(2), context.input(3)};
    const Product product{a, bias, y, static_cast<cl_int>(rows), scales};
    if (tiled_) return rows <= MostFewRows() ? FewRows(context, product, codes) : ByTiles(context, product, codes);
    if (packed_ != nullptr) return ByPanels(context, product, packed_->range());
    const DeviceScratch packed(context, static_cast<size_t>(PackedBytes()));
    pack_.Compile()(context, PackedItems(), {1, 1, 1}, codes, packed.range(), static_cast<cl_int>(row_bytes_), static_cast<cl_int>(n_));
    ByPanels(context, product, packed.range());
  }

 private:
  struct Product {
    const Tensor& a;
    const Tensor* bias;
    const Tensor& y;
    cl_int rows;
    std::span<const Tensor* const> scales;  // and zero points
  };

  static int64_t Checked(int64_t bits) {
    Require(bits == 2 || bits == 4 || bits == 8, "bits is {}; 2, 4 or 8 is expected", bits);
    return bits;
  }

  /// How kernels read weights; what they read of a node besides are scales and zero points.
  Epilogue WeightsOf(const KernelInfo& info) const {
    std::string text = fmt::format("#define BITS {}\n#define CODES {}\n#define BLOCK {}\n", bits_, 8 / bits_, block_);
    if (info.has_input(3)) text += info.input_type(3) == ElementType::kUInt8 ? "#define PACKED_ZEROS\n" : "#define REAL_ZEROS\n";
    return {.defines = text + std::string(KernelSource("nbits_weights")), .places = std::vector<Epilogue::Place>(2)};
  }
  std::string FewRowsDefines(const KernelInfo& info, int64_t rows) const {
    return Computed('X', info.input_type(0)) + weights_.defines + fmt::format("#define LANES {}\n#define PER {}\n", kNBitsLanes, rows);
  }

  int64_t MostFewRows() const { return tiled_ ? kRowsOfItem : kMostSingleRows; }
  int64_t PackedBytes() const { return CheckedMul(CheckedMul(PanelProduct::Panels(n_), kPanel), row_bytes_); }
  std::array<size_t, 3> PackedItems() const {
    return {static_cast<size_t>(CeilDiv(row_bytes_, kNBitsLines)), static_cast<size_t>(PanelProduct::Panels(n_)), 1};
  }

  void Check(const KernelContext& context, const Tensor& a, const Tensor& codes, const Tensor* bias) const {
    const Tensor &scales = context.required_input(2), *zeros = context.input(3);
    Require(a.shape().rank() > 0 && a.shape().back() == k_, "A is {}; K is {}", a.shape(), k_);
    const int64_t blocks = CheckedMul(n_, blocks_);
    Require(codes.is(ElementType::kUInt8) && codes.num_elements() == CheckedMul(n_, row_bytes_), "B is {}; [{},{},{}] is expected", codes.shape(), n_,
            blocks_, block_ * bits_ / 8);
    Require(scales.type() == a.type() && scales.num_elements() == blocks, "scales is {}; [{},{}] is expected", scales.shape(), n_, blocks_);
    Require(zeros == nullptr || (zeros->is(ElementType::kUInt8) && zeros->num_elements() == n_ * CeilDiv(blocks_ * bits_, int64_t{8})) ||
                (zeros->type() == a.type() && zeros->num_elements() == blocks),
            "zero_points is {}", OptionalShape{zeros});
    Require(bias == nullptr || (bias->type() == a.type() && bias->num_elements() == n_), "the bias is {}; [{}] is expected", OptionalShape{bias}, n_);
  }

  void MakeTiles(const KernelInfo& info, std::optional<int64_t> rows) {
    std::optional<TileProduct::Expected> expected;
    if (rows && *rows <= std::numeric_limits<cl_int>::max()) expected = {.shape = TileShape(static_cast<cl_int>(*rows))};
    // What timing would read in place of scales has another size.
    tiles_.emplace(info, TileProduct::Layout{.along_k_b = true, .tunable = false, .results = weights_}, expected);
  }
  TileProductShape TileShape(cl_int rows) const {
    const auto n = static_cast<cl_int>(n_), k = static_cast<cl_int>(k_);
    return {.m = rows, .n = n, .k = k, .row_a = k, .col_a = 1, .row_b = 1, .col_b = k, .row_bias = 0, .col_bias = 1};
  }

  /// A constant B is needed in panels only.
  void PackConstant(const KernelInfo& info) {
    const Tensor* codes = info.constant_input(1);
    if (codes == nullptr || !codes->is(ElementType::kUInt8) || codes->num_elements() != CheckedMul(n_, row_bytes_)) return;
    packed_ = ConstantsOf(info).Form(*codes, fmt::format("panels of bytes of {} x {}", n_, row_bytes_), static_cast<size_t>(PackedBytes()), [&](const BufferRange& packed) {
      const HostWeights from(DeviceOf(info), *codes);
      pack_.Compile().On(QueueOf(info), PackedItems(), {1, 1, 1}, from.range(), packed, static_cast<cl_int>(row_bytes_), static_cast<cl_int>(n_));
      Finish(QueueOf(info));
    });
    info.ReleaseConstant(1);
  }

  void FewRows(KernelContext& context, const Product& p, const Tensor& codes) {
    const int64_t per = p.rows == 1 ? 1 : kRowsOfItem;
    (p.rows == 1 ? single_ : few_).Compile()(context, {kNBitsLanes * static_cast<size_t>(n_), static_cast<size_t>(CeilDiv<int64_t>(p.rows, per)), 1},
                                             {kNBitsLanes, 1, 1}, p.a, codes, p.bias, p.y, p.rows, static_cast<cl_int>(k_), static_cast<cl_int>(n_), p.scales);
  }
  void ByTiles(KernelContext& context, const Product& p, const Tensor& codes) {
    tiles_->Multiply(context, {RangeOf(p.a), RangeOf(codes), p.bias, RangeOf(p.y), p.scales}, TileShape(p.rows), Strided{}, 1);
  }
  void ByPanels(KernelContext& context, const Product& p, BufferRange codes) {
    const int64_t panels = PanelProduct::Panels(n_);
    const auto n = static_cast<cl_int>(n_), k = static_cast<cl_int>(k_);
    if (p.rows <= kMostSingleRows) {
      return one_row_.Compile()(context, {static_cast<size_t>(panels), static_cast<size_t>(p.rows), 1}, {1, 1, 1}, p.a, codes, p.bias, p.y, k, n, p.scales);
    }
    const PanelProductShape shape{.b_panel = row_bytes_ * kPanel,
                                  .b_image = 0,
                                  .y_image = 0,
                                  .m = p.rows,
                                  .n = n,
                                  .k = k,
                                  .row_a = k,
                                  .col_a = 1,
                                  .b_row = kPanel,
                                  .b_column = 0,
                                  .panels = static_cast<cl_int>(panels),
                                  .first = 0,
                                  .row_bias = 0,
                                  .col_bias = 1,
                                  .alpha = 1,
                                  .beta = 1};
    panels_->Multiply(context, {RangeOf(p.a), codes, p.bias, RangeOf(p.y), p.scales}, shape, panels, Strided{}, 1);
  }

  const int64_t bits_, k_, n_, block_;
  int64_t blocks_ = 0, row_bytes_ = 0;
  const bool tiled_;
  const Epilogue weights_;
  LazyLaunchable pack_, one_row_, single_, few_;
  std::optional<TileProduct> tiles_;
  std::optional<PanelProduct> panels_;
  std::shared_ptr<const ConstantBlock> packed_;
};

}  // namespace

void RegisterNBits(KernelRegistry& registry) {
  registry.Add(Op("MatMulNBits", "com.microsoft").Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}).Make<MatMulNBits>());
}

}  // namespace tessera::opencl
