#pragma once

namespace onnx {
struct InferenceContext;
}

namespace tessera {

/// Shapes of Attention's outputs by what is known of its inputs, in place of those of onnx's inference (1.23.2): that takes
/// sizes which are not known for 0, gives the fourth output as many dimensions as it has come by, and forgets the rows of a
/// past whose number is not known.
void CorrectAttention(onnx::InferenceContext& context);

}  // namespace tessera
