#pragma once

// The table that a library of execution providers calls. Its own structs are not part of this header yet.

#include "onnxruntime_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum OrtProfilingEventCategory {
  OrtProfilingEventCategory_SESSION = 0,
  OrtProfilingEventCategory_NODE = 1,
  OrtProfilingEventCategory_KERNEL = 2,
  OrtProfilingEventCategory_API = 3
} OrtProfilingEventCategory;

ORT_RUNTIME_CLASS(Ep);
ORT_RUNTIME_CLASS(EpFactory);
ORT_RUNTIME_CLASS(EpGraphSupportInfo);
ORT_RUNTIME_CLASS(MemoryDevice);
ORT_RUNTIME_CLASS(NodeComputeContext);
ORT_RUNTIME_CLASS(SyncStreamImpl);
ORT_RUNTIME_CLASS(OpSchema);
ORT_RUNTIME_CLASS(OpSchemaTypeConstraint);
ORT_RUNTIME_CLASS(ProfilingEventsContainer);
ORT_RUNTIME_CLASS(ProfilingEvent);
ORT_RUNTIME_CLASS(KernelRegistry);
ORT_RUNTIME_CLASS(KernelDefBuilder);
ORT_RUNTIME_CLASS(KernelDef);
ORT_RUNTIME_CLASS(DataType);
ORT_RUNTIME_CLASS(SharedPrePackedWeightCache);
ORT_RUNTIME_CLASS(NodeFusionOptions);
ORT_RUNTIME_CLASS(KernelImpl);
ORT_RUNTIME_CLASS(LoopKernelHelper);
ORT_RUNTIME_CLASS(ScanKernelHelper);
ORT_RUNTIME_CLASS(EpContextConfig);

/* Makes a kernel of a registry. */
typedef OrtStatus*(ORT_API_CALL* OrtKernelCreateFunc)(void* kernel_create_func_state, const OrtKernelInfo* info,
                                                      OrtKernelImpl** kernel_out);

struct OrtEpApi {
  // Since version 22.
  ORT_API2_STATUS(CreateEpDevice, OrtEpFactory* ep_factory, const OrtHardwareDevice* hardware_device,
                  const OrtKeyValuePairs* ep_metadata, const OrtKeyValuePairs* ep_options, OrtEpDevice** ep_device);
  void(ORT_API_CALL* ReleaseEpDevice)(OrtEpDevice* input);
  // Since version 23.
  ORT_API2_STATUS(EpGraphSupportInfo_AddNodesToFuse, OrtEpGraphSupportInfo* graph_support_info, const OrtNode* const* nodes,
                  size_t num_nodes, const OrtNodeFusionOptions* node_fusion_options);
  ORT_API2_STATUS(EpGraphSupportInfo_AddSingleNode, OrtEpGraphSupportInfo* graph_support_info, const OrtNode* node);
  const char*(ORT_API_CALL* NodeComputeContext_NodeName)(const OrtNodeComputeContext* context)NO_EXCEPTION;
  ORT_API2_STATUS(EpDevice_AddAllocatorInfo, OrtEpDevice* ep_device, const OrtMemoryInfo* allocator_memory_info);
  const OrtMemoryDevice*(ORT_API_CALL* MemoryInfo_GetMemoryDevice)(const OrtMemoryInfo* memory_info)NO_EXCEPTION;
  const OrtMemoryDevice*(ORT_API_CALL* Value_GetMemoryDevice)(const OrtValue* value)NO_EXCEPTION;
  bool(ORT_API_CALL* MemoryDevice_AreEqual)(const OrtMemoryDevice* a, const OrtMemoryDevice* b) NO_EXCEPTION;
  OrtMemoryInfoDeviceType(ORT_API_CALL* MemoryDevice_GetDeviceType)(const OrtMemoryDevice* memory_device) NO_EXCEPTION;
  OrtDeviceMemoryType(ORT_API_CALL* MemoryDevice_GetMemoryType)(const OrtMemoryDevice* memory_device) NO_EXCEPTION;
  uint32_t(ORT_API_CALL* MemoryDevice_GetVendorId)(const OrtMemoryDevice* memory_device) NO_EXCEPTION;
  uint32_t(ORT_API_CALL* MemoryDevice_GetDeviceId)(const OrtMemoryDevice* memory_device) NO_EXCEPTION;
  const OrtSyncStreamImpl*(ORT_API_CALL* SyncStream_GetImpl)(const OrtSyncStream* stream)NO_EXCEPTION;
  uint64_t(ORT_API_CALL* SyncStream_GetSyncId)(const OrtSyncStream* stream) NO_EXCEPTION;
  uint64_t(ORT_API_CALL* GetSyncIdForLastWaitOnSyncStream)(const OrtSyncStream* producer_stream,
                                                           const OrtSyncStream* consumer_stream) NO_EXCEPTION;
  // Since version 24.
  ORT_API2_STATUS(CreateHardwareDevice, OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                  const char* vendor_name, const OrtKeyValuePairs* metadata, OrtHardwareDevice** hardware_device);
  void(ORT_API_CALL* ReleaseHardwareDevice)(OrtHardwareDevice* input);
  ORT_API2_STATUS(CreateKernelRegistry, OrtKernelRegistry** kernel_registry);
  void(ORT_API_CALL* ReleaseKernelRegistry)(OrtKernelRegistry* input);
  ORT_API2_STATUS(KernelRegistry_AddKernel, OrtKernelRegistry* kernel_registry, const OrtKernelDef* kernel_def,
                  OrtKernelCreateFunc kernel_create_func, void* kernel_create_func_state);
  ORT_API2_STATUS(CreateKernelDefBuilder, OrtKernelDefBuilder** kernel_def_builder_out);
  void(ORT_API_CALL* ReleaseKernelDefBuilder)(OrtKernelDefBuilder* input);
  ORT_API2_STATUS(KernelDefBuilder_SetOperatorType, OrtKernelDefBuilder* kernel_def_builder, const char* op_type);
  ORT_API2_STATUS(KernelDefBuilder_SetDomain, OrtKernelDefBuilder* kernel_def_builder, const char* domain);
  ORT_API2_STATUS(KernelDefBuilder_SetSinceVersion, OrtKernelDefBuilder* kernel_def_builder, int since_version_start,
                  int since_version_end);
  ORT_API2_STATUS(KernelDefBuilder_SetExecutionProvider, OrtKernelDefBuilder* kernel_def_builder, const char* ep_name);
  ORT_API2_STATUS(KernelDefBuilder_SetInputMemType, OrtKernelDefBuilder* kernel_def_builder, size_t input_index,
                  OrtMemType mem_type);
  ORT_API2_STATUS(KernelDefBuilder_SetOutputMemType, OrtKernelDefBuilder* kernel_def_builder, size_t output_index,
                  OrtMemType mem_type);
  ORT_API2_STATUS(KernelDefBuilder_AddTypeConstraint, OrtKernelDefBuilder* kernel_def_builder, const char* arg_name,
                  const OrtDataType* const* types, size_t num_types);
  ORT_API2_STATUS(KernelDefBuilder_AddInputOutputAliases, OrtKernelDefBuilder* kernel_def_builder, int const* input_indices,
                  int const* output_indices, size_t num_io_indices);
  ORT_API2_STATUS(KernelDefBuilder_AddInputOutputMutableAliases, OrtKernelDefBuilder* kernel_def_builder,
                  int const* input_indices, int const* output_indices, size_t num_io_indices);
  ORT_API2_STATUS(KernelDefBuilder_Build, OrtKernelDefBuilder* kernel_def_builder, OrtKernelDef** kernel_def_out);
  void(ORT_API_CALL* ReleaseKernelDef)(OrtKernelDef* input);
  const char*(ORT_API_CALL* KernelDef_GetOperatorType)(const OrtKernelDef* kernel_def)NO_EXCEPTION;
  const char*(ORT_API_CALL* KernelDef_GetDomain)(const OrtKernelDef* kernel_def)NO_EXCEPTION;
  ORT_API2_STATUS(KernelDef_GetSinceVersion, const OrtKernelDef* kernel_def, int* start_version, int* end_version);
  const char*(ORT_API_CALL* KernelDef_GetExecutionProvider)(const OrtKernelDef* kernel_def)NO_EXCEPTION;
  ORT_API2_STATUS(KernelDef_GetInputMemType, const OrtKernelDef* kernel_def, size_t input_index, OrtMemType* mem_type);
  ORT_API2_STATUS(KernelDef_GetOutputMemType, const OrtKernelDef* kernel_def, size_t output_index, OrtMemType* mem_type);
  ORT_API2_STATUS(GetTensorDataType, ONNXTensorElementDataType elem_type, const OrtDataType** out);
  ORT_API2_STATUS(EpGraphSupportInfo_LookUpKernel, OrtEpGraphSupportInfo* graph_support_info, const OrtNode* node,
                  const OrtKernelDef** out_kernel_def);
  ORT_API2_STATUS(SharedPrePackedWeightCache_StoreWeightData, OrtSharedPrePackedWeightCache* prepacked_weight_cache,
                  void** buffer_data_ptrs, size_t* buffer_data_sizes, size_t num_buffers);
  ORT_API2_STATUS(KernelInfo_GetEp, const OrtKernelInfo* info, const OrtEp** ep);
  ORT_API2_STATUS(DeviceEpIncompatibilityDetails_SetDetails, OrtDeviceEpIncompatibilityDetails* details,
                  uint32_t reasons_bitmask, int32_t error_code, const char* notes);
  ORT_API2_STATUS(CreateIfKernel, const OrtKernelInfo* kernel_info, OrtKernelImpl** kernel_out);
  ORT_API2_STATUS(CreateLoopKernel, const OrtKernelInfo* kernel_info, OrtLoopKernelHelper* helper,
                  OrtKernelImpl** kernel_out);
  ORT_API2_STATUS(CreateScanKernel, const OrtKernelInfo* kernel_info, OrtScanKernelHelper* helper,
                  OrtKernelImpl** kernel_out);
  void(ORT_API_CALL* ReleaseKernelImpl)(OrtKernelImpl* input);
  ORT_API2_STATUS(GetEnvConfigEntries, OrtKeyValuePairs** config_entries);
  // Since version 25.
  ORT_API2_STATUS(GetOpSchema, const char* name, int max_inclusive_version, const char* domain, OrtOpSchema** out_schema);
  void(ORT_API_CALL* ReleaseOpSchema)(OrtOpSchema* input);
  ORT_API2_STATUS(OpSchema_GetSinceVersion, const OrtOpSchema* schema, int* out);
  ORT_API2_STATUS(OpSchema_GetNumInputs, const OrtOpSchema* schema, size_t* out);
  ORT_API2_STATUS(OpSchema_GetInputName, const OrtOpSchema* schema, size_t index, const char** out);
  ORT_API2_STATUS(OpSchema_GetInputTypeConstraint, const OrtOpSchema* schema, size_t index,
                  const OrtOpSchemaTypeConstraint** out);
  ORT_API2_STATUS(OpSchema_GetNumOutputs, const OrtOpSchema* schema, size_t* out);
  ORT_API2_STATUS(OpSchema_GetOutputName, const OrtOpSchema* schema, size_t index, const char** out);
  ORT_API2_STATUS(OpSchema_GetOutputTypeConstraint, const OrtOpSchema* schema, size_t index,
                  const OrtOpSchemaTypeConstraint** out);
  ORT_API2_STATUS(OpSchema_GetTypeConstraintCount, const OrtOpSchema* schema, size_t* out);
  ORT_API2_STATUS(OpSchema_GetTypeConstraint, const OrtOpSchema* schema, size_t index,
                  const OrtOpSchemaTypeConstraint** out);
  ORT_API2_STATUS(OpSchemaTypeConstraint_GetTypeParamName, const OrtOpSchemaTypeConstraint* type_constraint,
                  const char** out);
  ORT_API2_STATUS(OpSchemaTypeConstraint_GetAllowedTypes, const OrtOpSchemaTypeConstraint* type_constraint,
                  const char* const** out_types, size_t* num_types);
  ORT_API2_STATUS(OpSchemaTypeConstraint_GetInputIndices, const OrtOpSchemaTypeConstraint* type_constraint,
                  const size_t** out_indices, size_t* count);
  ORT_API2_STATUS(OpSchemaTypeConstraint_GetOutputIndices, const OrtOpSchemaTypeConstraint* type_constraint,
                  const size_t** out_indices, size_t* count);
  ORT_API2_STATUS(CreateProfilingEvent, OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                  const char* event_name, int64_t timestamp_us, int64_t duration_us, const char* const* arg_keys,
                  const char* const* arg_values, size_t num_args, OrtProfilingEvent** out);
  void(ORT_API_CALL* ReleaseProfilingEvent)(OrtProfilingEvent* input);
  ORT_API2_STATUS(ProfilingEvent_GetCategory, const OrtProfilingEvent* event, OrtProfilingEventCategory* out);
  ORT_API2_STATUS(ProfilingEvent_GetName, const OrtProfilingEvent* event, const char** out);
  ORT_API2_STATUS(ProfilingEvent_GetTimestampUs, const OrtProfilingEvent* event, int64_t* out);
  ORT_API2_STATUS(ProfilingEvent_GetDurationUs, const OrtProfilingEvent* event, int64_t* out);
  ORT_API2_STATUS(ProfilingEvent_GetArgValue, const OrtProfilingEvent* event, const char* key, const char** out);
  ORT_API2_STATUS(ProfilingEventsContainer_AddEvents, OrtProfilingEventsContainer* events_container,
                  const OrtProfilingEvent* const* events, size_t num_events);
  // Since version 29.
  ORT_API2_STATUS(SessionOptionsGetWeightlessSourceModelBuffer, const OrtSessionOptions* options,
                  const void** source_model_data, size_t* source_model_data_length);
  // Since version 31.
  ORT_API2_STATUS(SessionOptionsGetEpContextConfig, const OrtSessionOptions* options, OrtEpContextConfig** config);
  void(ORT_API_CALL* ReleaseEpContextConfig)(OrtEpContextConfig* input);
  ORT_API2_STATUS(EpContextConfigGetEpContextDataReadFunc, const OrtEpContextConfig* config,
                  OrtReadNamedBufferFunc* read_func, void** state);
  ORT_API2_STATUS(EpContextConfigGetEpContextDataWriteFunc, const OrtEpContextConfig* config,
                  OrtWriteNamedBufferFunc* write_func, void** state);
};

#ifdef __cplusplus
}
#endif
