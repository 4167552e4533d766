#pragma once

#include <string>
#include <vector>

#include "../hostile_value.h"
#include "onnx/onnx_pb.h"

namespace tessera::fuzz {

struct OperatorName {
  std::string domain, op_type;
  int version;
};

/// Every operator that has a kernel on the CPU provider, those that only Tessera itself may write among them.
const std::vector<OperatorName>& Operators();

/// An attribute of the operator's schema with a value of its type; of any name and type where there is no schema.
onnx::AttributeProto RandomAttribute(const OperatorName& name, Random& random);

}  // namespace tessera::fuzz
