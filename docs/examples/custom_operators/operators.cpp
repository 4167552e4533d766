// Two operators of the domain "example.geometry" (docs/custom_operators.md):
//
//   Distance(a, b) -> c   how far points are apart: the rows of two matrices, floats [n, k]; c [n]. The attribute `p` says
//   by
//                         which norm: 1, 2 (so, too, where it is left out) or 0, the largest difference
//   Upper(text) -> text   ASCII letters of strings of any shape, in upper case
//
// They serve any runtime that has ONNX Runtime's C interface.

#include <onnxruntime_c_api.h>

#include <cctype>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr uint32_t kVersion = 17;  // of the interface: the first one with InferOutputShapeFn
const OrtApi* api = nullptr;       // set by RegisterCustomOps

// Statuses are owned by who gets them; each call of the table may give one.
struct ReleaseStatus {
  void operator()(OrtStatus* status) const { api->ReleaseStatus(status); }
};
using Status = std::unique_ptr<OrtStatus, ReleaseStatus>;

struct ReleaseInfo {
  void operator()(OrtTensorTypeAndShapeInfo* info) const { api->ReleaseTensorTypeAndShapeInfo(info); }
};

#define RETURN_IF_FAILED(call) \
  if (OrtStatus* status = (call)) return status

OrtStatus* ShapeOf(const OrtValue* value, std::vector<int64_t>& shape) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  RETURN_IF_FAILED(api->GetTensorTypeAndShape(value, &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, ReleaseInfo> owned(info);
  size_t rank = 0;
  RETURN_IF_FAILED(api->GetDimensionsCount(info, &rank));
  shape.resize(rank);
  return api->GetDimensions(info, shape.data(), rank);
}

// What each operator has to say. Members that stay null have defaults: no function of its own that infers shapes, every
// version of the domain, all inputs and outputs required.
struct Operator : OrtCustomOp {
  Operator() : OrtCustomOp{} {
    version = kVersion;
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // the processor
    GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  }
};

// The kernel of one node: what does not change between runs is read once.
struct DistanceKernel {
  int64_t p = 2;

  float Between(const float* a, const float* b, int64_t size) const {
    float sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      const float apart = std::fabs(a[i] - b[i]);
      sum = p == 0 ? std::fmax(sum, apart) : sum + (p == 1 ? apart : apart * apart);
    }
    return p == 2 ? std::sqrt(sum) : sum;
  }

  // Called from many threads at once: it changes nothing of the kernel.
  OrtStatus* Compute(OrtKernelContext* context) const {
    const OrtValue *a = nullptr, *b = nullptr;
    RETURN_IF_FAILED(api->KernelContext_GetInput(context, 0, &a));
    RETURN_IF_FAILED(api->KernelContext_GetInput(context, 1, &b));
    std::vector<int64_t> shape, other;
    RETURN_IF_FAILED(ShapeOf(a, shape));
    RETURN_IF_FAILED(ShapeOf(b, other));
    if (shape.size() != 2 || shape != other)
      return api->CreateStatus(ORT_INVALID_ARGUMENT, "Distance: the inputs are no two matrices of one shape");
    OrtValue* c = nullptr;
    RETURN_IF_FAILED(api->KernelContext_GetOutput(context, 0, shape.data(), 1, &c));
    const void *from_a = nullptr, *from_b = nullptr;
    void* to = nullptr;
    RETURN_IF_FAILED(api->GetTensorData(a, &from_a));
    RETURN_IF_FAILED(api->GetTensorData(b, &from_b));
    RETURN_IF_FAILED(api->GetTensorMutableData(c, &to));
    for (int64_t row = 0; row < shape[0]; ++row) {
      static_cast<float*>(to)[row] = Between(static_cast<const float*>(from_a) + row * shape[1],
                                             static_cast<const float*>(from_b) + row * shape[1], shape[1]);
    }
    return nullptr;
  }
};

struct Distance : Operator {
  Distance() {
    GetName = [](const OrtCustomOp*) { return "Distance"; };
    GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 2; };
    GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    CreateKernelV2 = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatus* {
      auto made = std::make_unique<DistanceKernel>();
      const Status absent(api->KernelInfoGetAttribute_int64(info, "p", &made->p));  // then it stays 2
      if (made->p < 0 || made->p > 2) return api->CreateStatus(ORT_INVALID_ARGUMENT, "Distance: p is none of 0, 1 and 2");
      *kernel = made.release();
      return nullptr;
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatus* {
      return static_cast<DistanceKernel*>(kernel)->Compute(context);
    };
    KernelDestroy = [](void* kernel) { delete static_cast<DistanceKernel*>(kernel); };
    // With it the model's next nodes are known to read a vector, before anything runs.
    InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext* context) -> OrtStatus* {
      OrtTensorTypeAndShapeInfo *points = nullptr, *made = nullptr;
      RETURN_IF_FAILED(api->ShapeInferContext_GetInputTypeShape(context, 0, &points));  // the context's own
      int64_t rows = -1;
      const char* name = "";
      size_t rank = 0;
      RETURN_IF_FAILED(api->GetDimensionsCount(points, &rank));
      if (rank != 2) return nullptr;  // nothing is known
      RETURN_IF_FAILED(api->GetDimensions(points, &rows, 1));
      RETURN_IF_FAILED(api->GetSymbolicDimensions(points, &name, 1));
      RETURN_IF_FAILED(api->CreateTensorTypeAndShapeInfo(&made));
      const std::unique_ptr<OrtTensorTypeAndShapeInfo, ReleaseInfo> owned(made);
      RETURN_IF_FAILED(api->SetTensorElementType(made, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
      RETURN_IF_FAILED(api->SetDimensions(made, &rows, 1));
      RETURN_IF_FAILED(api->SetSymbolicDimensions(made, &name, 1));
      return api->ShapeInferContext_SetOutputTypeShape(context, 0, made);
    };
  }
};

OrtStatus* ComputeUpper(OrtKernelContext* context) {
  const OrtValue* input = nullptr;
  RETURN_IF_FAILED(api->KernelContext_GetInput(context, 0, &input));
  std::vector<int64_t> shape;
  RETURN_IF_FAILED(ShapeOf(input, shape));
  OrtValue* output = nullptr;
  RETURN_IF_FAILED(api->KernelContext_GetOutput(context, 0, shape.data(), shape.size(), &output));
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  for (size_t i = 0; i < count; ++i) {
    size_t bytes = 0;
    RETURN_IF_FAILED(api->GetStringTensorElementLength(input, i, &bytes));
    std::string text(bytes, '\0');
    RETURN_IF_FAILED(api->GetStringTensorElement(input, bytes, i, text.data()));
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    RETURN_IF_FAILED(api->FillStringTensorElement(output, text.c_str(), i));
  }
  return nullptr;
}

struct Upper : Operator {
  Upper() {
    GetName = [](const OrtCustomOp*) { return "Upper"; };
    GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING; };
    GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING; };
    CreateKernelV2 = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel) -> OrtStatus* {
      *kernel = nullptr;  // there is nothing to keep
      return nullptr;
    };
    KernelComputeV2 = [](void*, OrtKernelContext* context) -> OrtStatus* { return ComputeUpper(context); };
    KernelDestroy = [](void*) {};
  }
};

struct ReleaseDomain {
  void operator()(OrtCustomOpDomain* domain) const { api->ReleaseCustomOpDomain(domain); }
};

}  // namespace

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

// Runtimes find this function by its name and call it for each session options that the library is registered with.
extern "C" EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  api = base->GetApi(kVersion);
  if (api == nullptr) return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, "the runtime's C interface is too old");
  static const Distance distance;
  static const Upper upper;
  // The runtime keeps pointers: domain and operators live as long as the library.
  static std::unique_ptr<OrtCustomOpDomain, ReleaseDomain> domain;
  if (domain == nullptr) {
    OrtCustomOpDomain* made = nullptr;
    RETURN_IF_FAILED(api->CreateCustomOpDomain("example.geometry", &made));
    domain.reset(made);
    RETURN_IF_FAILED(api->CustomOpDomain_Add(made, &distance));
    RETURN_IF_FAILED(api->CustomOpDomain_Add(made, &upper));
  }
  return api->AddCustomOpDomain(options, domain.get());
}
