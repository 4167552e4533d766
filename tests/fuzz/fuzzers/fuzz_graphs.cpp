// Models that are well-formed, and nearly valid: four bytes say how the session is made and what its inputs are, the others
// are a model, which the mutator changes operator by operator and type by type.

#include "choices.h"
#include "graph_mutator.h"
#include "harness.h"
#include "model/proto.h"
#include "wire_mutator.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kHeader = 4;

size_t Store(const onnx::ModelProto& model, uint8_t* data, size_t max_size) {
  const size_t size = model.ByteSizeLong();
  if (size == 0 || kHeader + size > max_size) return 0;
  model.SerializeWithCachedSizesToArray(data + kHeader);
  return kHeader + size;
}

std::optional<onnx::ModelProto> Parse(const uint8_t* data, size_t size) {
  onnx::ModelProto model;
  if (size <= kHeader || !model.ParseFromArray(data + kHeader, static_cast<int>(size - kHeader)) || !model.has_graph())
    return std::nullopt;
  return model;
}

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  if (size <= kHeader) return -1;
  Choices choices({data, size});
  const uint8_t provider = choices.Byte(), flags = choices.Byte();
  Random random(choices.Number<uint16_t>());
  const auto model = choices.Rest();
  bool in_time = true;
  Tolerate([&] {
    const tessera::Session session(Bytes(model), OptionsOf(provider, flags));
    // The second has other sizes where the model leaves them open.
    in_time = RunOnRandomInputs(session, random) && RunOnRandomInputs(session, random);
  });
  return in_time ? 0 : -1;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace tessera::fuzz;
  Random random(seed);
  auto model = Parse(data, size);
  if (!model) return LLVMFuzzerMutate(data, size, max_size);
  if (OneIn(random, 4)) data[Below(random, kHeader)] = static_cast<uint8_t>(random());
  if (OneIn(random, 24)) return kHeader + MutateWire(data + kHeader, size - kHeader, max_size - kHeader, seed);
  for (size_t n = 1 + Below(random, 3); n > 0; --n) MutateModel(*model, random);
  const size_t stored = Store(*model, data, max_size);
  return stored == 0 ? size : stored;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, uint8_t* out,
                                            size_t max_size, unsigned seed) {
  using namespace tessera::fuzz;
  Random random(seed);
  auto model = Parse(a, a_size);
  const auto other = Parse(b, b_size);
  if (!model || !other || max_size <= kHeader) return 0;
  Splice(*model, *other, random);
  std::copy_n(a, kHeader, out);
  return Store(*model, out, max_size);
}
