#pragma once

// The functions of the C ABI, as clients get them.

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "gtest/gtest.h"
#include "onnxruntime/onnxruntime_c_api.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::testing {

inline const OrtApi& Api() { return *TesseraGetOrtApiBase()->GetApi(ORT_API_VERSION); }

/// What the call answered: ORT_OK, or its error's code.
inline OrtErrorCode CodeOf(OrtStatus* status) {
  if (status == nullptr) return ORT_OK;
  const OrtErrorCode code = Api().GetErrorCode(status);
  Api().ReleaseStatus(status);
  return code;
}

inline void RequireOk(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string text = Api().GetErrorMessage(status);
  Api().ReleaseStatus(status);
  throw std::runtime_error(text);
}

namespace internal {
template <class Function>
struct LastArgument;
template <class... Arguments>
struct LastArgument<OrtStatus* (*)(Arguments...)> {
  using Pointer = std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>;
};
template <class... Arguments>
struct LastArgument<OrtStatus* (*)(Arguments...) noexcept> : LastArgument<OrtStatus* (*)(Arguments...)> {};
}  // namespace internal

/// What an entry writes by its last argument. Throws where it fails.
template <class Function, class... Given>
auto Ask(Function entry, Given... given) {
  std::remove_pointer_t<typename internal::LastArgument<Function>::Pointer> answer{};
  RequireOk(entry(given..., &answer));
  return answer;
}

}  // namespace tessera::testing
