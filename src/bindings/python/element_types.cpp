#include "bindings/python/element_types.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

#include <algorithm>

namespace tessera::python {
namespace {

namespace nb = nanobind;

struct Numbered {
  int number;
  ElementType type;
};
/// The first row of a type is the one that results have.
constexpr Numbered kNumbered[] = {
    {NPY_FLOAT, ElementType::kFloat},        {NPY_LONG, ElementType::kInt64},       {NPY_INT, ElementType::kInt32},
    {NPY_UBYTE, ElementType::kUInt8},        {NPY_BOOL, ElementType::kBool},        {NPY_DOUBLE, ElementType::kDouble},
    {NPY_HALF, ElementType::kFloat16},       {NPY_BYTE, ElementType::kInt8},        {NPY_SHORT, ElementType::kInt16},
    {NPY_USHORT, ElementType::kUInt16},      {NPY_UINT, ElementType::kUInt32},      {NPY_ULONG, ElementType::kUInt64},
    {NPY_LONGLONG, ElementType::kInt64},     {NPY_ULONGLONG, ElementType::kUInt64}, {NPY_CFLOAT, ElementType::kComplex64},
    {NPY_CDOUBLE, ElementType::kComplex128},
};
static_assert(sizeof(long) == sizeof(int64_t), "numpy's long is another type here");

struct Extension {
  const char* name;
  ElementType type;
};
constexpr Extension kExtensions[] = {
    {"bfloat16", ElementType::kBFloat16},
    {"float8_e4m3fn", ElementType::kFloat8E4M3FN},
    {"float8_e4m3fnuz", ElementType::kFloat8E4M3FNUZ},
    {"float8_e5m2", ElementType::kFloat8E5M2},
    {"float8_e5m2fnuz", ElementType::kFloat8E5M2FNUZ},
    {"uint4", ElementType::kUInt4},
    {"int4", ElementType::kInt4},
    {"float4_e2m1fn", ElementType::kFloat4E2M1},
    {"float8_e8m0fnu", ElementType::kFloat8E8M0},
    {"uint2", ElementType::kUInt2},
    {"int2", ElementType::kInt2},
    {"float6_e2m3fn", ElementType::kFloat6E2M3},
    {"float6_e3m2fn", ElementType::kFloat6E3M2},
};

/// A tensor that says its elements are packed holds bytes until it is packed: this one has one for each element.
bool IsSigned(ElementType type) noexcept { return type == ElementType::kInt4 || type == ElementType::kInt2; }

}  // namespace

ElementType ElementTypeOfNumber(int number) noexcept {
  const auto* found = std::ranges::find(kNumbered, number, &Numbered::number);
  return found == std::end(kNumbered) ? ElementType::kUndefined : found->type;
}

int NumberOfElementType(ElementType type) noexcept {
  const auto* found = std::ranges::find(kNumbered, type, &Numbered::type);
  return found == std::end(kNumbered) ? -1 : found->number;
}

ElementType ElementTypeOfExtension(std::string_view name) noexcept {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const auto* found = std::ranges::find(kExtensions, last, &Extension::name);
  return found == std::end(kExtensions) ? ElementType::kUndefined : found->type;
}

nb::object ExtensionDtype(ElementType type) {
  const nb::object dtype = nb::module_::import_("numpy").attr("dtype");
  const auto* found = std::ranges::find(kExtensions, type, &Extension::type);
  if (found != std::end(kExtensions)) {
    try {
      return dtype(nb::module_::import_("ml_dtypes").attr(found->name));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
    }
  }
  return dtype(BitWidth(type) > 8 ? "uint16" : "uint8");
}

Tensor PackedFrom(ElementType type, const Shape& shape, const uint8_t* bytes) {
  Tensor packed(type, shape);
  const auto to = packed.mutable_values<uint8_t>();
  std::ranges::fill(to, uint8_t{0});
  const auto width = static_cast<size_t>(BitWidth(type));
  const size_t each = 8 / width;
  const auto mask = static_cast<uint8_t>((1U << width) - 1);
  for (size_t i = 0; i < static_cast<size_t>(packed.num_elements()); ++i)
    to[i / each] = static_cast<uint8_t>(to[i / each] | ((bytes[i] & mask) << (i % each * width)));
  return packed;
}

Tensor Unpacked(const Tensor& packed) {
  const auto from = packed.values<uint8_t>();
  // A type of one byte a number: arrays of ml_dtypes have these bits in it, signed ones extended.
  Tensor bytes(ElementType::kUInt8, packed.shape());
  const auto width = static_cast<size_t>(BitWidth(packed.type()));
  const size_t each = 8 / width;
  const auto mask = static_cast<uint8_t>((1U << width) - 1), sign = static_cast<uint8_t>(1U << (width - 1));
  const auto to = bytes.mutable_values<uint8_t>();
  for (size_t i = 0; i < to.size(); ++i) {
    const auto bits = static_cast<uint8_t>((from[i / each] >> (i % each * width)) & mask);
    to[i] = IsSigned(packed.type()) && (bits & sign) != 0 ? static_cast<uint8_t>(bits | ~mask) : bits;
  }
  return bytes;
}

}  // namespace tessera::python
