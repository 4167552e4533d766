// NonZero (9, 13): the coordinates of the elements that are not zero, one row per dimension; of a scalar no rows.

#include "base/rounding.h"
#include "cpu/engine/element.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kChunk = 8192;

/// Bits that make a number of that type nonzero: without the signs of floats, whose -0 is zero.
uint64_t MaskOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kComplex64: return 0x7fffffff'7fffffff;
    case ElementType::kDouble:
    case ElementType::kComplex128: return 0x7fffffff'ffffffff;
    case ElementType::kFloat16:
    case ElementType::kBFloat16: return 0x7fff;
    default: return ~uint64_t{0};
  }
}

template <class T>
struct Test {
  T mask;
  explicit Test(uint64_t bits) : mask(static_cast<T>(bits)) {}
  bool operator()(const T& value) const { return (value & mask) != 0; }
};
template <>
struct Test<Bits128> {
  uint64_t mask;
  explicit Test(uint64_t bits) : mask(bits) {}
  bool operator()(const Bits128& value) const { return ((value.low | value.high) & mask) != 0; }
};
template <>
struct Test<std::string> {
  explicit Test(uint64_t) {}
  bool operator()(const std::string& value) const { return !value.empty(); }
};

template <class T>
int64_t Count(const T* data, int64_t count, Test<T> is_nonzero) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += is_nonzero(data[i]) ? 1 : 0;
  return sum;
}

/// Coordinates of the nonzero elements at [begin, end), of which there are `found`; row d of the output starts at
/// output + d * stride.
template <class T>
void Locate(const Shape& dims, const T* data, int64_t begin, int64_t end, int64_t found, Test<T> is_nonzero,
            int64_t* output, int64_t stride) {
  const size_t last = dims.rank() - 1;
  const int64_t columns = dims[last];
  int64_t* innermost = output + static_cast<int64_t>(last) * stride;
  Shape at(dims.rank());
  int64_t rest = begin / columns;
  for (size_t d = last; d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
  int64_t column = begin % columns;
  for (int64_t i = begin, n = 0; i < end && n < found; column = 0) {
    const int64_t stop = std::min(columns, column + end - i), before = n;
    i += stop - column;
    const T* row = data + i - stop;  // by column
    for (; column < stop && n < found; ++column) {
      innermost[n] = column;
      n += is_nonzero(row[column]) ? 1 : 0;
    }
    for (size_t d = 0; d < last && n > before; ++d) {
      std::fill(output + static_cast<int64_t>(d) * stride + before, output + static_cast<int64_t>(d) * stride + n, at[d]);
    }
    for (size_t d = last; d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

class NonZero final : public Kernel {
 public:
  explicit NonZero(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const int64_t size = input.num_elements(), chunks = CeilDiv(size, kChunk);
    const auto rank = static_cast<int64_t>(dims.rank());
    const auto targets = context.scratch<int64_t>(static_cast<size_t>(chunks + 1));
    const ElementKind element = KindOf(input.type());
    VisitElement(element, [&]<class T>() {
      const T* data = static_cast<const T*>(input.raw());
      const Test<T> is_nonzero(MaskOf(input.type()));
      const auto length = [size](int64_t chunk) { return std::min(kChunk, size - chunk * kChunk); };
      context.threads().ParallelFor(chunks, 0.3 * kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          targets[static_cast<size_t>(c)] = Count(data + c * kChunk, length(c), is_nonzero);
        }
      });
      int64_t count = 0;
      for (int64_t c = 0; c < chunks; ++c) {
        int64_t& target = targets[static_cast<size_t>(c)];
        count += target;
        target = count - target;
      }
      targets[static_cast<size_t>(chunks)] = count;
      int64_t* output = context.output(0, {rank, count})->mutable_data<int64_t>();
      if (rank == 0 || count == 0) return;
      context.threads().ParallelFor(chunks, 1.0 * kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const int64_t target = targets[static_cast<size_t>(c)], found = targets[static_cast<size_t>(c + 1)] - target;
          Locate(dims, data, c * kChunk, c * kChunk + length(c), found, is_nonzero, output + target, count);
        }
      });
    });
  }
};

}  // namespace

void RegisterNonZero(KernelRegistry& registry) { registry.Add(Op("NonZero").Versions(9).Make<NonZero>()); }

}  // namespace tessera::cpu
