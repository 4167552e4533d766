#include "optimizer/rewrites.h"

#include <array>

namespace tessera {
namespace {

constexpr auto kBasic = OptimizationLevel::kBasic, kExtended = OptimizationLevel::kExtended;

constexpr std::array kRewrites = {
    RewriteEntry{"sink_dequantize", kExtended, SinkDequantize},
    RewriteEntry{"hoist_quantize_over_concat", kExtended, HoistQuantizeOverConcat},
    RewriteEntry{"fuse_quantized_lookup", kExtended, FuseQuantizedLookup},
    RewriteEntry{"fuse_quantized", kExtended, FuseQuantized},
    RewriteEntry{"fuse_integer_matmul", kExtended, FuseIntegerMatMul},
    RewriteEntry{"fold_shapes", kBasic, FoldShapes},
    RewriteEntry{"fold_constants", kBasic, FoldConstants},
    RewriteEntry{"inline_branches", kBasic, InlineBranches},
    RewriteEntry{"eliminate_identities", kBasic, EliminateIdentities},
    RewriteEntry{"einsum_to_matmul", kExtended, EinsumToMatMul},
    RewriteEntry{"recognize_gelu", kExtended, RecognizeGelu},
    RewriteEntry{"recognize_hard_swish", kExtended, RecognizeHardSwish},
    RewriteEntry{"recognize_normalization", kExtended, RecognizeNormalization},
    RewriteEntry{"recognize_group_normalization", kExtended, RecognizeGroupNormalization},
    RewriteEntry{"recognize_rotary_embedding", kExtended, RecognizeRotaryEmbedding},
    RewriteEntry{"sink_transposes", kExtended, SinkTransposes},
    RewriteEntry{"patch_conv_to_matmul", kExtended, PatchConvToMatMul},
    RewriteEntry{"sink_reshapes", kExtended, SinkReshapes},
    RewriteEntry{"fold_reshape_pairs", kExtended, FoldReshapePairs},
    RewriteEntry{"hoist_gather_over_transpose", kExtended, HoistGatherOverTranspose},
    RewriteEntry{"merge_slices", kExtended, MergeSlices},
    RewriteEntry{"concat_of_slices_to_gather", kExtended, ConcatOfSlicesToGather},
    RewriteEntry{"recognize_attention", kExtended, RecognizeAttention},
    RewriteEntry{"fold_repeated_kv_heads", kExtended, FoldRepeatedKvHeads},
    RewriteEntry{"recognize_matmul_nbits", kExtended, RecognizeMatMulNBits},
    RewriteEntry{"merge_casts", kExtended, MergeCasts},
    RewriteEntry{"merge_activations", kExtended, MergeActivations},
    RewriteEntry{"fuse_reshapes", kExtended, FuseReshapes},
    RewriteEntry{"fuse_transposes", kExtended, FuseTransposes},
    RewriteEntry{"fold_pads", kExtended, FoldPads},
    RewriteEntry{"derive_symbolic_dims", kExtended, DeriveSymbolicDims},
    RewriteEntry{"conv_transpose_to_conv", kExtended, ConvTransposeToConv},
    RewriteEntry{"trim_conv_kernels", kExtended, TrimConvKernels},
    RewriteEntry{"fold_scales", kExtended, FoldScales},
    RewriteEntry{"fold_biases", kExtended, FoldBiases},
    RewriteEntry{"deduplicate_constants", kBasic, DeduplicateConstants},
    RewriteEntry{"eliminate_common_subexpressions", kBasic, EliminateCommonSubexpressions},
    RewriteEntry{"eliminate_dead_nodes", kBasic, EliminateDeadNodes},
    RewriteEntry{"dynamic_quantize_matmul", kBasic, DynamicQuantizeMatMul, true},
};

}  // namespace

std::span<const RewriteEntry> Rewrites() { return kRewrites; }

}  // namespace tessera
