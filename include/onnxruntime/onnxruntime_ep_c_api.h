#pragma once

// Libraries of execution providers: the table that they call, and the structs of functions that they fill in. Each struct
// begins with the version of the interface that its library was built for; members that came later than that are not
// looked at. "May be null" is said of members that a library can leave out.

#include "onnxruntime_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum OrtProfilingEventCategory ORT_ENUM_BASE {
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
ORT_RUNTIME_CLASS(DataTransferImpl);
ORT_RUNTIME_CLASS(SyncNotificationImpl);
ORT_RUNTIME_CLASS(SyncStreamImpl);
ORT_RUNTIME_CLASS(ExternalResourceImporterImpl);
ORT_RUNTIME_CLASS(EpProfilerImpl);
ORT_RUNTIME_CLASS(NodeComputeInfo);
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

/* Copies tensors between the library's memories and the processor's. */
struct OrtDataTransferImpl {
  uint32_t ort_version_supported;
  void(ORT_API_CALL* Release)(OrtDataTransferImpl* this_ptr);
  bool(ORT_API_CALL* CanCopy)(const OrtDataTransferImpl* this_ptr, const OrtMemoryDevice* src_memory_device,
                              const OrtMemoryDevice* dst_memory_device);
  /* `streams`: null, or one for each pair, null ones too: then the copy is done on return. */
  ORT_API2_STATUS(CopyTensors, OrtDataTransferImpl* this_ptr, const OrtValue** src_tensors, OrtValue** dst_tensors,
                  OrtSyncStream** streams, size_t num_tensors);
};

/* An event of a stream that others wait for. */
struct OrtSyncNotificationImpl {
  uint32_t ort_version_supported;
  void(ORT_API_CALL* Release)(OrtSyncNotificationImpl* this_ptr);
  ORT_API2_STATUS(Activate, OrtSyncNotificationImpl* this_ptr);
  ORT_API2_STATUS(WaitOnDevice, OrtSyncNotificationImpl* this_ptr, OrtSyncStream* consumer_stream);
  ORT_API2_STATUS(WaitOnHost, OrtSyncNotificationImpl* this_ptr);
};

/* A queue of a device. */
struct OrtSyncStreamImpl {
  uint32_t ort_version_supported;
  void(ORT_API_CALL* Release)(OrtSyncStreamImpl* this_ptr);
  void*(ORT_API_CALL* GetHandle)(OrtSyncStreamImpl* this_ptr);
  ORT_API2_STATUS(CreateNotification, OrtSyncStreamImpl* this_ptr, OrtSyncNotificationImpl** notification);
  /* Returns when all that was put on it is done. */
  ORT_API2_STATUS(Flush, OrtSyncStreamImpl* this_ptr);
  ORT_API2_STATUS(OnSessionRunEnd, OrtSyncStreamImpl* this_ptr);
};

/* What a library adds to a profile. Times are in nanoseconds from the profile's start, ids those of the events that the
   runtime records around them. */
struct OrtEpProfilerImpl {
  uint32_t ort_version_supported;
  void(ORT_API_CALL* Release)(OrtEpProfilerImpl* this_ptr);
  ORT_API2_STATUS(StartProfiling, OrtEpProfilerImpl* this_ptr, int64_t ep_profiling_start_offset_ns);
  ORT_API2_STATUS(StartEvent, OrtEpProfilerImpl* this_ptr, uint64_t ort_event_correlation_id);
  ORT_API2_STATUS(StopEvent, OrtEpProfilerImpl* this_ptr, uint64_t ort_event_correlation_id,
                  const OrtProfilingEvent* ort_event);
  ORT_API2_STATUS(EndProfiling, OrtEpProfilerImpl* this_ptr, OrtProfilingEventsContainer* events_container);
};

/* How nodes are fused that a library claims together. */
struct OrtNodeFusionOptions {
  uint32_t ort_version_supported;
  bool drop_constant_initializers; /* the fused node gets no constants as inputs */
};

/* What a library has compiled a graph to. */
struct OrtNodeComputeInfo {
  uint32_t ort_version_supported;
  OrtStatus*(ORT_API_CALL* CreateState)(OrtNodeComputeInfo* this_ptr, OrtNodeComputeContext* compute_context,
                                        void** compute_state);
  OrtStatus*(ORT_API_CALL* Compute)(OrtNodeComputeInfo* this_ptr, void* compute_state, OrtKernelContext* kernel_context);
  void(ORT_API_CALL* ReleaseState)(OrtNodeComputeInfo* this_ptr, void* compute_state);
};

/* A kernel of a library's registry. */
struct OrtKernelImpl {
  uint32_t ort_version_supported;
  uint32_t flags;
  ORT_API2_STATUS(Compute, OrtKernelImpl* this_ptr, OrtKernelContext* context);
  void(ORT_API_CALL* Release)(OrtKernelImpl* this_ptr);
  /* May be null. Once for each constant input, before the first Compute; a kernel that keeps a form of its own sets
     `is_packed`. */
  ORT_API2_STATUS(PrePackWeight, OrtKernelImpl* this_ptr, const OrtValue* tensor, int input_index, OrtAllocator* allocator,
                  OrtSharedPrePackedWeightCache* prepacked_weight_cache, bool* is_packed);
  /* May be null. */
  ORT_API2_STATUS(SetSharedPrePackedWeight, OrtKernelImpl* this_ptr, const void* const* buffer_data_ptrs,
                  const size_t* buffer_data_sizes, size_t num_buffers, int input_index);
};

/* How a library's Loop joins what its iterations gave. */
struct OrtLoopKernelHelper {
  uint32_t ort_version_supported;
  void(ORT_API_CALL* Release)(OrtLoopKernelHelper* this_ptr);
  ORT_API2_STATUS(ConcatOutput, OrtLoopKernelHelper* this_ptr, void* stream_handle,
                  const OrtValue* const* per_iteration_outputs, size_t num_per_iteration_outputs, void* output,
                  size_t output_size_in_bytes);
};

/* How a library's Scan transposes. */
struct OrtScanKernelHelper {
  uint32_t ort_version_supported;
  void(ORT_API_CALL* Release)(OrtScanKernelHelper* this_ptr);
  ORT_API2_STATUS(Transpose, OrtScanKernelHelper* this_ptr, const size_t* permutation, size_t num_permutation_elems,
                  const OrtValue* input, OrtSyncStream* stream, OrtValue* output);
};

/* How much of something there is. */
typedef enum OrtResourceCountKind ORT_ENUM_BASE {
  OrtResourceCountKind_None = 0,
  OrtResourceCountKind_TotalBytes = 1
} OrtResourceCountKind;

typedef struct OrtResourceCount {
  uint32_t kind;
  uint32_t reserved;
  union {
    uint64_t total_bytes;
    uint64_t reserved_words[6];
  } value;
} OrtResourceCount;

typedef enum OrtEpDataLayout ORT_ENUM_BASE {
  OrtEpDataLayout_NCHW = 0,
  OrtEpDataLayout_NHWC = 1,
  OrtEpDataLayout_Default = OrtEpDataLayout_NCHW
} OrtEpDataLayout;

typedef enum OrtGraphCaptureNodeAssignmentPolicy ORT_ENUM_BASE {
  OrtGraphCaptureNodeAssignmentPolicy_ALL_NODES_ON_EP = 0,
  OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES = 1
} OrtGraphCaptureNodeAssignmentPolicy;

typedef enum OrtWeightlessSupport ORT_ENUM_BASE {
  OrtWeightlessSupport_NONE = 0,
  OrtWeightlessSupport_EXTERNAL_ONLY = 1,
  OrtWeightlessSupport_ALL = 2
} OrtWeightlessSupport;

/* A library's provider, of one session. Members after GetCapability may be null. */
struct OrtEp {
  uint32_t ort_version_supported;
  // Since version 22, as the version says of a struct that is there at all; but for GetName, filled in since 23.
  const char*(ORT_API_CALL* GetName)(const OrtEp* this_ptr);
  ORT_API2_STATUS(GetCapability, OrtEp* this_ptr, const OrtGraph* graph, OrtEpGraphSupportInfo* graph_support_info);
  ORT_API2_STATUS(Compile, OrtEp* this_ptr, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                  OrtNodeComputeInfo** node_compute_infos, OrtNode** ep_context_nodes);
  void(ORT_API_CALL* ReleaseNodeComputeInfos)(OrtEp* this_ptr, OrtNodeComputeInfo** node_compute_infos,
                                              size_t num_node_compute_infos);
  ORT_API2_STATUS(GetPreferredDataLayout, OrtEp* this_ptr, OrtEpDataLayout* preferred_data_layout);
  ORT_API2_STATUS(ShouldConvertDataLayoutForOp, OrtEp* this_ptr, const char* domain, const char* op_type,
                  OrtEpDataLayout target_data_layout, int* should_convert);
  ORT_API2_STATUS(SetDynamicOptions, OrtEp* this_ptr, const char* const* option_keys, const char* const* option_values,
                  size_t num_options);
  ORT_API2_STATUS(OnRunStart, OrtEp* this_ptr, const OrtRunOptions* run_options);
  ORT_API2_STATUS(OnRunEnd, OrtEp* this_ptr, const OrtRunOptions* run_options, bool sync_stream);
  ORT_API2_STATUS(CreateAllocator, OrtEp* this_ptr, const OrtMemoryInfo* memory_info, OrtAllocator** allocator);
  ORT_API2_STATUS(CreateSyncStreamForDevice, OrtEp* this_ptr, const OrtMemoryDevice* memory_device,
                  OrtSyncStreamImpl** stream);
  const char*(ORT_API_CALL* GetCompiledModelCompatibilityInfo)(OrtEp* this_ptr, const OrtGraph* graph);
  // Since version 24.
  ORT_API2_STATUS(GetKernelRegistry, OrtEp* this_ptr, const OrtKernelRegistry** kernel_registry);
  ORT_API2_STATUS(IsConcurrentRunSupported, OrtEp* this_ptr, bool* is_supported);
  // Since version 25.
  ORT_API2_STATUS(Sync, OrtEp* this_ptr);
  ORT_API2_STATUS(CreateProfiler, OrtEp* this_ptr, OrtEpProfilerImpl** profiler);
  // Since version 26.
  bool(ORT_API_CALL* IsGraphCaptureEnabled)(const OrtEp* this_ptr);
  bool(ORT_API_CALL* IsGraphCaptured)(const OrtEp* this_ptr, int graph_annotation_id);
  ORT_API2_STATUS(ReplayGraph, OrtEp* this_ptr, int graph_annotation_id);
  OrtGraphCaptureNodeAssignmentPolicy(ORT_API_CALL* GetGraphCaptureNodeAssignmentPolicy)(const OrtEp* this_ptr);
  ORT_API2_STATUS(GetAvailableResource, const OrtEp* this_ptr, OrtResourceCount* available);
  // Since version 27.
  ORT_API2_STATUS(OnSessionInitializationEnd, OrtEp* this_ptr);
  ORT_API2_STATUS(GetDefaultMemoryDevice, const OrtEp* this_ptr, const OrtMemoryDevice** device);
  ORT_API2_STATUS(ReleaseCapturedGraph, OrtEp* this_ptr, int graph_annotation_id);
  // Since version 29.
  ORT_API2_STATUS(GetWeightlessSupport, const OrtEp* this_ptr, OrtWeightlessSupport* support);
  // Since version 31.
  ORT_API2_STATUS(GetEpContextDataSupport, const OrtEp* this_ptr, uint32_t* flags);
};

/* What a library has to have under the names CreateEpFactories and ReleaseEpFactory. */
typedef OrtStatus* (*CreateEpApiFactoriesFn)(const char* registered_name, const OrtApiBase* ort_api_base,
                                             const OrtLogger* default_logger, OrtEpFactory** factories,
                                             size_t max_factories, size_t* num_factories);
typedef OrtStatus* (*ReleaseEpApiFactoryFn)(OrtEpFactory* factory);

/* Makes a library's providers. Lives from CreateEpFactories to ReleaseEpFactory. */
struct OrtEpFactory {
  uint32_t ort_version_supported;
  // Since version 22.
  const char*(ORT_API_CALL* GetName)(const OrtEpFactory* this_ptr);
  const char*(ORT_API_CALL* GetVendor)(const OrtEpFactory* this_ptr);
  ORT_API2_STATUS(GetSupportedDevices, OrtEpFactory* this_ptr, const OrtHardwareDevice* const* devices, size_t num_devices,
                  OrtEpDevice** ep_devices, size_t max_ep_devices, size_t* num_ep_devices);
  ORT_API2_STATUS(CreateEp, OrtEpFactory* this_ptr, const OrtHardwareDevice* const* devices,
                  const OrtKeyValuePairs* const* ep_metadata_pairs, size_t num_devices,
                  const OrtSessionOptions* session_options, const OrtLogger* logger, OrtEp** ep);
  void(ORT_API_CALL* ReleaseEp)(OrtEpFactory* this_ptr, OrtEp* ep);
  // Since version 23. From ValidateCompiledModelCompatibilityInfo on, members may be null.
  uint32_t(ORT_API_CALL* GetVendorId)(const OrtEpFactory* this_ptr);
  const char*(ORT_API_CALL* GetVersion)(const OrtEpFactory* this_ptr);
  ORT_API2_STATUS(ValidateCompiledModelCompatibilityInfo, OrtEpFactory* this_ptr, const OrtHardwareDevice* const* devices,
                  size_t num_devices, const char* compatibility_info, OrtCompiledModelCompatibility* model_compatibility);
  ORT_API2_STATUS(CreateAllocator, OrtEpFactory* this_ptr, const OrtMemoryInfo* memory_info,
                  const OrtKeyValuePairs* allocator_options, OrtAllocator** allocator);
  void(ORT_API_CALL* ReleaseAllocator)(OrtEpFactory* this_ptr, OrtAllocator* allocator);
  ORT_API2_STATUS(CreateDataTransfer, OrtEpFactory* this_ptr, OrtDataTransferImpl** data_transfer);
  bool(ORT_API_CALL* IsStreamAware)(const OrtEpFactory* this_ptr);
  ORT_API2_STATUS(CreateSyncStreamForDevice, OrtEpFactory* this_ptr, const OrtMemoryDevice* memory_device,
                  const OrtKeyValuePairs* stream_options, OrtSyncStreamImpl** stream);
  // Since version 24.
  ORT_API2_STATUS(GetHardwareDeviceIncompatibilityDetails, OrtEpFactory* this_ptr, const OrtHardwareDevice* hw,
                  OrtDeviceEpIncompatibilityDetails* details);
  ORT_API2_STATUS(CreateExternalResourceImporterForDevice, OrtEpFactory* this_ptr, const OrtEpDevice* ep_device,
                  OrtExternalResourceImporterImpl** out_importer);
  ORT_API2_STATUS(GetNumCustomOpDomains, OrtEpFactory* this_ptr, size_t* num_domains);
  ORT_API2_STATUS(GetCustomOpDomains, OrtEpFactory* this_ptr, OrtCustomOpDomain** domains, size_t num_domains);
  // Since version 25.
  ORT_API2_STATUS(InitGraphicsInterop, OrtEpFactory* this_ptr, const OrtEpDevice* ep_device,
                  const OrtGraphicsInteropConfig* config);
  ORT_API2_STATUS(DeinitGraphicsInterop, OrtEpFactory* this_ptr, const OrtEpDevice* ep_device);
  // Since version 28.
  ORT_API2_STATUS(SelectBestModelCandidate, OrtEpFactory* this_ptr, const OrtHardwareDevice* device,
                  const OrtKeyValuePairs* const* candidates, size_t num_candidates,
                  const OrtSessionOptions* session_options, size_t* selected_index);
};

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
