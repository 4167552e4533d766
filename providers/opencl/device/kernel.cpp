#include "opencl/device/kernel.h"

#include <algorithm>

#include "opencl/device/sources.h"
#include "ops/integer_list.h"

namespace tessera::opencl {
namespace {

constexpr size_t kGroup = 256;

/// OpenCL C's name of the type that an element is stored as.
const char* StoredName(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return "float";
    case ElementType::kDouble: return "double";
    case ElementType::kInt8: return "char";
    case ElementType::kUInt8:
    case ElementType::kBool: return "uchar";
    case ElementType::kInt16: return "short";
    case ElementType::kUInt16: return "ushort";
    case ElementType::kInt32: return "int";
    case ElementType::kUInt32: return "uint";
    case ElementType::kInt64: return "long";
    case ElementType::kUInt64: return "ulong";
    default: Fail(ErrorCode::kNotImplemented, "OpenCL kernels do not compute in {}", ElementTypeName(type));
  }
}

std::string Plain(char name, const char* type, const char* stored_value) {
  return fmt::format(
      "#define T{0} {1}\n#define GET_{0}(p, i) (((__global const {1}*)(p))[i])\n"
      "#define GET4_{0}(p, i) vload4(0, (__global const {1}*)(p) + (i))\n"
      "#define ALIGNED4_{0}(p, i) (*(__global const {1}4*)((__global const {1}*)(p) + (i)))\n"
      "#define PUT_{0}(p, i, v) (((__global {1}*)(p))[i] = ({1})({2}))\n",
      name, type, stored_value);
}

/// Mantissa, bias and range, as small_floats.cl has them.
const char* SmallFormat(ElementType type) {
  switch (type) {
    case ElementType::kFloat8E4M3FN: return "3, 7, 1";
    case ElementType::kFloat8E4M3FNUZ: return "3, 8, 2";
    case ElementType::kFloat8E5M2: return "2, 15, 0";
    default: return "2, 16, 2";
  }
}

std::string SmallFloat(char name, ElementType type) {
  return fmt::format(
      "{2}#define T{0} float\n#define GET_{0}(p, i) load_small(((__global const uchar*)(p))[i], {1})\n"
      "#define PUT_{0}(p, i, v) (((__global uchar*)(p))[i] = store_small((float)(v), {1}, SATURATE))\n",
      name, SmallFormat(type), KernelSource("small_floats"));
}

/// Several in a byte, the first in its low bits; only read.
std::string Packed(char name, ElementType type) {
  const int bits = BitWidth(type);
  const char* sign = type == ElementType::kInt4 || type == ElementType::kInt2 ? "int" : "uint";
  return fmt::format(
      "#define T{0} int\n#define GET_{0}(p, i) \\\n"
      "  ((int)(({1})((uint)((__global const uchar*)(p))[(i) / {2}] << (uint)({4} - (i) % {2} * {3})) >> {4}))\n",
      name, sign, 8 / bits, bits, 32 - bits);
}

}  // namespace

std::string Computed(char name, ElementType type) {
  std::string text;
  if (type == ElementType::kFloat16) {
    text = fmt::format(
        "#define T{0} float\n#define GET_{0}(p, i) vload_half((i), (__global const half*)(p))\n"
        "#define GET4_{0}(p, i) vload_half4(0, (__global const half*)(p) + (i))\n"
        "#define ALIGNED4_{0}(p, i) vloada_half4(0, (__global const half*)(p) + (i))\n"
        "#define PUT_{0}(p, i, v) vstore_half_rte((float)(v), (i), (__global half*)(p))\n"
        "#define ROUND_{0} round_half\n",
        name);
  } else if (type == ElementType::kBFloat16) {
    text = fmt::format(
        "#define T{0} float\n#define GET_{0}(p, i) load_bfloat16((__global const ushort*)(p), (i))\n"
        "#define GET4_{0}(p, i) as_float4(convert_uint4(vload4(0, (__global const ushort*)(p) + (i))) << 16)\n"
        "#define ALIGNED4_{0}(p, i) as_float4(convert_uint4(*(__global const ushort4*)((__global const ushort*)(p) + (i))) "
        "<< 16)\n"
        "#define PUT_{0}(p, i, v) store_bfloat16((__global ushort*)(p), (i), (float)(v))\n"
        "#define ROUND_{0} round_bfloat16\n",
        name);
  } else if (kFloat8s.contains(type)) {
    text = SmallFloat(name, type);
  } else if (kPackedIntegers.contains(type)) {
    text = Packed(name, type);
  } else {
    text = Plain(name, StoredName(type), type == ElementType::kBool ? "(v) != 0" : "v") +
           fmt::format("#define ROUND_{}(v) (v)\n", name);
  }
  if ((kReals | kFloat8s).contains(type)) {
    text += fmt::format("#define REAL_{}\n", name);
    if (type != ElementType::kDouble) text += fmt::format("#define FLOAT_{}\n", name);
    if (name == 'A' || name == 'X') text += type == ElementType::kDouble ? "#define R(x) x\n" : "#define R(x) x##f\n";
  }
  return text + fmt::format("#define W{} {}\n", name, BitWidth(type) == 64 ? "ulong" : "uint");
}

std::string Moved(char name, ElementType type) {
  switch (BitWidth(type)) {
    case 8: return Plain(name, "uchar", "v");
    case 16: return Plain(name, "ushort", "v");
    case 32: return Plain(name, "uint", "v");
    case 64: return Plain(name, "ulong", "v");
    case 128: return Plain(name, "ulong2", "v");
    default: Fail(ErrorCode::kNotImplemented, "OpenCL kernels do not move {}", ElementTypeName(type));
  }
}

void Strided::Coalesce() {
  size_t kept = 0;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    if (dims[i] == 1) continue;
    const bool merges =
        kept > 0 && a[kept - 1] == a[i] * dims[i] && b[kept - 1] == b[i] * dims[i] && c[kept - 1] == c[i] * dims[i];
    const size_t to = merges ? kept - 1 : kept;
    dims[to] = merges ? dims[to] * dims[i] : dims[i];
    a[to] = a[i];
    b[to] = b[i];
    c[to] = c[i];
    if (!merges) ++kept;
  }
  if (kept == 0) {
    dims[0] = 1;
    a[0] = b[0] = c[0] = 0;
    kept = 1;
  }
  rank = static_cast<cl_int>(kept);
}

Strided Block(const Shape& shape) {
  Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", shape.rank(), kMostDims);
  Strided block;
  block.rank = static_cast<cl_int>(shape.rank());
  std::copy(shape.begin(), shape.end(), block.dims.begin());
  return block;
}

std::array<cl_long, kMostDims> RowMajor(const Shape& shape) {
  Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", shape.rank(), kMostDims);
  std::array<cl_long, kMostDims> strides{};
  cl_long stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::array<cl_long, kMostDims> BroadcastStrides(const Shape& shape, const Shape& result) {
  Require(shape.rank() <= result.rank() && result.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}",
          std::max(shape.rank(), result.rank()), kMostDims);
  std::array<cl_long, kMostDims> strides{};
  cl_long stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[result.rank() - shape.rank() + i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
  return strides;
}

const Epilogue& EpilogueOf(const KernelInfo& info) {
  static const Epilogue none;
  const auto* fused = dynamic_cast<const HasEpilogue*>(&info);
  return fused == nullptr ? none : fused->epilogue();
}

std::span<const Tensor* const> Epilogue::Collect(const KernelContext& context, const Shape& result,
                                                 Operands& operands) const {
  for (size_t i = 0; i < broadcasts.size(); ++i) {
    operands[i] = &context.required_input(kFirstInput + i);
    const int64_t elements = broadcasts[i].count > 0 ? broadcasts[i].count : result.num_elements() / broadcasts[i].inner;
    Require(operands[i]->num_elements() == elements, "an operand of {} follows a result of {}", operands[i]->shape(),
            result);
  }
  return std::span<const Tensor* const>(operands).first(broadcasts.size());
}

Shape HostIntegers(const Tensor& tensor) {
  const IntegerList list(tensor, "a list of sizes or axes");
  Shape integers(list.size());
  for (size_t i = 0; i < list.size(); ++i) integers[i] = list[i];
  return integers;
}

double HostNumber(const Tensor& tensor, int64_t i) {
  switch (tensor.type()) {
    case ElementType::kDouble: return tensor.data<double>()[i];
    case ElementType::kFloat16: return static_cast<float>(tensor.data<Float16>()[i]);
    case ElementType::kBFloat16: return static_cast<float>(tensor.data<BFloat16>()[i]);
    default: return tensor.data<float>()[i];
  }
}

BufferRange RangeOf(const Tensor& tensor) {
  return tensor.byte_size() == 0 ? BufferRange{} : DeviceAllocator::Find(tensor.raw());
}

namespace {

/// What a kernel is compiled from, of its file: the text before the kernels' sections, and its own. All of it where
/// sections are shared.
std::string OwnText(std::string_view text, std::string_view name) {
  constexpr std::string_view kSection = "\n#ifdef KERNEL_";
  const size_t own = text.find(fmt::format("{}{}\n", kSection, name));
  if (own == std::string_view::npos || text.find("defined(KERNEL_") != std::string_view::npos) return std::string(text);
  const size_t next = text.find(kSection, own + 1);
  return fmt::format("{}{}", text.substr(0, text.find(kSection)), text.substr(own, next - own));
}

}  // namespace

Launchable::Launchable(Device& device, std::string_view source, const std::string& defines, const char* name, bool tried)
    : name_(name), kernel_(device.CreateKernel(source, defines, name)), pace_(OwnText(KernelSource(source), name)) {
  largest_group_ = kGroup;
  Check(clGetKernelWorkGroupInfo(kernel_.get(), device.id(), CL_KERNEL_WORK_GROUP_SIZE, sizeof largest_group_,
                                 &largest_group_, nullptr),
        "clGetKernelWorkGroupInfo");
  group_ = std::clamp<size_t>(largest_group_, 1, kGroup);
  if (tried) return;
  std::array<size_t, 3> compiled{};  // zeros where the kernel takes any
  Check(clGetKernelWorkGroupInfo(kernel_.get(), device.id(), CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled,
                                 compiled.data(), nullptr),
        "clGetKernelWorkGroupInfo");
  const size_t items = compiled[0] * compiled[1] * compiled[2],
               most = std::min(largest_group_, device.capabilities().largest_group);
  if (items > most) {
    Fail(ErrorCode::kEpFail, "{} runs kernel '{}' in groups of at most {} work items; it needs {}",
         device.capabilities().name, name, most, items);
  }
}

Launchable& LazyLaunchable::Compile() {
  std::call_once(once_, [&] {
    try {
      kernel_.emplace(device_, source_, defines_, name_);
    } catch (const Error& error) {
      throw Error(
          error.code(),
          fmt::format("{}; give the model's inputs fixed sizes (free_dimensions), so that kernels are chosen when the "
                      "session is made and the next provider can take over, or leave this provider out",
                      error.what()));
    }
  });
  return *kernel_;
}

Launchable* LazyLaunchable::TryCompile() {
  std::call_once(tried_, [&] {
    try {
      Compile();
    } catch (const Error&) {
      refused_ = true;
    }
  });
  return refused_ ? nullptr : &*kernel_;
}

void Launchable::Set(cl_uint& index, const Tensor* tensor) {
  if (tensor != nullptr) return Set(index, *tensor);
  Set(index, BufferRange{});
}

void Launchable::Set(cl_uint& index, const BufferRange& range) {
  const cl_ulong offset = range.offset;
  Check(clSetKernelArg(kernel_.get(), index++, sizeof(cl_mem), range.buffer == nullptr ? nullptr : &range.buffer),
        "clSetKernelArg");
  Check(clSetKernelArg(kernel_.get(), index++, sizeof offset, &offset), "clSetKernelArg");
}

void Launchable::Enqueue(cl_command_queue queue, cl_event* event, std::array<size_t, 3> offset,
                         std::array<size_t, 3> global, std::array<size_t, 3> local) {
  Check(clEnqueueNDRangeKernel(queue, kernel_.get(), 3, offset.data(), global.data(), local.data(), 0, nullptr, event),
        "clEnqueueNDRangeKernel");
}

}  // namespace tessera::opencl
