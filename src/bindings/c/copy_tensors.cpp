// Copies between memories, outside of sessions.

#include <algorithm>
#include <cstring>
#include <string>

#include "base/overlap.h"
#include "bindings/c/entry.h"
#include "bindings/c/env.h"
#include "bindings/c/value.h"
#include "plugin/libraries.h"

namespace tessera::c_abi {
namespace {

void CopyOnHost(const Tensor& from, Tensor& to) {
  if (from.byte_size() == 0 || from.raw() == to.raw()) return;
  if (from.is(ElementType::kString)) {
    Require(!Overlap(from.raw(), to.raw(), from.byte_size()), "two tensors of the same strings are copied onto each other");
    std::ranges::copy(from.values<std::string>(), to.mutable_data<std::string>());
  } else {
    std::memmove(to.mutable_raw(), from.raw(), from.byte_size());
  }
}

/// By the first library that can.
void CopyByLibrary(const OrtEnv& env, const OrtValue& from, OrtValue& to, OrtSyncStream* stream) {
  for (const auto& library : plugin::Libraries::Of(*env.environment.state()).all()) {
    if (library->Copy(from, to, stream)) return;
  }
  Fail(ErrorCode::kNotImplemented,
       "tensors in {} and {} memory are copied by a session that has both: bind them with BindInput or BindOutput",
       TensorIn(&from).memory().name, TensorIn(&to).memory().name);
}

}  // namespace

OrtStatusPtr CopyTensors(const OrtEnv* env, const OrtValue* const* src_tensors, OrtValue* const* dst_tensors,
                         OrtSyncStream* stream, size_t num_tensors) noexcept {
  return Guarded([&] {
    const OrtEnv& own = Given(env, "the environment");
    Require(src_tensors != nullptr && dst_tensors != nullptr && num_tensors > 0, "no tensors are given");
    for (size_t i = 0; i < num_tensors; ++i) {
      const Tensor& from = TensorIn(src_tensors[i]);
      Tensor& to = TensorIn(dst_tensors[i]);
      Require(from.type() == to.type() && from.shape() == to.shape(), "cannot copy {} {} to {} {}",
              ElementTypeName(from.type()), from.shape(), ElementTypeName(to.type()), to.shape());
      if (from.memory().host_accessible && to.memory().host_accessible) {
        CopyOnHost(from, to);
      } else {
        CopyByLibrary(own, *src_tensors[i], *dst_tensors[i], stream);
      }
    }
  });
}

}  // namespace tessera::c_abi
