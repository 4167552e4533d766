// What kernels learn of their node when they are made.

#include "bindings/c/kernels/kernel_info.h"

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/key_values.h"
#include "bindings/c/type_info.h"
#include "bindings/c/views/value_info.h"
#include "graph/graph.h"
#include "graph/operator_definitions.h"
#include "graph/schema.h"

namespace tessera::c_abi {
namespace {

KernelNode::Value ValueAt(const GraphViewer& graph, ValueIndex index) {
  if (index == kNone) return {};
  return {MadeValue(graph.graph(), index).name, graph.value(index).type, {}};
}

KernelServices WithoutPlace(KernelServices services) {
  services.place = nullptr;
  return services;
}

std::shared_ptr<const KernelNode> NodeOf(const KernelInfo& info, const KernelServices& services) {
  const Node& node = info.node();
  auto made = std::make_shared<KernelNode>();
  made->name = node.name;
  made->domain = node.domain;
  made->op_type = node.op_type;
  made->since_version = services.since_version > 0 ? services.since_version : node.since_version;
  for (const Attribute& attribute : node.attributes) {
    if (!std::holds_alternative<std::shared_ptr<Graph>>(attribute.value)) made->attributes.push_back(attribute);
  }
  if (DefinerOf(info.graph().graph(), node) == nullptr) {
    for (Attribute& attribute : DefaultAttributes(node)) made->attributes.push_back(std::move(attribute));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    KernelNode::Value& value = made->inputs.emplace_back(ValueAt(info.graph(), node.inputs[i]));
    const Tensor* constant = node.inputs[i] == kNone ? nullptr : info.graph().constant(node.inputs[i]);
    if (constant != nullptr) value.constant = OrtValue(services.place ? services.place(i, *constant) : Tensor(*constant));
  }
  for (const ValueIndex index : node.outputs) made->outputs.push_back(ValueAt(info.graph(), index));
  return made;
}

const OrtKernelInfo& Info(const OrtKernelInfo* info) { return Given(info, "the kernel info"); }
const KernelNode& NodeIn(const OrtKernelInfo* info) { return *Info(info).node; }

const KernelNode::Value& ValueIn(const std::vector<KernelNode::Value>& values, size_t index, std::string_view what) {
  Require(index < values.size(), "there is no {} {}; the node has {}", what, index, values.size());
  return values[index];
}

OrtTypeInfo* TypeIn(const KernelNode& node, const KernelNode::Value& value) {
  if (value.type.kind == ValueKind::kNone) {
    Fail(ErrorCode::kInvalidGraph, "the type of value '{}' of {} '{}' is not known", value.name, node.op_type, node.name);
  }
  return InfoOf(value.type).release();
}

}  // namespace
}  // namespace tessera::c_abi

OrtKernelInfo::OrtKernelInfo(const tessera::KernelInfo& info, const tessera::c_abi::KernelServices& its_services)
    : node(tessera::c_abi::NodeOf(info, its_services)),
      services(tessera::c_abi::WithoutPlace(its_services)),
      host(info.allocator()),
      creation(&info) {}

namespace tessera::c_abi {

OrtStatusPtr CopyKernelInfo(const OrtKernelInfo* info, OrtKernelInfo** info_copy) noexcept {
  return Guarded([&] {
    const OrtKernelInfo& original = Info(info);
    OrtKernelInfo*& out = Given(info_copy, "out");
    out = new OrtKernelInfo(original);
  });
}

void ReleaseKernelInfo(OrtKernelInfo* input) { Release(input); }

OrtStatusPtr KernelInfo_GetInputCount(const OrtKernelInfo* info, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = NodeIn(info).inputs.size(); });
}

OrtStatusPtr KernelInfo_GetOutputCount(const OrtKernelInfo* info, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = NodeIn(info).outputs.size(); });
}

OrtStatusPtr KernelInfo_GetInputName(const OrtKernelInfo* info, size_t index, char* out, size_t* size) noexcept {
  return Guarded([&] { CopyOut(ValueIn(NodeIn(info).inputs, index, "input").name, out, size); });
}

OrtStatusPtr KernelInfo_GetOutputName(const OrtKernelInfo* info, size_t index, char* out, size_t* size) noexcept {
  return Guarded([&] { CopyOut(ValueIn(NodeIn(info).outputs, index, "output").name, out, size); });
}

OrtStatusPtr KernelInfo_GetInputTypeInfo(const OrtKernelInfo* info, size_t index, OrtTypeInfo** type_info) noexcept {
  return Guarded([&] {
    OrtTypeInfo*& out = Given(type_info, "out");
    const KernelNode& node = NodeIn(info);
    out = TypeIn(node, ValueIn(node.inputs, index, "input"));
  });
}

OrtStatusPtr KernelInfo_GetOutputTypeInfo(const OrtKernelInfo* info, size_t index, OrtTypeInfo** type_info) noexcept {
  return Guarded([&] {
    OrtTypeInfo*& out = Given(type_info, "out");
    const KernelNode& node = NodeIn(info);
    out = TypeIn(node, ValueIn(node.outputs, index, "output"));
  });
}

OrtStatusPtr KernelInfoGetConstantInput_tensor(const OrtKernelInfo* info, size_t index, int* is_constant,
                                               const OrtValue** out) noexcept {
  return Guarded([&] {
    const auto& inputs = NodeIn(info).inputs;
    const bool constant = index < inputs.size() && !inputs[index].constant.is_none();
    Given(out, "out") = constant ? &inputs[index].constant : nullptr;
    Given(is_constant, "whether it is constant") = constant ? 1 : 0;
  });
}

OrtStatusPtr KernelInfo_GetNodeName(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return Guarded([&] { CopyOut(NodeIn(info).name, out, size); });
}

OrtStatusPtr KernelInfo_GetOperatorDomain(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return Guarded([&] { CopyOut(NodeIn(info).domain, out, size); });
}

OrtStatusPtr KernelInfo_GetOperatorType(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return Guarded([&] { CopyOut(NodeIn(info).op_type, out, size); });
}

OrtStatusPtr KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo* info, int* since_version) noexcept {
  return Guarded([&] { Given(since_version, "out") = NodeIn(info).since_version; });
}

OrtStatusPtr KernelInfo_GetLogger(const OrtKernelInfo* info, const OrtLogger** logger) noexcept {
  return Guarded([&] {
    const OrtLogger* held = Info(info).services.logger;
    if (held == nullptr) Fail(ErrorCode::kInvalidGraph, "the kernel's provider has no logger");
    Given(logger, "out") = held;
  });
}

OrtStatusPtr KernelInfoGetAllocator(const OrtKernelInfo* info, OrtMemType mem_type, OrtAllocator** out) noexcept {
  return Guarded([&] {
    const OrtKernelInfo& held = Info(info);
    OrtAllocator*& given = Given(out, "out");
    Allocator* device = mem_type == OrtMemTypeDefault ? held.services.device : nullptr;
    given = device != nullptr ? new OfferedAllocator(*device, *InfoOf(device->memory()), nullptr)
                              : new OfferedAllocator(held.host, *CpuInfo(), nullptr);
  });
}

OrtStatusPtr KernelInfo_GetConfigEntries(const OrtKernelInfo* info, OrtKeyValuePairs** out) noexcept {
  return Guarded([&] {
    const auto* config = Info(info).services.config;
    OrtKeyValuePairs*& pairs = Given(out, "out");
    pairs = (config == nullptr ? std::make_unique<OrtKeyValuePairs>() : PairsOf(*config)).release();
  });
}

OrtStatusPtr KernelInfo_GetEp(const OrtKernelInfo* info, const OrtEp** ep) noexcept {
  return Guarded([&] {
    Given(ep, "out") = Info(info).services.ep;
    Require(*ep != nullptr, "the kernel is of no library's provider");
  });
}

}  // namespace tessera::c_abi
