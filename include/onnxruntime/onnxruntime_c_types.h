#pragma once

// Types of the C ABI: enumerations, handles, structs that a client fills in, functions that it is called back by. Names,
// values and layouts are those of ONNX Runtime 1.31, so that what is compiled with either header runs on either library.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "onnxruntime_error_code.h"

/* The newest version of the tables below that this header describes. */
#define ORT_API_VERSION 31

#ifdef _WIN32
#define ORT_EXPORT
#define ORT_API_CALL __stdcall
#define ORT_MUST_USE_RESULT
#define ORTCHAR_T wchar_t
#define ORT_TSTR(X) L##X
#else
#define ORT_EXPORT __attribute__((visibility("default")))
#define ORT_API_CALL
#define ORT_MUST_USE_RESULT __attribute__((warn_unused_result))
#define ORTCHAR_T char
#define ORT_TSTR(X) X
#endif

#ifdef __cplusplus
#define NO_EXCEPTION noexcept
extern "C" {
#else
#define NO_EXCEPTION
#endif

/* Declares an entry of a table, a function, and defines one. A status that is not null is the caller's to release. */
#define ORT_API2_STATUS(NAME, ...) OrtStatusPtr(ORT_API_CALL* NAME)(__VA_ARGS__) NO_EXCEPTION ORT_MUST_USE_RESULT
#define ORT_API_STATUS(NAME, ...)             \
  OrtStatusPtr ORT_API_CALL NAME(__VA_ARGS__) \
  NO_EXCEPTION ORT_MUST_USE_RESULT
#define ORT_API_STATUS_IMPL(NAME, ...) OrtStatusPtr ORT_API_CALL NAME(__VA_ARGS__) NO_EXCEPTION
#define ORT_API(RETURN_TYPE, NAME, ...) RETURN_TYPE ORT_API_CALL NAME(__VA_ARGS__) NO_EXCEPTION
#define ORT_API_T(RETURN_TYPE, NAME, ...) RETURN_TYPE(ORT_API_CALL* NAME)(__VA_ARGS__) NO_EXCEPTION
#define ORT_CLASS_RELEASE(X) void(ORT_API_CALL * Release##X)(Ort##X * input)
#define ORT_RUNTIME_CLASS(X) \
  struct Ort##X;             \
  typedef struct Ort##X Ort##X

/* From 24 on not ONNX's numbers. */
typedef enum ONNXTensorElementDataType ORT_ENUM_BASE {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 = 14,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128 = 15,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN = 17,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ = 18,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2 = 19,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ = 20,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4 = 21,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 = 22,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1 = 23,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2 = 24,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2 = 25,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 = 26
} ONNXTensorElementDataType;

typedef enum ONNXType ORT_ENUM_BASE {
  ONNX_TYPE_UNKNOWN = 0,
  ONNX_TYPE_TENSOR = 1,
  ONNX_TYPE_SEQUENCE = 2,
  ONNX_TYPE_MAP = 3,
  ONNX_TYPE_OPAQUE = 4,
  ONNX_TYPE_SPARSETENSOR = 5,
  ONNX_TYPE_OPTIONAL = 6
} ONNXType;

typedef enum OrtSparseFormat ORT_ENUM_BASE {
  ORT_SPARSE_UNDEFINED = 0,
  ORT_SPARSE_COO = 1,
  ORT_SPARSE_CSRC = 2,
  ORT_SPARSE_BLOCK_SPARSE = 4
} OrtSparseFormat;

enum OrtSparseIndicesFormat ORT_ENUM_BASE {
  ORT_SPARSE_COO_INDICES = 0,
  ORT_SPARSE_CSR_INNER_INDICES = 1,
  ORT_SPARSE_CSR_OUTER_INDICES = 2,
  ORT_SPARSE_BLOCK_SPARSE_INDICES = 3
};

typedef enum OrtLoggingLevel ORT_ENUM_BASE {
  ORT_LOGGING_LEVEL_VERBOSE = 0,
  ORT_LOGGING_LEVEL_INFO = 1,
  ORT_LOGGING_LEVEL_WARNING = 2,
  ORT_LOGGING_LEVEL_ERROR = 3,
  ORT_LOGGING_LEVEL_FATAL = 4
} OrtLoggingLevel;

typedef enum OrtOpAttrType ORT_ENUM_BASE {
  ORT_OP_ATTR_UNDEFINED = 0,
  ORT_OP_ATTR_INT = 1,
  ORT_OP_ATTR_INTS = 2,
  ORT_OP_ATTR_FLOAT = 3,
  ORT_OP_ATTR_FLOATS = 4,
  ORT_OP_ATTR_STRING = 5,
  ORT_OP_ATTR_STRINGS = 6,
  ORT_OP_ATTR_GRAPH = 7,
  ORT_OP_ATTR_TENSOR = 8
} OrtOpAttrType;

typedef enum GraphOptimizationLevel ORT_ENUM_BASE {
  ORT_DISABLE_ALL = 0,
  ORT_ENABLE_BASIC = 1,
  ORT_ENABLE_EXTENDED = 2,
  ORT_ENABLE_LAYOUT = 3,
  ORT_ENABLE_ALL = 99
} GraphOptimizationLevel;

typedef enum ExecutionMode ORT_ENUM_BASE { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 } ExecutionMode;

typedef enum OrtLanguageProjection ORT_ENUM_BASE {
  ORT_PROJECTION_C = 0,
  ORT_PROJECTION_CPLUSPLUS = 1,
  ORT_PROJECTION_CSHARP = 2,
  ORT_PROJECTION_PYTHON = 3,
  ORT_PROJECTION_JAVA = 4,
  ORT_PROJECTION_WINML = 5,
  ORT_PROJECTION_NODEJS = 6
} OrtLanguageProjection;

typedef enum OrtAllocatorType ORT_ENUM_BASE {
  OrtInvalidAllocator = -1,
  OrtDeviceAllocator = 0,
  OrtArenaAllocator = 1,
  OrtReadOnlyAllocator = 2
} OrtAllocatorType;

typedef enum OrtMemType ORT_ENUM_BASE {
  OrtMemTypeCPUInput = -2,
  OrtMemTypeCPUOutput = -1,
  OrtMemTypeCPU = OrtMemTypeCPUOutput,
  OrtMemTypeDefault = 0
} OrtMemType;

typedef enum OrtDeviceMemoryType ORT_ENUM_BASE {
  OrtDeviceMemoryType_DEFAULT = 0,
  OrtDeviceMemoryType_HOST_ACCESSIBLE = 5
} OrtDeviceMemoryType;

typedef enum OrtMemoryInfoDeviceType ORT_ENUM_BASE {
  OrtMemoryInfoDeviceType_CPU = 0,
  OrtMemoryInfoDeviceType_GPU = 1,
  OrtMemoryInfoDeviceType_FPGA = 2,
  OrtMemoryInfoDeviceType_NPU = 3
} OrtMemoryInfoDeviceType;

typedef enum OrtHardwareDeviceType ORT_ENUM_BASE {
  OrtHardwareDeviceType_CPU = 0,
  OrtHardwareDeviceType_GPU = 1,
  OrtHardwareDeviceType_NPU = 2
} OrtHardwareDeviceType;

typedef enum OrtExecutionProviderDevicePolicy ORT_ENUM_BASE {
  OrtExecutionProviderDevicePolicy_DEFAULT = 0,
  OrtExecutionProviderDevicePolicy_PREFER_CPU = 1,
  OrtExecutionProviderDevicePolicy_PREFER_NPU = 2,
  OrtExecutionProviderDevicePolicy_PREFER_GPU = 3,
  OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE = 4,
  OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY = 5,
  OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER = 6
} OrtExecutionProviderDevicePolicy;

typedef enum OrtDeviceEpIncompatibilityReason ORT_ENUM_BASE {
  OrtDeviceEpIncompatibility_NONE = 0,
  OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE = 1 << 0,
  OrtDeviceEpIncompatibility_DEVICE_INCOMPATIBLE = 1 << 1,
  OrtDeviceEpIncompatibility_MISSING_DEPENDENCY = 1 << 2,
  OrtDeviceEpIncompatibility_UNKNOWN = 1 << 31
} OrtDeviceEpIncompatibilityReason;

typedef enum OrtCompiledModelCompatibility ORT_ENUM_BASE {
  OrtCompiledModelCompatibility_EP_NOT_APPLICABLE = 0,
  OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL = 1,
  OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION = 2,
  OrtCompiledModelCompatibility_EP_UNSUPPORTED = 3
} OrtCompiledModelCompatibility;

typedef enum OrtCudnnConvAlgoSearch ORT_ENUM_BASE {
  OrtCudnnConvAlgoSearchExhaustive = 0,
  OrtCudnnConvAlgoSearchHeuristic = 1,
  OrtCudnnConvAlgoSearchDefault = 2
} OrtCudnnConvAlgoSearch;

typedef enum OrtExternalMemoryHandleType ORT_ENUM_BASE {
  ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE = 0,
  ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP = 1,
  ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_WIN32 = 2,
  ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_OPAQUE_FD = 3
} OrtExternalMemoryHandleType;

typedef enum OrtExternalSemaphoreType ORT_ENUM_BASE {
  ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE = 0,
  ORT_EXTERNAL_SEMAPHORE_VK_TIMELINE_SEMAPHORE_WIN32 = 1,
  ORT_EXTERNAL_SEMAPHORE_VK_TIMELINE_SEMAPHORE_OPAQUE_FD = 2
} OrtExternalSemaphoreType;

typedef enum OrtGraphicsApi ORT_ENUM_BASE {
  ORT_GRAPHICS_API_NONE = 0,
  ORT_GRAPHICS_API_D3D12 = 1,
  ORT_GRAPHICS_API_VULKAN = 2
} OrtGraphicsApi;

typedef enum OrtCustomOpInputOutputCharacteristic ORT_ENUM_BASE {
  INPUT_OUTPUT_REQUIRED = 0,
  INPUT_OUTPUT_OPTIONAL = 1,
  INPUT_OUTPUT_VARIADIC = 2
} OrtCustomOpInputOutputCharacteristic;

/* Handles. Those that a call creates are released by the entry Release and their name. */
ORT_RUNTIME_CLASS(Env);
ORT_RUNTIME_CLASS(Status);
ORT_RUNTIME_CLASS(MemoryInfo);
ORT_RUNTIME_CLASS(IoBinding);
ORT_RUNTIME_CLASS(Session);
ORT_RUNTIME_CLASS(Value);
ORT_RUNTIME_CLASS(RunOptions);
ORT_RUNTIME_CLASS(TypeInfo);
ORT_RUNTIME_CLASS(TensorTypeAndShapeInfo);
ORT_RUNTIME_CLASS(MapTypeInfo);
ORT_RUNTIME_CLASS(SequenceTypeInfo);
ORT_RUNTIME_CLASS(OptionalTypeInfo);
ORT_RUNTIME_CLASS(SessionOptions);
ORT_RUNTIME_CLASS(CustomOpDomain);
ORT_RUNTIME_CLASS(ModelMetadata);
ORT_RUNTIME_CLASS(ThreadPoolParams);
ORT_RUNTIME_CLASS(ThreadingOptions);
ORT_RUNTIME_CLASS(ArenaCfg);
ORT_RUNTIME_CLASS(PrepackedWeightsContainer);
ORT_RUNTIME_CLASS(TensorRTProviderOptionsV2);
ORT_RUNTIME_CLASS(NvTensorRtRtxProviderOptions);
ORT_RUNTIME_CLASS(CUDAProviderOptionsV2);
ORT_RUNTIME_CLASS(CANNProviderOptions);
ORT_RUNTIME_CLASS(DnnlProviderOptions);
ORT_RUNTIME_CLASS(Op);
ORT_RUNTIME_CLASS(OpAttr);
ORT_RUNTIME_CLASS(Logger);
ORT_RUNTIME_CLASS(ShapeInferContext);
ORT_RUNTIME_CLASS(LoraAdapter);
ORT_RUNTIME_CLASS(ValueInfo);
ORT_RUNTIME_CLASS(Node);
ORT_RUNTIME_CLASS(Graph);
ORT_RUNTIME_CLASS(Model);
ORT_RUNTIME_CLASS(ModelCompilationOptions);
ORT_RUNTIME_CLASS(HardwareDevice);
ORT_RUNTIME_CLASS(EpDevice);
ORT_RUNTIME_CLASS(KeyValuePairs);
ORT_RUNTIME_CLASS(SyncStream);
ORT_RUNTIME_CLASS(ExternalInitializerInfo);
ORT_RUNTIME_CLASS(ExternalResourceImporter);
ORT_RUNTIME_CLASS(ExternalMemoryHandle);
ORT_RUNTIME_CLASS(ExternalSemaphoreHandle);
ORT_RUNTIME_CLASS(DeviceEpIncompatibilityDetails);
ORT_RUNTIME_CLASS(EpAssignedSubgraph);
ORT_RUNTIME_CLASS(EpAssignedNode);
ORT_RUNTIME_CLASS(KernelInfo);
ORT_RUNTIME_CLASS(KernelContext);
ORT_RUNTIME_CLASS(ModelPackageOptions);
ORT_RUNTIME_CLASS(ModelPackageContext);
ORT_RUNTIME_CLASS(ModelPackageComponentContext);

typedef struct OrtCustomOp OrtCustomOp;
typedef struct OrtApi OrtApi;
typedef struct OrtTrainingApi OrtTrainingApi;
typedef struct OrtModelEditorApi OrtModelEditorApi;
typedef struct OrtCompileApi OrtCompileApi;
typedef struct OrtInteropApi OrtInteropApi;
typedef struct OrtEpApi OrtEpApi;
typedef struct OrtModelPackageApi OrtModelPackageApi;

typedef OrtStatus* OrtStatusPtr;
typedef void(ORT_API_CALL* OrtExperimentalFnPtr)(void);

/* Memory from whoever fills this in. It outlives what was allocated with it. Members after Info may be null, and exist from
   the version on that stands beside them: look at `version` first. */
typedef struct OrtAllocator {
  uint32_t version;
  void*(ORT_API_CALL* Alloc)(struct OrtAllocator* this_, size_t size);
  void(ORT_API_CALL* Free)(struct OrtAllocator* this_, void* p);
  const struct OrtMemoryInfo*(ORT_API_CALL* Info)(const struct OrtAllocator* this_);
  void*(ORT_API_CALL* Reserve)(struct OrtAllocator* this_, size_t size);                              /* 18 */
  ORT_API2_STATUS(GetStats, const struct OrtAllocator* this_, OrtKeyValuePairs** out);                /* 23 */
  void*(ORT_API_CALL* AllocOnStream)(struct OrtAllocator* this_, size_t size, OrtSyncStream* stream); /* 23 */
  ORT_API2_STATUS(Shrink, struct OrtAllocator* this_);                                                /* 25 */
} OrtAllocator;

/* Receives each line of the log that passes the level. */
typedef void(ORT_API_CALL* OrtLoggingFunction)(void* param, OrtLoggingLevel severity, const char* category,
                                               const char* logid, const char* code_location, const char* message);

/* Chooses up to max_selected of the devices for a session. */
typedef OrtStatus*(ORT_API_CALL* EpSelectionDelegate)(const OrtEpDevice** ep_devices, size_t num_devices,
                                                      const OrtKeyValuePairs* model_metadata,
                                                      const OrtKeyValuePairs* runtime_metadata,
                                                      const OrtEpDevice** selected, size_t max_selected,
                                                      size_t* num_selected, void* state);

/* Take and give parts of a compiled model. */
typedef OrtStatus*(ORT_API_CALL* OrtWriteBufferFunc)(void* state, const void* buffer, size_t buffer_num_bytes);
typedef OrtStatus*(ORT_API_CALL* OrtWriteNamedBufferFunc)(void* state, const char* name, const void* buffer,
                                                          size_t buffer_num_bytes);
typedef OrtStatus*(ORT_API_CALL* OrtReadNamedBufferFunc)(void* state, const char* name, OrtAllocator* allocator,
                                                         void** buffer, size_t* data_size);
typedef OrtStatus*(ORT_API_CALL* OrtGetInitializerLocationFunc)(void* state, const char* initializer_name,
                                                                const OrtValue* initializer_value,
                                                                const OrtExternalInitializerInfo* external_info,
                                                                OrtExternalInitializerInfo** new_external_info);

/* Threads of the client's: one function starts a thread that calls the worker, the other waits for its end. */
typedef void (*OrtThreadWorkerFn)(void* ort_worker_fn_param);
typedef const struct OrtCustomHandleType {
  char __place_holder;
}* OrtCustomThreadHandle;
typedef OrtCustomThreadHandle (*OrtCustomCreateThreadFn)(void* ort_custom_thread_creation_options,
                                                         OrtThreadWorkerFn ort_thread_worker_fn, void* ort_worker_fn_param);
typedef void (*OrtCustomJoinThreadFn)(OrtCustomThreadHandle ort_custom_thread_handle);

/* Tell of work in a session's threads. */
typedef void* (*OrtThreadPoolWorkEnqueueFn)(void* user_context)NO_EXCEPTION;
typedef void (*OrtThreadPoolWorkStartFn)(void* user_context, void* enqueue_data) NO_EXCEPTION;
typedef void (*OrtThreadPoolWorkStopFn)(void* user_context, void* enqueue_data) NO_EXCEPTION;
typedef void (*OrtThreadPoolWorkAbandonFn)(void* user_context, void* enqueue_data) NO_EXCEPTION;
typedef struct OrtThreadPoolCallbacksConfig {
  uint32_t version;
  OrtThreadPoolWorkEnqueueFn on_enqueue;
  OrtThreadPoolWorkStartFn on_start_work;
  OrtThreadPoolWorkStopFn on_stop_work;
  OrtThreadPoolWorkAbandonFn on_abandon;
  void* user_context;
} OrtThreadPoolCallbacksConfig;

/* Ends a RunAsync: with its outputs, or with none and a status, which the client releases. */
typedef void (*RunAsyncCallbackFn)(void* user_data, OrtValue** outputs, size_t num_outputs, OrtStatusPtr status);

/* What an environment is made with: from version 24 on. */
typedef struct OrtEnvCreationOptions {
  uint32_t version;
  int32_t logging_severity_level;
  const char* log_id;
  OrtLoggingFunction custom_logging_function;
  void* custom_logging_param;
  const OrtThreadingOptions* threading_options;
  const OrtKeyValuePairs* config_entries;
} OrtEnvCreationOptions;

typedef struct OrtCUDAProviderOptions {
#ifdef __cplusplus
  OrtCUDAProviderOptions() : gpu_mem_limit(SIZE_MAX), do_copy_in_default_stream(1) {}
  int device_id = 0;
  OrtCudnnConvAlgoSearch cudnn_conv_algo_search = OrtCudnnConvAlgoSearchExhaustive;
  size_t gpu_mem_limit;
  int arena_extend_strategy = 0;
  int do_copy_in_default_stream;
  int has_user_compute_stream = 0;
  void* user_compute_stream = nullptr;
  OrtArenaCfg* default_memory_arena_cfg = nullptr;
  int tunable_op_enable = 0;
  int tunable_op_tuning_enable = 0;
  int tunable_op_max_tuning_duration_ms = 0;
#else
  int device_id;
  OrtCudnnConvAlgoSearch cudnn_conv_algo_search;
  size_t gpu_mem_limit;
  int arena_extend_strategy;
  int do_copy_in_default_stream;
  int has_user_compute_stream;
  void* user_compute_stream;
  OrtArenaCfg* default_memory_arena_cfg;
  int tunable_op_enable;
  int tunable_op_tuning_enable;
  int tunable_op_max_tuning_duration_ms;
#endif
} OrtCUDAProviderOptions;

typedef struct OrtROCMProviderOptions {
#ifdef __cplusplus
  OrtROCMProviderOptions() : gpu_mem_limit(SIZE_MAX), do_copy_in_default_stream(1) {}
  int device_id = 0;
  int miopen_conv_exhaustive_search = 0;
  size_t gpu_mem_limit;
  int arena_extend_strategy = 0;
  int do_copy_in_default_stream;
  int has_user_compute_stream = 0;
  void* user_compute_stream = nullptr;
  OrtArenaCfg* default_memory_arena_cfg = nullptr;
  int enable_hip_graph = 0;
  int tunable_op_enable = 0;
  int tunable_op_tuning_enable = 0;
  int tunable_op_max_tuning_duration_ms = 0;
#else
  int device_id;
  int miopen_conv_exhaustive_search;
  size_t gpu_mem_limit;
  int arena_extend_strategy;
  int do_copy_in_default_stream;
  int has_user_compute_stream;
  void* user_compute_stream;
  OrtArenaCfg* default_memory_arena_cfg;
  int enable_hip_graph;
  int tunable_op_enable;
  int tunable_op_tuning_enable;
  int tunable_op_max_tuning_duration_ms;
#endif
} OrtROCMProviderOptions;

typedef struct OrtTensorRTProviderOptions {
  int device_id;
  int has_user_compute_stream;
  void* user_compute_stream;
  int trt_max_partition_iterations;
  int trt_min_subgraph_size;
  size_t trt_max_workspace_size;
  int trt_fp16_enable;
  int trt_int8_enable;
  const char* trt_int8_calibration_table_name;
  int trt_int8_use_native_calibration_table;
  int trt_dla_enable;
  int trt_dla_core;
  int trt_dump_subgraphs;
  int trt_engine_cache_enable;
  const char* trt_engine_cache_path;
  int trt_engine_decryption_enable;
  const char* trt_engine_decryption_lib_path;
  int trt_force_sequential_engine_build;
} OrtTensorRTProviderOptions;

typedef struct OrtMIGraphXProviderOptions {
  int device_id;
  int migraphx_fp16_enable;
  int migraphx_fp8_enable;
  int migraphx_int8_enable;
  int migraphx_use_native_calibration_table;
  const char* migraphx_int8_calibration_table_name;
  int migraphx_save_compiled_model;
  const char* migraphx_save_model_path;
  int migraphx_load_compiled_model;
  const char* migraphx_load_model_path;
  bool migraphx_exhaustive_tune;
  size_t migraphx_mem_limit;
  int migraphx_arena_extend_strategy;
} OrtMIGraphXProviderOptions;

typedef struct OrtOpenVINOProviderOptions {
#ifdef __cplusplus
  const char* device_type = nullptr;
  unsigned char enable_npu_fast_compile = 0;
  const char* device_id = nullptr;
  size_t num_of_threads = 0;
  const char* cache_dir = nullptr;
  void* context = nullptr;
  unsigned char enable_opencl_throttling = 0;
  unsigned char enable_dynamic_shapes = 0;
#else
  const char* device_type;
  unsigned char enable_npu_fast_compile;
  const char* device_id;
  size_t num_of_threads;
  const char* cache_dir;
  void* context;
  unsigned char enable_opencl_throttling;
  unsigned char enable_dynamic_shapes;
#endif
} OrtOpenVINOProviderOptions;

/* Memory, semaphores and tensors of a graphics program. */
typedef struct OrtExternalMemoryDescriptor {
  uint32_t version;
  OrtExternalMemoryHandleType handle_type;
  void* native_handle;
  size_t size_bytes;
  size_t offset_bytes;
} OrtExternalMemoryDescriptor;

typedef struct OrtExternalSemaphoreDescriptor {
  uint32_t version;
  OrtExternalSemaphoreType type;
  void* native_handle;
} OrtExternalSemaphoreDescriptor;

typedef struct OrtGraphicsInteropConfig {
  uint32_t version;
  OrtGraphicsApi graphics_api;
  void* command_queue;
  const OrtKeyValuePairs* additional_options;
} OrtGraphicsInteropConfig;

typedef struct OrtExternalTensorDescriptor {
  uint32_t version;
  ONNXTensorElementDataType element_type;
  const int64_t* shape;
  size_t rank;
  size_t offset_bytes;
} OrtExternalTensorDescriptor;

/* How the library is entered: GetApi gives the table of a version, null for one that it does not know. */
typedef struct OrtApiBase {
  const OrtApi*(ORT_API_CALL* GetApi)(uint32_t version)NO_EXCEPTION;
  const char*(ORT_API_CALL* GetVersionString)(void)NO_EXCEPTION;
} OrtApiBase;

/* What a library of custom operators exports under the name RegisterCustomOps. */
typedef OrtStatus*(ORT_API_CALL* RegisterCustomOpsFn)(OrtSessionOptions* options, const OrtApiBase* api);

#ifdef __cplusplus
}
#endif
