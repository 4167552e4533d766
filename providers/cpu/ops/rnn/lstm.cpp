// LSTM (ai.onnx 1, 7, 14, 22).

#include "cpu/ops/rnn/lstm.h"

#include "cpu/ops/ops.h"

namespace tessera::cpu {

void RegisterLstm(KernelRegistry& registry) {
  registry.Add(Op("LSTM").Versions(1).Types(0, kFloats).Factory(MakeTyped<Lstm, FloatTypes>));
}

}  // namespace tessera::cpu
