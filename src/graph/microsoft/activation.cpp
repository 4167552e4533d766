// Activations.

#include "graph/microsoft/define.h"

namespace tessera {

void AddActivationSchemas(MicrosoftSchemas& schemas) {
  Define(schemas, "Gelu").In("X").Out("Y").Type("T", kAnyFloat).LikeFirstInput().Body("Y = Gelu(X)");
  Define(schemas, "QuickGelu").Float("alpha", 1.702f).In("X").Out("Y").Type("T", kAnyFloat).LikeFirstInput().Body(
      "Y = Swish <alpha: float = @alpha> (X)");
  Define(schemas, "BiasGelu").In("A").In("B").Out("C").Type("T", kAnyFloat).LikeFirstInput();
  Define(schemas, "FastGelu").In("X").OptionalIn("bias").Out("Y").Type("T", kAnyFloat).LikeFirstInput().Body(
      [](const Define::Context& context, onnx::FunctionBuilder& body) {
        if (context.hasInput(1)) return false;
        body.Add(R"(Y = Gelu <approximate = "tanh"> (X))");
        return true;
      });
  Define(schemas, "BiasSplitGelu").In("X").In("bias").Out("Y").Type("T", {"tensor(float)", "tensor(float16)"}).Body(R"(
      sum = Add (X, bias)
      left, right = Split <axis = -1, num_outputs = 2> (sum)
      gelu = Gelu (right)
      Y = Mul (left, gelu))");
}

}  // namespace tessera
