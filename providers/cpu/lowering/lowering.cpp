#include "cpu/lowering/lowering.h"

#include <array>

namespace tessera {
namespace {

constexpr auto kBasic = OptimizationLevel::kBasic, kExtended = OptimizationLevel::kExtended;

constexpr std::array kLowering = {
    RewriteEntry{"upcast_fp16", kExtended, UpcastFp16},
    RewriteEntry{"recognize_scatter_grid", kExtended, RecognizeScatterGrid},
    RewriteEntry{"fuse_activations", kExtended, FuseActivations, true},
    RewriteEntry{"use_nhwc", kExtended, UseNhwc, true},
    RewriteEntry{"use_depthwise_conv_nhwc", kExtended, UseDepthwiseConvNhwc, true},
    RewriteEntry{"pad_channels", kExtended, PadChannels, true},
    RewriteEntry{"use_nchw8c", kExtended, UseNchw8c, true},
    RewriteEntry{"recognize_swish", kExtended, RecognizeSwish, true},
    RewriteEntry{"fold_qkv_layout_into_attention", kExtended, FoldQkvLayoutIntoAttention, true},
    RewriteEntry{"decompose_skip_layer_normalization", kExtended, DecomposeSkipLayerNormalization, true},
    RewriteEntry{"fuse_linear", kExtended, FuseLinear, true},
    RewriteEntry{"fold_transpose_into_matmul", kExtended, FoldTransposeIntoMatMul, true},
    RewriteEntry{"fold_matrices", kBasic, FoldMatrices, true},
};

}  // namespace

std::span<const RewriteEntry> CpuLowering() { return kLowering; }

}  // namespace tessera
