#pragma once

// What estimates and limits of convolutions are made of: one row for each class of machines (costs.cpp). Times are of one
// core, in nanoseconds. `bench_chooser` says where a pick by them is more than 5 % slower than the best candidate.

#include <cstdint>
#include <string_view>

namespace tessera::cpu {

/// A GEMM for each point of a tile, and the transforms around them.
struct WinogradCosts {
  /// And outputs, of a convolution in one group and of each of several: of fewer the transforms cost more than they save.
  int64_t fewest_channels = 8, fewest_group_channels = 16;
  /// Pairs of a channel and an output: 144 MiB of transformed weights.
  int64_t most_pairs = 1024 * 1024;
  /// Transformed, in NCHW8c.
  int64_t most_weights = int64_t{36} << 20;
  /// The share of direct convolution's time that it must beat; half, of so many pairs, where it transforms two axes, with
  /// up to four times as many weights. Of lines, with twice as many, convolutions of 640 to 1024 channels are 1.5 to 1.8
  /// times as fast by it on Sapphire Rapids.
  double margin = 0.9, many_pairs_margin = 0.5;
  int64_t many_pairs = 512 * 512;
  /// What fewer tiles, or pixels, cost too.
  double fewest_tiles = 8, fewest_pixels = 4;
  /// To transform a channel's tile: in NCHW, of one axis in NCHW, and in oneDNN's layout.
  double tile_ns = 5, line_tile_ns = 2.2, nchwc_tile_ns = 6;
  /// In NCHW8c, to transform a channel's plane of a tile, and a point of an output's; to begin a point's GEMM, for two
  /// blocks of outputs, and an image.
  double nchw8c_plane_ns = 0.11, nchw8c_point_ns = 0.11, nchw8c_gemm_ns = 0, nchw8c_image_ns = 0;
  /// In NCHW, to begin and end an image's GEMMs, which are many and small.
  double image_ns = 5000;
};

/// One GEMM over the windows of all images: how few pixels an image's output has, of how many outputs and channels; of
/// fewer outputs than usual fewer pixels.
struct BatchedIm2colLimits {
  int64_t most_pixels, fewest_outputs, fewest_channels, usual_outputs, most_pixels_of_few;
};

/// Of one GEMM over the windows of several images: its rows, or where that is 0 as many as fill so many bytes; those that a
/// thread should have of its own before threads do not share GEMMs. An element that is gathered or stored, a multiply-add.
struct BatchedGroupCosts {
  int64_t most_rows, near_bytes, rows_apart;
  double move_ns, multiply_ns;
};

/// Of transposed convolutions in NCHW.
struct TransposedLimits {
  /// Of a group: so few are multiplied while the output gathers them.
  int64_t gathered_channels = 2;
  /// Columns of an image, which is multiplied together with others up to that; all have four times as many at most.
  int64_t joined_columns = 256;
  /// Of a block of outputs, and of an input that blocks read from a near cache. Rows of a block's GEMM at least, of an
  /// input from afar more; they are multiples of what tiles have, six or twelve.
  int64_t block_bytes = 320 << 10, near_bytes = 512 << 10, least_rows = 24, rows_from_afar = 96, row_unit = 12;
};

struct DirectLimits {
  /// Weights may be the packed operand of images with so few pixels, which costs so much more, and for outputs that fill
  /// panels badly more again (over their number); where they are not, pixels fill so many columns.
  int64_t packed_pixels = 256, packed_outputs = 16, columns = 16;
  double packed = 1.05, packed_output = 14;
  /// kn2row's products are 64 MiB at a time, or as many as a padded copy of the input would have elements.
  int64_t kn2row_outputs = 6, kn2row_channels = 16;
  double kn2row_elements = 16 << 20;
  /// Of a GEMM: what fewer outputs cost too.
  double fewest_rows = 7;
};

/// One of NCHW's kernels of depthwise convolutions: to begin a plane, a multiply-add, an element that is read or written.
struct DepthwiseCost {
  double plane_ns, product_ns, element_ns;
};

/// Of convolutions in NCHW that are GEMMs, all in all. Fitted on Sapphire Rapids to 618 convolutions by im2col, 392 with
/// packed weights and 259 of all images, within 13 to 17 %, and to 325 of one tap, within 23 to 28 %.
struct GatherCosts {
  /// A vector of products, of at least so many outputs, and of so many more rows.
  double product_ns = 0.142, fewest_outputs = 3, fewest_rows = 6;
  /// Im2col: to begin, and a group of an image; a row of a panel, each run of pixels in it; a row that is laid out, an
  /// element; an output.
  double im2col_ns = 1600, im2col_item_ns = 22, panel_row_ns = 0.61, panel_run_ns = 1.44, laid_row_ns = 2.2,
         laid_element_ns = 0.38, im2col_output_ns = 0.12;
  /// With packed weights: to begin, an image, a row of pixels for one tap, an element; a row that is laid out.
  double packed_ns = 690, packed_image_ns = 40, column_row_ns = 1.12, column_element_ns = 0.26, column_laid_row_ns = 5;
  /// Of all images: to begin, an element that is read, a tap of a pixel; an output of either, whose matrix is turned.
  double batched_ns = 230, turned_input_ns = 0.14, pixel_tap_ns = 4, turned_output_ns = 0.28;
  /// Of one tap: to begin, a group of an image, a row of a panel, an output, and where there are strides an element that is
  /// picked, of a line or not; with packed weights.
  double gemm_ns = 1350, gemm_item_ns = 45, gemm_panel_row_ns = 2, gemm_output_ns = 0.14, picked_ns = 0.55,
         picked_line_ns = 0.15, packed_gemm_ns = 460, packed_output_ns = 0.4;
  /// What others take beside their estimates. Winograd's transform of planes, more of few outputs; of long lines with
  /// outputs enough, and of others.
  double winograd = 1.2, winograd_output = 8, winograd_line = 0.85, winograd_short_line = 1.9, other = 1.7;
  int64_t long_line = 256, long_line_outputs = 16;
  /// An implicit GEMM's image has so many elements, or so many times as many as it was given.
  double laid_elements = 16 << 20, laid_times = 4;
};

/// To begin, a step of the depth; a plane of a phase, a vector of one of its rows; a cycle of the products, of which two
/// begin in one; a tile, a vector of a row of outputs. Fitted on Sapphire Rapids to 823 convolutions, within 9 %.
struct ImplicitGemmCosts {
  double begin_ns = 970, offset_ns = 0.14, plane_ns = 9.6, row_ns = 2.35, step_ns = 0.335, tile_ns = 15,
         output_row_ns = 1.64;
};

struct DepthwiseCosts {
  /// Fitted on Sapphire Rapids to 180 convolutions.
  DepthwiseCost planes = {5.8, 0.018, 0.11}, nchw8c = {4.2, 0.014, 0.177}, rows = {24, 0.034, 0.2};
  /// Of planes in lanes: an entry of the table; of a group to begin, a square of a vector's length that is transposed
  /// (of 16 lanes), an output pixel, a product.
  double table_ns = 2, group_ns = 6.5, square_ns = 32, pixel_ns = 0.4, meeting_ns = 0.65;
  /// Each image in NCHW8c for itself: smaller windows do not pay for the conversion, except of rows that fill vectors
  /// badly; a block before and after stays in the second cache.
  int64_t nchw8c_kernel = 3, nchw8c_short_row = 32, nchw8c_bytes = 768 << 10;
  /// Of windows of one pixel: larger planes are scaled by a GEMM of one row.
  int64_t small_plane = 64;
};

/// Direct convolution in NCHW8c by regions that read the same taps, without those that read padding, where so small a share
/// remains. Whole rows make whole tiles.
struct RegionLimits {
  double most_of_rows = 0.95, most = 0.8;
  /// What fewer cost too.
  int64_t fewest_columns = 4;
};

struct ByteLimits {
  BatchedIm2colLimits batched = {64, 8, 8, 16, 16};
  /// Of images with more pixels, what the rest takes decides, beside the multiplications. Of panels of an image's pixels:
  /// an element that is read, a byte that is packed, more with strides, and a row to begin. Of rows of pixels: an element,
  /// a byte, a tap of a pixel, and an entry of the table. Fitted on Sapphire Rapids to 152 convolutions.
  BatchedIm2colLimits batched_rows = {512, 8, 8, 8, 512};
  double panel_element_ns = 0.016, panel_byte_ns = 0.08, strided_byte_ns = 0.154, panel_row_ns = 0.47;
  double pixel_element_ns = 0.046, pixel_byte_ns = 0.029, pixel_tap_ns = 3.9, pixel_entry_ns = 1.7;
  /// Im2col: bytes of one panel of pixels, and outputs of a group. Up to so many are computed tap by tap, without
  /// gathering; with dot products of bytes those that are too few for im2col.
  int64_t panel_bytes = 320 << 10, fewest_outputs = 4, direct_outputs = 6;
  /// Of a group in NHWC, where fewer make no rows to speak of, and of a depthwise convolution: what fills the vectors of
  /// any machine.
  int64_t nhwc_channels = 4, nhwc_depthwise_channels = 32;
  /// So many of a group, whole groups of four bytes, are read where they are.
  int64_t nhwc_group_channels = 8;
  /// Of adjacent weights in NHWC, those that take two steps where the processor has no dot products of bytes.
  double large_pairs = 1.0 / 16;
  /// What bytes cost where they lie in planes, in nanoseconds: to begin a plane of a depthwise convolution, and for each of
  /// its elements, with strides or without; of others to begin an image, or a group of one, and to gather a row for one
  /// tap. Fitted on Sapphire Rapids to 460 convolutions, within 13 to 32 %.
  double plane_ns = 50, strided_plane_ns = 0.31, plane_element_ns = 0.1, image_ns = 250, group_ns = 73, row_ns = 4.5;
  /// And what they cost more in NHWC: a multiplication of a depthwise convolution; a tap of a pixel, or an element of it in
  /// a group; an element read; to begin.
  double nhwc_product_ns = 0.013, nhwc_tap_ns = 1.9, nhwc_group_ns = 0.15, nhwc_input_ns = 0.1, begin_ns = 1000;
  /// An element that is moved at no loss.
  double element_ns = 0.05;
};

/// When images of floats are kept in NCHW8c.
struct Nchw8cLimits {
  /// A first convolution reads so many plane by plane.
  int64_t plane_channels = 7;
  /// Computed as one: three quarters of its multiplications are with zeros.
  int64_t groups_in_block = 4;
  /// Outputs may be padded to whole blocks, of which so many 16ths are outputs, where each adds so many products: fewer of
  /// windows that fit Winograd's transform.
  int64_t fill_three = 8, fill_transformed = 9, fill_window = 10, fill_pixel = 15, fill_depth = 128;
  /// Of what is computed, channels that pad_channels adds are no more than one of so many.
  int64_t added_channels = 8;
  /// Images of so few pixels that tiles of one would hardly be filled: NCHW puts the pixels of many into one GEMM.
  int64_t few_pixels = 9, few_pixels_of_many = 16, many_images = 16;
  /// A convolution of so many multiplications for each element that it reads or writes in NCHW8c pays for its own moves;
  /// of a window, whose inputs NCHW gathers, of fewer.
  double worth_moving = 128, worth_moving_window = 60;
  /// Depthwise windows up to this size have kernels of their own in NCHW, as long as no elements are left out between their
  /// taps; where some are, those keep up on long rows only. Larger ones are up to 8 times as fast in NCHW8c, measured.
  int64_t nchw_window = 5, long_row = 64;
};

/// Speeds beside the peak of float32, of the CPU provider's convolutions and of oneDNN's in bfloat16, measured on Zen 4.
struct Bf16Speeds {
  double transformed = 2.2, direct = 0.95, rounded = 1.8;
};

struct ConvCosts {
  std::string_view machine;
  /// Floats of a vector, and whether products of bytes sum in 32 bits at once (VNNI).
  int64_t lanes;
  bool byte_dot_products;
  /// A multiply-add of floats, and to read a weight from memory; of the shorter of the two sums, what does not overlap.
  double product_ns = 1.0 / 45, weight_ns = 0.2, apart = 0.3;
  /// That a region must compute in convolutions for each that changes its layout.
  double elements_per_move = 2;
  WinogradCosts winograd = {};
  BatchedIm2colLimits batched = {32, 8, 8, 8, 0};
  BatchedGroupCosts float_groups = {192, 0, 48, 0.3, 0.02}, byte_groups = {0, 256 << 10, 48, 0.1, 0.006};
  TransposedLimits transposed = {};
  GatherCosts gathers = {};
  ImplicitGemmCosts implicit_gemm = {};
  DirectLimits direct = {};
  DepthwiseCosts depthwise = {};
  RegionLimits regions = {};
  ByteLimits bytes = {};
  Nchw8cLimits nchw8c = {};
  Bf16Speeds bf16 = {};
};

/// Of the instruction set that kernels are dispatched to.
const ConvCosts& ConvCostsHere();

}  // namespace tessera::cpu
