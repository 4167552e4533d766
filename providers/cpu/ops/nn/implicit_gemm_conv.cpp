#include "cpu/ops/nn/implicit_gemm_conv.h"

#include <algorithm>
#include <array>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "cpu/engine/slots.h"
#include "kernels/conv/nchw/implicit_gemm.h"
#include "kernels/conv/nchw/phase_planes.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {

ImplicitGemmConv::ImplicitGemmConv(const KernelInfo& info, int64_t groups) : groups_(groups) {
  const Tensor* weights = info.constant_input(1);
  const Shape& shape = weights_shape_ = weights->shape();
  const int64_t outputs = shape[0] / groups, depth = shape.SizeOfRange(1, shape.rank());
  const Shape size{groups, ImplicitGemmSize(outputs, depth)};
  packed_ = SharedTensor(info, *weights, "implicit_gemm", ElementType::kFloat, size, [&] {
    auto packed = std::make_shared<Tensor>(ElementType::kFloat, size, WeightMemory());
    for (int64_t g = 0; g < groups; ++g) {
      PackImplicitGemm(weights->unaligned_data<float>() + g * outputs * depth, outputs, depth,
                       packed->mutable_data<float>() + g * size[1]);
    }
    return packed;
  });
  info.ReleaseConstant(1);
}

/// One convolution's sizes and operands, and the memory that groups of images are laid out in.
class ImplicitGemmConv::Call {
 public:
  Call(KernelContext& context, const ImplicitGemmConv& conv, const Window& window, int64_t batch, const float* input,
       const Epilogue<float>& epilogue, float* output)
      : context_(context),
        conv_(conv),
        planes_(window.WithRank(PhasePlanes::kAxes)),
        batch_(batch),
        group_channels_(conv.weights_shape_[1]),
        channels_(group_channels_ * conv.groups_),
        outputs_(conv.weights_shape_[0]),
        pixels_(window.output.num_elements()),
        image_plane_(window.input.num_elements()),
        row_pixels_(planes_.run() == pixels_ ? pixels_ : window.output[window.rank() - 1]),  // rows may be one
        in_place_(planes_.in_place() && ImplicitGemmSlack() == 0),
        together_(Together()),
        plane_step_(CheckedAdd(CheckedMul(planes_.plane(), together_), kPhaseRowsSlack)),
        channel_step_(in_place_ ? image_plane_ : CheckedMul(plane_step_, planes_.planes())),
        input_(input),
        epilogue_(epilogue),
        output_(output) {
    FindOffsets(window.WithRank(PhasePlanes::kAxes));
    FindRows(window.WithRank(PhasePlanes::kAxes));
  }

  void Run() {
    const int64_t threads = context_.threads().num_threads();
    if (threads == 1 || batch_ >= 2 * threads * together_ || batch_ % threads == 0) return Apart();
    float* laid_out = Allocate();
    for (int64_t image = 0; image < batch_; image += together_) {
      const int64_t images = std::min(together_, batch_ - image);
      if (!in_place_) {
        context_.threads().ParallelFor(channels_, LayOutNs(1, images),
                                       [&](int64_t begin, int64_t end) { LayOut(image, images, begin, end, laid_out); });
      }
      const int64_t panels = CeilDiv(RunOf(images), Panel());
      context_.threads().ParallelFor(conv_.groups_ * panels, PanelNs(), [&](int64_t begin, int64_t end) {
        while (begin < end) {
          const int64_t group = begin / panels, first = begin % panels, last = std::min(panels, first + end - begin);
          ImplicitGemm(ProblemOf(image, images, group, laid_out), first, last);
          begin += last - first;
        }
      });
    }
  }

 private:
  int64_t Together() const {
    if (in_place_) return 1;
    return std::min(planes_.Together(channels_, batch_), CeilDiv(batch_, int64_t{context_.threads().num_threads()}));
  }

  int64_t RunOf(int64_t images) const { return (images - 1) * planes_.plane() + planes_.run(); }
  int64_t Panel() const { return ImplicitGemmPanel(ImplicitGemmRows(outputs_ / conv_.groups_)); }

  double LayOutNs(int64_t channels, int64_t images) const {
    return static_cast<double>(channels * images) *
           (5 + 0.3 * static_cast<double>(planes_.plane()) * static_cast<double>(planes_.planes()));
  }
  double PanelNs() const {
    constexpr double kProductNs = 0.015, kOutputNs = 0.15;
    return (kProductNs * static_cast<double>(offsets_.size()) + kOutputNs) * static_cast<double>(Panel()) *
           static_cast<double>(outputs_ / conv_.groups_);
  }

  /// By step of the depth of a group.
  void FindOffsets(const Window& window) {
    const Shape& kernel = window.kernel;
    offsets_ = context_.scratch<int64_t>(static_cast<size_t>(CheckedMul(group_channels_, kernel.num_elements())));
    size_t taps = 0;
    std::array<int64_t, PhasePlanes::kAxes> at{};
    for (at[0] = 0; at[0] < kernel[0]; ++at[0]) {
      for (at[1] = 0; at[1] < kernel[1]; ++at[1]) {
        for (at[2] = 0; at[2] < kernel[2]; ++at[2]) {
          const PhasePlanes::Tap tap = planes_.tap(at);
          offsets_[taps++] = tap.plane * plane_step_ + tap.element;
        }
      }
    }
    for (size_t k = taps; k < offsets_.size(); ++k) offsets_[k] = offsets_[k - taps] + channel_step_;
  }

  void FindRows(const Window& window) {
    const int64_t rows = pixels_ / row_pixels_;
    rows_ = context_.scratch<PixelRow>(static_cast<size_t>(CheckedMul(together_, rows)));
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t image = static_cast<int64_t>(i) / rows, row = static_cast<int64_t>(i) % rows,
                    y = row % window.output[1], z = row / window.output[1];
      rows_[i] = {image * planes_.plane() + z * planes_.slice() + y * planes_.row(),
                  image * outputs_ * pixels_ + row * row_pixels_};
    }
  }

  float* Allocate() const {
    if (in_place_) return nullptr;
    const int64_t size = CheckedAdd(CheckedMul(channels_, channel_step_), ImplicitGemmSlack());
    const std::span<float> memory = context_.scratch<float>(static_cast<size_t>(size));
    std::fill(memory.end() - ImplicitGemmSlack(), memory.end(), 0.0f);
    return memory.data();
  }

  void LayOut(int64_t image, int64_t images, int64_t begin, int64_t end, float* laid_out) const {
    constexpr int64_t kTogether = 32;  // channels
    for (int64_t channel = begin; channel < end; channel += kTogether) {
      CancellationPoint();
      planes_.LayOut({.in = input_ + (image * channels_ + channel) * image_plane_,
                      .out = laid_out + channel * channel_step_,
                      .channels = std::min(kTogether, end - channel),
                      .in_channel = image_plane_,
                      .out_channel = channel_step_,
                      .images = images,
                      .in_image = channels_ * image_plane_,
                      .out_image = planes_.plane()},
                     plane_step_);
    }
  }

  ImplicitGemmProblem ProblemOf(int64_t image, int64_t images, int64_t group, const float* laid_out) const {
    const int64_t outputs = outputs_ / conv_.groups_, rows = static_cast<int64_t>(rows_.size()) / together_ * images;
    return {.weights = conv_.packed_->data<float>() + group * conv_.packed_->shape()[1],
            .outputs = outputs,
            .block_rows = ImplicitGemmRows(outputs),
            .base = (in_place_ ? input_ + image * channels_ * image_plane_ : laid_out) +
                    group * group_channels_ * channel_step_,
            .offsets = offsets_,
            .run = RunOf(images),
            .rows = std::span<const PixelRow>(rows_).first(static_cast<size_t>(rows)),
            .row_pixels = row_pixels_,
            .out = output_ + (image * outputs_ + group * outputs) * pixels_,
            .out_channel = pixels_,
            .epilogue = epilogue_.From(group * outputs, 0)};
  }

  void Apart() {
    const double group_ns = LayOutNs(in_place_ ? 0 : channels_, together_) +
                            static_cast<double>(conv_.groups_ * CeilDiv(RunOf(together_), Panel())) * PanelNs();
    ParallelGroups(
        context_.threads(), batch_, together_, group_ns, [&] { return Allocate(); },
        [&](float* own, int64_t image, int64_t images) {
          if (!in_place_) LayOut(image, images, 0, channels_, own);
          for (int64_t group = 0; group < conv_.groups_; ++group)
            ImplicitGemm(ProblemOf(image, images, group, own), 0, CeilDiv(RunOf(images), Panel()));
        });
  }

  KernelContext& context_;
  const ImplicitGemmConv& conv_;
  const PhasePlanes planes_;
  const int64_t batch_, group_channels_, channels_, outputs_, pixels_, image_plane_, row_pixels_;
  const bool in_place_;
  const int64_t together_, plane_step_, channel_step_;
  const float* const input_;
  const Epilogue<float>& epilogue_;
  float* const output_;
  std::span<int64_t> offsets_;
  std::span<PixelRow> rows_;
};

void ImplicitGemmConv::Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                                const Epilogue<float>& epilogue, float* output) const {
  Call(context, *this, window, batch, input, epilogue, output).Run();
}

}  // namespace tessera::cpu
