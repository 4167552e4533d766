#pragma once

// How ConvTranspose gathers: the pixels of an output row from the GEMM of the weights with the input, or from the input
// itself.

#include <algorithm>
#include <span>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/transposed_window.h"
#include "cpu/ops/ops.h"
#include "kernels/conv/choose/transposed.h"

namespace tessera::cpu {

/// One transposed convolution's tensors and sizes.
template <class C>
struct TransposedProblem {
  int64_t batch, groups, channels, outputs;  // channels and outputs of a group
  int64_t kernel, columns, pixels;
  const C* input;
  const C* weights;     // [group, channel, output, kernel], or null with
  const C* transposed;  // [group, output, kernel, channel]
  const C* bias;
  C* out;
  Activation<C> activation = {};

  const C* bias_of(int64_t output) const { return bias == nullptr ? nullptr : bias + output; }
  TransposedSizes sizes() const { return {batch, groups, channels, outputs, kernel, columns, int64_t{sizeof(C)}}; }
  const C* image(int64_t i, int64_t group) const { return input + (i * groups + group) * channels * columns; }

  /// columns = W' X for `count` outputs of a group.
  GemmProblem<C> Gemm(int64_t i, int64_t group, int64_t first, int64_t count, C* to) const {
    GemmProblem<C> args;
    args.m = count * kernel;
    args.n = columns;
    args.k = channels;
    if (transposed != nullptr) {
      args.lhs = {.data = transposed + (group * outputs + first) * kernel * channels, .row = channels};
    } else {
      args.lhs = {.data = weights + (group * channels * outputs + first) * kernel, .row = 1, .k = outputs * kernel};
    }
    args.rhs = {.data = image(i, group), .k = columns};
    args.out = {.data = to, .row = columns};
    return args;
  }
};

/// Runs parts [0, parts) of `items`: body(part, begin, end), piece after piece of a part.
template <class Body>
void ForEachPart(ThreadPool& threads, int64_t items, int64_t parts, double cost_ns, Body&& body) {
  threads.ParallelFor(parts, cost_ns * static_cast<double>(items) / static_cast<double>(parts),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t part = begin; part < end; ++part) {
                          InCancellablePieces(items * part / parts, items * (part + 1) / parts, cost_ns,
                                              [&](int64_t first, int64_t last) { body(part, first, last); });
                        }
                      });
}

/// Scratch of one part that gathers rows.
template <class C>
class GatherScratch {
 public:
  GatherScratch(KernelContext& context, const TransposedTables& tables, int64_t channels, int64_t parts)
      : row_(tables.geometry().phases * TransposedPhaseSize(tables.geometry())),
        taps_(CheckedMul(tables.most_taps(), kTransposedPhases * channels)) {
    rows_ = context.scratch<C>(static_cast<size_t>(CheckedMul(row_, parts)));
    all_taps_ = context.scratch<TransposedTap>(static_cast<size_t>(CheckedMul(taps_, parts)));
  }
  void Give(int64_t part, TransposedPlanes<C>& planes) const {
    planes.buffer = rows_.data() + part * row_;
    planes.taps = all_taps_.data() + part * taps_;
  }

 private:
  int64_t row_;
  int64_t taps_;
  std::span<C> rows_;
  std::span<TransposedTap> all_taps_;
};

/// Few input channels in a group: the pixels are gathered from the input itself. Some planes at a time meet the same taps:
/// outputs of a group, or of several groups with one each.
template <class C>
void GatherInput(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables) {
  constexpr int64_t kNear = 4096, kMostTogether = 16;  // pixels of a row of each
  const int64_t rows = tables.output_rows(), outputs = problem.groups * problem.outputs;
  const int64_t run = problem.outputs == 1 ? problem.groups : problem.outputs;  // planes that have steps in common
  const int64_t together = std::clamp<int64_t>(kNear / tables.geometry().output_width, 1, std::min(run, kMostTogether));
  const int64_t blocks = CeilDiv(run, together), items = CheckedMul(problem.batch * (outputs / run) * blocks, rows);
  const int64_t parts = PartsFor(context.threads(), items);
  const GatherScratch<C> scratch(context, tables, problem.channels, parts);
  const double taps = static_cast<double>(problem.kernel * problem.columns * problem.channels) / static_cast<double>(rows);
  const double cost = 20 + static_cast<double>(together) * (5 + taps * 0.1);
  ForEachPart(context.threads(), items, parts, cost, [&](int64_t part, int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / rows, row = begin % rows, count = std::min(rows - row, end - begin);
      const int64_t in_run = block % blocks * together, index = block / blocks * run + in_run;  // the first plane
      const int64_t i = index / outputs, output = index % outputs, group = output / problem.outputs;
      TransposedPlanes<C> planes{};
      planes.columns = problem.image(i, group);
      planes.channels = problem.channels;
      planes.channel_step = problem.columns;
      planes.kernel_step = 0;
      planes.count = std::min(together, run - in_run);
      planes.columns_step = problem.outputs == 1 ? problem.channels * problem.columns : 0;
      if (problem.weights != nullptr)  // null: images without pixels
        planes.weights =
            problem.weights + (group * problem.channels * problem.outputs + output % problem.outputs) * problem.kernel;
      planes.weight_step = problem.outputs * problem.kernel;
      planes.weights_step = problem.outputs == 1 ? problem.channels * problem.kernel : problem.kernel;
      planes.bias = problem.bias_of(output);
      planes.out = problem.out + index * problem.pixels;
      planes.out_step = problem.pixels;
      planes.activation = problem.activation;
      scratch.Give(part, planes);
      ComputeTransposedRows<C>(tables.geometry(), planes, row, row + count);
      begin += count;
    }
  });
}

/// Adjacent output channels of image `i`, whose GEMM results are in rows of `row` elements.
template <class C>
TransposedPlanes<C> ColumnsPlanes(const TransposedProblem<C>& problem, const C* columns, int64_t row, int64_t i,
                                  int64_t output, int64_t count) {
  TransposedPlanes<C> planes{};
  planes.columns = columns;
  planes.channels = 1;
  planes.kernel_step = row;
  planes.count = count;
  planes.columns_step = problem.kernel * row;
  planes.bias = problem.bias_of(output);
  planes.out = problem.out + (i * problem.groups * problem.outputs + output) * problem.pixels;
  planes.out_step = problem.pixels;
  planes.activation = problem.activation;
  return planes;
}

/// Gathers images from all of their GEMM results, [output, kernel, column]: threads share the rows of all outputs.
template <class C>
class RowGathering {
 public:
  RowGathering(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables)
      : threads_(context.threads()),
        problem_(problem),
        tables_(tables),
        rows_(CheckedMul(problem.groups * problem.outputs, tables.output_rows())),
        parts_(PartsFor(threads_, rows_)),
        scratch_(context, tables, 1, parts_) {}

  /// Image `i` of the problem from its GEMM results.
  void Run(const C* matmul_out, int64_t i) const {
    const int64_t output_rows = tables_.output_rows();
    const double taps = static_cast<double>(problem_.kernel * problem_.columns) / static_cast<double>(output_rows);
    ForEachPart(threads_, rows_, parts_, 20 + taps * 0.1, [&](int64_t part, int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t output = begin / output_rows, row = begin % output_rows;
        const int64_t count = std::min(output_rows - row, end - begin);
        const C* columns = matmul_out + output * problem_.kernel * problem_.columns;
        auto plane = ColumnsPlanes<C>(problem_, columns, problem_.columns, i, output, 1);
        scratch_.Give(part, plane);
        ComputeTransposedRows<C>(tables_.geometry(), plane, row, row + count);
        begin += count;
      }
    });
  }

 private:
  ThreadPool& threads_;
  const TransposedProblem<C>& problem_;
  const TransposedTables& tables_;
  int64_t rows_;
  int64_t parts_;
  GatherScratch<C> scratch_;
};

/// Few output channels for the threads: the GEMM is split by columns too, and gathered afterwards.
template <class C>
void GatherAfterwards(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables) {
  const int64_t outputs = problem.groups * problem.outputs;
  const auto buffer =
      context.scratch<C>(static_cast<size_t>(CheckedMul(CheckedMul(outputs, problem.kernel), problem.columns)));
  const RowGathering<C> gathering(context, problem, tables);
  for (int64_t i = 0; i < problem.batch; ++i) {
    RunGemms<C>(context, problem.groups, [&](int64_t group) {
      return problem.Gemm(i, group, 0, problem.outputs,
                          buffer.data() + group * problem.outputs * problem.kernel * problem.columns);
    });
    gathering.Run(buffer.data(), i);
  }
}

/// The images of all groups concatenated, [group, channel, image, column]: one GEMM for all of them reads the weights
/// once.
template <class C>
const C* JoinImages(KernelContext& context, const TransposedProblem<C>& problem) {
  const int64_t planes = problem.groups * problem.channels;
  C* joined =
      context.scratch<C>(static_cast<size_t>(CheckedMul(CheckedMul(planes, problem.batch), problem.columns))).data();
  context.threads().ParallelFor(planes * problem.batch, 10 + static_cast<double>(problem.columns),
                                [&](int64_t begin, int64_t end) {
                                  for (int64_t i = begin; i < end; ++i) {
                                    const int64_t plane = i / problem.batch, image = i % problem.batch;
                                    std::copy_n(problem.input + (image * planes + plane) * problem.columns, problem.columns,
                                                joined + i * problem.columns);
                                  }
                                });
  return joined;
}

/// Some output channels at a time: GEMM and gathering. Small images are multiplied together.
template <class C>
void GatherBlocks(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables,
                  const TransposedBlocks& divided) {
  ThreadPool& threads = context.threads();
  const bool joins = divided.images > 1;
  const int64_t block = divided.outputs, images = divided.images, columns = images * problem.columns;  // of a GEMM
  const int64_t matrices = problem.batch / images * problem.groups;
  const C* input = joins ? JoinImages(context, problem) : problem.input;
  const auto matrix_of = [&](int64_t i) { return input + i * problem.channels * columns; };
  const int64_t blocks = CeilDiv(problem.outputs, block);
  const int64_t items = matrices * blocks;
  const int64_t parts = PartsFor(threads, items);
  // With one column, the GEMM reads the matrices in place.
  const bool packs = blocks > 1 && columns > 1;
  const size_t panel = packs ? PackedGemmBSize<C>(problem.channels, columns) : 0;
  const auto packed = context.scratch<C>(static_cast<size_t>(CheckedMul(static_cast<int64_t>(panel), matrices)));
  for (int64_t i = 0; packs && i < matrices; ++i) {
    PackGemmB<C>(threads, problem.channels, columns, matrix_of(i), columns, 1,
                 packed.data() + i * static_cast<int64_t>(panel));
  }
  const int64_t buffer_size = CheckedMul(CheckedMul(block, problem.kernel), columns);
  const auto buffers = context.scratch<C>(static_cast<size_t>(CheckedMul(buffer_size, parts)));
  const GatherScratch<C> scratch(context, tables, 1, parts);
  const double cost = static_cast<double>(buffer_size) * (static_cast<double>(problem.channels) * 0.025 + 0.2);
  ForEachPart(threads, items, parts, cost, [&](int64_t part, int64_t begin, int64_t end) {
    C* buffer = buffers.data() + part * buffer_size;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t matrix = item / blocks, first = item % blocks * block;
      const int64_t group = matrix % problem.groups, first_image = matrix / problem.groups;
      const int64_t count = std::min(block, problem.outputs - first);
      GemmProblem<C> args = problem.Gemm(0, group, first, count, buffer);
      args.n = args.rhs.k = args.out.row = columns;
      args.rhs.data = matrix_of(matrix);
      if (packs) args.rhs.packed = packed.data() + matrix * static_cast<int64_t>(panel);
      GemmSerial(args);
      for (int64_t image = 0; image < images; ++image) {
        auto planes = ColumnsPlanes<C>(problem, buffer + image * problem.columns, columns, first_image + image,
                                       group * problem.outputs + first, count);
        scratch.Give(part, planes);
        ComputeTransposedRows<C>(tables.geometry(), planes, 0, tables.output_rows());
      }
    }
  });
}

/// GEMMs of the weights with the input, and then the gathering.
template <class C>
void GatherMatMul(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables) {
  const TransposedBlocks divided = DivideTransposed(problem.sizes(), context.threads().num_threads());
  divided.afterwards ? GatherAfterwards(context, problem, tables) : GatherBlocks(context, problem, tables, divided);
}

}  // namespace tessera::cpu
