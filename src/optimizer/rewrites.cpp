#include "optimizer/rewrites.h"

#include <array>

namespace tessera {
namespace {

constexpr auto kBasic = OptimizationLevel::kBasic, kExtended = OptimizationLevel::kExtended;

constexpr std::array kRewrites = {
    // First of all what matches float operators right between DequantizeLinear and QuantizeLinear: passes below fuse or
    // replace such operators. In this order: DequantizeLinear goes behind what only moves elements, next to the operator
    // that computes; a QuantizeLinear goes before its Concat, next to what computes each part, and away again where that
    // part has its scale; then what is left between the two. MatMuls without a QuantizeLinear behind are left for the last,
    // which does not look for one.
    RewriteEntry{"sink_dequantize", kExtended, SinkDequantize},
    RewriteEntry{"hoist_quantize_over_concat", kExtended, HoistQuantizeOverConcat},
    RewriteEntry{"eliminate_requantizations", kExtended, EliminateRequantizations},
    RewriteEntry{"fuse_quantized", kExtended, FuseQuantized},
    RewriteEntry{"fuse_integer_matmul", kExtended, FuseIntegerMatMul},
    // Canonical form. Shapes become constants, so that what reads them is folded; folded conditions select branches; last
    // go the nodes that constants, or an inlined branch, show to change nothing. Everything below asks for constants.
    RewriteEntry{"fold_shapes", kBasic, FoldShapes},
    RewriteEntry{"fold_constants", kBasic, FoldConstants},
    RewriteEntry{"inline_branches", kBasic, InlineBranches},
    RewriteEntry{"eliminate_identities", kBasic, EliminateIdentities},
    // Matmuls spelled as Einsum, before all passes that match MatMul.
    RewriteEntry{"einsum_to_matmul", kExtended, EinsumToMatMul},
    // Operators that exporters spell as several nodes, before their parts change: fold_biases would take the Add of a
    // HardSigmoid into the convolution before it, sink_transposes would give the means of a LayerNormalization other axes
    // than the last, fuse_reshapes would join the Reshape behind a GroupNormalization with the next. Rotary embeddings come
    // last of them: they put the Transpose of heads behind themselves, where recognize_attention reads it.
    RewriteEntry{"recognize_gelu", kExtended, RecognizeGelu},
    RewriteEntry{"recognize_hard_swish", kExtended, RecognizeHardSwish},
    RewriteEntry{"recognize_normalization", kExtended, RecognizeNormalization},
    RewriteEntry{"recognize_group_normalization", kExtended, RecognizeGroupNormalization},
    RewriteEntry{"recognize_rotary_embedding", kExtended, RecognizeRotaryEmbedding},
    // Transposes, then Reshapes, move out of what passes below match. patch_conv_to_matmul looks for those that are left
    // around a convolution; recognize_attention needs scores, masks and operands without Reshape between them.
    RewriteEntry{"sink_transposes", kExtended, SinkTransposes},
    RewriteEntry{"patch_conv_to_matmul", kExtended, PatchConvToMatMul},
    RewriteEntry{"sink_reshapes", kExtended, SinkReshapes},
    RewriteEntry{"fold_reshape_pairs", kExtended, FoldReshapePairs},
    RewriteEntry{"hoist_gather_over_transpose", kExtended, HoistGatherOverTranspose},
    // Slices. After rotary embeddings, which know a Slice of the last axis alone: a merged one has several.
    RewriteEntry{"merge_slices", kExtended, MergeSlices},
    RewriteEntry{"concat_of_slices_to_gather", kExtended, ConcatOfSlicesToGather},
    // Attention, once moves have brought its parts together; then what only an Attention can read, repeated heads.
    RewriteEntry{"recognize_attention", kExtended, RecognizeAttention},
    RewriteEntry{"fold_repeated_kv_heads", kExtended, FoldRepeatedKvHeads},
    // Weights that stay dequantized: fuse_quantized and fuse_integer_matmul, which multiply two quantized operands in
    // integers, come first.
    RewriteEntry{"recognize_matmul_nbits", kExtended, RecognizeMatMulNBits},
    // Neighbours that join or cancel, among them the Reshapes and Transposes that the moves above put side by side.
    RewriteEntry{"merge_casts", kExtended, MergeCasts},
    RewriteEntry{"merge_activations", kExtended, MergeActivations},
    RewriteEntry{"fuse_reshapes", kExtended, FuseReshapes},
    RewriteEntry{"fuse_transposes", kExtended, FuseTransposes},
    // Convolutions: first their whole padding, by which taps are trimmed and sizes named, and what is a Conv after all, as
    // trim_conv_kernels knows no other. Scales before biases: a scale may leave an Add, which is a bias.
    RewriteEntry{"fold_pads", kExtended, FoldPads},
    RewriteEntry{"derive_symbolic_dims", kExtended, DeriveSymbolicDims},
    RewriteEntry{"conv_transpose_to_conv", kExtended, ConvTransposeToConv},
    RewriteEntry{"trim_conv_kernels", kExtended, TrimConvKernels},
    RewriteEntry{"fold_scales", kExtended, FoldScales},
    RewriteEntry{"fold_biases", kExtended, FoldBiases},
    // Last of each round, what the others leave: equal nodes are seen once equal constants are one, and what nobody reads
    // goes after all have stopped reading it.
    RewriteEntry{"deduplicate_constants", kBasic, DeduplicateConstants},
    RewriteEntry{"eliminate_common_subexpressions", kBasic, EliminateCommonSubexpressions},
    RewriteEntry{"eliminate_dead_nodes", kBasic, EliminateDeadNodes},
    // After all rounds: nothing can be folded into quantized weights.
    RewriteEntry{"dynamic_quantize_matmul", kBasic, DynamicQuantizeMatMul, true},
};

}  // namespace

std::span<const RewriteEntry> Rewrites() { return kRewrites; }

}  // namespace tessera
