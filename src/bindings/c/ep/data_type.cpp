#include "bindings/c/ep/data_type.h"

#include <array>

#include "bindings/c/entry.h"
#include "bindings/c/type_info.h"

namespace tessera::c_abi {
namespace {

constexpr size_t kElementTypes = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 + 1;

constexpr auto kDataTypes = [] {
  std::array<OrtDataType, kElementTypes> types{};
  for (size_t i = 0; i < types.size(); ++i) types[i].element = static_cast<ONNXTensorElementDataType>(i);
  return types;
}();

}  // namespace

OrtStatusPtr GetTensorDataType(ONNXTensorElementDataType elem_type, const OrtDataType** out) noexcept {
  return Guarded([&] {
    (void)ElementOf(elem_type);  // throws for those that there are not
    Given(out, "out") = &kDataTypes.at(static_cast<size_t>(elem_type));
  });
}

}  // namespace tessera::c_abi
