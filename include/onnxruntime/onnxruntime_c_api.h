#pragma once

// The C ABI of ONNX Runtime, as Tessera offers it: link with libonnxruntime.so.1 of this package, or with ONNX Runtime's.
// docs/c_api.md says of each entry what is behind it.
//
// A table's entries never move: what a later version adds stands at its end. A call that fails gives a status, which the
// caller releases; null is success. What a call puts into an `out` is the caller's to release, but for what is `const`,
// which belongs to the object that it was asked of. Texts are UTF-8 and end in a zero; those that are allocated with an
// OrtAllocator are freed by it.

#include "onnxruntime_c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one function that a program needs to find. */
ORT_EXPORT const OrtApiBase* ORT_API_CALL OrtGetApiBase(void) NO_EXCEPTION;

/* Providers by a function of their own, from before there were tables. */
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_CPU, OrtSessionOptions* options, int use_arena);
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_Dnnl, OrtSessionOptions* options, int use_arena);
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_CUDA, OrtSessionOptions* options, int device_id);
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_ROCM, OrtSessionOptions* options, int device_id);
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_MIGraphX, OrtSessionOptions* options, int device_id);
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_Tensorrt, OrtSessionOptions* options, int device_id);

/* Environments, sessions, values and everything around them. */
struct OrtApi {
  // Since version 1.
  OrtStatus*(ORT_API_CALL* CreateStatus)(OrtErrorCode code, const char* msg)NO_EXCEPTION;
  OrtErrorCode(ORT_API_CALL* GetErrorCode)(const OrtStatus* status) NO_EXCEPTION;
  const char*(ORT_API_CALL* GetErrorMessage)(const OrtStatus* status)NO_EXCEPTION;
  ORT_API2_STATUS(CreateEnv, OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out);
  ORT_API2_STATUS(CreateEnvWithCustomLogger, OrtLoggingFunction logging_function, void* logger_param,
                  OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out);
  ORT_API2_STATUS(EnableTelemetryEvents, const OrtEnv* env);
  ORT_API2_STATUS(DisableTelemetryEvents, const OrtEnv* env);
  ORT_API2_STATUS(CreateSession, const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
                  OrtSession** out);
  ORT_API2_STATUS(CreateSessionFromArray, const OrtEnv* env, const void* model_data, size_t model_data_length,
                  const OrtSessionOptions* options, OrtSession** out);
  ORT_API2_STATUS(Run, OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                  const OrtValue* const* inputs, size_t input_len, const char* const* output_names, size_t output_names_len,
                  OrtValue** outputs);
  ORT_API2_STATUS(CreateSessionOptions, OrtSessionOptions** options);
  ORT_API2_STATUS(SetOptimizedModelFilePath, OrtSessionOptions* options, const ORTCHAR_T* optimized_model_filepath);
  ORT_API2_STATUS(CloneSessionOptions, const OrtSessionOptions* in_options, OrtSessionOptions** out_options);
  ORT_API2_STATUS(SetSessionExecutionMode, OrtSessionOptions* options, ExecutionMode execution_mode);
  ORT_API2_STATUS(EnableProfiling, OrtSessionOptions* options, const ORTCHAR_T* profile_file_prefix);
  ORT_API2_STATUS(DisableProfiling, OrtSessionOptions* options);
  ORT_API2_STATUS(EnableMemPattern, OrtSessionOptions* options);
  ORT_API2_STATUS(DisableMemPattern, OrtSessionOptions* options);
  ORT_API2_STATUS(EnableCpuMemArena, OrtSessionOptions* options);
  ORT_API2_STATUS(DisableCpuMemArena, OrtSessionOptions* options);
  ORT_API2_STATUS(SetSessionLogId, OrtSessionOptions* options, const char* logid);
  ORT_API2_STATUS(SetSessionLogVerbosityLevel, OrtSessionOptions* options, int session_log_verbosity_level);
  ORT_API2_STATUS(SetSessionLogSeverityLevel, OrtSessionOptions* options, int session_log_severity_level);
  ORT_API2_STATUS(SetSessionGraphOptimizationLevel, OrtSessionOptions* options,
                  GraphOptimizationLevel graph_optimization_level);
  ORT_API2_STATUS(SetIntraOpNumThreads, OrtSessionOptions* options, int intra_op_num_threads);
  ORT_API2_STATUS(SetInterOpNumThreads, OrtSessionOptions* options, int inter_op_num_threads);
  ORT_API2_STATUS(CreateCustomOpDomain, const char* domain, OrtCustomOpDomain** out);
  ORT_API2_STATUS(CustomOpDomain_Add, OrtCustomOpDomain* custom_op_domain, const OrtCustomOp* op);
  ORT_API2_STATUS(AddCustomOpDomain, OrtSessionOptions* options, OrtCustomOpDomain* custom_op_domain);
  ORT_API2_STATUS(RegisterCustomOpsLibrary, OrtSessionOptions* options, const char* library_path, void** library_handle);
  ORT_API2_STATUS(SessionGetInputCount, const OrtSession* session, size_t* out);
  ORT_API2_STATUS(SessionGetOutputCount, const OrtSession* session, size_t* out);
  ORT_API2_STATUS(SessionGetOverridableInitializerCount, const OrtSession* session, size_t* out);
  ORT_API2_STATUS(SessionGetInputTypeInfo, const OrtSession* session, size_t index, OrtTypeInfo** type_info);
  ORT_API2_STATUS(SessionGetOutputTypeInfo, const OrtSession* session, size_t index, OrtTypeInfo** type_info);
  ORT_API2_STATUS(SessionGetOverridableInitializerTypeInfo, const OrtSession* session, size_t index,
                  OrtTypeInfo** type_info);
  ORT_API2_STATUS(SessionGetInputName, const OrtSession* session, size_t index, OrtAllocator* allocator, char** value);
  ORT_API2_STATUS(SessionGetOutputName, const OrtSession* session, size_t index, OrtAllocator* allocator, char** value);
  ORT_API2_STATUS(SessionGetOverridableInitializerName, const OrtSession* session, size_t index, OrtAllocator* allocator,
                  char** value);
  ORT_API2_STATUS(CreateRunOptions, OrtRunOptions** out);
  ORT_API2_STATUS(RunOptionsSetRunLogVerbosityLevel, OrtRunOptions* options, int log_verbosity_level);
  ORT_API2_STATUS(RunOptionsSetRunLogSeverityLevel, OrtRunOptions* options, int log_severity_level);
  ORT_API2_STATUS(RunOptionsSetRunTag, OrtRunOptions* options, const char* run_tag);
  ORT_API2_STATUS(RunOptionsGetRunLogVerbosityLevel, const OrtRunOptions* options, int* log_verbosity_level);
  ORT_API2_STATUS(RunOptionsGetRunLogSeverityLevel, const OrtRunOptions* options, int* log_severity_level);
  ORT_API2_STATUS(RunOptionsGetRunTag, const OrtRunOptions* options, const char** run_tag);
  ORT_API2_STATUS(RunOptionsSetTerminate, OrtRunOptions* options);
  ORT_API2_STATUS(RunOptionsUnsetTerminate, OrtRunOptions* options);
  ORT_API2_STATUS(CreateTensorAsOrtValue, OrtAllocator* allocator, const int64_t* shape, size_t shape_len,
                  ONNXTensorElementDataType type, OrtValue** out);
  ORT_API2_STATUS(CreateTensorWithDataAsOrtValue, const OrtMemoryInfo* info, void* p_data, size_t p_data_len,
                  const int64_t* shape, size_t shape_len, ONNXTensorElementDataType type, OrtValue** out);
  ORT_API2_STATUS(IsTensor, const OrtValue* value, int* out);
  ORT_API2_STATUS(GetTensorMutableData, OrtValue* value, void** out);
  ORT_API2_STATUS(FillStringTensor, OrtValue* value, const char* const* s, size_t s_len);
  ORT_API2_STATUS(GetStringTensorDataLength, const OrtValue* value, size_t* len);
  ORT_API2_STATUS(GetStringTensorContent, const OrtValue* value, void* s, size_t s_len, size_t* offsets,
                  size_t offsets_len);
  ORT_API2_STATUS(CastTypeInfoToTensorInfo, const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out);
  ORT_API2_STATUS(GetOnnxTypeFromTypeInfo, const OrtTypeInfo* type_info, enum ONNXType* out);
  ORT_API2_STATUS(CreateTensorTypeAndShapeInfo, OrtTensorTypeAndShapeInfo** out);
  ORT_API2_STATUS(SetTensorElementType, OrtTensorTypeAndShapeInfo* info, enum ONNXTensorElementDataType type);
  ORT_API2_STATUS(SetDimensions, OrtTensorTypeAndShapeInfo* info, const int64_t* dim_values, size_t dim_count);
  ORT_API2_STATUS(GetTensorElementType, const OrtTensorTypeAndShapeInfo* info, enum ONNXTensorElementDataType* out);
  ORT_API2_STATUS(GetDimensionsCount, const OrtTensorTypeAndShapeInfo* info, size_t* out);
  ORT_API2_STATUS(GetDimensions, const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values, size_t dim_values_length);
  ORT_API2_STATUS(GetSymbolicDimensions, const OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                  size_t dim_params_length);
  ORT_API2_STATUS(GetTensorShapeElementCount, const OrtTensorTypeAndShapeInfo* info, size_t* out);
  ORT_API2_STATUS(GetTensorTypeAndShape, const OrtValue* value, OrtTensorTypeAndShapeInfo** out);
  ORT_API2_STATUS(GetTypeInfo, const OrtValue* value, OrtTypeInfo** out);
  ORT_API2_STATUS(GetValueType, const OrtValue* value, enum ONNXType* out);
  ORT_API2_STATUS(CreateMemoryInfo, const char* name, enum OrtAllocatorType type, int id, enum OrtMemType mem_type,
                  OrtMemoryInfo** out);
  ORT_API2_STATUS(CreateCpuMemoryInfo, enum OrtAllocatorType type, enum OrtMemType mem_type, OrtMemoryInfo** out);
  ORT_API2_STATUS(CompareMemoryInfo, const OrtMemoryInfo* info1, const OrtMemoryInfo* info2, int* out);
  ORT_API2_STATUS(MemoryInfoGetName, const OrtMemoryInfo* ptr, const char** out);
  ORT_API2_STATUS(MemoryInfoGetId, const OrtMemoryInfo* ptr, int* out);
  ORT_API2_STATUS(MemoryInfoGetMemType, const OrtMemoryInfo* ptr, OrtMemType* out);
  ORT_API2_STATUS(MemoryInfoGetType, const OrtMemoryInfo* ptr, OrtAllocatorType* out);
  ORT_API2_STATUS(AllocatorAlloc, OrtAllocator* ort_allocator, size_t size, void** out);
  ORT_API2_STATUS(AllocatorFree, OrtAllocator* ort_allocator, void* p);
  ORT_API2_STATUS(AllocatorGetInfo, const OrtAllocator* ort_allocator, const struct OrtMemoryInfo** out);
  ORT_API2_STATUS(GetAllocatorWithDefaultOptions, OrtAllocator** out);
  ORT_API2_STATUS(AddFreeDimensionOverride, OrtSessionOptions* options, const char* dim_denotation, int64_t dim_value);
  ORT_API2_STATUS(GetValue, const OrtValue* value, int index, OrtAllocator* allocator, OrtValue** out);
  ORT_API2_STATUS(GetValueCount, const OrtValue* value, size_t* out);
  ORT_API2_STATUS(CreateValue, const OrtValue* const* in, size_t num_values, enum ONNXType value_type, OrtValue** out);
  ORT_API2_STATUS(CreateOpaqueValue, const char* domain_name, const char* type_name, const void* data_container,
                  size_t data_container_size, OrtValue** out);
  ORT_API2_STATUS(GetOpaqueValue, const char* domain_name, const char* type_name, const OrtValue* in, void* data_container,
                  size_t data_container_size);
  ORT_API2_STATUS(KernelInfoGetAttribute_float, const OrtKernelInfo* info, const char* name, float* out);
  ORT_API2_STATUS(KernelInfoGetAttribute_int64, const OrtKernelInfo* info, const char* name, int64_t* out);
  ORT_API2_STATUS(KernelInfoGetAttribute_string, const OrtKernelInfo* info, const char* name, char* out, size_t* size);
  ORT_API2_STATUS(KernelContext_GetInputCount, const OrtKernelContext* context, size_t* out);
  ORT_API2_STATUS(KernelContext_GetOutputCount, const OrtKernelContext* context, size_t* out);
  ORT_API2_STATUS(KernelContext_GetInput, const OrtKernelContext* context, size_t index, const OrtValue** out);
  ORT_API2_STATUS(KernelContext_GetOutput, OrtKernelContext* context, size_t index, const int64_t* dim_values,
                  size_t dim_count, OrtValue** out);
  void(ORT_API_CALL* ReleaseEnv)(OrtEnv* input);
  void(ORT_API_CALL* ReleaseStatus)(OrtStatus* input);
  void(ORT_API_CALL* ReleaseMemoryInfo)(OrtMemoryInfo* input);
  void(ORT_API_CALL* ReleaseSession)(OrtSession* input);
  void(ORT_API_CALL* ReleaseValue)(OrtValue* input);
  void(ORT_API_CALL* ReleaseRunOptions)(OrtRunOptions* input);
  void(ORT_API_CALL* ReleaseTypeInfo)(OrtTypeInfo* input);
  void(ORT_API_CALL* ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* input);
  void(ORT_API_CALL* ReleaseSessionOptions)(OrtSessionOptions* input);
  void(ORT_API_CALL* ReleaseCustomOpDomain)(OrtCustomOpDomain* input);
  // Since version 2.
  ORT_API2_STATUS(GetDenotationFromTypeInfo, const OrtTypeInfo* type_info, const char** const denotation, size_t* len);
  ORT_API2_STATUS(CastTypeInfoToMapTypeInfo, const OrtTypeInfo* type_info, const OrtMapTypeInfo** out);
  ORT_API2_STATUS(CastTypeInfoToSequenceTypeInfo, const OrtTypeInfo* type_info, const OrtSequenceTypeInfo** out);
  ORT_API2_STATUS(GetMapKeyType, const OrtMapTypeInfo* map_type_info, enum ONNXTensorElementDataType* out);
  ORT_API2_STATUS(GetMapValueType, const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info);
  ORT_API2_STATUS(GetSequenceElementType, const OrtSequenceTypeInfo* sequence_type_info, OrtTypeInfo** type_info);
  void(ORT_API_CALL* ReleaseMapTypeInfo)(OrtMapTypeInfo* input);
  void(ORT_API_CALL* ReleaseSequenceTypeInfo)(OrtSequenceTypeInfo* input);
  ORT_API2_STATUS(SessionEndProfiling, OrtSession* session, OrtAllocator* allocator, char** out);
  ORT_API2_STATUS(SessionGetModelMetadata, const OrtSession* session, OrtModelMetadata** out);
  ORT_API2_STATUS(ModelMetadataGetProducerName, const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                  char** value);
  ORT_API2_STATUS(ModelMetadataGetGraphName, const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value);
  ORT_API2_STATUS(ModelMetadataGetDomain, const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value);
  ORT_API2_STATUS(ModelMetadataGetDescription, const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                  char** value);
  ORT_API2_STATUS(ModelMetadataLookupCustomMetadataMap, const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                  const char* key, char** value);
  ORT_API2_STATUS(ModelMetadataGetVersion, const OrtModelMetadata* model_metadata, int64_t* value);
  void(ORT_API_CALL* ReleaseModelMetadata)(OrtModelMetadata* input);
  // Since version 3.
  ORT_API2_STATUS(CreateEnvWithGlobalThreadPools, OrtLoggingLevel log_severity_level, const char* logid,
                  const OrtThreadingOptions* tp_options, OrtEnv** out);
  ORT_API2_STATUS(DisablePerSessionThreads, OrtSessionOptions* options);
  ORT_API2_STATUS(CreateThreadingOptions, OrtThreadingOptions** out);
  void(ORT_API_CALL* ReleaseThreadingOptions)(OrtThreadingOptions* input);
  ORT_API2_STATUS(ModelMetadataGetCustomMetadataMapKeys, const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                  char*** keys, int64_t* num_keys);
  ORT_API2_STATUS(AddFreeDimensionOverrideByName, OrtSessionOptions* options, const char* dim_name, int64_t dim_value);
  // Since version 4.
  ORT_API2_STATUS(GetAvailableProviders, char*** out_ptr, int* provider_length);
  ORT_API2_STATUS(ReleaseAvailableProviders, char** ptr, int providers_length);
  // Since version 5.
  ORT_API2_STATUS(GetStringTensorElementLength, const OrtValue* value, size_t index, size_t* out);
  ORT_API2_STATUS(GetStringTensorElement, const OrtValue* value, size_t s_len, size_t index, void* s);
  ORT_API2_STATUS(FillStringTensorElement, OrtValue* value, const char* s, size_t index);
  ORT_API2_STATUS(AddSessionConfigEntry, OrtSessionOptions* options, const char* config_key, const char* config_value);
  ORT_API2_STATUS(CreateAllocator, const OrtSession* session, const OrtMemoryInfo* mem_info, OrtAllocator** out);
  void(ORT_API_CALL* ReleaseAllocator)(OrtAllocator* input);
  ORT_API2_STATUS(RunWithBinding, OrtSession* session, const OrtRunOptions* run_options, const OrtIoBinding* binding_ptr);
  ORT_API2_STATUS(CreateIoBinding, OrtSession* session, OrtIoBinding** out);
  void(ORT_API_CALL* ReleaseIoBinding)(OrtIoBinding* input);
  ORT_API2_STATUS(BindInput, OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr);
  ORT_API2_STATUS(BindOutput, OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr);
  ORT_API2_STATUS(BindOutputToDevice, OrtIoBinding* binding_ptr, const char* name, const OrtMemoryInfo* mem_info_ptr);
  ORT_API2_STATUS(GetBoundOutputNames, const OrtIoBinding* binding_ptr, OrtAllocator* allocator, char** buffer,
                  size_t** lengths, size_t* count);
  ORT_API2_STATUS(GetBoundOutputValues, const OrtIoBinding* binding_ptr, OrtAllocator* allocator, OrtValue*** output,
                  size_t* output_count);
  void(ORT_API_CALL* ClearBoundInputs)(OrtIoBinding* binding_ptr) NO_EXCEPTION;
  void(ORT_API_CALL* ClearBoundOutputs)(OrtIoBinding* binding_ptr) NO_EXCEPTION;
  ORT_API2_STATUS(TensorAt, OrtValue* value, const int64_t* location_values, size_t location_values_count, void** out);
  ORT_API2_STATUS(CreateAndRegisterAllocator, OrtEnv* env, const OrtMemoryInfo* mem_info, const OrtArenaCfg* arena_cfg);
  ORT_API2_STATUS(SetLanguageProjection, const OrtEnv* ort_env, OrtLanguageProjection projection);
  ORT_API2_STATUS(SessionGetProfilingStartTimeNs, const OrtSession* session, uint64_t* out);
  ORT_API2_STATUS(SetGlobalIntraOpNumThreads, OrtThreadingOptions* tp_options, int intra_op_num_threads);
  ORT_API2_STATUS(SetGlobalInterOpNumThreads, OrtThreadingOptions* tp_options, int inter_op_num_threads);
  ORT_API2_STATUS(SetGlobalSpinControl, OrtThreadingOptions* tp_options, int allow_spinning);
  // Since version 6.
  ORT_API2_STATUS(AddInitializer, OrtSessionOptions* options, const char* name, const OrtValue* val);
  ORT_API2_STATUS(CreateEnvWithCustomLoggerAndGlobalThreadPools, OrtLoggingFunction logging_function, void* logger_param,
                  OrtLoggingLevel log_severity_level, const char* logid, const struct OrtThreadingOptions* tp_options,
                  OrtEnv** out);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_CUDA, OrtSessionOptions* options,
                  const OrtCUDAProviderOptions* cuda_options);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_ROCM, OrtSessionOptions* options,
                  const OrtROCMProviderOptions* rocm_options);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_OpenVINO, OrtSessionOptions* options,
                  const OrtOpenVINOProviderOptions* provider_options);
  ORT_API2_STATUS(SetGlobalDenormalAsZero, OrtThreadingOptions* tp_options);
  ORT_API2_STATUS(CreateArenaCfg, size_t max_mem, int arena_extend_strategy, int initial_chunk_size_bytes,
                  int max_dead_bytes_per_chunk, OrtArenaCfg** out);
  void(ORT_API_CALL* ReleaseArenaCfg)(OrtArenaCfg* input);
  // Since version 7.
  ORT_API2_STATUS(ModelMetadataGetGraphDescription, const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                  char** value);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_TensorRT, OrtSessionOptions* options,
                  const OrtTensorRTProviderOptions* tensorrt_options);
  ORT_API2_STATUS(SetCurrentGpuDeviceId, int device_id);
  ORT_API2_STATUS(GetCurrentGpuDeviceId, int* device_id);
  // Since version 8.
  ORT_API2_STATUS(KernelInfoGetAttributeArray_float, const OrtKernelInfo* info, const char* name, float* out, size_t* size);
  ORT_API2_STATUS(KernelInfoGetAttributeArray_int64, const OrtKernelInfo* info, const char* name, int64_t* out,
                  size_t* size);
  ORT_API2_STATUS(CreateArenaCfgV2, const char* const* arena_config_keys, const size_t* arena_config_values,
                  size_t num_keys, OrtArenaCfg** out);
  ORT_API2_STATUS(AddRunConfigEntry, OrtRunOptions* options, const char* config_key, const char* config_value);
  ORT_API2_STATUS(CreatePrepackedWeightsContainer, OrtPrepackedWeightsContainer** out);
  void(ORT_API_CALL* ReleasePrepackedWeightsContainer)(OrtPrepackedWeightsContainer* input);
  ORT_API2_STATUS(CreateSessionWithPrepackedWeightsContainer, const OrtEnv* env, const ORTCHAR_T* model_path,
                  const OrtSessionOptions* options, OrtPrepackedWeightsContainer* prepacked_weights_container,
                  OrtSession** out);
  ORT_API2_STATUS(CreateSessionFromArrayWithPrepackedWeightsContainer, const OrtEnv* env, const void* model_data,
                  size_t model_data_length, const OrtSessionOptions* options,
                  OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out);
  // Since version 9.
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_TensorRT_V2, OrtSessionOptions* options,
                  const OrtTensorRTProviderOptionsV2* tensorrt_options);
  ORT_API2_STATUS(CreateTensorRTProviderOptions, OrtTensorRTProviderOptionsV2** out);
  ORT_API2_STATUS(UpdateTensorRTProviderOptions, OrtTensorRTProviderOptionsV2* tensorrt_options,
                  const char* const* provider_options_keys, const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(GetTensorRTProviderOptionsAsString, const OrtTensorRTProviderOptionsV2* tensorrt_options,
                  OrtAllocator* allocator, char** ptr);
  void(ORT_API_CALL* ReleaseTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2* input);
  ORT_API2_STATUS(EnableOrtCustomOps, OrtSessionOptions* options);
  ORT_API2_STATUS(RegisterAllocator, OrtEnv* env, OrtAllocator* allocator);
  ORT_API2_STATUS(UnregisterAllocator, OrtEnv* env, const OrtMemoryInfo* mem_info);
  ORT_API2_STATUS(IsSparseTensor, const OrtValue* value, int* out);
  ORT_API2_STATUS(CreateSparseTensorAsOrtValue, OrtAllocator* allocator, const int64_t* dense_shape, size_t dense_shape_len,
                  ONNXTensorElementDataType type, OrtValue** out);
  ORT_API2_STATUS(FillSparseTensorCoo, OrtValue* ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape,
                  size_t values_shape_len, const void* values, const int64_t* indices_data, size_t indices_num);
  ORT_API2_STATUS(FillSparseTensorCsr, OrtValue* ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape,
                  size_t values_shape_len, const void* values, const int64_t* inner_indices_data, size_t inner_indices_num,
                  const int64_t* outer_indices_data, size_t outer_indices_num);
  ORT_API2_STATUS(FillSparseTensorBlockSparse, OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                  const int64_t* values_shape, size_t values_shape_len, const void* values,
                  const int64_t* indices_shape_data, size_t indices_shape_len, const int32_t* indices_data);
  ORT_API2_STATUS(CreateSparseTensorWithValuesAsOrtValue, const OrtMemoryInfo* info, void* p_data,
                  const int64_t* dense_shape, size_t dense_shape_len, const int64_t* values_shape, size_t values_shape_len,
                  ONNXTensorElementDataType type, OrtValue** out);
  ORT_API2_STATUS(UseCooIndices, OrtValue* ort_value, int64_t* indices_data, size_t indices_num);
  ORT_API2_STATUS(UseCsrIndices, OrtValue* ort_value, int64_t* inner_data, size_t inner_num, int64_t* outer_data,
                  size_t outer_num);
  ORT_API2_STATUS(UseBlockSparseIndices, OrtValue* ort_value, const int64_t* indices_shape, size_t indices_shape_len,
                  int32_t* indices_data);
  ORT_API2_STATUS(GetSparseTensorFormat, const OrtValue* ort_value, enum OrtSparseFormat* out);
  ORT_API2_STATUS(GetSparseTensorValuesTypeAndShape, const OrtValue* ort_value, OrtTensorTypeAndShapeInfo** out);
  ORT_API2_STATUS(GetSparseTensorValues, const OrtValue* ort_value, const void** out);
  ORT_API2_STATUS(GetSparseTensorIndicesTypeShape, const OrtValue* ort_value, enum OrtSparseIndicesFormat indices_format,
                  OrtTensorTypeAndShapeInfo** out);
  ORT_API2_STATUS(GetSparseTensorIndices, const OrtValue* ort_value, enum OrtSparseIndicesFormat indices_format,
                  size_t* num_indices, const void** indices);
  // Since version 10.
  ORT_API2_STATUS(HasValue, const OrtValue* value, int* out);
  ORT_API2_STATUS(KernelContext_GetGPUComputeStream, const OrtKernelContext* context, void** out);
  ORT_API2_STATUS(GetTensorMemoryInfo, const OrtValue* value, const OrtMemoryInfo** mem_info);
  ORT_API2_STATUS(GetExecutionProviderApi, const char* provider_name, uint32_t version, const void** provider_api);
  ORT_API2_STATUS(SessionOptionsSetCustomCreateThreadFn, OrtSessionOptions* options,
                  OrtCustomCreateThreadFn ort_custom_create_thread_fn);
  ORT_API2_STATUS(SessionOptionsSetCustomThreadCreationOptions, OrtSessionOptions* options,
                  void* ort_custom_thread_creation_options);
  ORT_API2_STATUS(SessionOptionsSetCustomJoinThreadFn, OrtSessionOptions* options,
                  OrtCustomJoinThreadFn ort_custom_join_thread_fn);
  ORT_API2_STATUS(SetGlobalCustomCreateThreadFn, OrtThreadingOptions* tp_options,
                  OrtCustomCreateThreadFn ort_custom_create_thread_fn);
  ORT_API2_STATUS(SetGlobalCustomThreadCreationOptions, OrtThreadingOptions* tp_options,
                  void* ort_custom_thread_creation_options);
  ORT_API2_STATUS(SetGlobalCustomJoinThreadFn, OrtThreadingOptions* tp_options,
                  OrtCustomJoinThreadFn ort_custom_join_thread_fn);
  ORT_API2_STATUS(SynchronizeBoundInputs, OrtIoBinding* binding_ptr);
  ORT_API2_STATUS(SynchronizeBoundOutputs, OrtIoBinding* binding_ptr);
  // Since version 11.
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_CUDA_V2, OrtSessionOptions* options,
                  const OrtCUDAProviderOptionsV2* cuda_options);
  ORT_API2_STATUS(CreateCUDAProviderOptions, OrtCUDAProviderOptionsV2** out);
  ORT_API2_STATUS(UpdateCUDAProviderOptions, OrtCUDAProviderOptionsV2* cuda_options,
                  const char* const* provider_options_keys, const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(GetCUDAProviderOptionsAsString, const OrtCUDAProviderOptionsV2* cuda_options, OrtAllocator* allocator,
                  char** ptr);
  void(ORT_API_CALL* ReleaseCUDAProviderOptions)(OrtCUDAProviderOptionsV2* input);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_MIGraphX, OrtSessionOptions* options,
                  const OrtMIGraphXProviderOptions* migraphx_options);
  // Since version 12.
  ORT_API2_STATUS(AddExternalInitializers, OrtSessionOptions* options, const char* const* initializer_names,
                  const OrtValue* const* initializers, size_t num_initializers);
  ORT_API2_STATUS(CreateOpAttr, const char* name, const void* data, int len, OrtOpAttrType type, OrtOpAttr** op_attr);
  void(ORT_API_CALL* ReleaseOpAttr)(OrtOpAttr* input);
  ORT_API2_STATUS(CreateOp, const OrtKernelInfo* info, const char* op_name, const char* domain, int version,
                  const char** type_constraint_names, const ONNXTensorElementDataType* type_constraint_values,
                  int type_constraint_count, const OrtOpAttr* const* attr_values, int attr_count, int input_count,
                  int output_count, OrtOp** ort_op);
  ORT_API2_STATUS(InvokeOp, const OrtKernelContext* context, const OrtOp* ort_op, const OrtValue* const* input_values,
                  int input_count, OrtValue* const* output_values, int output_count);
  void(ORT_API_CALL* ReleaseOp)(OrtOp* input);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider, OrtSessionOptions* options, const char* provider_name,
                  const char* const* provider_options_keys, const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(CopyKernelInfo, const OrtKernelInfo* info, OrtKernelInfo** info_copy);
  void(ORT_API_CALL* ReleaseKernelInfo)(OrtKernelInfo* input);
  // Since version 13.
  const OrtTrainingApi*(ORT_API_CALL* GetTrainingApi)(uint32_t version)NO_EXCEPTION;
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_CANN, OrtSessionOptions* options,
                  const OrtCANNProviderOptions* cann_options);
  ORT_API2_STATUS(CreateCANNProviderOptions, OrtCANNProviderOptions** out);
  ORT_API2_STATUS(UpdateCANNProviderOptions, OrtCANNProviderOptions* cann_options, const char* const* provider_options_keys,
                  const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(GetCANNProviderOptionsAsString, const OrtCANNProviderOptions* cann_options, OrtAllocator* allocator,
                  char** ptr);
  void(ORT_API_CALL* ReleaseCANNProviderOptions)(OrtCANNProviderOptions* input);
  // Since version 14.
  void(ORT_API_CALL* MemoryInfoGetDeviceType)(const OrtMemoryInfo* ptr, OrtMemoryInfoDeviceType* out);
  ORT_API2_STATUS(UpdateEnvWithCustomLogLevel, OrtEnv* ort_env, OrtLoggingLevel log_severity_level);
  ORT_API2_STATUS(SetGlobalIntraOpThreadAffinity, OrtThreadingOptions* tp_options, const char* affinity_string);
  ORT_API2_STATUS(RegisterCustomOpsLibrary_V2, OrtSessionOptions* options, const ORTCHAR_T* library_name);
  ORT_API2_STATUS(RegisterCustomOpsUsingFunction, OrtSessionOptions* options, const char* registration_func_name);
  ORT_API2_STATUS(KernelInfo_GetInputCount, const OrtKernelInfo* info, size_t* out);
  ORT_API2_STATUS(KernelInfo_GetOutputCount, const OrtKernelInfo* info, size_t* out);
  ORT_API2_STATUS(KernelInfo_GetInputName, const OrtKernelInfo* info, size_t index, char* out, size_t* size);
  ORT_API2_STATUS(KernelInfo_GetOutputName, const OrtKernelInfo* info, size_t index, char* out, size_t* size);
  ORT_API2_STATUS(KernelInfo_GetInputTypeInfo, const OrtKernelInfo* info, size_t index, OrtTypeInfo** type_info);
  ORT_API2_STATUS(KernelInfo_GetOutputTypeInfo, const OrtKernelInfo* info, size_t index, OrtTypeInfo** type_info);
  ORT_API2_STATUS(KernelInfoGetAttribute_tensor, const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                  OrtValue** out);
  ORT_API2_STATUS(HasSessionConfigEntry, const OrtSessionOptions* options, const char* config_key, int* out);
  ORT_API2_STATUS(GetSessionConfigEntry, const OrtSessionOptions* options, const char* config_key, char* config_value,
                  size_t* size);
  // Since version 15.
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_Dnnl, OrtSessionOptions* options,
                  const OrtDnnlProviderOptions* dnnl_options);
  ORT_API2_STATUS(CreateDnnlProviderOptions, OrtDnnlProviderOptions** out);
  ORT_API2_STATUS(UpdateDnnlProviderOptions, OrtDnnlProviderOptions* dnnl_options, const char* const* provider_options_keys,
                  const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(GetDnnlProviderOptionsAsString, const OrtDnnlProviderOptions* dnnl_options, OrtAllocator* allocator,
                  char** ptr);
  void(ORT_API_CALL* ReleaseDnnlProviderOptions)(OrtDnnlProviderOptions* input);
  ORT_API2_STATUS(KernelInfo_GetNodeName, const OrtKernelInfo* info, char* out, size_t* size);
  ORT_API2_STATUS(KernelInfo_GetLogger, const OrtKernelInfo* info, const OrtLogger** logger);
  ORT_API2_STATUS(KernelContext_GetLogger, const OrtKernelContext* context, const OrtLogger** logger);
  ORT_API2_STATUS(Logger_LogMessage, const OrtLogger* logger, OrtLoggingLevel log_severity_level, const char* message,
                  const ORTCHAR_T* file_path, int line_number, const char* func_name);
  ORT_API2_STATUS(Logger_GetLoggingSeverityLevel, const OrtLogger* logger, OrtLoggingLevel* out);
  ORT_API2_STATUS(KernelInfoGetConstantInput_tensor, const OrtKernelInfo* info, size_t index, int* is_constant,
                  const OrtValue** out);
  ORT_API2_STATUS(CastTypeInfoToOptionalTypeInfo, const OrtTypeInfo* type_info, const OrtOptionalTypeInfo** out);
  ORT_API2_STATUS(GetOptionalContainedTypeInfo, const OrtOptionalTypeInfo* optional_type_info, OrtTypeInfo** out);
  ORT_API2_STATUS(GetResizedStringTensorElementBuffer, OrtValue* value, size_t index, size_t length_in_bytes,
                  char** buffer);
  ORT_API2_STATUS(KernelContext_GetAllocator, const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                  OrtAllocator** out);
  const char*(ORT_API_CALL* GetBuildInfoString)(void);
  // Since version 16.
  ORT_API2_STATUS(CreateROCMProviderOptions, OrtROCMProviderOptions** out);
  ORT_API2_STATUS(UpdateROCMProviderOptions, OrtROCMProviderOptions* rocm_options, const char* const* provider_options_keys,
                  const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(GetROCMProviderOptionsAsString, const OrtROCMProviderOptions* rocm_options, OrtAllocator* allocator,
                  char** ptr);
  void(ORT_API_CALL* ReleaseROCMProviderOptions)(OrtROCMProviderOptions* input);
  ORT_API2_STATUS(CreateAndRegisterAllocatorV2, OrtEnv* env, const char* provider_type, const OrtMemoryInfo* mem_info,
                  const OrtArenaCfg* arena_cfg, const char* const* provider_options_keys,
                  const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(RunAsync, OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                  const OrtValue* const* input, size_t input_len, const char* const* output_names, size_t output_names_len,
                  OrtValue** output, RunAsyncCallbackFn run_async_callback, void* user_data);
  ORT_API2_STATUS(UpdateTensorRTProviderOptionsWithValue, OrtTensorRTProviderOptionsV2* tensorrt_options, const char* key,
                  void* value);
  ORT_API2_STATUS(GetTensorRTProviderOptionsByName, const OrtTensorRTProviderOptionsV2* tensorrt_options, const char* key,
                  void** ptr);
  ORT_API2_STATUS(UpdateCUDAProviderOptionsWithValue, OrtCUDAProviderOptionsV2* cuda_options, const char* key, void* value);
  ORT_API2_STATUS(GetCUDAProviderOptionsByName, const OrtCUDAProviderOptionsV2* cuda_options, const char* key, void** ptr);
  ORT_API2_STATUS(KernelContext_GetResource, const OrtKernelContext* context, int resource_version, int resource_id,
                  void** resource);
  // Since version 17.
  ORT_API2_STATUS(SetUserLoggingFunction, OrtSessionOptions* options, OrtLoggingFunction user_logging_function,
                  void* user_logging_param);
  ORT_API2_STATUS(ShapeInferContext_GetInputCount, const OrtShapeInferContext* context, size_t* out);
  ORT_API2_STATUS(ShapeInferContext_GetInputTypeShape, const OrtShapeInferContext* context, size_t index,
                  OrtTensorTypeAndShapeInfo** info);
  ORT_API2_STATUS(ShapeInferContext_GetAttribute, const OrtShapeInferContext* context, const char* attr_name,
                  const OrtOpAttr** attr);
  ORT_API2_STATUS(ShapeInferContext_SetOutputTypeShape, const OrtShapeInferContext* context, size_t index,
                  const OrtTensorTypeAndShapeInfo* info);
  ORT_API2_STATUS(SetSymbolicDimensions, OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                  size_t dim_params_length);
  ORT_API2_STATUS(ReadOpAttr, const OrtOpAttr* op_attr, OrtOpAttrType type, void* data, size_t len, size_t* out);
  ORT_API2_STATUS(SetDeterministicCompute, OrtSessionOptions* options, bool value);
  ORT_API2_STATUS(KernelContext_ParallelFor, const OrtKernelContext* context, void (*fn)(void*, size_t), size_t total,
                  size_t num_batch, void* usr_data);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_OpenVINO_V2, OrtSessionOptions* options,
                  const char* const* provider_options_keys, const char* const* provider_options_values, size_t num_keys);
  // Since version 18.
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_VitisAI, OrtSessionOptions* options,
                  const char* const* provider_options_keys, const char* const* provider_options_values, size_t num_keys);
  ORT_API2_STATUS(KernelContext_GetScratchBuffer, const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                  size_t count_or_bytes, void** out);
  ORT_API2_STATUS(KernelInfoGetAllocator, const OrtKernelInfo* info, OrtMemType mem_type, OrtAllocator** out);
  ORT_API2_STATUS(AddExternalInitializersFromFilesInMemory, OrtSessionOptions* options,
                  const ORTCHAR_T* const* external_initializer_file_names,
                  char* const* external_initializer_file_buffer_array, const size_t* external_initializer_file_lengths,
                  size_t num_external_initializer_files);
  // Since version 20.
  ORT_API2_STATUS(CreateLoraAdapter, const ORTCHAR_T* adapter_file_path, OrtAllocator* allocator, OrtLoraAdapter** out);
  ORT_API2_STATUS(CreateLoraAdapterFromArray, const void* bytes, size_t num_bytes, OrtAllocator* allocator,
                  OrtLoraAdapter** out);
  void(ORT_API_CALL* ReleaseLoraAdapter)(OrtLoraAdapter* input);
  ORT_API2_STATUS(RunOptionsAddActiveLoraAdapter, OrtRunOptions* options, const OrtLoraAdapter* adapter);
  ORT_API2_STATUS(SetEpDynamicOptions, OrtSession* sess, const char* const* keys, const char* const* values, size_t kv_len);
  // Since version 22.
  void(ORT_API_CALL* ReleaseValueInfo)(OrtValueInfo* input);
  void(ORT_API_CALL* ReleaseNode)(OrtNode* input);
  void(ORT_API_CALL* ReleaseGraph)(OrtGraph* input);
  void(ORT_API_CALL* ReleaseModel)(OrtModel* input);
  ORT_API2_STATUS(GetValueInfoName, const OrtValueInfo* value_info, const char** name);
  ORT_API2_STATUS(GetValueInfoTypeInfo, const OrtValueInfo* value_info, const OrtTypeInfo** type_info);
  const OrtModelEditorApi*(ORT_API_CALL* GetModelEditorApi)(void);
  ORT_API2_STATUS(CreateTensorWithDataAndDeleterAsOrtValue, OrtAllocator* deleter, void* p_data, size_t p_data_len,
                  const int64_t* shape, size_t shape_len, ONNXTensorElementDataType type, OrtValue** out);
  ORT_API2_STATUS(SessionOptionsSetLoadCancellationFlag, OrtSessionOptions* options, bool cancel);
  const OrtCompileApi*(ORT_API_CALL* GetCompileApi)(void);
  void(ORT_API_CALL* CreateKeyValuePairs)(OrtKeyValuePairs** out);
  void(ORT_API_CALL* AddKeyValuePair)(OrtKeyValuePairs* kvps, const char* key, const char* value);
  const char*(ORT_API_CALL* GetKeyValue)(const OrtKeyValuePairs* kvps, const char* key);
  void(ORT_API_CALL* GetKeyValuePairs)(const OrtKeyValuePairs* kvps, const char* const** keys, const char* const** values,
                                       size_t* num_entries);
  void(ORT_API_CALL* RemoveKeyValuePair)(OrtKeyValuePairs* kvps, const char* key);
  void(ORT_API_CALL* ReleaseKeyValuePairs)(OrtKeyValuePairs* input);
  ORT_API2_STATUS(RegisterExecutionProviderLibrary, OrtEnv* env, const char* registration_name, const ORTCHAR_T* path);
  ORT_API2_STATUS(UnregisterExecutionProviderLibrary, OrtEnv* env, const char* registration_name);
  ORT_API2_STATUS(GetEpDevices, const OrtEnv* env, const OrtEpDevice* const** ep_devices, size_t* num_ep_devices);
  ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_V2, OrtSessionOptions* session_options, OrtEnv* env,
                  const OrtEpDevice* const* ep_devices, size_t num_ep_devices, const char* const* ep_option_keys,
                  const char* const* ep_option_vals, size_t num_ep_options);
  ORT_API2_STATUS(SessionOptionsSetEpSelectionPolicy, OrtSessionOptions* session_options,
                  OrtExecutionProviderDevicePolicy policy);
  ORT_API2_STATUS(SessionOptionsSetEpSelectionPolicyDelegate, OrtSessionOptions* session_options,
                  EpSelectionDelegate delegate, void* delegate_state);
  OrtHardwareDeviceType(ORT_API_CALL* HardwareDevice_Type)(const OrtHardwareDevice* device);
  uint32_t(ORT_API_CALL* HardwareDevice_VendorId)(const OrtHardwareDevice* device);
  const char*(ORT_API_CALL* HardwareDevice_Vendor)(const OrtHardwareDevice* device);
  uint32_t(ORT_API_CALL* HardwareDevice_DeviceId)(const OrtHardwareDevice* device);
  const OrtKeyValuePairs*(ORT_API_CALL* HardwareDevice_Metadata)(const OrtHardwareDevice* device);
  const char*(ORT_API_CALL* EpDevice_EpName)(const OrtEpDevice* ep_device);
  const char*(ORT_API_CALL* EpDevice_EpVendor)(const OrtEpDevice* ep_device);
  const OrtKeyValuePairs*(ORT_API_CALL* EpDevice_EpMetadata)(const OrtEpDevice* ep_device);
  const OrtKeyValuePairs*(ORT_API_CALL* EpDevice_EpOptions)(const OrtEpDevice* ep_device);
  const OrtHardwareDevice*(ORT_API_CALL* EpDevice_Device)(const OrtEpDevice* ep_device);
  const OrtEpApi*(ORT_API_CALL* GetEpApi)(void);
  // Since version 23.
  ORT_API2_STATUS(GetTensorSizeInBytes, const OrtValue* ort_value, size_t* size);
  ORT_API2_STATUS(AllocatorGetStats, const OrtAllocator* ort_allocator, OrtKeyValuePairs** out);
  ORT_API2_STATUS(CreateMemoryInfo_V2, const char* name, enum OrtMemoryInfoDeviceType device_type, uint32_t vendor_id,
                  int32_t device_id, enum OrtDeviceMemoryType mem_type, size_t alignment,
                  enum OrtAllocatorType allocator_type, OrtMemoryInfo** out);
  OrtDeviceMemoryType(ORT_API_CALL* MemoryInfoGetDeviceMemType)(const OrtMemoryInfo* ptr) NO_EXCEPTION;
  uint32_t(ORT_API_CALL* MemoryInfoGetVendorId)(const OrtMemoryInfo* ptr) NO_EXCEPTION;
  ORT_API2_STATUS(ValueInfo_GetValueProducer, const OrtValueInfo* value_info, const OrtNode** producer_node,
                  size_t* producer_output_index);
  ORT_API2_STATUS(ValueInfo_GetValueNumConsumers, const OrtValueInfo* value_info, size_t* num_consumers);
  ORT_API2_STATUS(ValueInfo_GetValueConsumers, const OrtValueInfo* value_info, const OrtNode** nodes,
                  int64_t* input_indices, size_t num_consumers);
  ORT_API2_STATUS(ValueInfo_GetInitializerValue, const OrtValueInfo* value_info, const OrtValue** initializer_value);
  ORT_API2_STATUS(ValueInfo_GetExternalInitializerInfo, const OrtValueInfo* value_info, OrtExternalInitializerInfo** info);
  ORT_API2_STATUS(ValueInfo_IsRequiredGraphInput, const OrtValueInfo* value_info, bool* is_required_graph_input);
  ORT_API2_STATUS(ValueInfo_IsOptionalGraphInput, const OrtValueInfo* value_info, bool* is_optional_graph_input);
  ORT_API2_STATUS(ValueInfo_IsGraphOutput, const OrtValueInfo* value_info, bool* is_graph_output);
  ORT_API2_STATUS(ValueInfo_IsConstantInitializer, const OrtValueInfo* value_info, bool* is_constant_initializer);
  ORT_API2_STATUS(ValueInfo_IsFromOuterScope, const OrtValueInfo* value_info, bool* is_from_outer_scope);
  ORT_API2_STATUS(Graph_GetName, const OrtGraph* graph, const char** graph_name);
  ORT_API2_STATUS(Graph_GetModelPath, const OrtGraph* graph, const ORTCHAR_T** model_path);
  ORT_API2_STATUS(Graph_GetOnnxIRVersion, const OrtGraph* graph, int64_t* onnx_ir_version);
  ORT_API2_STATUS(Graph_GetNumOperatorSets, const OrtGraph* graph, size_t* num_operator_sets);
  ORT_API2_STATUS(Graph_GetOperatorSets, const OrtGraph* graph, const char** domains, int64_t* opset_versions,
                  size_t num_operator_sets);
  ORT_API2_STATUS(Graph_GetNumInputs, const OrtGraph* graph, size_t* num_inputs);
  ORT_API2_STATUS(Graph_GetInputs, const OrtGraph* graph, const OrtValueInfo** inputs, size_t num_inputs);
  ORT_API2_STATUS(Graph_GetNumOutputs, const OrtGraph* graph, size_t* num_outputs);
  ORT_API2_STATUS(Graph_GetOutputs, const OrtGraph* graph, const OrtValueInfo** outputs, size_t num_outputs);
  ORT_API2_STATUS(Graph_GetNumInitializers, const OrtGraph* graph, size_t* num_initializers);
  ORT_API2_STATUS(Graph_GetInitializers, const OrtGraph* graph, const OrtValueInfo** initializers, size_t num_initializers);
  ORT_API2_STATUS(Graph_GetNumNodes, const OrtGraph* graph, size_t* num_nodes);
  ORT_API2_STATUS(Graph_GetNodes, const OrtGraph* graph, const OrtNode** nodes, size_t num_nodes);
  ORT_API2_STATUS(Graph_GetParentNode, const OrtGraph* graph, const OrtNode** node);
  ORT_API2_STATUS(Graph_GetGraphView, const OrtGraph* src_graph, const OrtNode** nodes, size_t num_nodes,
                  OrtGraph** dst_graph);
  ORT_API2_STATUS(Node_GetId, const OrtNode* node, size_t* node_id);
  ORT_API2_STATUS(Node_GetName, const OrtNode* node, const char** node_name);
  ORT_API2_STATUS(Node_GetOperatorType, const OrtNode* node, const char** operator_type);
  ORT_API2_STATUS(Node_GetDomain, const OrtNode* node, const char** domain_name);
  ORT_API2_STATUS(Node_GetSinceVersion, const OrtNode* node, int* since_version);
  ORT_API2_STATUS(Node_GetNumInputs, const OrtNode* node, size_t* num_inputs);
  ORT_API2_STATUS(Node_GetInputs, const OrtNode* node, const OrtValueInfo** inputs, size_t num_inputs);
  ORT_API2_STATUS(Node_GetNumOutputs, const OrtNode* node, size_t* num_outputs);
  ORT_API2_STATUS(Node_GetOutputs, const OrtNode* node, const OrtValueInfo** outputs, size_t num_outputs);
  ORT_API2_STATUS(Node_GetNumImplicitInputs, const OrtNode* node, size_t* num_implicit_inputs);
  ORT_API2_STATUS(Node_GetImplicitInputs, const OrtNode* node, const OrtValueInfo** implicit_inputs,
                  size_t num_implicit_inputs);
  ORT_API2_STATUS(Node_GetNumAttributes, const OrtNode* node, size_t* num_attributes);
  ORT_API2_STATUS(Node_GetAttributes, const OrtNode* node, const OrtOpAttr** attributes, size_t num_attributes);
  ORT_API2_STATUS(Node_GetAttributeByName, const OrtNode* node, const char* attribute_name, const OrtOpAttr** attribute);
  ORT_API2_STATUS(OpAttr_GetTensorAttributeAsOrtValue, const OrtOpAttr* attribute, OrtValue** attr_tensor);
  ORT_API2_STATUS(OpAttr_GetType, const OrtOpAttr* attribute, OrtOpAttrType* type);
  ORT_API2_STATUS(OpAttr_GetName, const OrtOpAttr* attribute, const char** name);
  ORT_API2_STATUS(Node_GetNumSubgraphs, const OrtNode* node, size_t* num_subgraphs);
  ORT_API2_STATUS(Node_GetSubgraphs, const OrtNode* node, const OrtGraph** subgraphs, size_t num_subgraphs,
                  const char** attribute_names);
  ORT_API2_STATUS(Node_GetGraph, const OrtNode* node, const OrtGraph** graph);
  ORT_API2_STATUS(Node_GetEpName, const OrtNode* node, const char** out);
  void(ORT_API_CALL* ReleaseExternalInitializerInfo)(OrtExternalInitializerInfo* input);
  const ORTCHAR_T*(ORT_API_CALL* ExternalInitializerInfo_GetFilePath)(const OrtExternalInitializerInfo* info)NO_EXCEPTION;
  int64_t(ORT_API_CALL* ExternalInitializerInfo_GetFileOffset)(const OrtExternalInitializerInfo* info) NO_EXCEPTION;
  size_t(ORT_API_CALL* ExternalInitializerInfo_GetByteSize)(const OrtExternalInitializerInfo* info) NO_EXCEPTION;
  const char*(ORT_API_CALL* GetRunConfigEntry)(const OrtRunOptions* options, const char* config_key)NO_EXCEPTION;
  const OrtMemoryInfo*(ORT_API_CALL* EpDevice_MemoryInfo)(const OrtEpDevice* ep_device,
                                                          OrtDeviceMemoryType memory_type)NO_EXCEPTION;
  ORT_API2_STATUS(CreateSharedAllocator, OrtEnv* env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type,
                  OrtAllocatorType allocator_type, const OrtKeyValuePairs* allocator_options, OrtAllocator** allocator);
  ORT_API2_STATUS(GetSharedAllocator, OrtEnv* env, const OrtMemoryInfo* mem_info, OrtAllocator** allocator);
  ORT_API2_STATUS(ReleaseSharedAllocator, OrtEnv* env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type);
  ORT_API2_STATUS(GetTensorData, const OrtValue* value, const void** out);
  ORT_API2_STATUS(GetSessionOptionsConfigEntries, const OrtSessionOptions* options, OrtKeyValuePairs** out);
  ORT_API2_STATUS(SessionGetMemoryInfoForInputs, const OrtSession* session, const OrtMemoryInfo** inputs_memory_info,
                  size_t num_inputs);
  ORT_API2_STATUS(SessionGetMemoryInfoForOutputs, const OrtSession* session, const OrtMemoryInfo** outputs_memory_info,
                  size_t num_outputs);
  ORT_API2_STATUS(SessionGetEpDeviceForInputs, const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                  size_t num_inputs);
  ORT_API2_STATUS(CreateSyncStreamForEpDevice, const OrtEpDevice* ep_device, const OrtKeyValuePairs* stream_options,
                  OrtSyncStream** stream);
  void*(ORT_API_CALL* SyncStream_GetHandle)(OrtSyncStream* stream)NO_EXCEPTION;
  void(ORT_API_CALL* ReleaseSyncStream)(OrtSyncStream* input);
  ORT_API2_STATUS(CopyTensors, const OrtEnv* env, const OrtValue* const* src_tensors, OrtValue* const* dst_tensors,
                  OrtSyncStream* stream, size_t num_tensors);
  ORT_API2_STATUS(Graph_GetModelMetadata, const OrtGraph* graph, OrtModelMetadata** out);
  ORT_API2_STATUS(GetModelCompatibilityForEpDevices, const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
                  const char* compatibility_info, OrtCompiledModelCompatibility* out_status);
  ORT_API2_STATUS(CreateExternalInitializerInfo, const ORTCHAR_T* filepath, int64_t file_offset, size_t byte_size,
                  OrtExternalInitializerInfo** out);
  // Since version 24.
  bool(ORT_API_CALL* TensorTypeAndShape_HasShape)(const OrtTensorTypeAndShapeInfo* info) NO_EXCEPTION;
  ORT_API2_STATUS(KernelInfo_GetConfigEntries, const OrtKernelInfo* info, OrtKeyValuePairs** out);
  ORT_API2_STATUS(KernelInfo_GetOperatorDomain, const OrtKernelInfo* info, char* out, size_t* size);
  ORT_API2_STATUS(KernelInfo_GetOperatorType, const OrtKernelInfo* info, char* out, size_t* size);
  ORT_API2_STATUS(KernelInfo_GetOperatorSinceVersion, const OrtKernelInfo* info, int* since_version);
  const OrtInteropApi*(ORT_API_CALL* GetInteropApi)(void);
  ORT_API2_STATUS(SessionGetEpDeviceForOutputs, const OrtSession* session, const OrtEpDevice** outputs_ep_devices,
                  size_t num_outputs);
  ORT_API2_STATUS(GetNumHardwareDevices, const OrtEnv* env, size_t* num_devices);
  ORT_API2_STATUS(GetHardwareDevices, const OrtEnv* env, const OrtHardwareDevice** devices, size_t num_devices);
  ORT_API2_STATUS(GetHardwareDeviceEpIncompatibilityDetails, const OrtEnv* env, const char* ep_name,
                  const OrtHardwareDevice* hw, OrtDeviceEpIncompatibilityDetails** details);
  ORT_API2_STATUS(DeviceEpIncompatibilityDetails_GetReasonsBitmask, const OrtDeviceEpIncompatibilityDetails* details,
                  uint32_t* reasons_bitmask);
  ORT_API2_STATUS(DeviceEpIncompatibilityDetails_GetNotes, const OrtDeviceEpIncompatibilityDetails* details,
                  const char** notes);
  ORT_API2_STATUS(DeviceEpIncompatibilityDetails_GetErrorCode, const OrtDeviceEpIncompatibilityDetails* details,
                  int32_t* error_code);
  void(ORT_API_CALL* ReleaseDeviceEpIncompatibilityDetails)(OrtDeviceEpIncompatibilityDetails* input);
  ORT_API2_STATUS(GetCompatibilityInfoFromModel, const ORTCHAR_T* model_path, const char* ep_type, OrtAllocator* allocator,
                  char** compatibility_info);
  ORT_API2_STATUS(GetCompatibilityInfoFromModelBytes, const void* model_data, size_t model_data_length, const char* ep_type,
                  OrtAllocator* allocator, char** compatibility_info);
  ORT_API2_STATUS(CreateEnvWithOptions, const OrtEnvCreationOptions* options, OrtEnv** out);
  ORT_API2_STATUS(Session_GetEpGraphAssignmentInfo, const OrtSession* session,
                  const OrtEpAssignedSubgraph* const** ep_subgraphs, size_t* num_ep_subgraphs);
  ORT_API2_STATUS(EpAssignedSubgraph_GetEpName, const OrtEpAssignedSubgraph* ep_subgraph, const char** out);
  ORT_API2_STATUS(EpAssignedSubgraph_GetNodes, const OrtEpAssignedSubgraph* ep_subgraph,
                  const OrtEpAssignedNode* const** ep_nodes, size_t* num_ep_nodes);
  ORT_API2_STATUS(EpAssignedNode_GetName, const OrtEpAssignedNode* ep_node, const char** out);
  ORT_API2_STATUS(EpAssignedNode_GetDomain, const OrtEpAssignedNode* ep_node, const char** out);
  ORT_API2_STATUS(EpAssignedNode_GetOperatorType, const OrtEpAssignedNode* ep_node, const char** out);
  void(ORT_API_CALL* RunOptionsSetSyncStream)(OrtRunOptions* options, OrtSyncStream* sync_stream) NO_EXCEPTION;
  ORT_API2_STATUS(GetTensorElementTypeAndShapeDataReference, const OrtValue* value, ONNXTensorElementDataType* elem_type,
                  const int64_t** shape_data, size_t* shape_data_count);
  // Since version 25.
  ORT_API2_STATUS(RunOptionsEnableProfiling, OrtRunOptions* options, const ORTCHAR_T* profile_file_prefix);
  ORT_API2_STATUS(RunOptionsDisableProfiling, OrtRunOptions* options);
  ORT_API2_STATUS(KernelInfoGetAttributeArray_string, const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                  char*** out, size_t* size);
  ORT_API2_STATUS(SetPerSessionThreadPoolCallbacks, OrtEnv* env, const OrtThreadPoolCallbacksConfig* config);
  // Since version 27.
  ORT_API2_STATUS(GetMemPatternEnabled, const OrtSessionOptions* options, int* out);
  ORT_API2_STATUS(GetSessionExecutionMode, const OrtSessionOptions* options, ExecutionMode* out);
  ORT_API2_STATUS(SessionReleaseCapturedGraph, OrtSession* session, int graph_annotation_id);
  // Since version 28.
  OrtExperimentalFnPtr(ORT_API_CALL* GetExperimentalFunction)(const char* name) NO_EXCEPTION;
  ORT_API2_STATUS(KernelContext_GetSyncStream, const OrtKernelContext* context, OrtSyncStream** out);
  // Since version 29.
  ORT_API2_STATUS(SessionOptionsSetWeightlessSourceModelBuffer, OrtSessionOptions* options, const void* source_model_data,
                  size_t source_model_data_length);
  // Since version 30.
  ORT_API2_STATUS(KernelContext_GetPreallocatedOutput, const OrtKernelContext* context, size_t output_index,
                  OrtValue** output);
  // Since version 31.
  ORT_API2_STATUS(SessionOptionsSetEpContextDataReadFunc, OrtSessionOptions* options, OrtReadNamedBufferFunc read_func,
                  void* state);
  const OrtModelPackageApi*(ORT_API_CALL* GetModelPackageApi)(void)NO_EXCEPTION;
};

/* An operator of the client's. Members exist from the version on that stands beside them, by `version`. */
struct OrtCustomOp {
  uint32_t version;
  void*(ORT_API_CALL* CreateKernel)(const struct OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info);
  const char*(ORT_API_CALL* GetName)(const struct OrtCustomOp* op);
  const char*(ORT_API_CALL* GetExecutionProviderType)(const struct OrtCustomOp* op);
  ONNXTensorElementDataType(ORT_API_CALL* GetInputType)(const struct OrtCustomOp* op, size_t index);
  size_t(ORT_API_CALL* GetInputTypeCount)(const struct OrtCustomOp* op);
  ONNXTensorElementDataType(ORT_API_CALL* GetOutputType)(const struct OrtCustomOp* op, size_t index);
  size_t(ORT_API_CALL* GetOutputTypeCount)(const struct OrtCustomOp* op);
  void(ORT_API_CALL* KernelCompute)(void* op_kernel, OrtKernelContext* context);
  void(ORT_API_CALL* KernelDestroy)(void* op_kernel);
  OrtCustomOpInputOutputCharacteristic(ORT_API_CALL* GetInputCharacteristic)(const struct OrtCustomOp* op, size_t index);
  OrtCustomOpInputOutputCharacteristic(ORT_API_CALL* GetOutputCharacteristic)(const struct OrtCustomOp* op, size_t index);
  OrtMemType(ORT_API_CALL* GetInputMemoryType)(const struct OrtCustomOp* op, size_t index); /* 13 */
  int(ORT_API_CALL* GetVariadicInputMinArity)(const struct OrtCustomOp* op);                /* 14 */
  int(ORT_API_CALL* GetVariadicInputHomogeneity)(const struct OrtCustomOp* op);             /* 14 */
  int(ORT_API_CALL* GetVariadicOutputMinArity)(const struct OrtCustomOp* op);               /* 14 */
  int(ORT_API_CALL* GetVariadicOutputHomogeneity)(const struct OrtCustomOp* op);            /* 14 */
  OrtStatusPtr(ORT_API_CALL* CreateKernelV2)(const struct OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                             void** kernel);                                                   /* 16 */
  OrtStatusPtr(ORT_API_CALL* KernelComputeV2)(void* op_kernel, OrtKernelContext* context);                     /* 16 */
  OrtStatusPtr(ORT_API_CALL* InferOutputShapeFn)(const struct OrtCustomOp* op, OrtShapeInferContext* context); /* 17 */
  int(ORT_API_CALL* GetStartVersion)(const struct OrtCustomOp* op);                                            /* 17 */
  int(ORT_API_CALL* GetEndVersion)(const struct OrtCustomOp* op);                                              /* 17 */
  size_t(ORT_API_CALL* GetMayInplace)(int** input_index, int** output_index);                                  /* 18 */
  void(ORT_API_CALL* ReleaseMayInplace)(int* input_index, int* output_index);                                  /* 18 */
  size_t(ORT_API_CALL* GetAliasMap)(int** input_index, int** output_index);                                    /* 18 */
  void(ORT_API_CALL* ReleaseAliasMap)(int* input_index, int* output_index);                                    /* 18 */
};

/* Models made or changed by a program. */
struct OrtModelEditorApi {
  // Since version 22.
  ORT_API2_STATUS(CreateTensorTypeInfo, const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info);
  ORT_API2_STATUS(CreateSparseTensorTypeInfo, const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info);
  ORT_API2_STATUS(CreateMapTypeInfo, ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type,
                  OrtTypeInfo** type_info);
  ORT_API2_STATUS(CreateSequenceTypeInfo, const OrtTypeInfo* sequence_type, OrtTypeInfo** type_info);
  ORT_API2_STATUS(CreateOptionalTypeInfo, const OrtTypeInfo* contained_type, OrtTypeInfo** type_info);
  ORT_API2_STATUS(CreateValueInfo, const char* name, const OrtTypeInfo* type_info, OrtValueInfo** value_info);
  ORT_API2_STATUS(CreateNode, const char* operator_name, const char* domain_name, const char* node_name,
                  const char* const* input_names, size_t input_names_len, const char* const* output_names,
                  size_t output_names_len, OrtOpAttr** attributes, size_t attribs_len, OrtNode** node);
  ORT_API2_STATUS(CreateGraph, OrtGraph** graph);
  ORT_API2_STATUS(SetGraphInputs, OrtGraph* graph, OrtValueInfo** inputs, size_t inputs_len);
  ORT_API2_STATUS(SetGraphOutputs, OrtGraph* graph, OrtValueInfo** outputs, size_t outputs_len);
  ORT_API2_STATUS(AddInitializerToGraph, OrtGraph* graph, const char* name, OrtValue* tensor, bool data_is_external);
  ORT_API2_STATUS(AddNodeToGraph, OrtGraph* graph, OrtNode* node);
  ORT_API2_STATUS(CreateModel, const char* const* domain_names, const int* opset_versions, size_t opset_entries_len,
                  OrtModel** model);
  ORT_API2_STATUS(AddGraphToModel, OrtModel* model, OrtGraph* graph);
  ORT_API2_STATUS(CreateSessionFromModel, const OrtEnv* env, const OrtModel* model, const OrtSessionOptions* options,
                  OrtSession** out);
  ORT_API2_STATUS(CreateModelEditorSession, const OrtEnv* env, const ORTCHAR_T* model_path,
                  const OrtSessionOptions* options, OrtSession** out);
  ORT_API2_STATUS(CreateModelEditorSessionFromArray, const OrtEnv* env, const void* model_data, size_t model_data_length,
                  const OrtSessionOptions* options, OrtSession** out);
  ORT_API2_STATUS(SessionGetOpsetForDomain, const OrtSession* session, const char* domain, int* opset);
  ORT_API2_STATUS(ApplyModelToModelEditorSession, OrtSession* session, OrtModel* model);
  ORT_API2_STATUS(FinalizeModelEditorSession, OrtSession* session, const OrtSessionOptions* options,
                  OrtPrepackedWeightsContainer* prepacked_weights_container);
};

/* Models compiled ahead of time. */
typedef enum OrtCompileApiFlags ORT_ENUM_BASE {
  OrtCompileApiFlags_NONE = 0,
  OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED = 1 << 0,
  OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS = 1 << 1
} OrtCompileApiFlags;

struct OrtCompileApi {
  // Since version 22.
  void(ORT_API_CALL* ReleaseModelCompilationOptions)(OrtModelCompilationOptions* input);
  ORT_API2_STATUS(CreateModelCompilationOptionsFromSessionOptions, const OrtEnv* env,
                  const OrtSessionOptions* session_options, OrtModelCompilationOptions** out);
  ORT_API2_STATUS(ModelCompilationOptions_SetInputModelPath, OrtModelCompilationOptions* model_compile_options,
                  const ORTCHAR_T* input_model_path);
  ORT_API2_STATUS(ModelCompilationOptions_SetInputModelFromBuffer, OrtModelCompilationOptions* model_compile_options,
                  const void* input_model_data, size_t input_model_data_size);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelPath, OrtModelCompilationOptions* model_compile_options,
                  const ORTCHAR_T* output_model_path);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelExternalInitializersFile,
                  OrtModelCompilationOptions* model_compile_options, const ORTCHAR_T* external_initializers_file_path,
                  size_t external_initializers_size_threshold);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelBuffer, OrtModelCompilationOptions* model_compile_options,
                  OrtAllocator* allocator, void** output_model_buffer_ptr, size_t* output_model_buffer_size_ptr);
  ORT_API2_STATUS(ModelCompilationOptions_SetEpContextEmbedMode, OrtModelCompilationOptions* model_compile_options,
                  bool embed_ep_context_in_model);
  ORT_API2_STATUS(CompileModel, const OrtEnv* env, const OrtModelCompilationOptions* model_options);
  // Since version 23.
  ORT_API2_STATUS(ModelCompilationOptions_SetFlags, OrtModelCompilationOptions* model_compile_options, uint32_t flags);
  ORT_API2_STATUS(ModelCompilationOptions_SetEpContextBinaryInformation, OrtModelCompilationOptions* model_compile_options,
                  const ORTCHAR_T* output_directory, const ORTCHAR_T* model_name);
  ORT_API2_STATUS(ModelCompilationOptions_SetGraphOptimizationLevel, OrtModelCompilationOptions* model_compile_options,
                  GraphOptimizationLevel graph_optimization_level);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelWriteFunc, OrtModelCompilationOptions* model_compile_options,
                  OrtWriteBufferFunc write_func, void* state);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc,
                  OrtModelCompilationOptions* model_compile_options,
                  OrtGetInitializerLocationFunc get_initializer_location_func, void* state);
  // Since version 24.
  ORT_API2_STATUS(ModelCompilationOptions_SetInputModel, OrtModelCompilationOptions* model_compile_options,
                  const OrtModel* model);
  // Since version 30.
  ORT_API2_STATUS(ModelCompilationOptions_SetWeightlessEnabled, OrtModelCompilationOptions* model_compile_options,
                  bool enabled);
  // Since version 31.
  ORT_API2_STATUS(ModelCompilationOptions_SetEpContextDataWriteFunc, OrtModelCompilationOptions* model_compile_options,
                  OrtWriteNamedBufferFunc write_func, void* state);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelExternalInitializersBuffer,
                  OrtModelCompilationOptions* model_compile_options, const ORTCHAR_T* logical_file_name,
                  size_t external_initializers_size_threshold, OrtAllocator* allocator, void** output_buffer_ptr,
                  size_t* output_buffer_size_ptr);
  ORT_API2_STATUS(ModelCompilationOptions_SetOutputModelExternalInitializersAlignment,
                  OrtModelCompilationOptions* model_compile_options, size_t alignment, size_t minimum_size);
};

/* Memory shared with graphics programs. */
struct OrtInteropApi {
  // Since version 24.
  ORT_API2_STATUS(CreateExternalResourceImporterForDevice, const OrtEpDevice* ep_device,
                  OrtExternalResourceImporter** out_importer);
  void(ORT_API_CALL* ReleaseExternalResourceImporter)(OrtExternalResourceImporter* input);
  ORT_API2_STATUS(CanImportMemory, const OrtExternalResourceImporter* importer, OrtExternalMemoryHandleType handle_type,
                  bool* out_supported);
  ORT_API2_STATUS(ImportMemory, OrtExternalResourceImporter* importer, const OrtExternalMemoryDescriptor* desc,
                  OrtExternalMemoryHandle** out_handle);
  void(ORT_API_CALL* ReleaseExternalMemoryHandle)(OrtExternalMemoryHandle* input);
  ORT_API2_STATUS(CreateTensorFromMemory, OrtExternalResourceImporter* importer, const OrtExternalMemoryHandle* mem_handle,
                  const OrtExternalTensorDescriptor* tensor_desc, OrtValue** out_tensor);
  ORT_API2_STATUS(CanImportSemaphore, const OrtExternalResourceImporter* importer, OrtExternalSemaphoreType type,
                  bool* out_supported);
  ORT_API2_STATUS(ImportSemaphore, OrtExternalResourceImporter* importer, const OrtExternalSemaphoreDescriptor* desc,
                  OrtExternalSemaphoreHandle** out_handle);
  void(ORT_API_CALL* ReleaseExternalSemaphoreHandle)(OrtExternalSemaphoreHandle* input);
  ORT_API2_STATUS(WaitSemaphore, OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* semaphore_handle,
                  OrtSyncStream* stream, uint64_t value);
  ORT_API2_STATUS(SignalSemaphore, OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* semaphore_handle,
                  OrtSyncStream* stream, uint64_t value);
  // Since version 25.
  ORT_API2_STATUS(InitGraphicsInteropForEpDevice, const OrtEpDevice* ep_device, const OrtGraphicsInteropConfig* config);
  ORT_API2_STATUS(DeinitGraphicsInteropForEpDevice, const OrtEpDevice* ep_device);
};

/* Models in several variants, in one folder. */
struct OrtModelPackageApi {
  // Since version 31.
  ORT_API2_STATUS(CreateModelPackageOptionsFromSessionOptions, const OrtEnv* env, const OrtSessionOptions* session_options,
                  OrtModelPackageOptions** out);
  void(ORT_API_CALL* ReleaseModelPackageOptions)(OrtModelPackageOptions* value);
  ORT_API2_STATUS(CreateModelPackageContext, const ORTCHAR_T* package_root, OrtModelPackageContext** out);
  void(ORT_API_CALL* ReleaseModelPackageContext)(OrtModelPackageContext* value);
  ORT_API2_STATUS(ModelPackage_GetSchemaVersion, const OrtModelPackageContext* ctx, int64_t* out_version);
  ORT_API2_STATUS(ModelPackage_GetComponentCount, const OrtModelPackageContext* ctx, size_t* out_version);
  ORT_API2_STATUS(ModelPackage_GetComponentNames, const OrtModelPackageContext* ctx, const char* const** out_names,
                  size_t* out_count);
  ORT_API2_STATUS(ModelPackage_GetVariantCount, const OrtModelPackageContext* ctx, const char* component_name,
                  size_t* out_count);
  ORT_API2_STATUS(ModelPackage_GetVariantNames, const OrtModelPackageContext* ctx, const char* component_name,
                  const char* const** out_variant_names, size_t* out_count);
  ORT_API2_STATUS(ModelPackage_GetVariantEpName, const OrtModelPackageContext* ctx, const char* component_name,
                  const char* variant_name, const char** out_ep);
  ORT_API2_STATUS(ModelPackage_ResolveStringRef, const OrtModelPackageContext* ctx, const char* base_dir, const char* input,
                  int must_exist, const char** out_path);
  ORT_API2_STATUS(SelectComponent, const OrtModelPackageContext* ctx, const char* component_name,
                  const OrtModelPackageOptions* options, OrtModelPackageComponentContext** out);
  void(ORT_API_CALL* ReleaseModelPackageComponentContext)(OrtModelPackageComponentContext* value);
  ORT_API2_STATUS(ModelPackageComponent_GetSelectedVariantName, const OrtModelPackageComponentContext* ctx,
                  const char** out_name);
  ORT_API2_STATUS(ModelPackageComponent_GetSelectedVariantFolderPath, const OrtModelPackageComponentContext* ctx,
                  const ORTCHAR_T** folder_path);
  ORT_API2_STATUS(CreateSession, const OrtEnv* env, const OrtModelPackageComponentContext* ctx,
                  const OrtSessionOptions* session_options, OrtSession** session);
};

#ifdef __cplusplus
}
#endif

#include "onnxruntime_ep_c_api.h"
