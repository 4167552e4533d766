// Enumerations of the C ABI.

#include "bindings/python/enums.h"

#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

void BindSessionEnums(nb::module_& module) {
  nb::enum_<::GraphOptimizationLevel>(module, "GraphOptimizationLevel")
      .value("ORT_DISABLE_ALL", ORT_DISABLE_ALL)
      .value("ORT_ENABLE_BASIC", ORT_ENABLE_BASIC)
      .value("ORT_ENABLE_EXTENDED", ORT_ENABLE_EXTENDED)
      .value("ORT_ENABLE_LAYOUT", ORT_ENABLE_LAYOUT)
      .value("ORT_ENABLE_ALL", ORT_ENABLE_ALL);
  nb::enum_<::ExecutionMode>(module, "ExecutionMode")
      .value("ORT_SEQUENTIAL", ORT_SEQUENTIAL)
      .value("ORT_PARALLEL", ORT_PARALLEL);
  nb::enum_<ExecutionOrder>(module, "ExecutionOrder")
      .value("DEFAULT", ExecutionOrder::kDefault)
      .value("PRIORITY_BASED", ExecutionOrder::kPriorityBased)
      .value("MEMORY_EFFICIENT", ExecutionOrder::kMemoryEfficient);
  nb::enum_<OrtExecutionProviderDevicePolicy>(module, "OrtExecutionProviderDevicePolicy")
      .value("DEFAULT", OrtExecutionProviderDevicePolicy_DEFAULT)
      .value("PREFER_CPU", OrtExecutionProviderDevicePolicy_PREFER_CPU)
      .value("PREFER_NPU", OrtExecutionProviderDevicePolicy_PREFER_NPU)
      .value("PREFER_GPU", OrtExecutionProviderDevicePolicy_PREFER_GPU)
      .value("MAX_PERFORMANCE", OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE)
      .value("MAX_EFFICIENCY", OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY)
      .value("MIN_OVERALL_POWER", OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER);
}

void BindMemoryEnums(nb::module_& module) {
  nb::enum_<OrtAllocatorType>(module, "OrtAllocatorType")
      .value("INVALID", OrtInvalidAllocator)
      .value("ORT_DEVICE_ALLOCATOR", OrtDeviceAllocator)
      .value("ORT_ARENA_ALLOCATOR", OrtArenaAllocator);
  nb::enum_<OrtMemType>(module, "OrtMemType")
      .value("CPU_INPUT", OrtMemTypeCPUInput)
      .value("CPU_OUTPUT", OrtMemTypeCPUOutput)
      .value("CPU", OrtMemTypeCPU)
      .value("DEFAULT", OrtMemTypeDefault);
  nb::enum_<OrtDeviceMemoryType>(module, "OrtDeviceMemoryType")
      .value("DEFAULT", OrtDeviceMemoryType_DEFAULT)
      .value("HOST_ACCESSIBLE", OrtDeviceMemoryType_HOST_ACCESSIBLE);
  nb::enum_<OrtHardwareDeviceType>(module, "OrtHardwareDeviceType")
      .value("CPU", OrtHardwareDeviceType_CPU)
      .value("GPU", OrtHardwareDeviceType_GPU)
      .value("NPU", OrtHardwareDeviceType_NPU);
  nb::enum_<OrtMemoryInfoDeviceType>(module, "OrtMemoryInfoDeviceType")
      .value("CPU", OrtMemoryInfoDeviceType_CPU)
      .value("GPU", OrtMemoryInfoDeviceType_GPU)
      .value("NPU", OrtMemoryInfoDeviceType_NPU)
      .value("FPGA", OrtMemoryInfoDeviceType_FPGA);
  nb::enum_<OrtSparseFormat>(module, "OrtSparseFormat")
      .value("ORT_SPARSE_UNDEFINED", ORT_SPARSE_UNDEFINED)
      .value("ORT_SPARSE_COO", ORT_SPARSE_COO)
      .value("ORT_SPARSE_CSRC", ORT_SPARSE_CSRC)
      .value("ORT_SPARSE_BLOCK_SPARSE", ORT_SPARSE_BLOCK_SPARSE);
}

void BindCompilationEnums(nb::module_& module) {
  nb::enum_<::OrtCompileApiFlags>(module, "OrtCompileApiFlags", nb::is_arithmetic())
      .value("NONE", OrtCompileApiFlags_NONE)
      .value("ERROR_IF_NO_NODES_COMPILED", OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED)
      .value("ERROR_IF_OUTPUT_FILE_EXISTS", OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS);
  nb::enum_<OrtCompiledModelCompatibility>(module, "OrtCompiledModelCompatibility")
      .value("EP_NOT_APPLICABLE", OrtCompiledModelCompatibility_EP_NOT_APPLICABLE)
      .value("EP_SUPPORTED_OPTIMAL", OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL)
      .value("EP_SUPPORTED_PREFER_RECOMPILATION", OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION)
      .value("EP_UNSUPPORTED", OrtCompiledModelCompatibility_EP_UNSUPPORTED);
  nb::enum_<OrtDeviceEpIncompatibilityReason>(module, "OrtDeviceEpIncompatibilityReason", nb::is_arithmetic())
      .value("NONE", OrtDeviceEpIncompatibility_NONE)
      .value("DRIVER_INCOMPATIBLE", OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE)
      .value("DEVICE_INCOMPATIBLE", OrtDeviceEpIncompatibility_DEVICE_INCOMPATIBLE)
      .value("MISSING_DEPENDENCY", OrtDeviceEpIncompatibility_MISSING_DEPENDENCY)
      .value("UNKNOWN", OrtDeviceEpIncompatibility_UNKNOWN);
  nb::enum_<ArenaExtendStrategy>(module, "ArenaExtendStrategy")
      .value("kNextPowerOfTwo", ArenaExtendStrategy::kNextPowerOfTwo)
      .value("kSameAsRequested", ArenaExtendStrategy::kSameAsRequested);
}

}  // namespace

void BindEnums(nb::module_& module) {
  BindSessionEnums(module);
  BindMemoryEnums(module);
  BindCompilationEnums(module);
  // Numbers where programs ask for one, as those of ONNX Runtime are.
  const nb::object to_number =
      nb::cpp_function([](nb::handle self) { return nb::int_(self.attr("value")); }, nb::is_method());
  const nb::object base = nb::module_::import_("enum").attr("Enum");
  for (const char* name :
       {"GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder", "OrtExecutionProviderDevicePolicy", "OrtAllocatorType",
        "OrtMemType", "OrtDeviceMemoryType", "OrtHardwareDeviceType", "OrtMemoryInfoDeviceType", "OrtSparseFormat",
        "OrtCompiledModelCompatibility", "ArenaExtendStrategy"}) {
    module.attr(name).attr("__int__") = to_number;
    module.attr(name).attr("__index__") = to_number;
    module.attr(name).attr("__repr__") = base.attr("__repr__");
  }
  // Flags are numbers already, and are to look as those that are none.
  for (const char* name : {"OrtCompileApiFlags", "OrtDeviceEpIncompatibilityReason"}) {
    module.attr(name).attr("__repr__") = base.attr("__repr__");
    module.attr(name).attr("__str__") = base.attr("__str__");
  }
}

}  // namespace tessera::python
