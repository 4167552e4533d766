// Definitions of kernels.

#include "bindings/c/ep/kernel_def.h"

#include "bindings/c/entry.h"
#include "bindings/c/ep/data_type.h"

namespace tessera::c_abi {
namespace {

OrtKernelDef& Built(OrtKernelDefBuilder* builder) { return Given(builder, "the builder").def; }
const OrtKernelDef& Definition(const OrtKernelDef* def) { return Given(def, "the kernel's definition"); }

void AddPairs(std::vector<std::pair<int, int>>& pairs, const int* inputs, const int* outputs, size_t count) {
  Require(count > 0, "no inputs and outputs are given");
  Require(inputs != nullptr && outputs != nullptr, "the lists of inputs and outputs are null; give {} of each", count);
  for (size_t i = 0; i < count; ++i) pairs.emplace_back(inputs[i], outputs[i]);
}

OrtMemType MemoryAt(const std::map<size_t, OrtMemType>& memories, size_t index) {
  const auto found = memories.find(index);
  return found == memories.end() ? OrtMemTypeDefault : found->second;
}

}  // namespace

OrtStatusPtr CreateKernelDefBuilder(OrtKernelDefBuilder** kernel_def_builder_out) noexcept {
  return Guarded([&] {
    OrtKernelDefBuilder*& out = Given(kernel_def_builder_out, "out");
    out = new OrtKernelDefBuilder;
  });
}

void ReleaseKernelDefBuilder(OrtKernelDefBuilder* input) { delete input; }

OrtStatusPtr KernelDefBuilder_SetOperatorType(OrtKernelDefBuilder* kernel_def_builder, const char* op_type) noexcept {
  return Guarded([&] { Built(kernel_def_builder).op_type = &Given(op_type, "the operator's type"); });
}

OrtStatusPtr KernelDefBuilder_SetDomain(OrtKernelDefBuilder* kernel_def_builder, const char* domain) noexcept {
  return Guarded([&] {
    const std::string_view given = &Given(domain, "the domain");
    Built(kernel_def_builder).domain = given == "ai.onnx" ? std::string_view() : given;
  });
}

OrtStatusPtr KernelDefBuilder_SetSinceVersion(OrtKernelDefBuilder* kernel_def_builder, int since_version_start,
                                              int since_version_end) noexcept {
  return Guarded([&] {
    OrtKernelDef& def = Built(kernel_def_builder);
    def.first_version = since_version_start;
    def.last_version = since_version_end;
  });
}

OrtStatusPtr KernelDefBuilder_SetExecutionProvider(OrtKernelDefBuilder* kernel_def_builder, const char* ep_name) noexcept {
  return Guarded([&] { Built(kernel_def_builder).provider = &Given(ep_name, "the provider's name"); });
}

OrtStatusPtr KernelDefBuilder_SetInputMemType(OrtKernelDefBuilder* kernel_def_builder, size_t input_index,
                                              OrtMemType mem_type) noexcept {
  return Guarded([&] { Built(kernel_def_builder).input_memory[input_index] = mem_type; });
}

OrtStatusPtr KernelDefBuilder_SetOutputMemType(OrtKernelDefBuilder* kernel_def_builder, size_t output_index,
                                               OrtMemType mem_type) noexcept {
  return Guarded([&] { Built(kernel_def_builder).output_memory[output_index] = mem_type; });
}

OrtStatusPtr KernelDefBuilder_AddTypeConstraint(OrtKernelDefBuilder* kernel_def_builder, const char* arg_name,
                                                const OrtDataType* const* types, size_t num_types) noexcept {
  return Guarded([&] {
    OrtKernelDef& def = Built(kernel_def_builder);
    const std::string name = &Given(arg_name, "the constraint's name");
    Require(num_types > 0, "constraint '{}' has no types", name);
    std::vector<const OrtDataType*> allowed;
    allowed.reserve(num_types);
    for (size_t i = 0; i < num_types; ++i) allowed.push_back(&Given((&Given(types, "the types"))[i], "a type"));
    def.types[name] = std::move(allowed);
  });
}

OrtStatusPtr KernelDefBuilder_AddInputOutputAliases(OrtKernelDefBuilder* kernel_def_builder, int const* input_indices,
                                                    int const* output_indices, size_t num_io_indices) noexcept {
  return Guarded([&] { AddPairs(Built(kernel_def_builder).aliases, input_indices, output_indices, num_io_indices); });
}

OrtStatusPtr KernelDefBuilder_AddInputOutputMutableAliases(OrtKernelDefBuilder* kernel_def_builder,
                                                           int const* input_indices, int const* output_indices,
                                                           size_t num_io_indices) noexcept {
  return Guarded([&] { AddPairs(Built(kernel_def_builder).in_place, input_indices, output_indices, num_io_indices); });
}

OrtStatusPtr KernelDefBuilder_Build(OrtKernelDefBuilder* kernel_def_builder, OrtKernelDef** kernel_def_out) noexcept {
  return Guarded([&] {
    const OrtKernelDef& def = Built(kernel_def_builder);
    OrtKernelDef*& out = Given(kernel_def_out, "out");
    out = new OrtKernelDef(def);
  });
}

void ReleaseKernelDef(OrtKernelDef* input) { delete input; }

const char* KernelDef_GetOperatorType(const OrtKernelDef* kernel_def) noexcept {
  return kernel_def == nullptr ? nullptr : kernel_def->op_type.c_str();
}

const char* KernelDef_GetDomain(const OrtKernelDef* kernel_def) noexcept {
  return kernel_def == nullptr ? nullptr : kernel_def->domain.c_str();
}

const char* KernelDef_GetExecutionProvider(const OrtKernelDef* kernel_def) noexcept {
  return kernel_def == nullptr ? nullptr : kernel_def->provider.c_str();
}

OrtStatusPtr KernelDef_GetSinceVersion(const OrtKernelDef* kernel_def, int* start_version, int* end_version) noexcept {
  return Guarded([&] {
    const OrtKernelDef& def = Definition(kernel_def);
    Given(start_version, "the first version") = def.first_version;
    Given(end_version, "the last version") = def.last_version;
  });
}

OrtStatusPtr KernelDef_GetInputMemType(const OrtKernelDef* kernel_def, size_t input_index, OrtMemType* mem_type) noexcept {
  return Guarded([&] { Given(mem_type, "out") = MemoryAt(Definition(kernel_def).input_memory, input_index); });
}

OrtStatusPtr KernelDef_GetOutputMemType(const OrtKernelDef* kernel_def, size_t output_index,
                                        OrtMemType* mem_type) noexcept {
  return Guarded([&] { Given(mem_type, "out") = MemoryAt(Definition(kernel_def).output_memory, output_index); });
}

}  // namespace tessera::c_abi
