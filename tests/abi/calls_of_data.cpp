// Calls about sparse tensors, opaque values, streams and memory of other programs.

#include "answers.h"

namespace {

void PrintIndices(const char* call, const OrtValue* value, OrtSparseIndicesFormat kind) {
  size_t count = 0;
  const void* indices = nullptr;
  OrtStatusPtr status = api->GetSparseTensorIndices(value, kind, &count, &indices);
  if (status != nullptr) return Print(call, status);
  std::printf("%s: %zu,", call, count);
  for (size_t i = 0; i < count; ++i) {
    const bool narrow = kind == ORT_SPARSE_BLOCK_SPARSE_INDICES;
    std::printf(" %lld", narrow ? static_cast<long long>(static_cast<const int32_t*>(indices)[i])
                                : static_cast<long long>(static_cast<const int64_t*>(indices)[i]));
  }
  std::printf("\n");
}

OrtValue* Sparse(std::initializer_list<int64_t> shape) {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* value = nullptr;
  Must(api->CreateSparseTensorAsOrtValue(allocator, shape.begin(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                         &value));
  return value;
}

void PrintFormat(const char* call, const OrtValue* value) {
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  PrintValue(call, api->GetSparseTensorFormat(value, &format), format);
}

float values[4] = {1, 2, 3, 4};
int64_t inner[3] = {0, 2, 1}, outer[4] = {0, 1, 2, 3}, short_outer[3] = {0, 1, 3};

void CompressedRows(const OrtMemoryInfo* info) {
  const int64_t three[] = {3};
  OrtValue* value = Sparse({3, 3});
  PrintFormat("format of an empty one", value);
  Print("FillSparseTensorCsr with too few rows",
        api->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, short_outer, 3));
  Print("FillSparseTensorCsr with too few columns",
        api->FillSparseTensorCsr(value, info, three, 1, values, inner, 2, outer, 4));
  api->ReleaseValue(value);
  value = Sparse({3, 3});
  Print("FillSparseTensorCsr", api->FillSparseTensorCsr(value, info, three, 1, values, inner, 3, outer, 4));
  PrintFormat("format of rows", value);
  PrintIndices("inner indices", value, ORT_SPARSE_CSR_INNER_INDICES);
  PrintIndices("outer indices", value, ORT_SPARSE_CSR_OUTER_INDICES);
  PrintIndices("coordinates of rows", value, ORT_SPARSE_COO_INDICES);
  OrtTensorTypeAndShapeInfo* type = nullptr;
  size_t count = 0;
  Must(api->GetSparseTensorIndicesTypeShape(value, ORT_SPARSE_CSR_OUTER_INDICES, &type));
  PrintValue("number of outer indices", api->GetTensorShapeElementCount(type, &count), count);
  api->ReleaseTensorTypeAndShapeInfo(type);
  api->ReleaseValue(value);
  const int64_t dense[] = {3, 3};
  Must(api->CreateSparseTensorWithValuesAsOrtValue(info, values, dense, 2, three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                   &value));
  Print("UseCsrIndices", api->UseCsrIndices(value, inner, 3, outer, 4));
  PrintFormat("format of used rows", value);
  PrintIndices("used inner indices", value, ORT_SPARSE_CSR_INNER_INDICES);
  api->ReleaseValue(value);
}

void Blocks(const OrtMemoryInfo* info) {
  const int64_t shape[] = {2, 2, 1}, indices_shape[] = {2, 1}, dense[] = {4, 4};
  int32_t indices[2] = {0, 1};
  OrtValue* value = Sparse({4, 4});
  Print("FillSparseTensorBlockSparse",
        api->FillSparseTensorBlockSparse(value, info, shape, 3, values, indices_shape, 2, indices));
  PrintFormat("format of blocks", value);
  PrintIndices("block indices", value, ORT_SPARSE_BLOCK_SPARSE_INDICES);
  PrintIndices("inner indices of blocks", value, ORT_SPARSE_CSR_INNER_INDICES);
  api->ReleaseValue(value);
  Must(api->CreateSparseTensorWithValuesAsOrtValue(info, values, dense, 2, shape, 3, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                   &value));
  Print("UseBlockSparseIndices", api->UseBlockSparseIndices(value, indices_shape, 2, indices));
  PrintIndices("used block indices", value, ORT_SPARSE_BLOCK_SPARSE_INDICES);
  api->ReleaseValue(value);
}

}  // namespace

void SparseCalls() {
  OrtMemoryInfo* info = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  CompressedRows(info);
  Blocks(info);
  api->ReleaseMemoryInfo(info);
}

/// What a model says about where a provider's part of it can run.
void CompatibilityCalls() {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const std::string model = tiny::WithEntry("ep_compatibility_info.Some", "first");
  const auto ask = [&](const char* call, std::string_view bytes, const char* provider) {
    char* info = nullptr;
    PrintValue(call, api->GetCompatibilityInfoFromModelBytes(bytes.data(), bytes.size(), provider, allocator, &info), info);
    if (info != nullptr) Must(api->AllocatorFree(allocator, info));
  };
  ask("compatibility", model, "Some");
  ask("compatibility of another", model, "Another");
  ask("compatibility of nobody", model, "");
  ask("compatibility of garbage", "garbage!", "Some");
  ask("compatibility of nothing", "", "Some");
  char* info = nullptr;
  Print("compatibility of no file", api->GetCompatibilityInfoFromModel("/none/such.onnx", "Some", allocator, &info));
  Print("compatibility of a folder", api->GetCompatibilityInfoFromModel("/tmp", "Some", allocator, &info));
  Print("compatibility without room", api->GetCompatibilityInfoFromModel("/none/such.onnx", "Some", allocator, nullptr));
}

void DeviceCalls() {
  CompatibilityCalls();
  OrtValue* value = nullptr;
  Print("CreateOpaqueValue", api->CreateOpaqueValue("some", "type", values, sizeof(values), &value));
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(api->GetEpDevices(env, &devices, &count));
  OrtSyncStream* stream = nullptr;
  Print("CreateSyncStreamForEpDevice", api->CreateSyncStreamForEpDevice(devices[0], nullptr, &stream));
  Print("CreateSyncStreamForEpDevice of none", api->CreateSyncStreamForEpDevice(nullptr, nullptr, &stream));
  api->ReleaseSyncStream(nullptr);
  const OrtInteropApi* interop = api->GetInteropApi();
  OrtExternalResourceImporter* importer = nullptr;
  Print("CreateExternalResourceImporterForDevice", interop->CreateExternalResourceImporterForDevice(devices[0], &importer));
  bool can = false;
  Print("CanImportMemory", interop->CanImportMemory(nullptr, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE, &can));
  Print("CanImportSemaphore", interop->CanImportSemaphore(nullptr, ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE, &can));
  Print("ImportMemory", interop->ImportMemory(nullptr, nullptr, nullptr));
  Print("WaitSemaphore", interop->WaitSemaphore(nullptr, nullptr, nullptr, 1));
  OrtGraphicsInteropConfig config = {};
  config.version = ORT_API_VERSION;
  Print("InitGraphicsInteropForEpDevice", interop->InitGraphicsInteropForEpDevice(devices[0], &config));
  Print("DeinitGraphicsInteropForEpDevice", interop->DeinitGraphicsInteropForEpDevice(devices[0]));
  interop->ReleaseExternalResourceImporter(nullptr);
  interop->ReleaseExternalMemoryHandle(nullptr);
  interop->ReleaseExternalSemaphoreHandle(nullptr);
}
