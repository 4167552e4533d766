#include "onednn/program/winograd.h"

#include <algorithm>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/winograd/winograd_nchwc.h"
#include "onednn/program/epilogue.h"
#include "onednn/program/shared_weights.h"
#include "runtime/threads/openmp.h"

namespace tessera::onednn {
namespace {

using cpu::GemmProblem;
using cpu::kWinogradPoints;
using cpu::NchwcWinograd;

constexpr int64_t kBlockBytes = 640 << 10;  // of columns and matmuls under way in a thread: about its L2
constexpr int64_t kFewestTiles = 24;        // rows of a matmul that pay for reading the weights once more

/// How a convolution is cut: either each thread takes blocks of tiles through all three steps, in its own cache, or all
/// threads share each step of all tiles at once.
struct Cut {
  bool by_steps;
  int64_t tiles;  // of a block
  int64_t parts;  // that have buffers of their own
};

Cut ChooseCut(const NchwcWinograd& shape, int64_t threads) {
  const int64_t tiles = shape.tiles();
  if (threads > 1 && tiles < kFewestTiles * threads) return {true, tiles, 1};
  const int64_t bytes = kWinogradPoints * int64_t{sizeof(float)} * (shape.channels + shape.outputs);
  const int64_t most = std::max(kFewestTiles, kBlockBytes / bytes);
  int64_t blocks = CeilDiv(tiles, most);
  blocks = CeilDiv(blocks, threads) * threads;  // no thread left over
  constexpr int64_t kTileRows = 6;              // of a matmul's register tile
  const int64_t each = std::min(tiles, CeilDiv(CeilDiv(tiles, blocks), kTileRows) * kTileRows);
  return {false, each, std::min(threads, CeilDiv(tiles, each))};
}

class WinogradStep final : public NativeStep {
 public:
  WinogradStep(const NchwcWinograd& shape, const Cut& cut, const cpu::Activation<float>& activation, bool has_bias)
      : shape_(shape), cut_(cut), activation_(activation), has_bias_(has_bias) {}

  /// Floats that it needs on the way.
  int64_t buffer() const { return cut_.parts * (columns() + matmuls()); }

  /// Source, weights, destination, buffer, then bias and residual as far as there are.
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    Pointers p;
    p.source = static_cast<const float*>(memories[0]);
    p.weights = static_cast<const float*>(memories[1]);
    p.destination = static_cast<float*>(memories[2]);
    p.columns = static_cast<float*>(memories[3]);
    p.matmuls = p.columns + cut_.parts * columns();
    p.epilogue.activation = activation_;
    const size_t residual = has_bias_ ? 5 : 4;
    if (has_bias_) p.epilogue.bias = static_cast<const float*>(memories[4]);
    if (residual < memories.size()) p.epilogue.residual = static_cast<const float*>(memories[residual]);
    if (cut_.by_steps) {
      BySteps(p, threads);
    } else {
      ByBlocks(p, threads);
    }
  }

 private:
  struct Pointers {
    const float* source;
    const float* weights;
    float* destination;
    float* columns;
    float* matmuls;
    cpu::Epilogue<float> epilogue;
  };

  /// Floats of a part's columns and of its matmuls.
  int64_t columns() const { return kWinogradPoints * shape_.column_matrix(cut_.tiles); }
  int64_t matmuls() const { return kWinogradPoints * shape_.matmul_matrix(cut_.tiles); }
  int64_t channel_blocks() const { return shape_.channels / shape_.block; }
  int64_t output_blocks() const { return shape_.outputs / shape_.block; }

  void Multiply(int64_t tiles, const float* weights, const float* columns, float* matmuls, int64_t begin,
                int64_t end) const {
    GemmProblem<float> args;
    args.m = tiles;
    args.n = shape_.outputs;
    args.k = shape_.channels;
    args.lhs.row = shape_.channels;
    args.out.row = shape_.outputs;
    const auto packed = static_cast<int64_t>(cpu::PackedGemmBSize<float>(args.k, args.n));
    for (int64_t i = begin; i < end; ++i) {
      args.lhs.data = columns + i * shape_.column_matrix(cut_.tiles);
      args.rhs.packed = weights + i * packed;
      args.out.data = matmuls + i * shape_.matmul_matrix(cut_.tiles);
      cpu::GemmSerial(args);
    }
  }

  void ByBlocks(const Pointers& p, ThreadPool& threads) const {
    const int64_t tiles = shape_.tiles(), blocks = CeilDiv(tiles, cut_.tiles);
    const int64_t input_matrix = shape_.column_matrix(cut_.tiles), output_matrix = shape_.matmul_matrix(cut_.tiles);
    threads.ParallelFor(cut_.parts, 1e6, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* columns = p.columns + part * this->columns();
        float* matmuls = p.matmuls + part * this->matmuls();
        for (int64_t i = blocks * part / cut_.parts; i < blocks * (part + 1) / cut_.parts; ++i) {
          CancellationPoint();
          const int64_t first = i * cut_.tiles, last = std::min(tiles, first + cut_.tiles);
          TransformNchwcInput(shape_, {first, first, last, 0, channel_blocks()}, p.source, input_matrix, columns);
          Multiply(last - first, p.weights, columns, matmuls, 0, kWinogradPoints);
          TransformNchwcOutput(shape_, {first, first, last, 0, output_blocks()}, matmuls, output_matrix, p.epilogue,
                               p.destination);
        }
      }
    });
  }

  void BySteps(const Pointers& p, ThreadPool& threads) const {
    constexpr double kTransformNs = 40;  // of one tile's vector of channels
    const int64_t tiles = shape_.tiles();
    const double tile_ns = kTransformNs * static_cast<double>(tiles);
    threads.ParallelFor(channel_blocks(), tile_ns, [&](int64_t begin, int64_t end) {
      TransformNchwcInput(shape_, {0, 0, tiles, begin, end}, p.source, shape_.column_matrix(tiles), p.columns);
    });
    threads.ParallelFor(kWinogradPoints, 1e5,
                        [&](int64_t begin, int64_t end) { Multiply(tiles, p.weights, p.columns, p.matmuls, begin, end); });
    threads.ParallelFor(output_blocks(), tile_ns, [&](int64_t begin, int64_t end) {
      TransformNchwcOutput(shape_, {0, 0, tiles, begin, end}, p.matmuls, shape_.matmul_matrix(tiles), p.epilogue,
                           p.destination);
    });
  }

  NchwcWinograd shape_;
  Cut cut_;
  cpu::Activation<float> activation_;
  bool has_bias_;
};

NchwcWinograd ShapeOf(const ConvolutionShape& shape) {
  return {ChannelBlock(),
          shape.in[0],
          shape.in[1],
          shape.out[1],
          shape.in[2],
          shape.in[3],
          shape.window.pad_begin[0],
          shape.window.pad_begin[1],
          {shape.out[2], shape.window.dilations[0] + 1},
          {shape.out[3], shape.window.dilations[1] + 1}};
}

/// Weights [outputs][channels][3][3] as 36 packed matrices [channels, outputs].
std::shared_ptr<const dnnl::memory> Transformed(const ProgramBuilder& builder,
                                                const std::shared_ptr<const dnnl::memory>& weights, int64_t outputs,
                                                int64_t channels) {
  const size_t packed = cpu::PackedGemmBSize<float>(channels, outputs);
  const Desc desc = Plain({static_cast<int64_t>(kWinogradPoints * packed)});
  return builder.weights().Converted("winograd", weights, desc, [&](std::span<const float> from, std::span<float> to) {
    std::vector<float> transformed(static_cast<size_t>(kWinogradPoints * outputs * channels));
    const int64_t width = cpu::GemmPanelWidth<float>(), panels = CeilDiv(outputs, width);
    OpenMpFor(outputs, [&](int64_t o) {
      cpu::TransformWinogradFilters({cpu::WinogradAxisForm::kFour, cpu::WinogradAxisForm::kFour},
                                    from.data() + o * channels * 9, channels, outputs * channels,
                                    transformed.data() + o * channels);
    });
    OpenMpFor(kWinogradPoints * panels, [&](int64_t i) {
      const int64_t point = i / panels, first = i % panels * width;
      cpu::PackGemmPanel(transformed.data() + (point * outputs + first) * channels, 1, channels, channels,
                         std::min(width, outputs - first),
                         to.data() + point * static_cast<int64_t>(packed) + first * channels);
    });
  });
}

}  // namespace

bool SuitsWinograd(const ConvolutionShape& shape, std::string_view hint) {
  if (shape.out[0] == 0 || shape.in[1] % ChannelBlock() != 0 || shape.out[1] % ChannelBlock() != 0) return false;
  cpu::ConvProblem problem{.layout = cpu::ConvLayout::kNchwc,
                           .batch = shape.out[0],
                           .channels = shape.in[1],
                           .outputs = shape.out[1],
                           .groups = shape.group};
  const auto spatial = [](const Dims& dims) { return Shape(std::span(dims).subspan(2)); };
  problem.window = {spatial(shape.in),
                    spatial(shape.out),
                    Shape(shape.window.kernel),
                    Shape(shape.window.strides),
                    Shape(shape.window.dilations),
                    Shape(shape.window.pad_begin),
                    Shape(shape.window.pad_end)};
  for (int64_t& dilation : problem.window.dilations) ++dilation;
  cpu::ConvPreference preference = cpu::ConvPreference::Parse(hint);
  // What else the CPU provider has is the library's own here.
  if (preference.algorithm != cpu::ConvAlgorithm::kWinograd) preference = {cpu::ConvPreference::kDirect};
  const cpu::ConvCandidates ranked = RankConvAlgorithms(problem).Preferring(preference);
  return ranked.front().algorithm == cpu::ConvAlgorithm::kWinograd;
}

void LowerWinograd(ProgramBuilder& builder, const ConvolutionShape& shape, ValueIndex value, MemoryIndex source,
                   const std::shared_ptr<const dnnl::memory>& weights, const MemoryIndex* bias) {
  const NchwcWinograd winograd = ShapeOf(shape);
  const auto transformed = Transformed(builder, weights, winograd.outputs, winograd.channels);
  const Epilogue epilogue = TakeEpilogue(builder, value, shape.out, ChannelNchw8c(shape.out), {source});
  auto step = std::make_shared<WinogradStep>(winograd, ChooseCut(winograd, omp_get_max_threads()), epilogue.activation,
                                             bias != nullptr);
  std::vector<MemoryIndex> memories = {builder.InLayout(source, ChannelNchw8c(shape.in)),
                                       builder.Constant(transformed->get_desc(), transformed), epilogue.destination,
                                       builder.Temporary(Plain({step->buffer()}))};
  if (bias != nullptr) memories.push_back(*bias);
  if (epilogue.residual) memories.push_back(*epilogue.residual);
  builder.AddNative(std::move(step), memories);
  builder.SetFused(epilogue.fusion, {shape.out, epilogue.destination});
}

}  // namespace tessera::onednn
