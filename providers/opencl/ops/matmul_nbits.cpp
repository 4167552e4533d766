// com.microsoft MatMulNBits (1): matmul with weights of 2, 4 or 8 bits. accuracy_level allows less precision: it is not
// used.

#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "opencl/device/sources.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/slice_sums.h"
#include "opencl/gemm/tile_gemm.h"
#include "ops/math/matmul_nbits.h"
#include "tessera/provider/function_ref.h"

namespace tessera::opencl {
namespace {

constexpr size_t kNBitsLanes = 32;
constexpr int64_t kNBitsPackRows = 256;  // bytes that an item packs of a column
constexpr int64_t kRowsOfItem = 4;       // at most that the kernel for few rows computes on GPUs
constexpr int64_t kMostSingleRows = 3;   // on processors: blocks in registers have rows for six

class MatMulNBits final : public Kernel {
 public:
  explicit MatMulNBits(const KernelInfo& info)
      : attributes_(info.node()),
        bits_(attributes_.bits),
        k_(attributes_.k),
        n_(attributes_.n),
        block_(attributes_.block_size),
        blocks_(attributes_.blocks),
        row_bytes_(CheckedMul(blocks_, attributes_.block_bytes())),
        tiled_(SettingsOf(info).tiles),
        weights_(WeightsOf(info)),
        pack_(DeviceOf(info), "matmul_nbits",
              fmt::format("#define COLUMNS {}\n#define PACK_ROWS {}\n", kPanel, kNBitsPackRows), "pack_quantized"),
        pack_scales_(DeviceOf(info), "matmul_nbits", PanelDefines(info) + weights_.defines, "pack_scales"),
        pack_zeros_(DeviceOf(info), "matmul_nbits", PanelDefines(info) + weights_.defines, "pack_zeros"),
        one_row_(DeviceOf(info), "matmul_nbits", PanelDefines(info) + weights_.defines, "one_row"),
        single_(DeviceOf(info), "matmul_nbits", FewRowsDefines(info, 1), "few_rows"),
        few_(DeviceOf(info), "matmul_nbits", FewRowsDefines(info, kRowsOfItem), "few_rows"),
        slices_(DeviceOf(info), info.input_type(0), Epilogue{}) {
    Require(std::max(k_, n_) <= std::numeric_limits<cl_int>::max(), "K is {} and N {}; OpenCL kernels count to {}", k_, n_,
            std::numeric_limits<cl_int>::max());
    Require(row_bytes_ <= std::numeric_limits<cl_int>::max(), "a column has {} bytes; OpenCL kernels count to {}",
            row_bytes_, std::numeric_limits<cl_int>::max());
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
    PackConstants(info);
    if (packed_ == nullptr) pack_.Compile();
    if (packed_scales_ == nullptr) pack_scales_.Compile();
    if (packed_zeros_ == nullptr && info.has_input(3)) pack_zeros_.Compile();
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& quantized = context.required_input(1);
    const Tensor* bias = context.input(5);
    const Shape shape = attributes_.ResultShape(a.shape());
    attributes_.Check(quantized, context.required_input(2), context.input(3), bias, a.type());
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    const int64_t rows = a.num_elements() / k_;
    Require(rows <= std::numeric_limits<cl_int>::max(), "A has {} rows; OpenCL kernels count to {}", rows,
            std::numeric_limits<cl_int>::max());
    const MatMulArgs matmul{a, bias, y, static_cast<cl_int>(rows)};
    if (!tiled_) return ByPanels(context, matmul);
    const std::array<const Tensor*, 2> scales = {&context.required_input(2), context.input(3)};
    if (rows <= kRowsOfItem) return FewRows(context, matmul, quantized, scales);
    tiles_->Multiply(context, {RangeOf(a), RangeOf(quantized), bias, RangeOf(y), scales}, TileShape(matmul.rows), Strided{},
                     1);
  }

 private:
  struct MatMulArgs {
    const Tensor& a;
    const Tensor* bias;
    const Tensor& y;
    cl_int rows;
  };

  /// How kernels read weights; what they read of a node besides are scales and zero points.
  Epilogue WeightsOf(const KernelInfo& info) const {
    std::string text = fmt::format("#define BITS {}\n#define PER_BYTE {}\n#define BLOCK {}\n", bits_, 8 / bits_, block_);
    if (info.has_input(3))
      text += info.input_type(3) == ElementType::kUInt8 ? "#define PACKED_ZEROS\n" : "#define REAL_ZEROS\n";
    return {.defines = text + std::string(KernelSource("matmul_nbits_weights")),
            .broadcasts = std::vector<Epilogue::Broadcast>(2)};
  }
  std::string FewRowsDefines(const KernelInfo& info, int64_t rows) const {
    return Computed('X', info.input_type(0)) + weights_.defines +
           fmt::format("#define LANES {}\n#define PER {}\n", kNBitsLanes, rows);
  }

  int64_t MostFewRows() const { return tiled_ ? kRowsOfItem : kMostSingleRows; }
  int64_t ZeroBytes() const { return CheckedMul(n_, attributes_.zero_row_bytes()); }
  int64_t PackedBytes() const { return CheckedMul(CheckedMul(PanelGemm::Panels(n_), kPanel), row_bytes_); }
  std::array<size_t, 3> PackedItems() const {
    return {static_cast<size_t>(CeilDiv(row_bytes_, kNBitsPackRows)), static_cast<size_t>(PanelGemm::Panels(n_)), 1};
  }

  void MakeTiles(const KernelInfo& info, std::optional<int64_t> rows) {
    std::optional<TileGemm::Expected> expected;
    if (rows && *rows <= std::numeric_limits<cl_int>::max()) expected = {.shape = TileShape(static_cast<cl_int>(*rows))};
    // What timing would read in place of scales has another size.
    tiles_.emplace(info, TileGemm::Layout{.along_k_b = true, .tunable = false, .results = weights_}, expected);
  }
  TileGemmShape TileShape(cl_int rows) const {
    const auto n = static_cast<cl_int>(n_), k = static_cast<cl_int>(k_);
    return {.m = rows, .n = n, .k = k, .row_a = k, .col_a = 1, .row_b = 1, .col_b = k, .row_bias = 0, .col_bias = 1};
  }

  /// Bytes of quantized values, scales and zero points in panels: floats, but for quantized values.
  int64_t FloatsInPanels() const { return CheckedMul(CheckedMul(PanelGemm::Panels(n_), kPanel), blocks_); }
  void PackQuantized(Launchable& kernel, cl_command_queue queue, BufferRange from, BufferRange to) const {
    kernel.On(queue, PackedItems(), {1, 1, 1}, from, to, static_cast<cl_int>(row_bytes_), static_cast<cl_int>(n_));
  }
  void PackFloats(Launchable& kernel, cl_command_queue queue, BufferRange from, BufferRange to) const {
    kernel.On(queue, {static_cast<size_t>(PanelGemm::Panels(n_)), 1, 1}, {1, 1, 1}, from, to, static_cast<cl_int>(blocks_),
              static_cast<cl_int>(n_));
  }

  /// Constants are needed in panels only; those that do not fit, a run names.
  void PackConstants(const KernelInfo& info) {
    const auto pack = [&](size_t input, int64_t elements, std::string_view form, int64_t bytes,
                          const auto& enqueue) -> std::shared_ptr<const ConstantBlock> {
      const Tensor* constant = info.constant_input(input);
      if (constant == nullptr || constant->num_elements() != elements) return nullptr;
      auto packed = ConstantsOf(info).Form(
          *constant, fmt::format("{} of {} columns, blocks of {} by {} bits", form, n_, block_, bits_),
          static_cast<size_t>(bytes), [&](const BufferRange& to) {
            const HostWeights from(DeviceOf(info), *constant);
            enqueue(QueueOf(info), from.range(), to);
            Finish(QueueOf(info));
          });
      info.ReleaseConstant(input);
      return packed;
    };
    const int64_t blocks = CheckedMul(n_, blocks_),
                  zeros = info.has_input(3) && info.input_type(3) == ElementType::kUInt8 ? ZeroBytes() : blocks;
    const auto floats = static_cast<int64_t>(sizeof(cl_float)) * FloatsInPanels();
    packed_ = pack(
        1, CheckedMul(n_, row_bytes_), "panels of quantized values", PackedBytes(),
        [&](cl_command_queue queue, BufferRange from, BufferRange to) { PackQuantized(pack_.Compile(), queue, from, to); });
    packed_scales_ =
        pack(2, blocks, "panels of scales", floats, [&](cl_command_queue queue, BufferRange from, BufferRange to) {
          PackFloats(pack_scales_.Compile(), queue, from, to);
        });
    packed_zeros_ =
        pack(3, zeros, "panels of zero points", floats, [&](cl_command_queue queue, BufferRange from, BufferRange to) {
          PackFloats(pack_zeros_.Compile(), queue, from, to);
        });
  }

  /// Launches few rows by few columns of many blocks in slices of these, which are added then: one item would have a
  /// column.
  void InSlices(KernelContext& context, const MatMulArgs& p,
                FunctionRef<void(BufferRange parts, size_t slices, cl_int blocks_of_slice)> launch) {
    constexpr int64_t kSlice = int64_t{1} << 17;
    if (k_ < 2 * kSlice) return launch({}, 1, static_cast<cl_int>(blocks_));
    const int64_t blocks_of_slice = CeilDiv(kSlice, block_), slices = CeilDiv(blocks_, blocks_of_slice),
                  results = CheckedMul<int64_t>(p.rows, n_);
    const DeviceScratch parts(context, slices_.Bytes(CheckedMul(results, slices)));
    launch(parts.range(), static_cast<size_t>(slices), static_cast<cl_int>(blocks_of_slice));
    const SliceSumsShape joined{.results = results,
                                .result_step = 1,
                                .slice_step = results,
                                .n = static_cast<cl_int>(n_),
                                .slices = static_cast<cl_int>(slices),
                                .col_bias = 1};
    slices_.Join(context, parts.range(), p.bias, p.y, joined, 1, {});
  }

  void FewRows(KernelContext& context, const MatMulArgs& p, const Tensor& quantized,
               std::span<const Tensor* const> scales) {
    const int64_t per = p.rows == 1 ? 1 : kRowsOfItem;
    InSlices(context, p, [&](BufferRange parts, size_t slices, cl_int blocks_of_slice) {
      const auto groups = static_cast<size_t>(CeilDiv<int64_t>(p.rows, per));
      (p.rows == 1 ? single_ : few_)
          .Compile()(context, {kNBitsLanes * static_cast<size_t>(n_), groups, slices}, {kNBitsLanes, 1, 1}, p.a, quantized,
                     p.bias, p.y, parts, p.rows, static_cast<cl_int>(k_), static_cast<cl_int>(n_), blocks_of_slice, scales);
    });
  }

  void ByPanels(KernelContext& context, const MatMulArgs& p) {
    std::optional<DeviceScratch> quantized_here, scales_here, zeros_here;
    const auto in_panels = [&](const std::shared_ptr<const ConstantBlock>& packed, std::optional<DeviceScratch>& here,
                               size_t input, int64_t bytes, LazyLaunchable& kernel, auto enqueue) -> BufferRange {
      if (packed != nullptr) return packed->range();
      const Tensor* given = context.input(input);
      if (given == nullptr) return {};
      here.emplace(context, static_cast<size_t>(bytes));
      (this->*enqueue)(kernel.Compile(), static_cast<cl_command_queue>(context.stream()->native_handle()), RangeOf(*given),
                       here->range());
      return here->range();
    };
    const auto floats = static_cast<int64_t>(sizeof(cl_float)) * FloatsInPanels();
    const BufferRange quantized = in_panels(packed_, quantized_here, 1, PackedBytes(), pack_, &MatMulNBits::PackQuantized);
    const std::array<BufferRange, 2> scales = {
        in_panels(packed_scales_, scales_here, 2, floats, pack_scales_, &MatMulNBits::PackFloats),
        in_panels(packed_zeros_, zeros_here, 3, floats, pack_zeros_, &MatMulNBits::PackFloats)};
    const int64_t panels = PanelGemm::Panels(n_);
    const auto n = static_cast<cl_int>(n_), k = static_cast<cl_int>(k_);
    if (p.rows <= kMostSingleRows) {
      return InSlices(context, p, [&](BufferRange parts, size_t slices, cl_int blocks_of_slice) {
        one_row_.Compile()(context, {static_cast<size_t>(panels), static_cast<size_t>(p.rows), slices}, {1, 1, 1}, p.a,
                           quantized, p.bias, p.y, parts, p.rows, k, n, blocks_of_slice,
                           std::span<const BufferRange>(scales));
      });
    }
    const PanelGemmShape shape{.b_panel = row_bytes_ * kPanel, .m = p.rows, .n = n, .k = k, .row_a = k};
    panels_->Multiply(context, {RangeOf(p.a), quantized, p.bias, RangeOf(p.y), {}, scales}, shape, panels, Strided{}, 1);
  }

  const MatMulNBitsAttributes attributes_;
  const int64_t bits_, k_, n_, block_, blocks_, row_bytes_;
  const bool tiled_;
  const Epilogue weights_;
  LazyLaunchable pack_, pack_scales_, pack_zeros_, one_row_, single_, few_;
  SliceSums slices_;
  std::optional<TileGemm> tiles_;
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_, packed_scales_, packed_zeros_;
};

std::string OrderRefusal(const NodeInfo& info) {
  return info.has_input(4) ? "weights in another order (g_idx) are left to the CPU provider" : "";
}

}  // namespace

void RegisterMatMulNBits(KernelRegistry& registry) {
  registry.Add(Op("MatMulNBits", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Unless(OrderRefusal)
                   .Make<MatMulNBits>());
}

}  // namespace tessera::opencl
