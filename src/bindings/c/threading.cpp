// Threads that the sessions of an environment share.

#include "bindings/c/threading.h"

#include "bindings/c/entry.h"

namespace tessera::c_abi {

OrtStatusPtr CreateThreadingOptions(OrtThreadingOptions** out) noexcept {
  return Guarded([&] { Given(out, "out") = new OrtThreadingOptions; });
}

void ReleaseThreadingOptions(OrtThreadingOptions* input) { delete input; }

OrtStatusPtr SetGlobalIntraOpNumThreads(OrtThreadingOptions* tp_options, int intra_op_num_threads) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").intra_op_threads = intra_op_num_threads; });
}

OrtStatusPtr SetGlobalInterOpNumThreads(OrtThreadingOptions* tp_options, int inter_op_num_threads) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").inter_op_threads = inter_op_num_threads; });
}

OrtStatusPtr SetGlobalSpinControl(OrtThreadingOptions* tp_options, int allow_spinning) noexcept {
  return Guarded([&] {
    Require(allow_spinning == 0 || allow_spinning == 1, "allow_spinning is {}, expected 0 or 1", allow_spinning);
    Given(tp_options, "the threading options").spin = allow_spinning == 1;
  });
}

OrtStatusPtr SetGlobalDenormalAsZero(OrtThreadingOptions* tp_options) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").denormal_as_zero = true; });
}

OrtStatusPtr SetGlobalIntraOpThreadAffinity(OrtThreadingOptions* tp_options, const char* affinity_string) noexcept {
  return Guarded([&] {
    const std::string_view affinity = &Given(affinity_string, "the affinities");
    Require(!affinity.empty() && affinity.size() <= 2048, "the affinities have {} characters, expected 1 to 2048",
            affinity.size());
    Given(tp_options, "the threading options").affinity = affinity;
  });
}

OrtStatusPtr SetGlobalCustomCreateThreadFn(OrtThreadingOptions* tp_options,
                                           OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").create = ort_custom_create_thread_fn; });
}

OrtStatusPtr SetGlobalCustomThreadCreationOptions(OrtThreadingOptions* tp_options,
                                                  void* ort_custom_thread_creation_options) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").creation_options = ort_custom_thread_creation_options; });
}

OrtStatusPtr SetGlobalCustomJoinThreadFn(OrtThreadingOptions* tp_options,
                                         OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").join = ort_custom_join_thread_fn; });
}

}  // namespace tessera::c_abi
