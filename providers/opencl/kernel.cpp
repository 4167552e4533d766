#include "kernel.h"

namespace tessera::opencl {

const char* TypeName(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return "float";
    case ElementType::kInt8:
      return "char";
    case ElementType::kUInt8:
    case ElementType::kBool:
      return "uchar";
    case ElementType::kInt16:
      return "short";
    case ElementType::kUInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return "ushort";
    case ElementType::kInt32:
      return "int";
    case ElementType::kUInt32:
      return "uint";
    case ElementType::kInt64:
      return "long";
    case ElementType::kUInt64:
    case ElementType::kDouble:
      return "ulong";
    default:
      Fail(ErrorCode::kNotImplemented, "OpenCL kernels have no element type {}", ElementTypeName(type));
  }
}

std::array<cl_long, kMostDims> BroadcastStrides(const Shape& shape, const Shape& result) {
  std::array<cl_long, kMostDims> strides{};
  cl_long stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[result.rank() - shape.rank() + i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
  return strides;
}

void Launchable::Set(cl_uint& index, const Tensor& tensor) {
  const BufferRange range = DeviceAllocator::Find(tensor.raw());
  const cl_ulong offset = range.offset;
  Check(clSetKernelArg(kernel_.get(), index++, sizeof(cl_mem), &range.buffer), "clSetKernelArg");
  Check(clSetKernelArg(kernel_.get(), index++, sizeof offset, &offset), "clSetKernelArg");
}

void Launchable::Set(cl_uint& index, const Tensor* tensor) {
  if (tensor != nullptr) return Set(index, *tensor);
  const cl_ulong offset = 0;
  Check(clSetKernelArg(kernel_.get(), index++, sizeof(cl_mem), nullptr), "clSetKernelArg");
  Check(clSetKernelArg(kernel_.get(), index++, sizeof offset, &offset), "clSetKernelArg");
}

void Launchable::Enqueue(KernelContext& context, std::array<size_t, 3> global, std::array<size_t, 3> local) {
  const bool sized = local[0] != 0;
  if (sized) {
    for (size_t i = 0; i < 3; ++i) global[i] = (global[i] + local[i] - 1) / local[i] * local[i];
  }
  auto* queue = static_cast<cl_command_queue>(context.stream()->native_handle());
  Check(clEnqueueNDRangeKernel(queue, kernel_.get(), 3, nullptr, global.data(), sized ? local.data() : nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace tessera::opencl
