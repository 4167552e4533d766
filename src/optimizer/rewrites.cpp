#include "optimizer/rewrites.h"

#include <array>

namespace tessera {
namespace {

constexpr auto kBasic = OptimizationLevel::kBasic, kExtended = OptimizationLevel::kExtended;

constexpr std::array kRewrites = {
    RewriteEntry{"sink_dequantize", kExtended, SinkDequantize},
    RewriteEntry{"quantize_parts", kExtended, QuantizeParts},
    RewriteEntry{"tabulate_quantized", kExtended, TabulateQuantized},
    RewriteEntry{"fuse_quantized", kExtended, FuseQuantized},
    RewriteEntry{"fuse_integer_products", kExtended, FuseIntegerProducts},
    RewriteEntry{"fold_shapes", kBasic, FoldShapes},
    RewriteEntry{"fold_constants", kBasic, FoldConstants},
    RewriteEntry{"inline_branches", kBasic, InlineBranches},
    RewriteEntry{"eliminate_identities", kBasic, EliminateIdentities},
    RewriteEntry{"einsum_products", kExtended, EinsumToProducts},
    RewriteEntry{"recognize_gelu", kExtended, RecognizeGelu},
    RewriteEntry{"recognize_hard_swish", kExtended, RecognizeHardSwish},
    RewriteEntry{"recognize_normalization", kExtended, RecognizeNormalization},
    RewriteEntry{"recognize_groups", kExtended, RecognizeGroups},
    RewriteEntry{"recognize_rotary", kExtended, RecognizeRotary},
    RewriteEntry{"sink_transposes", kExtended, SinkTransposes},
    RewriteEntry{"patch_products", kExtended, PatchesToProducts},
    RewriteEntry{"sink_reshapes", kExtended, SinkReshapes},
    RewriteEntry{"undo_reshapes", kExtended, UndoReshapes},
    RewriteEntry{"pick_before_transposes", kExtended, PickBeforeTransposes},
    RewriteEntry{"merge_slices", kExtended, MergeSlices},
    RewriteEntry{"gather_slices", kExtended, GatherSlices},
    RewriteEntry{"scatter_grids", kExtended, RecognizeGrids},
    RewriteEntry{"recognize_attention", kExtended, RecognizeAttention},
    RewriteEntry{"share_heads", kExtended, ShareHeads},
    RewriteEntry{"recognize_nbits", kExtended, RecognizeNBits},
    RewriteEntry{"widen_halves", kExtended,
                 WidenHalves},  // constants that others recognize are rounded to the halves' type
    RewriteEntry{"merge_casts", kExtended, MergeCasts},
    RewriteEntry{"merge_activations", kExtended, MergeActivations},
    RewriteEntry{"fuse_reshapes", kExtended, FuseReshapes},
    RewriteEntry{"fuse_transposes", kExtended, FuseTransposes},
    RewriteEntry{"fold_pads", kExtended, FoldPads},
    RewriteEntry{"name_sizes", kExtended, NameSizes},
    RewriteEntry{"convolve_transposed", kExtended, ConvolveTransposed},
    RewriteEntry{"crop_kernels", kExtended, CropKernels},
    RewriteEntry{"fold_scales", kExtended, FoldScales},
    RewriteEntry{"fold_biases", kExtended, FoldBiases},
    RewriteEntry{"fuse_activations", kExtended, FuseActivations},
    RewriteEntry{"merge_constants", kBasic, MergeConstants},
    RewriteEntry{"merge_equal_nodes", kBasic, MergeEqualNodes},
    RewriteEntry{"eliminate_dead_nodes", kBasic, EliminateDeadNodes},
    RewriteEntry{"quantize_products", kBasic, QuantizeProducts, true},
    RewriteEntry{"put_channels_last", kExtended, PutChannelsLast, true},
    RewriteEntry{"depthwise_tokens", kExtended, ConvolveTokens, true},
    RewriteEntry{"pad_channels", kExtended, PadChannels, true},
    RewriteEntry{"block_channels", kExtended, BlockChannels, true},
    RewriteEntry{"recognize_swish", kExtended, RecognizeSwish, true},
    RewriteEntry{"attend_in_place", kExtended, AttendInPlace, true},
    RewriteEntry{"split_skips", kExtended, SplitSkips, true},
    RewriteEntry{"fuse_sums", kExtended, FuseSums, true},
    RewriteEntry{"turn_factors", kExtended, TurnFactors, true},
    RewriteEntry{"fold_matrices", kBasic, FoldMatrices, true},
};

}  // namespace

std::span<const RewriteEntry> Rewrites() { return kRewrites; }

}  // namespace tessera
