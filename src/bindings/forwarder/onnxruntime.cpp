// libonnxruntime.so: the file that programs written for ONNX Runtime open. It holds nothing but the way to libtessera.so,
// so that a copy of it in a client's package is enough, and all callers of a process share one runtime.

#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/providers/names.h"

// Of libtessera.so.
extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace {

const OrtApi& Api() noexcept { return *TesseraGetOrtApiBase()->GetApi(ORT_API_VERSION); }

OrtStatusPtr Append(OrtSessionOptions* options, const char* provider) noexcept {
  return Api().SessionOptionsAppendExecutionProvider(options, provider, nullptr, nullptr, 0);
}

}  // namespace

const OrtApiBase* OrtGetApiBase() noexcept { return TesseraGetOrtApiBase(); }

// Whether a provider has an arena is an option of the session here.
OrtStatusPtr OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions* options, int /*use_arena*/) noexcept {
  return Append(options, tessera::kCpuProvider);
}

OrtStatusPtr OrtSessionOptionsAppendExecutionProvider_Dnnl(OrtSessionOptions* options, int /*use_arena*/) noexcept {
  return Append(options, tessera::kOnednnProvider);
}

// These answer as their entries of the table do: that the provider is not in this build.
OrtStatusPtr OrtSessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options, int /*device_id*/) noexcept {
  return Api().SessionOptionsAppendExecutionProvider_CUDA(options, nullptr);
}

OrtStatusPtr OrtSessionOptionsAppendExecutionProvider_ROCM(OrtSessionOptions* options, int /*device_id*/) noexcept {
  return Api().SessionOptionsAppendExecutionProvider_ROCM(options, nullptr);
}

OrtStatusPtr OrtSessionOptionsAppendExecutionProvider_MIGraphX(OrtSessionOptions* options, int /*device_id*/) noexcept {
  return Api().SessionOptionsAppendExecutionProvider_MIGraphX(options, nullptr);
}

OrtStatusPtr OrtSessionOptionsAppendExecutionProvider_Tensorrt(OrtSessionOptions* options, int /*device_id*/) noexcept {
  return Api().SessionOptionsAppendExecutionProvider_TensorRT(options, nullptr);
}
