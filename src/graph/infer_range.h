#pragma once

namespace onnx {
struct InferenceContext;
}

namespace tessera {

/// Range of int64 constants. onnx's inference (1.23.2) takes their difference, which may overflow, and then its quotient in
/// double, which rounds. False, and nothing done, where it is to be asked: for other types, and for what is wrong.
bool InferRange(onnx::InferenceContext& context);

}  // namespace tessera
