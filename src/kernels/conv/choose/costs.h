#pragma once

// What estimates and limits of convolutions are made of: one row for each class of machines (costs.cpp). Names that end in
// _ns are nanoseconds of one core. `bench_chooser` says where a pick by them is more than 5 % slower than the best
// candidate.

#include <cstdint>
#include <string_view>

namespace tessera::cpu {

/// Winograd's convolution: a GEMM for each point of a tile, and transforms before and after.
struct WinogradCosts {
  int64_t fewest_channels = 8;         // and outputs, in one group: with fewer the transforms cost more than they save
  int64_t fewest_group_channels = 16;  // the same of each of several groups
  int64_t most_pairs = 1024 * 1024;    // channels times outputs: their transformed weights take 144 MiB
  int64_t most_weights = int64_t{36} << 20;  // transformed weights in NCHW8c
  double margin = 0.9;                       // its time must be below this share of a direct convolution's
  /// The same from many_pairs on, where two axes are transformed: weights become up to four times as many. On lines they
  /// become twice as many, and convolutions of 640 to 1024 channels are 1.5 to 1.8 times as fast by it on Sapphire Rapids.
  double many_pairs_margin = 0.5;
  int64_t many_pairs = 512 * 512;
  double fewest_tiles = 8;        // fewer tiles take as long as so many
  double fewest_pixels = 4;       // the same of pixels, in NCHW8c
  double tile_ns = 5;             // to transform a channel's tile in NCHW
  double line_tile_ns = 2.2;      // the same where one axis is transformed
  double nchwc_tile_ns = 6;       // the same in oneDNN's layout
  double nchw8c_plane_ns = 0.11;  // to transform an input channel's tile in NCHW8c, each plane of the form
  double nchw8c_point_ns = 0.11;  // to transform an output's tile back, each point of the form
  double nchw8c_gemm_ns = 0;      // to begin a point's GEMM for two blocks of outputs
  double nchw8c_image_ns = 0;     // to begin an image
  double image_ns = 5000;         // to begin and end an image's GEMMs in NCHW, which are many and small
};

/// One GEMM over the windows of all images.
struct BatchedIm2colLimits {
  int64_t most_pixels;  // of an image's output
  int64_t fewest_outputs;
  int64_t fewest_channels;
  int64_t usual_outputs;  // with fewer outputs there are to be fewer pixels:
  int64_t most_pixels_of_few;
};

/// One GEMM over the windows of several images.
struct BatchedGroupCosts {
  int64_t most_rows;  // of the GEMM; 0: as many as fill near_bytes
  int64_t near_bytes;
  int64_t rows_apart;  // a thread must have so many rows of its own, or threads share each GEMM
  double move_ns;      // an element that is gathered or stored
  double multiply_ns;  // a multiply-add
};

/// Transposed convolutions in NCHW.
struct TransposedLimits {
  int64_t gathered_channels = 2;    // so few channels of a group are multiplied while the output gathers them
  int64_t joined_columns = 256;     // images of so few columns are multiplied together, up to four times as many in all
  int64_t block_bytes = 320 << 10;  // of a block of outputs
  int64_t near_bytes = 512 << 10;   // an input of so many bytes stays in a near cache from block to block
  int64_t least_rows = 24;          // of a block's GEMM
  int64_t rows_from_afar = 96;      // the same where the input does not stay near
  int64_t row_unit = 12;            // what both are multiples of: tiles have six rows or twelve
};

/// Convolutions in NCHW that are GEMMs of an image: beside the multiply-adds.
struct DirectLimits {
  int64_t packed_pixels = 256;        // images of so few pixels may multiply packed weights
  int64_t packed_outputs = 16;        // with so many outputs
  int64_t columns = 16;               // pixels fill so many columns, or vectors are partly empty
  double packed = 1.05;               // what packed weights cost more,
  double packed_output = 14;          // and this over the number of outputs
  int64_t kn2row_outputs = 6;         // kn2row is for so few outputs
  int64_t kn2row_channels = 16;       // of so many channels,
  double kn2row_elements = 16 << 20;  // whose products have so many elements, or as many as a padded copy of the input
  double fewest_rows = 7;             // fewer outputs cost as much
};

/// One of NCHW's kernels of depthwise convolutions.
struct DepthwiseCost {
  double plane_ns;    // to begin a plane
  double product_ns;  // a multiply-add
  double element_ns;  // an element that is read or written
};

/// Convolutions in NCHW that are GEMMs, all in all. Fitted on Sapphire Rapids to 618 convolutions by im2col, 392 with
/// packed weights and 259 of all images, within 13 to 17 %, and to 325 of one tap, within 23 to 28 %.
struct GatherCosts {
  double product_ns = 0.142;  // a vector of multiply-adds
  double fewest_outputs = 3;  // fewer outputs cost as much
  double fewest_rows = 6;     // so many rows of pixels are added
  // Im2col.
  double im2col_ns = 1600;         // to begin
  double im2col_item_ns = 22;      // a group of an image
  double panel_row_ns = 0.61;      // a row of a panel
  double panel_run_ns = 1.44;      // a run of adjacent pixels in it
  double laid_row_ns = 2.2;        // a row of the input that is laid out
  double laid_element_ns = 0.38;   // an element of it
  double im2col_output_ns = 0.12;  // an output
  // Im2col with packed weights.
  double packed_ns = 690;           // to begin
  double packed_image_ns = 40;      // an image
  double column_row_ns = 1.12;      // a row of pixels for one tap
  double column_element_ns = 0.26;  // an element of it
  double column_laid_row_ns = 5;    // a row of the input that is laid out
  // Im2col of all images, and what it shares with packed weights.
  double batched_ns = 230;             // to begin
  double transposed_input_ns = 0.14;   // an element of the input, which is transposed
  double pixel_tap_ns = 4;             // a tap of a pixel
  double transposed_output_ns = 0.28;  // an output, which is transposed
  // GEMMs of one tap.
  double gemm_ns = 1350;          // to begin
  double gemm_item_ns = 45;       // a group of an image
  double gemm_panel_row_ns = 2;   // a row of a panel
  double gemm_output_ns = 0.14;   // an output
  double picked_ns = 0.55;        // an element that is picked where there are strides
  double picked_line_ns = 0.15;   // the same of a line
  double packed_gemm_ns = 460;    // to begin with packed weights
  double packed_output_ns = 0.4;  // an output with packed weights
  // Others take these shares of their estimates.
  double winograd = 1.2;             // Winograd's transform of planes,
  double winograd_output = 8;        // and this over the number of outputs
  double winograd_line = 0.85;       // of lines longer than long_line with at least long_line_outputs
  double winograd_short_line = 1.9;  // of other lines
  double other = 1.7;
  int64_t long_line = 256;
  int64_t long_line_outputs = 16;
  double laid_elements = 16 << 20;  // of the image that an implicit GEMM lays out, at most,
  double laid_times = 4;            // or so many times the input's
};

/// Fitted on Sapphire Rapids to 823 convolutions, within 9 %.
struct ImplicitGemmCosts {
  double begin_ns = 970;
  double offset_ns = 0.14;      // a step of the depth
  double plane_ns = 9.6;        // a plane of a phase
  double row_ns = 2.35;         // a vector of one of its rows
  double step_ns = 0.335;       // a cycle of the products, of which two begin in one
  double tile_ns = 15;          // a tile
  double output_row_ns = 1.64;  // a vector of a row of outputs
};

struct DepthwiseCosts {
  /// Fitted on Sapphire Rapids to 180 convolutions.
  DepthwiseCost planes = {5.8, 0.018, 0.11}, nchw8c = {4.2, 0.014, 0.177}, rows = {24, 0.034, 0.2};
  // Small planes, one in each lane of vectors.
  double table_ns = 2;       // an entry of the table of taps
  double group_ns = 6.5;     // to begin a vector's planes
  double square_ns = 32;     // to transpose a square of a vector's length, of 16 lanes
  double pixel_ns = 0.4;     // an output pixel
  double meeting_ns = 0.65;  // a tap that meets a pixel
  // Each image in NCHW8c by itself.
  int64_t nchw8c_kernel = 3;         // smaller windows do not pay for the conversion,
  int64_t nchw8c_short_row = 32;     // but in rows so short that they fill vectors badly
  int64_t nchw8c_bytes = 768 << 10;  // of a block before and after, which stays in the second cache
  int64_t small_plane = 64;          // windows of one pixel: larger planes are scaled by a GEMM of one row
};

/// Direct convolution in NCHW8c by regions that read the same taps, without those that read padding.
struct RegionLimits {
  double most_of_rows = 0.95;  // the share of the multiply-adds that may remain where regions are whole rows
  double most = 0.8;           // the same of other regions
  int64_t fewest_columns = 4;  // fewer columns of a region cost as much
};

/// Convolutions of bytes.
struct ByteLimits {
  BatchedIm2colLimits batched = {64, 8, 8, 16, 16};
  /// Of so many images of so few pixels, however few channels: each would read all weights for less than a panel.
  BatchedIm2colLimits batched_few = {8, 16, 1, 16, 8};
  int64_t few_images = 4;
  /// Of images with more pixels, what gathering takes decides. Fitted on Sapphire Rapids to 152 convolutions.
  BatchedIm2colLimits batched_rows = {512, 8, 8, 8, 512};
  // Panels of an image's pixels.
  double panel_element_ns = 0.016;  // an element of the input
  double panel_byte_ns = 0.08;      // a byte that is packed
  double strided_byte_ns = 0.154;   // what it takes more where there are strides
  double panel_row_ns = 0.47;       // to begin a row
  // Rows of all images' pixels.
  double pixel_element_ns = 0.046;  // an element of the input
  double pixel_byte_ns = 0.029;     // a byte that is gathered
  double pixel_tap_ns = 3.9;        // a tap of a pixel
  double pixel_entry_ns = 1.7;      // an entry of the table of taps
  int64_t panel_bytes = 320 << 10;  // of a panel of pixels for im2col
  int64_t fewest_outputs = 4;       // of a group for im2col
  /// Up to so many outputs are computed tap by tap, without gathering; with dot products of bytes, those that are too few
  /// for im2col.
  int64_t direct_outputs = 6;
  // In NHWC.
  int64_t nhwc_channels = 4;             // of a group: fewer make no rows to speak of
  int64_t nhwc_depthwise_channels = 32;  // of a depthwise convolution: they fill the vectors of any machine
  int64_t nhwc_group_channels = 8;       // of a group, whole groups of four bytes: so many are read where they are
  double large_pairs = 1.0 / 16;         // of adjacent weights: those that take two steps without dot products of bytes
  // Bytes in planes. Fitted on Sapphire Rapids to 460 convolutions, within 13 to 32 %.
  double plane_ns = 50;            // to begin a plane of a depthwise convolution
  double strided_plane_ns = 0.31;  // an element of it where there are strides
  double plane_element_ns = 0.1;   // an element of it elsewhere
  double image_ns = 250;           // to begin an image of another convolution
  double group_ns = 73;            // to begin a group of one
  double row_ns = 4.5;             // to gather a row for one tap
  // What bytes in NHWC cost more.
  double nhwc_product_ns = 0.013;  // a multiply-add of a depthwise convolution
  double nhwc_tap_ns = 1.9;        // a tap of a pixel
  double nhwc_group_ns = 0.15;     // an element of it in a group
  double nhwc_input_ns = 0.1;      // an element that is read
  double begin_ns = 1000;          // to begin
  double element_ns = 0.05;        // an element that is moved at no loss
};

/// When images of floats are kept in NCHW8c.
struct Nchw8cLimits {
  int64_t plane_channels = 7;   // a first convolution reads so few channels plane by plane
  int64_t groups_in_block = 4;  // groups computed as one: three quarters of the multiply-adds are with zeros
  /// Outputs may be padded to whole blocks if so many 16ths of the last block are outputs: of windows of three taps, of
  /// others that Winograd transforms, of other windows, and of windows of one pixel.
  int64_t fill_three = 8, fill_transformed = 9, fill_window = 10, fill_pixel = 15;
  int64_t fill_depth = 128;    // and if each output adds so many multiply-adds
  int64_t added_channels = 8;  // pad_channels adds no more than one channel of so many
  /// Images of so few pixels hardly fill tiles: NCHW puts the pixels of many images into one GEMM.
  int64_t few_pixels = 9;
  int64_t few_pixels_of_many = 16;  // the same of at least many_images
  int64_t many_images = 16;
  /// A convolution of so many multiply-adds for each element that it reads or writes pays for its own conversions; a window
  /// needs fewer, since NCHW gathers its inputs.
  double worth_moving = 128, worth_moving_window = 60;
  /// Depthwise windows up to this size have kernels of their own in NCHW. Dilated ones keep up on rows of at least long_row
  /// only. Larger windows are up to 8 times as fast in NCHW8c, measured.
  int64_t nchw_window = 5;
  int64_t long_row = 64;
};

/// Speeds of convolutions beside the peak of float32, measured on Zen 4.
struct Bf16Speeds {
  double transformed = 2.2;  // the CPU provider's by Winograd's transform
  double direct = 0.95;      // its other ones
  double rounded = 1.8;      // oneDNN's in bfloat16
};

struct ConvCosts {
  std::string_view machine;
  int64_t lanes;                 // floats of a vector
  bool byte_dot_products;        // products of bytes sum in 32 bits at once (VNNI)
  double product_ns = 1.0 / 45;  // a multiply-add of floats
  double weight_ns = 0.2;        // to read a weight from memory
  double apart = 0.3;            // of the shorter of both sums: what does not overlap the longer
  double elements_per_move = 2;  // a region must compute so many in convolutions for each that changes its layout
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
