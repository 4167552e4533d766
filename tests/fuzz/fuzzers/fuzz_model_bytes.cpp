// Bytes as a model: two bytes say how the session is made, the others are the model. It is run on small random inputs if it
// loads.

#include "choices.h"
#include "harness.h"
#include "wire_mutator.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kHeader = 2;

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  if (size < kHeader) return -1;
  Choices choices({data, size});
  const uint8_t provider = choices.Byte(), flags = choices.Byte();
  const auto model = choices.Rest();
  bool in_time = true;
  Tolerate([&] {
    const tessera::Session session(Bytes(model), OptionsOf(provider, flags));
    Random random(static_cast<uint32_t>(model.size()));
    in_time = RunOnRandomInputs(session, random);
  });
  return in_time ? 0 : -1;  // slow ones are no good to start from
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace tessera::fuzz;
  if (size <= kHeader || max_size <= kHeader) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 16 == 0) data[seed / 16 % kHeader] = static_cast<uint8_t>(seed >> 8);
  return kHeader + MutateWire(data + kHeader, size - kHeader, max_size - kHeader, seed);
}
