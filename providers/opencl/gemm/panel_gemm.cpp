#include "opencl/gemm/panel_gemm.h"

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/scratch.h"
#include "opencl/device/sources.h"

namespace tessera::opencl {
namespace {

/// Of what is computed in.
size_t ElementBytes(ElementType type) { return type == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float); }

}  // namespace

std::string PanelDefines(ElementType type) {
  return Computed('X', type) + fmt::format("#define BYTES {}\n#define COLUMNS {}\n", BitWidth(type) / 8, kPanel);
}

std::string BlockDefines(ElementType type, std::string_view left, int64_t rows) {
  constexpr size_t kVectorBytes = 64;
  return fmt::format("{}{}#define ROWS {}\n#define LANES {}\n{}", PanelDefines(type), left, rows,
                     kVectorBytes / ElementBytes(type), KernelSource("block"));
}

namespace {

/// Blocks of rows that an item computes at most, and how many rows of a panel it keeps for them.
constexpr int64_t kMostBlocks = 32, kDepth = 256;
/// Rows of a panel that an item packs.
constexpr int64_t kPackedWeightsS8 = 64;

std::string PackDefines(const KernelInfo& info, ElementType type) {
  return fmt::format("{}{}#define PACK_ROWS {}\n#define ROWS {}\n", PanelDefines(info),
                     HostWeights::Defines(DeviceOf(info), type), kPackedWeightsS8, kBlockRows);
}

std::array<size_t, 3> PackedItems(int64_t k, int64_t panels, int64_t stacks) {
  return {static_cast<size_t>(CeilDiv(k, kPackedWeightsS8)), static_cast<size_t>(panels), static_cast<size_t>(stacks)};
}

const char* Name(PanelGemm::Left left) {
  switch (left) {
    case PanelGemm::Left::kAlongK: return "#define ALONG_K_A\n";
    case PanelGemm::Left::kPacked: return "#define PACKED_A\n";
    case PanelGemm::Left::kStrided: break;
  }
  return "";
}

}  // namespace

PanelGemm::PanelGemm(const KernelInfo& info, Left left) : PanelGemm(info, left, EpilogueOf(info).defines) {}

PanelGemm::PanelGemm(const KernelInfo& info, Left left, const std::string& results)
    : PanelGemm(info, info.input_type(0), BlockDefines(info, Name(left)), results) {}

PanelGemm::PanelGemm(const KernelInfo& info, ElementType type, const std::string& block, const std::string& results)
    : device_(DeviceOf(info)),
      multiply_(device_, "panel_gemm",
                block + results + fmt::format("#define MOST {}\n#define DEPTH {}\n", kMostBlocks, kDepth), "multiply"),
      pack_(device_, "panel_gemm", PackDefines(info, type), "pack_matrix"),
      element_bytes_(ElementBytes(type)) {}

std::shared_ptr<const ConstantBlock> PanelGemm::PackRight(const KernelInfo& info, const Tensor& b, int64_t k, int64_t n,
                                                          cl_int row, cl_int column, int64_t stacks) {
  const int64_t elements = CheckedMul(CheckedMul(CheckedMul(Panels(n), kPanel), k), stacks);
  if (elements == 0) return nullptr;
  const std::string form = fmt::format("{} panels of {} x {} by {} and {}", stacks, k, n, row, column);
  return ConstantsOf(info).Form(b, form, static_cast<size_t>(elements) * element_bytes_, [&](const BufferRange& packed) {
    const HostWeights from(DeviceOf(info), b);
    pack_.Compile().On(QueueOf(info), PackedItems(k, Panels(n), stacks), {1, 1, 1}, from.range(), packed,
                       static_cast<cl_int>(k), static_cast<cl_int>(n), row, column, cl_long{k * n});
    Finish(QueueOf(info));
  });
}

std::shared_ptr<const ConstantBlock> PanelGemm::PackLeft(const KernelInfo& info, const Tensor& a, int64_t m, int64_t k,
                                                         int64_t stacks, std::optional<std::array<int64_t, 2>> steps) {
  const int64_t elements = CheckedMul(CheckedMul(PackedRows(m), k), stacks);
  if (elements == 0) return nullptr;
  const auto [row, column] = steps.value_or(std::array<int64_t, 2>{k, 1});
  const std::string form = fmt::format("{} blocks of rows of {} x {} by {} and {}", stacks, m, k, row, column);
  return ConstantsOf(info).Form(
      a, form, static_cast<size_t>(elements) * ElementBytes(a.type()), [&](const BufferRange& packed) {
        const HostWeights from(DeviceOf(info), a);
        Launchable pack(DeviceOf(info), "panel_gemm", PackDefines(info, a.type()), "pack_rows");
        const std::array<size_t, 3> global = {static_cast<size_t>(k), static_cast<size_t>(PackedRows(m) / kBlockRows),
                                              static_cast<size_t>(stacks)};
        pack.On(QueueOf(info), global, {1, 1, 1}, from.range(), packed, static_cast<cl_int>(m), static_cast<cl_int>(k),
                cl_long{row}, cl_long{column}, cl_long{m * k});
        Finish(QueueOf(info));
      });
}

void PanelGemm::Multiply(KernelContext& context, const PanelOperands& operands, PanelGemmShape shape, int64_t panels,
                         const Strided& stack, int64_t stacks) {
  constexpr int64_t kItemsOfUnit = 8;         // at least, so that no unit waits long for the others
  constexpr int64_t kCacheBytes = 256 << 10;  // of A that stay near a unit while panels change
  const int64_t blocks = CeilDiv(shape.m, kBlockRows);
  const int64_t items = kItemsOfUnit * static_cast<int64_t>(device_.capabilities().compute_units);
  const int64_t batches = CeilDiv(blocks, std::clamp<int64_t>(blocks * panels * stacks / items, 1, kMostBlocks));
  shape.together = static_cast<cl_int>(CeilDiv(blocks, std::max<int64_t>(batches, 1)));
  shape.panels = static_cast<cl_int>(Panels(shape.n));
  // Neighbours in the first dimension run one after the other: a small A is read again for each panel, else the panels for
  // each batch.
  shape.across = int64_t{shape.m} * shape.k * static_cast<int64_t>(element_bytes_) > kCacheBytes ? 1 : 0;
  std::array<size_t, 3> global = {static_cast<size_t>(batches), static_cast<size_t>(panels), static_cast<size_t>(stacks)};
  if (shape.across == 1) std::swap(global[0], global[1]);
  multiply_(context, global, {1, 1, 1}, operands.a, operands.b, operands.bias, operands.y, shape, stack, operands.epilogue,
            operands.more);
}

void PanelGemm::MultiplyWindows(KernelContext& context, PanelOperands operands, PanelGemmShape shape, int64_t batch,
                                Strided stack, int64_t groups, FunctionRef<void(BufferRange, cl_int, int64_t)> pack) {
  constexpr int64_t kScratchBytes = 8 << 20;
  const int64_t panels = CheckedMul(batch, Panels(shape.n)), panel = CheckedMul<int64_t>(shape.k, kPanel);
  const int64_t panel_bytes = CheckedMul(CheckedMul(panel, groups), static_cast<int64_t>(element_bytes_));
  const int64_t together = std::clamp<int64_t>(kScratchBytes / std::max<int64_t>(panel_bytes, 1), 1, panels);
  shape.b_panel = panel;
  for (int64_t first = 0; first < panels; first += together) {
    const int64_t here = std::min(together, panels - first);
    const DeviceScratch scratch(context, static_cast<size_t>(CheckedMul(panel_bytes, here)));
    shape.first = static_cast<cl_int>(first);
    stack.b[0] = here * panel;
    pack(scratch.range(), shape.first, here);
    operands.b = scratch.range();
    Multiply(context, operands, shape, here, stack, groups);
  }
}

void PanelGemm::Pack(KernelContext& context, const Tensor& b, BufferRange packed, int64_t k, int64_t n, cl_int row,
                     cl_int column, int64_t stacks, std::optional<cl_long> stack) {
  pack_.Compile()(context, PackedItems(k, Panels(n), stacks), {1, 1, 1}, b, packed, static_cast<cl_int>(k),
                  static_cast<cl_int>(n), row, column, stack.value_or(k * n));
}

}  // namespace tessera::opencl
