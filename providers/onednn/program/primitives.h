#pragma once

// One face for the primitive descriptors of oneDNN 2.6 (an operation descriptor inside) and 3.x (arguments in a row).

#include <algorithm>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "ops/nn/window.h"
#include "tessera/element_type.h"

namespace tessera::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

/// What the windowed operators (convolution, pooling) share; oneDNN counts dilations from 0.
struct Window {
  Dims kernel, strides, dilations, pad_begin, pad_end;
};

inline Dims ToDims(const Shape& shape) { return Dims(shape.begin(), shape.end()); }

inline Window WindowOf(const tessera::Window& fitted) {
  Window window{ToDims(fitted.kernel), ToDims(fitted.strides), ToDims(fitted.dilations), ToDims(fitted.begin),
                ToDims(fitted.end)};
  for (int64_t& dilation : window.dilations) --dilation;
  return window;
}

/// Throws Error where they are more than there are numbers for: a model may declare any size.
inline int64_t Elements(const Dims& dims) {
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  int64_t count = 1;
  for (const int64_t dim : dims) count = CheckedMul(count, dim);
  return count;
}

using DataType = dnnl::memory::data_type;

inline Desc AnyLayout(const Dims& dims, DataType type = DataType::f32) {
  return Desc(dims, type, dnnl::memory::format_tag::any);
}

/// Of the element types that are lowered.
inline DataType DataTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kInt8: return DataType::s8;
    case ElementType::kUInt8: return DataType::u8;
    case ElementType::kInt32: return DataType::s32;
    case ElementType::kBFloat16: return DataType::bf16;
    case ElementType::kFloat16: return DataType::f16;
    default: return DataType::f32;
  }
}

inline DataType TypeOf(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type();
#else
  return desc.data_type();
#endif
}

inline Dims DimsOf(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

/// Whether a dimension is 0. oneDNN says 0 bytes of what lies behind an offset, too.
inline bool IsEmpty(const Desc& desc) { return Elements(DimsOf(desc)) == 0; }

/// Float32 for what is rounded.
inline DataType Unrounded(DataType type) { return type == DataType::bf16 || type == DataType::f16 ? DataType::f32 : type; }

/// Row-major strides: the layout of tensors outside a region. Throws Error as Elements does.
inline Desc Plain(const Dims& dims, DataType type = DataType::f32) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = CheckedMul(strides[i], std::max<dnnl::memory::dim>(dims[i], 1));
  return Desc(dims, type, strides);
}

/// Whether the processor has the instruction set, and oneDNN uses it.
inline bool HasIsa(dnnl::cpu_isa isa) {
  const auto wanted = static_cast<unsigned>(isa), there = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (there & wanted) == wanted;
}

/// GEMM of operands of this type, of 16 bits, with float32 accumulators.
inline bool HasMatMulsOf(DataType type) {
#if DNNL_VERSION_MAJOR >= 3
  if (type == DataType::f16) return HasIsa(dnnl::cpu_isa::avx512_core_fp16);
#endif
  return type == DataType::bf16 && HasIsa(dnnl::cpu_isa::avx512_core_bf16);
}

inline bool HasAvx512() {
  static const bool has =
      static_cast<unsigned>(dnnl::get_effective_cpu_isa()) >= static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return has;
}

/// GEMM of bytes whose accumulators do not saturate on the way (VNNI).
inline bool HasQuantizedGemm() { return HasIsa(dnnl::cpu_isa::avx512_core_vnni) || HasIsa(dnnl::cpu_isa::avx2_vnni); }

/// GEMM by tiles (AMX).
inline bool HasTiles() { return HasIsa(dnnl::cpu_isa::avx512_core_amx); }

/// Channels that stand together in the layout that this CPU's convolutions and pooling like best: nC[hw]8c or nC[hw]16c.
inline int ChannelBlock() { return HasAvx512() ? 16 : 8; }
inline Desc ChannelNchw8c(const Dims& dims, DataType type = DataType::f32) {
  using Tag = dnnl::memory::format_tag;
  static constexpr Tag tags[2][3] = {{Tag::aBc8b, Tag::aBcd8b, Tag::aBcde8b}, {Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b}};
  return Desc(dims, type, tags[ChannelBlock() / 8 - 1][dims.size() - 3]);
}

/// The other layout that they like: pixel after pixel, each with all its channels.
inline Desc Nhwc(const Dims& dims, DataType type = DataType::f32) {
  using Tag = dnnl::memory::format_tag;
  static constexpr Tag tags[] = {Tag::acb, Tag::acdb, Tag::acdeb};
  return Desc(dims, type, tags[dims.size() - 3]);
}

/// Where `part`, as it is laid out, stands in `whole` from element `offsets` on: the first byte; nothing when the elements
/// would not lie as `part` says, or when padding of `part` would cover other elements.
std::optional<size_t> OffsetInside(const Desc& whole, const Desc& part, const Dims& offsets);

/// A box of `whole`, without copying it: its description, and the byte where it begins. Nothing where it cuts a block.
struct SubMemory {
  Desc desc;
  size_t offset;
};
std::optional<SubMemory> BoxInside(const Desc& whole, const Dims& first, const Dims& count);

/// Equal for equal layouts, whatever oneDNN's version.
std::string LayoutKey(const Desc& desc);

/// Sequences, states and parameters of a recurrent operator; no initial state stands for zeros.
struct RecurrentDescs {
  Desc x, initial_h, initial_c, w, r, bias, y, last_h, last_c;
};

#if DNNL_VERSION_MAJOR >= 3

/// Of convolution_forward and deconvolution_forward.
template <class Primitive>
typename Primitive::primitive_desc WindowedDesc(const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& src,
                                                const Desc& weights, const Desc* bias, const Desc& dst, const Window& w,
                                                const dnnl::primitive_attr& attr) {
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  const Desc biases = bias ? *bias : Desc();
  return {engine, kind, algorithm, src, weights, biases, dst, w.strides, w.dilations, w.pad_begin, w.pad_end, attr};
}
inline dnnl::convolution_forward::primitive_desc ConvolutionDesc(const dnnl::engine& engine, const Desc& src,
                                                                 const Desc& weights, const Desc* bias, const Desc& dst,
                                                                 const Window& w, const dnnl::primitive_attr& attr) {
  return WindowedDesc<dnnl::convolution_forward>(engine, dnnl::algorithm::convolution_direct, src, weights, bias, dst, w,
                                                 attr);
}
inline dnnl::deconvolution_forward::primitive_desc DeconvolutionDesc(const dnnl::engine& engine, const Desc& src,
                                                                     const Desc& weights, const Desc* bias, const Desc& dst,
                                                                     const Window& w, const dnnl::primitive_attr& attr) {
  return WindowedDesc<dnnl::deconvolution_forward>(engine, dnnl::algorithm::deconvolution_direct, src, weights, bias, dst,
                                                   w, attr);
}
inline dnnl::pooling_forward::primitive_desc PoolingDesc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                         const Desc& src, const Desc& dst, const Window& w,
                                                         const dnnl::primitive_attr& attr) {
  return {engine,      dnnl::prop_kind::forward_inference,
          algorithm,   src,
          dst,         w.strides,
          w.kernel,    w.dilations,
          w.pad_begin, w.pad_end,
          attr};
}
using Pooling = dnnl::pooling_forward;
inline dnnl::matmul::primitive_desc MatmulDesc(const dnnl::engine& engine, const Desc& src, const Desc& weights,
                                               const Desc* bias, const Desc& dst, const dnnl::primitive_attr& attr) {
  return bias ? dnnl::matmul::primitive_desc(engine, src, weights, *bias, dst, attr)
              : dnnl::matmul::primitive_desc(engine, src, weights, dst, attr);
}
inline dnnl::eltwise_forward::primitive_desc EltwiseDesc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                         const Desc& md, float alpha, float beta,
                                                         const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, algorithm, md, md, alpha, beta, attr};
}
inline dnnl::binary::primitive_desc BinaryDesc(const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& a,
                                               const Desc& b, const Desc& dst, const dnnl::primitive_attr& attr) {
  return {engine, algorithm, a, b, dst, attr};
}
inline dnnl::batch_normalization_forward::primitive_desc BatchNormDesc(const dnnl::engine& engine, const Desc& md,
                                                                       float epsilon, const dnnl::primitive_attr& attr) {
  using dnnl::normalization_flags;
  return {engine,  dnnl::prop_kind::forward_inference,
          md,      md,
          epsilon, normalization_flags::use_global_stats | normalization_flags::use_scale | normalization_flags::use_shift,
          attr};
}
inline dnnl::lrn_forward::primitive_desc LrnDesc(const dnnl::engine& engine, const Desc& md, int64_t size, float alpha,
                                                 float beta, float bias, const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels, md, md, size, alpha, beta, bias,
          attr};
}
inline dnnl::concat::primitive_desc ConcatDesc(const dnnl::engine& engine, const Desc& dst, int axis,
                                               const std::vector<Desc>& srcs, const dnnl::primitive_attr& attr) {
  return {engine, dst, axis, srcs, attr};
}

inline dnnl::reduction::primitive_desc ReductionDesc(const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& src,
                                                     const Desc& dst, float p, const dnnl::primitive_attr& attr) {
  return {engine, algorithm, src, dst, p, 0.0f, attr};
}
inline dnnl::resampling_forward::primitive_desc ResamplingDesc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                               const Desc& src, const Desc& dst,
                                                               const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, algorithm, src, dst, attr};
}
inline dnnl::layer_normalization_forward::primitive_desc LayerNormDesc(const dnnl::engine& engine, const Desc& md,
                                                                       float epsilon, dnnl::normalization_flags flags,
                                                                       const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, md, md, epsilon, flags, attr};
}
inline dnnl::prelu_forward::primitive_desc PReluDesc(const dnnl::engine& engine, const Desc& md, const Desc& slope,
                                                     const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, md, slope, md, attr};
}

inline dnnl::lstm_forward::primitive_desc LstmDesc(const dnnl::engine& engine, dnnl::rnn_direction direction,
                                                   const RecurrentDescs& d, const dnnl::primitive_attr& attr) {
  return {engine,      dnnl::prop_kind::forward_inference,
          direction,   d.x,
          d.initial_h, d.initial_c,
          d.w,         d.r,
          d.bias,      d.y,
          d.last_h,    d.last_c,
          attr};
}
/// Of gru_forward and lbr_gru_forward.
template <class Gru>
typename Gru::primitive_desc GruDesc(const dnnl::engine& engine, dnnl::rnn_direction direction, const RecurrentDescs& d,
                                     const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, direction, d.x, d.initial_h, d.w, d.r, d.bias, d.y, d.last_h, attr};
}

#else

/// The description of a primitive, with what it was made from: oneDNN 2.6's next_impl() reads that where it was, and
/// divides by strides of 0 or worse once something else stands there. All that moves on must be one of these.
template <class Primitive>
class Movable : public Primitive::primitive_desc {
 public:
  Movable(std::shared_ptr<const typename Primitive::desc> operation, const dnnl::primitive_attr& attr,
          const dnnl::engine& engine)
      : Primitive::primitive_desc(*operation, attr, engine), operation_(std::move(operation)) {}

 private:
  std::shared_ptr<const typename Primitive::desc> operation_;
};

/// Of convolution_forward and deconvolution_forward.
template <class Primitive>
typename Primitive::desc WindowedDesc(dnnl::algorithm algorithm, const Desc& src, const Desc& weights, const Desc* bias,
                                      const Desc& dst, const Window& w) {
  using Of = typename Primitive::desc;
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  return bias ? Of(kind, algorithm, src, weights, *bias, dst, w.strides, w.dilations, w.pad_begin, w.pad_end)
              : Of(kind, algorithm, src, weights, dst, w.strides, w.dilations, w.pad_begin, w.pad_end);
}
inline Movable<dnnl::convolution_forward> ConvolutionDesc(const dnnl::engine& engine, const Desc& src, const Desc& weights,
                                                          const Desc* bias, const Desc& dst, const Window& w,
                                                          const dnnl::primitive_attr& attr) {
  using Convolution = dnnl::convolution_forward;
  return {std::make_shared<const Convolution::desc>(
              WindowedDesc<Convolution>(dnnl::algorithm::convolution_direct, src, weights, bias, dst, w)),
          attr, engine};
}
inline dnnl::deconvolution_forward::primitive_desc DeconvolutionDesc(const dnnl::engine& engine, const Desc& src,
                                                                     const Desc& weights, const Desc* bias, const Desc& dst,
                                                                     const Window& w, const dnnl::primitive_attr& attr) {
  return {WindowedDesc<dnnl::deconvolution_forward>(dnnl::algorithm::deconvolution_direct, src, weights, bias, dst, w),
          attr, engine};
}
inline dnnl::pooling_v2_forward::primitive_desc PoolingDesc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                            const Desc& src, const Desc& dst, const Window& w,
                                                            const dnnl::primitive_attr& attr) {
  return {dnnl::pooling_v2_forward::desc(dnnl::prop_kind::forward_inference, algorithm, src, dst, w.strides, w.kernel,
                                         w.dilations, w.pad_begin, w.pad_end),
          attr, engine};
}
using Pooling = dnnl::pooling_v2_forward;
inline Movable<dnnl::matmul> MatmulDesc(const dnnl::engine& engine, const Desc& src, const Desc& weights, const Desc* bias,
                                        const Desc& dst, const dnnl::primitive_attr& attr) {
  const auto op = bias ? dnnl::matmul::desc(src, weights, *bias, dst) : dnnl::matmul::desc(src, weights, dst);
  return {std::make_shared<const dnnl::matmul::desc>(op), attr, engine};
}
inline dnnl::eltwise_forward::primitive_desc EltwiseDesc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                         const Desc& md, float alpha, float beta,
                                                         const dnnl::primitive_attr& attr) {
  return {dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_inference, algorithm, md, alpha, beta), attr, engine};
}
inline dnnl::binary::primitive_desc BinaryDesc(const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& a,
                                               const Desc& b, const Desc& dst, const dnnl::primitive_attr& attr) {
  return {dnnl::binary::desc(algorithm, a, b, dst), attr, engine};
}
inline dnnl::batch_normalization_forward::primitive_desc BatchNormDesc(const dnnl::engine& engine, const Desc& md,
                                                                       float epsilon, const dnnl::primitive_attr& attr) {
  using dnnl::normalization_flags;
  return {dnnl::batch_normalization_forward::desc(
              dnnl::prop_kind::forward_inference, md, epsilon,
              normalization_flags::use_global_stats | normalization_flags::use_scale | normalization_flags::use_shift),
          attr, engine};
}
inline dnnl::lrn_forward::primitive_desc LrnDesc(const dnnl::engine& engine, const Desc& md, int64_t size, float alpha,
                                                 float beta, float bias, const dnnl::primitive_attr& attr) {
  return {dnnl::lrn_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels, md, size, alpha,
                                  beta, bias),
          attr, engine};
}
inline dnnl::concat::primitive_desc ConcatDesc(const dnnl::engine& engine, const Desc& dst, int axis,
                                               const std::vector<Desc>& srcs, const dnnl::primitive_attr& attr) {
  return {dst, axis, srcs, engine, attr};
}

inline dnnl::reduction::primitive_desc ReductionDesc(const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& src,
                                                     const Desc& dst, float p, const dnnl::primitive_attr& attr) {
  return {dnnl::reduction::desc(algorithm, src, dst, p, 0.0f), attr, engine};
}
inline dnnl::resampling_forward::primitive_desc ResamplingDesc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                               const Desc& src, const Desc& dst,
                                                               const dnnl::primitive_attr& attr) {
  return {dnnl::resampling_forward::desc(dnnl::prop_kind::forward_inference, algorithm, src, dst), attr, engine};
}
inline dnnl::layer_normalization_forward::primitive_desc LayerNormDesc(const dnnl::engine& engine, const Desc& md,
                                                                       float epsilon, dnnl::normalization_flags flags,
                                                                       const dnnl::primitive_attr& attr) {
  return {dnnl::layer_normalization_forward::desc(dnnl::prop_kind::forward_inference, md, epsilon, flags), attr, engine};
}
inline dnnl::prelu_forward::primitive_desc PReluDesc(const dnnl::engine& engine, const Desc& md, const Desc& slope,
                                                     const dnnl::primitive_attr& attr) {
  return {dnnl::prelu_forward::desc(dnnl::prop_kind::forward_inference, md, slope), attr, engine};
}

inline dnnl::lstm_forward::primitive_desc LstmDesc(const dnnl::engine& engine, dnnl::rnn_direction direction,
                                                   const RecurrentDescs& d, const dnnl::primitive_attr& attr) {
  // Such a description takes kilobytes, too many for small stacks.
  const auto operation =
      std::make_unique<dnnl::lstm_forward::desc>(dnnl::prop_kind::forward_inference, direction, d.x, d.initial_h,
                                                 d.initial_c, d.w, d.r, d.bias, d.y, d.last_h, d.last_c);
  return {*operation, attr, engine};
}
/// Of gru_forward and lbr_gru_forward.
template <class Gru>
typename Gru::primitive_desc GruDesc(const dnnl::engine& engine, dnnl::rnn_direction direction, const RecurrentDescs& d,
                                     const dnnl::primitive_attr& attr) {
  const auto operation = std::make_unique<typename Gru::desc>(dnnl::prop_kind::forward_inference, direction, d.x,
                                                              d.initial_h, d.w, d.r, d.bias, d.y, d.last_h);
  return {*operation, attr, engine};
}

#endif

}  // namespace tessera::onednn
