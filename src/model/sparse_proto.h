#pragma once

// Sparse tensors as ONNX writes them: of attributes and of values alike.

#include "onnx/onnx_pb.h"
#include "tessera/value.h"

namespace tessera {

onnx::SparseTensorProto ToProto(const SparseTensor& sparse);

}  // namespace tessera
