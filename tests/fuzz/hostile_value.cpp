#include "hostile_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace tessera::fuzz {
namespace {

constexpr int64_t kMaxElements = 4096;  // of a damaged tensor: the sizes themselves may be hostile, the data stays small

constexpr std::array<double, 16> kHostileNumbers = {0.0,   -0.0,  1.0,    -1.0,   0.5,     -1e-30, 1e30,   -1e30,
                                                    1e300, 3.5e9, -2.2e9, 1.9e19, -9.3e18, 65520., 1e-310, 16777217.};

std::string HostileString(Random& random) {
  static const std::string strings[] = {"",         "a",       std::string(300, 'x'),
                                        "\xff\xfe", "\xc3",    "\xf0\x9f\x98",
                                        "nan",      "1e999",   "-9223372036854775809",
                                        "0x10",     "  1  ",   std::string("a\0b", 3),
                                        "((((((",   "(a|a)*b", "\\",
                                        "[",        "{99999}", "\xed\xa0\x80"};
  return strings[Below(random, std::size(strings))];
}

template <class T>
void FillIntegers(Tensor& tensor, size_t i, Random& random) {
  static_cast<T*>(tensor.mutable_raw())[i] = static_cast<T>(HostileInteger(random));
}

template <class T>
void FillFloat(Tensor& tensor, size_t i, Random& random) {
  double value = kHostileNumbers[Below(random, kHostileNumbers.size())];
  if (OneIn(random, 3)) {
    constexpr double limits[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
    value = limits[Below(random, std::size(limits))];
  }
  // A cast that overflows T is undefined: such values become its infinity first.
  if (std::abs(value) > static_cast<double>(std::numeric_limits<T>::max())) value = std::copysign(INFINITY, value);
  static_cast<T*>(tensor.mutable_raw())[i] = static_cast<T>(value);
}

void SetHostile(Tensor& tensor, size_t i, Random& random) {
  switch (tensor.type()) {
    case ElementType::kString: static_cast<std::string*>(tensor.mutable_raw())[i] = HostileString(random); break;
    case ElementType::kBool: static_cast<uint8_t*>(tensor.mutable_raw())[i] = static_cast<uint8_t>(random() & 1); break;
    case ElementType::kFloat: FillFloat<float>(tensor, i, random); break;
    case ElementType::kDouble: FillFloat<double>(tensor, i, random); break;
    case ElementType::kInt64:
    case ElementType::kUInt64: FillIntegers<int64_t>(tensor, i, random); break;
    case ElementType::kInt32:
    case ElementType::kUInt32: FillIntegers<int32_t>(tensor, i, random); break;
    default: {  // every other type is small: any bit pattern is one of its values
      const size_t width = std::max<size_t>(1, static_cast<size_t>(BitWidth(tensor.type())) / 8);
      auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
      for (size_t b = i * width; b < std::min(tensor.byte_size(), (i + 1) * width); ++b) {
        bytes[b] = static_cast<uint8_t>(OneIn(random, 2) ? random() : (OneIn(random, 2) ? 0xff : 0x7f));
      }
    }
  }
}

/// Elements of `from` over and over, hostile ones where it has none.
Tensor WithShape(const Tensor& from, const Shape& shape, Random& random) {
  Tensor result(from.type(), shape);
  const auto count = static_cast<size_t>(result.num_elements()), have = static_cast<size_t>(from.num_elements());
  if (from.is(ElementType::kString)) {
    auto* strings = static_cast<std::string*>(result.mutable_raw());
    for (size_t i = 0; i < count; ++i)
      strings[i] = have > 0 ? static_cast<const std::string*>(from.raw())[i % have] : HostileString(random);
    return result;
  }
  auto* bytes = static_cast<uint8_t*>(result.mutable_raw());
  if (from.byte_size() == 0) {
    std::fill_n(bytes, result.byte_size(), uint8_t{0});
    return result;
  }
  for (size_t i = 0; i < result.byte_size(); ++i) bytes[i] = static_cast<const uint8_t*>(from.raw())[i % from.byte_size()];
  return result;
}

/// Nothing when the product of the dimensions is too large to hold.
std::optional<Shape> Affordable(const std::vector<int64_t>& dims) {
  bool empty = false;
  int64_t product = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
  }
  // Sizes whose product overflows are refused where tensors are made, empty or not; they are tested through attributes.
  for (const int64_t dim : dims) {
    if (dim != 0 && __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  if (!empty && product > kMaxElements) return std::nullopt;
  return Shape(std::span<const int64_t>(dims));
}

Shape DamagedShape(const Shape& shape, Random& random) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 17};
  const auto any_size = [&] { return sizes[Below(random, std::size(sizes))]; };
  const auto position = [&] { return static_cast<std::ptrdiff_t>(Below(random, dims.size())); };
  switch (random() % 12) {
    case 0: dims.clear(); break;
    case 1:
      if (!dims.empty()) dims.erase(dims.begin() + position());
      break;
    case 2: dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(Below(random, dims.size() + 1)), any_size()); break;
    case 3:
    case 4:
      if (!dims.empty()) dims[static_cast<size_t>(position())] = 0;
      break;
    case 5:
    case 6:
      if (!dims.empty()) {
        int64_t& dim = dims[static_cast<size_t>(position())];
        if (dim <= kMaxElements) dim += OneIn(random, 2) ? 1 : -1;
      }
      break;
    case 7:
      if (!dims.empty()) dims[static_cast<size_t>(position())] = any_size();
      break;
    case 8:  // empty, with a size that overflows whatever it is multiplied with
      if (dims.size() < 2) dims.resize(2, 1);
      std::fill(dims.begin(), dims.end(), 1);
      dims[Below(random, dims.size())] = OneIn(random, 2) ? std::numeric_limits<int64_t>::max() : int64_t{1} << 40;
      dims[static_cast<size_t>(position())] = 0;
      break;
    case 9: std::shuffle(dims.begin(), dims.end(), random); break;
    case 10: dims.assign(Below(random, 12), any_size() == 0 ? 0 : 1); break;
    default:
      for (int64_t& dim : dims) dim = any_size();
  }
  return Affordable(dims).value_or(Shape());
}

Tensor DamagedTensor(const Tensor& tensor, Random& random) {
  const size_t kind = random() % 3;
  Tensor result = WithShape(tensor, kind == 0 ? tensor.shape() : DamagedShape(tensor.shape(), random), random);
  if (kind == 1 || result.num_elements() == 0) return result;
  const auto count = static_cast<size_t>(result.num_elements());
  const size_t width = BitWidth(result.type()) < 8 ? 8 / static_cast<size_t>(BitWidth(result.type())) : 1;
  const size_t slots = (count + width - 1) / width;
  if (OneIn(random, 3)) {
    for (size_t i = 0; i < slots; ++i) SetHostile(result, i, random);
  } else {
    for (size_t n = 1 + Below(random, 3); n > 0; --n) SetHostile(result, Below(random, slots), random);
  }
  return result;
}

Sequence DamagedSequence(const Sequence& sequence, Random& random) {
  Sequence result = sequence;
  switch (random() % 4) {
    case 0: result.elements.clear(); break;
    case 1:
      if (!result.elements.empty()) result.elements.pop_back();
      break;
    default:
      if (!result.elements.empty()) {
        Value& element = result.elements[Below(random, result.elements.size())];
        element = Damage(element, random);
      }
  }
  return result;
}

SparseTensor DamagedSparse(const SparseTensor& tensor, Random& random) {
  SparseTensor result = tensor;
  switch (random() % 3) {
    case 0: result.values = DamagedTensor(tensor.values, random); break;
    case 1: result.indices = DamagedTensor(tensor.indices, random); break;
    default: result.dense_shape = DamagedShape(tensor.dense_shape, random);
  }
  return result;
}

}  // namespace

int64_t HostileInteger(Random& random) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t numbers[] = {0,          1,
                                 -1,         2,
                                 -2,         3,
                                 -3,         4,
                                 5,          -5,
                                 7,          8,
                                 16,         31,
                                 32,         63,
                                 64,         65,
                                 100,        -100,
                                 255,        256,
                                 65536,      kMin,
                                 kMax,       kMin + 1,
                                 kMax - 1,   kMax / 2,
                                 kMin / 2,   INT32_MAX,
                                 INT32_MIN,  int64_t{INT32_MAX} + 1,
                                 1ll << 32,  -(1ll << 32),
                                 1ll << 40,  1ll << 61,
                                 1000000007, -1000000007};
  return numbers[Below(random, std::size(numbers))];
}

Tensor RandomTensor(ElementType type, const Shape& shape, Random& random) {
  Tensor tensor(type, shape);
  const auto count = static_cast<size_t>(tensor.num_elements());
  if (type != ElementType::kString)
    std::fill_n(static_cast<uint8_t*>(tensor.mutable_raw()), tensor.byte_size(), uint8_t{0});
  const size_t width = BitWidth(type) > 0 && BitWidth(type) < 8 ? 8 / static_cast<size_t>(BitWidth(type)) : 1;
  for (size_t i = 0; i < (count + width - 1) / width; ++i) SetHostile(tensor, i, random);
  return tensor;
}

Value ExactCopy(const Value& value) {
  if (const Tensor* tensor = value.tensor_if(); tensor != nullptr) return tensor->Clone();
  if (value.kind() == ValueKind::kSequence) {
    Sequence copy = value.sequence();
    for (Value& element : copy.elements) element = ExactCopy(element);
    return copy;
  }
  if (value.kind() == ValueKind::kMap) {
    Map copy = value.map();
    copy.keys = copy.keys.Clone();
    if (copy.scalars.defined()) copy.scalars = copy.scalars.Clone();
    for (Value& element : copy.values) element = ExactCopy(element);
    return copy;
  }
  if (value.kind() == ValueKind::kSparseTensor) {
    SparseTensor copy = value.sparse_tensor();
    copy.values = copy.values.Clone();
    copy.indices = copy.indices.Clone();
    return copy;
  }
  return value;
}

Value Damage(const Value& value, Random& random) {
  switch (value.kind()) {
    case ValueKind::kTensor: return DamagedTensor(value.tensor(), random);
    case ValueKind::kSequence: return DamagedSequence(value.sequence(), random);
    case ValueKind::kSparseTensor: return DamagedSparse(value.sparse_tensor(), random);
    case ValueKind::kMap: {
      Map map = value.map();
      if (OneIn(random, 2)) {
        map.keys = DamagedTensor(map.keys, random);  // which may leave keys and values unequal in number
      } else if (map.scalars.defined()) {
        map.scalars = DamagedTensor(map.scalars, random);
      } else if (!map.values.empty()) {
        Value& element = map.values[Below(random, map.values.size())];
        element = Damage(element, random);
      }
      return map;
    }
    default: return value;
  }
}

}  // namespace tessera::fuzz
