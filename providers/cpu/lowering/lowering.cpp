#include "cpu/lowering/lowering.h"

#include <array>

#include "lowering/lowering.h"

namespace tessera {
namespace {

constexpr auto kBasic = OptimizationLevel::kBasic, kExtended = OptimizationLevel::kExtended;

constexpr std::array kLowering = {
    // In turn with the portable passes, for which they leave work: Reshapes and Transposes around heads, Casts that meet,
    // indices that nobody reads. First what is to be as the portable passes left it: tables of quantized values, whose
    // floats are float32 in the model, and attention, between whose parts upcast_fp16 would put Casts. Then float32 for
    // the others, because layouts, Winograd's convolutions and fusions below know no other floats.
    RewriteEntry{"fuse_quantized_lookup", kExtended, FuseQuantizedLookup},
    RewriteEntry{"recognize_broadcast_attention", kExtended, RecognizeBroadcastAttention},
    RewriteEntry{"upcast_fp16", kExtended, UpcastFp16},
    RewriteEntry{"recognize_scatter_grid", kExtended, RecognizeScatterGrid},
    // From here on each once: portable passes do not know what these make. Activations join convolutions first, while both
    // are plain; use_nchw8c knows FusedConv.
    RewriteEntry{"fuse_activations", kExtended, FuseActivations, true},
    // Layouts: quantized images, then floats. Depthwise convolutions between tokens are taken in place before use_nchw8c
    // would convert their images; channels are padded right before it, since it asks for whole blocks.
    RewriteEntry{"use_nhwc", kExtended, UseNhwc, true},
    RewriteEntry{"use_depthwise_conv_nhwc", kExtended, UseDepthwiseConvNhwc, true},
    RewriteEntry{"pad_channels", kExtended, PadChannels, true},
    RewriteEntry{"use_nchw8c", kExtended, UseNchw8c, true},
    // After use_nchw8c, which fuses x * Sigmoid(x) into the convolution before it.
    RewriteEntry{"recognize_swish", kExtended, RecognizeSwish, true},
    // Attention reads the rows of the MatMul before it: depends on no pass of this table.
    RewriteEntry{"fold_qkv_layout_into_attention", kExtended, FoldQkvLayoutIntoAttention, true},
    // Matmuls: the Adds of a SkipLayerNormalization first, which the epilogue of a Linear then computes; then Linear; then
    // FusedMatMul of what is still a MatMul with a Transpose.
    RewriteEntry{"decompose_skip_layer_normalization", kExtended, DecomposeSkipLayerNormalization, true},
    RewriteEntry{"fuse_linear", kExtended, FuseLinear, true},
    RewriteEntry{"fold_transpose_into_matmul", kExtended, FoldTransposeIntoMatMul, true},
    // Last: matrices of 16 bits that no Linear reads as they are become float32.
    RewriteEntry{"fold_matrices", kBasic, FoldMatrices, true},
};

}  // namespace

std::span<const RewriteEntry> CpuLowering() { return kLowering; }

}  // namespace tessera
