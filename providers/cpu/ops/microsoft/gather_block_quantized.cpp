// GatherBlockQuantized, com.microsoft, version 1: slices of block-wise quantized data, picked by index and dequantized.

#include "base/checked.h"
#include "cpu/engine/packed.h"
#include "cpu/engine/quantization.h"
#include "cpu/engine/row_access.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/quantize/quantize.h"
#include "ops/axis.h"

namespace tessera::cpu {
namespace {

/// `count` quantized values from `begin` on, one a byte; signed ones as their two's complement.
void ReadQuantized(int bits, bool is_signed, const uint8_t* bytes, int64_t begin, int64_t count, uint8_t* out) {
  if (bits == 2) Unpack<2>(bytes, begin, count, is_signed, out);
  else if (bits == 4) Unpack<4>(bytes, begin, count, is_signed, out);
  else std::copy_n(bytes + begin, count, out);
}

class GatherBlockQuantized final : public Kernel {
 public:
  explicit GatherBlockQuantized(const KernelInfo& info)
      : gather_axis_(info.attribute<int64_t>("gather_axis", 0)),
        quantize_axis_(info.attribute<int64_t>("quantize_axis", 1)),
        block_(info.attribute<int64_t>("block_size", 128)),
        in_bytes_(info.input_type(0) == ElementType::kUInt8),
        is_signed_(info.input_type(0) == ElementType::kInt4),
        bits_(in_bytes_ ? static_cast<int>(info.attribute<int64_t>("bits", 4)) : 4),
        dequantize_(FindDequantizeLoop(is_signed_ ? ElementType::kInt8 : ElementType::kUInt8)) {
    Require(bits_ == 2 || bits_ == 4 || bits_ == 8, "bits is {}; 2, 4 or 8 is expected", bits_);
    Require(block_ >= 16 && (block_ & (block_ - 1)) == 0, "block_size is {}; a power of two from 16 on is expected",
            block_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Tensor& scales = context.required_input(2);
    Shape logical = data.shape();
    const size_t rank = logical.rank();
    Require(rank > 0 && scales.shape().rank() == rank, "data is {} and scales {}; they have the same rank, not 0",
            data.shape(), scales.shape());
    if (in_bytes_) logical[rank - 1] = CheckedMul<int64_t>(logical[rank - 1], 8 / bits_);
    const size_t axis = NormalizeAxis(gather_axis_, rank), quantize_axis = NormalizeAxis(quantize_axis_, rank);
    Require(!in_bytes_ || bits_ == 8 || (axis == 0 && quantize_axis != axis),
            "bytes that hold several quantized values are gathered along axis 0 only");
    const QuantizationLayout layout(logical, scales.shape(), static_cast<int64_t>(quantize_axis), block_);
    CheckZeros(context.input(3), scales.shape());
    Shape shape;
    for (size_t i = 0; i < axis; ++i) shape.Append(logical[i]);
    for (const int64_t dim : indices.shape().dims()) shape.Append(dim);
    for (size_t i = axis + 1; i < rank; ++i) shape.Append(logical[i]);
    Tensor* y = context.output(0, shape);
    if (y == nullptr || y->num_elements() == 0) return;
    const int64_t slice = logical.SizeOfRange(axis + 1, rank), dim = logical[axis], picked = indices.num_elements();
    const Job job{data, context.input(3), scales.shape(), layout, RowReader<float>(scales), RowWriter<float>(*y)};
    context.threads().ParallelFor(
        logical.SizeOfRange(0, axis) * picked, static_cast<double>(slice) * 0.3 + 10, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t index =
                indices.is(ElementType::kInt32) ? indices.data<int32_t>()[i % picked] : indices.data<int64_t>()[i % picked];
            if (index < 0) index += dim;
            const bool inside = index >= 0 && index < dim;
            WriteSlice(job, inside ? (i / picked * dim + index) * slice : -1, slice, i * slice);
          }
        });
  }

 private:
  struct Job {
    const Tensor& data;
    const Tensor* zeros;  // may be null
    const Shape& scale_shape;
    const QuantizationLayout& layout;
    RowReader<float> scales;
    RowWriter<float> out;
  };

  int64_t ZeroRowBytes(const Shape& scales) const { return (scales.back() * bits_ + 7) / 8; }

  void CheckZeros(const Tensor* zeros, const Shape& scales) const {
    if (zeros == nullptr) return;
    Shape expected = scales;
    if (in_bytes_) expected[scales.rank() - 1] = ZeroRowBytes(scales);
    Require(zeros->shape() == expected, "zero_points is {}; {} is expected", zeros->shape(), expected);
  }

  float ZeroOf(const Tensor* zeros, const Shape& scales, int64_t i) const {
    if (zeros == nullptr) return in_bytes_ ? static_cast<float>(1 << (bits_ - 1)) : 0.0f;
    uint8_t value = 0;
    const auto* bytes = static_cast<const uint8_t*>(zeros->raw());
    // In bytes, each row of zero points begins a byte.
    if (in_bytes_)
      ReadQuantized(bits_, false, bytes + i / scales.back() * ZeroRowBytes(scales), i % scales.back(), 1, &value);
    else ReadQuantized(bits_, is_signed_, bytes, i, 1, &value);
    return is_signed_ ? static_cast<float>(static_cast<int8_t>(value)) : static_cast<float>(value);
  }

  /// Elements [from, from + count) of the data; zeros where `from` is negative.
  void WriteSlice(const Job& job, int64_t from, int64_t count, int64_t to) const {
    constexpr int64_t kRun = 512;
    uint8_t quantized[kRun];
    float buffer[kRun], scales[kRun], zeros[kRun];
    for (int64_t done = 0; done < count; done += kRun) {
      const int64_t some = std::min(kRun, count - done), first = from + done;
      float* at = job.out.At(to + done, buffer);
      if (from < 0) {
        std::fill_n(at, some, 0.0f);
      } else {
        ReadQuantized(bits_, is_signed_, static_cast<const uint8_t*>(job.data.raw()), first, some, quantized);
        for (int64_t i = 0; i < some;) {
          const ScaleRun run = job.layout.Run(first + i, first + some);
          const int64_t blocks = run.step == 0 ? 1 : run.count;
          for (int64_t b = 0; b < blocks; ++b) zeros[b] = ZeroOf(job.zeros, job.scale_shape, run.scale + b);
          dequantize_(quantized + i, job.scales.Read(run.scale, blocks, scales), zeros, run.step, at + i, run.count);
          i += run.count;
        }
      }
      job.out.Flush(to + done, some, buffer);
    }
  }

  int64_t gather_axis_, quantize_axis_, block_;
  bool in_bytes_, is_signed_;
  int bits_;
  DequantizeLoop dequantize_;
};

}  // namespace

void RegisterGatherBlockQuantized(KernelRegistry& registry) {
  registry.Add(Op("GatherBlockQuantized", "com.microsoft")
                   .Types(0, {ElementType::kUInt8, ElementType::kInt4, ElementType::kUInt4})
                   .Make<GatherBlockQuantized>());
}

}  // namespace tessera::cpu
