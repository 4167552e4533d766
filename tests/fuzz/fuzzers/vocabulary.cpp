#include "vocabulary.h"

#include "graph/schema.h"
#include "onnx/defs/schema.h"
#include "session/provider_options.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/kernel.h"

namespace tessera::fuzz {
namespace {

std::string RandomText(Random& random) {
  static const std::string texts[] = {"",        "NOTSET",   "SAME_UPPER", "VALID",     "linear",        "cubic",
                                      "nearest", "constant", "reflect",    "edge",      "sum",           "mean",
                                      "none",    "tanh",     "Relu",       "forward",   "bidirectional", "BRANCH_LEQ",
                                      "SOFTMAX", "TFIDF",    "[a-z]+",     "ij,jk->ik", "...i->...",     "float32",
                                      "NHWC",    "a"};
  return texts[Below(random, std::size(texts))];
}

float RandomFloat(Random& random) {
  constexpr float numbers[] = {0.F, 1.F, -1.F, 0.5F, 2.F, 1e-6F, 3e9F, -3e38F, __builtin_nanf(""), __builtin_inff()};
  return numbers[Below(random, std::size(numbers))];
}

int64_t RandomInteger(Random& random) {
  return OneIn(random, 3) ? HostileInteger(random) : static_cast<int64_t>(Below(random, 9)) - 2;
}

void FillTensor(onnx::TensorProto& tensor, Random& random) {
  constexpr int types[] = {onnx::TensorProto::FLOAT, onnx::TensorProto::INT64, onnx::TensorProto::UINT8,
                           onnx::TensorProto::BOOL};
  tensor.set_data_type(types[Below(random, std::size(types))]);
  const size_t count = Below(random, 4), width = tensor.data_type() == onnx::TensorProto::INT64   ? 8
                                                 : tensor.data_type() == onnx::TensorProto::FLOAT ? 4
                                                                                                  : 1;
  tensor.add_dims(static_cast<int64_t>(count));
  tensor.set_raw_data(std::string(count * width, static_cast<char>(random() & 1)));
}

void Fill(onnx::AttributeProto& attribute, Random& random) {
  const size_t count = Below(random, 5);
  switch (attribute.type()) {
    case onnx::AttributeProto::INT: return attribute.set_i(RandomInteger(random));
    case onnx::AttributeProto::FLOAT: return attribute.set_f(RandomFloat(random));
    case onnx::AttributeProto::STRING: return attribute.set_s(RandomText(random));
    case onnx::AttributeProto::TENSOR: return FillTensor(*attribute.mutable_t(), random);
    case onnx::AttributeProto::INTS:
      for (size_t i = 0; i < count; ++i) attribute.add_ints(RandomInteger(random));
      return;
    case onnx::AttributeProto::FLOATS:
      for (size_t i = 0; i < count; ++i) attribute.add_floats(RandomFloat(random));
      return;
    case onnx::AttributeProto::STRINGS:
      for (size_t i = 0; i < count; ++i) attribute.add_strings(RandomText(random));
      return;
    case onnx::AttributeProto::GRAPH: {
      onnx::ValueInfoProto& output = *attribute.mutable_g()->add_output();
      output.set_name("y");
      onnx::NodeProto& node = *attribute.mutable_g()->add_node();
      node.set_op_type("Constant");
      node.add_output("y");
      onnx::AttributeProto& value = *node.add_attribute();
      value.set_name("value_float");
      value.set_type(onnx::AttributeProto::FLOAT);
      value.set_f(1);
      return;
    }
    case onnx::AttributeProto::TYPE_PROTO:
      attribute.mutable_tp()->mutable_tensor_type()->set_elem_type(static_cast<int>(Below(random, kElementTypeCount)));
      return;
    default: return;
  }
}

}  // namespace

const std::vector<OperatorName>& Operators() {
  static const auto* const operators = [] {
    auto* const names = new std::vector<OperatorName>;
    for (const ProviderFactory* factory : RegisteredProviders()) {
      if (factory->name != "CPUExecutionProvider") continue;
      const auto provider = factory->create(CheckOptions(factory->name, factory->options, {}));
      for (const KernelDef* kernel : provider->kernels().definitions()) {
        names->push_back({kernel->domain(), kernel->op_type(), kernel->first_version()});
      }
    }
    for (const char* op : {"If", "Loop", "Scan", "SequenceMap", "Gradient"}) names->push_back({"", op, 17});
    return names;
  }();
  return *operators;
}

onnx::AttributeProto RandomAttribute(const OperatorName& name, Random& random) {
  onnx::AttributeProto attribute;
  const onnx::OpSchema* schema = FindSchema(name.op_type, std::max(name.version, 24), name.domain);
  if (schema != nullptr && !schema->attributes().empty() && !OneIn(random, 8)) {
    const auto& [key, known] =
        *std::next(schema->attributes().begin(), static_cast<std::ptrdiff_t>(Below(random, schema->attributes().size())));
    attribute.set_name(key);
    attribute.set_type(known.type);
  } else {
    static const std::string names[] = {"axis",      "axes",    "to",       "tessera_activation",
                                        "broadcast", "columns", "nan_rows", "value"};
    attribute.set_name(names[Below(random, std::size(names))]);
  }
  if (attribute.type() == onnx::AttributeProto::UNDEFINED || OneIn(random, 16)) {
    attribute.set_type(static_cast<onnx::AttributeProto::AttributeType>(1 + Below(random, 8)));
  }
  Fill(attribute, random);
  return attribute;
}

}  // namespace tessera::fuzz
