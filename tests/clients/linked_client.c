/* A program in C that is linked with the library: prints what it finds, for run.sh to compare. */

#include <stdio.h>

#include "onnxruntime_c_api.h"

static const OrtApi* api;

static int Failed(OrtStatus* status) {
  if (status == NULL) return 0;
  printf("%d\n", api->GetErrorCode(status));
  api->ReleaseStatus(status);
  return 1;
}

int main(int argc, char** argv) {
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  OrtMemoryInfo* info = NULL;
  OrtValue *a = NULL, *b = NULL, *c = NULL;
  float left[] = {1, 2, 3, 4, 5, 6}, right[] = {10, 20, 30, 40, 50, 60};
  const int64_t shape[] = {2, 3};
  const char* inputs[] = {"A", "B"};
  const char* outputs[] = {"C"};
  float* result = NULL;
  if (argc != 2) return 2;
  api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (api == NULL) return 3;
  if (Failed(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "linked", &env))) return 1;
  if (Failed(api->CreateSessionOptions(&options))) return 1;
  if (Failed(OrtSessionOptionsAppendExecutionProvider_CPU(options, 1))) return 1;
  if (Failed(api->CreateSession(env, argv[1], options, &session))) return 1;
  if (Failed(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info))) return 1;
  if (Failed(api->CreateTensorWithDataAsOrtValue(info, left, sizeof(left), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &a)))
    return 1;
  if (Failed(
          api->CreateTensorWithDataAsOrtValue(info, right, sizeof(right), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &b)))
    return 1;
  const OrtValue* values[] = {a, b};
  if (Failed(api->Run(session, NULL, inputs, values, 2, outputs, 1, &c))) return 1;
  if (Failed(api->GetTensorMutableData(c, (void**)&result))) return 1;
  printf("%g %g %g\n", result[0], result[3], result[5]);
  api->ReleaseValue(c);
  api->ReleaseValue(b);
  api->ReleaseValue(a);
  api->ReleaseMemoryInfo(info);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return 0;
}
