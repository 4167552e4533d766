#include "cpu/ops/microsoft/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "base/checked.h"
#include "cpu/engine/row_access.h"
#include "cpu/ops/attention/real_tensor.h"
#include "kernels/gemm/nbits/nibbles.h"
#include "kernels/quantize/quantize.h"

namespace tessera::cpu {
namespace {

constexpr float kInt4Offset = 8;    // what quantized values of 4 bits have added
constexpr int64_t kTogether = 256;  // quantized values of 4 bits before they are packed

/// Writes and reads rows of quantized values.
class QuantizedRows {
 public:
  explicit QuantizedRows(const CacheEncoding& encoding)
      : encoding_(encoding),
        quantize_(FindQuantizeLoop(encoding.type())),
        dequantize_(FindDequantizeLoop(encoding.type())) {}

  void Write(const float* row, int64_t head, int64_t width, uint8_t* out) const {
    const int64_t channel = head * width * encoding_.step;
    if (encoding_.bits == 8) return Quantize(row, channel, -128, 127, out, width);
    uint8_t wide[kTogether];
    for (int64_t i = 0; i < width; i += kTogether) {
      const int64_t count = std::min(kTogether, width - i);
      Quantize(row + i, channel + i * encoding_.step, 0, 15, wide, count);
      PackNibbles(wide, count, out + i / 2);
    }
  }

  void Read(const uint8_t* row, int64_t head, int64_t width, float* out) const {
    const int64_t channel = head * width * encoding_.step;
    const float* scales = encoding_.scales + channel;
    if (encoding_.bits == 8) return dequantize_(row, scales, encoding_.zeros + channel, encoding_.step, out, width);
    DequantizeNibbles(row, scales, encoding_.step, out, width);
  }

 private:
  void Quantize(const float* x, int64_t channel, float low, float high, void* out, int64_t count) const {
    quantize_(x, encoding_.scales + channel, encoding_.zeros + channel, encoding_.step, low, high, out, count);
  }

  const CacheEncoding& encoding_;
  QuantizeLoop quantize_;
  DequantizeLoop dequantize_;
};

}  // namespace

CacheEncoding EncodingWith(KernelContext& context, int bits, const Tensor* scales, bool by_channel, int64_t heads,
                           int64_t width) {
  const int64_t count = by_channel ? CheckedMul(heads, width) : 1;
  Require(scales != nullptr, "a quantized cache needs scales");
  Require(scales->num_elements() == count, "the cache's scales are {}; {} are expected", scales->shape(), count);
  const auto zeros = context.scratch<float>(static_cast<size_t>(count));
  std::fill(zeros.begin(), zeros.end(), bits == 4 ? kInt4Offset : 0.0f);
  return {bits, scales->data<float>(), zeros.data(), by_channel ? 1 : 0};
}

void WriteCache(ThreadPool& threads, const Tensor* past, const int64_t* past_rows, const NewRows& current, int64_t capacity,
                Tensor& cache, const CacheEncoding& encoding, CacheRest rest) {
  const int64_t elements = encoding.RowElements(current.width);
  const int64_t row_bytes = elements * static_cast<int64_t>(BitWidth(cache.type()) / 8);
  const bool shared = past != nullptr && past->raw() == cache.raw();
  auto* out = static_cast<uint8_t*>(cache.mutable_raw());
  const auto write = [&, numbers = encoding.exist() ? std::nullopt : std::optional<RowWriter<float>>(cache),
                      quantized = QuantizedRows(encoding)](const float* row, int64_t head, int64_t to) {
    if (!numbers) quantized.Write(row, head, current.width, out + to * row_bytes);
    else if (numbers->direct()) std::copy_n(row, elements, numbers->At(to * elements, nullptr));
    else numbers->Flush(to * elements, elements, row);
  };
  const double cost = static_cast<double>(capacity * row_bytes) * 0.1;
  threads.ParallelFor(current.batch * current.heads, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / current.heads, head = i % current.heads, kept = past_rows[b];
      if (!shared && kept > 0) {
        const int64_t past_capacity = past->shape()[past->shape().rank() - 2];
        CopyCancellably(out + i * capacity * row_bytes,
                        static_cast<const uint8_t*>(past->raw()) + i * past_capacity * row_bytes, kept * row_bytes);
      }
      const float* from = current.at.at(b, head);
      PacedCancellationPoint look(1);
      for (int64_t r = 0; r < current.rows; ++r, look.Pass(current.width + 8))
        write(from + r * current.at.row, head, i * capacity + kept + r);
      const int64_t filled = (i * capacity + kept + current.rows) * row_bytes;
      const auto left = static_cast<size_t>((capacity - kept - current.rows) * row_bytes);
      if (shared || left == 0) continue;
      if (rest == CacheRest::kZero) ClearCancellably(out + filled, left);
      else CopyBytesCancellably(out + filled, static_cast<const uint8_t*>(past->raw()) + filled, left);
    }
  });
}

Heads<const float> ReadCache(KernelContext& context, const Tensor& cache, int64_t heads, int64_t capacity, int64_t width,
                             int64_t rows, const CacheEncoding& encoding) {
  if (cache.is(ElementType::kFloat)) return {cache.data<float>(), heads * capacity * width, capacity * width, width};
  const int64_t elements = encoding.RowElements(width);
  const int64_t count = capacity == 0 || elements == 0 ? 0 : cache.num_elements() / (capacity * elements);
  float* out = context.scratch<float>(static_cast<size_t>(CheckedMul(CheckedMul(count, rows), width))).data();
  const QuantizedRows quantized(encoding);
  context.threads().ParallelFor(count * rows, static_cast<double>(width) * 0.4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t head = i / rows, row = i % rows, run = std::min(end - i, rows - row),
                    from = (head * capacity + row) * elements;
      if (!encoding.exist()) LoadReals(cache, from, run * width, out + i * width);
      for (int64_t r = 0; encoding.exist() && r < run; ++r) {
        quantized.Read(static_cast<const uint8_t*>(cache.raw()) + from + r * elements, head % heads, width,
                       out + (i + r) * width);
      }
      i += run;
    }
  });
  return {out, heads * rows * width, rows * width, width};
}

}  // namespace tessera::cpu
