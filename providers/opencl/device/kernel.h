#pragma once

// What every OpenCL operator is built on: a compiled kernel and a launch with typed arguments.

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rounding.h"
#include "opencl/device/device.h"
#include "opencl/device/memory.h"
#include "ops/axis.h"
#include "tessera/provider/kernel.h"

namespace tessera::opencl {

class DeviceConstants;

/// What a session's options say of how kernels compute.
struct Settings {
  bool tiles = false;    // matmuls and convolutions by tiles in local memory (GPUs) rather than by panels in registers
  bool fp16 = false;     // operands of matmuls in fp16
  bool tuning = false;   // the size of tiles is chosen by timing
  bool winograd = true;  // convolutions through Winograd's transform where it pays
};

/// The device of the provider that a kernel is made for, and its settings.
Device& DeviceOf(const KernelInfo& info);
const Settings& SettingsOf(const KernelInfo& info);
/// The session's queue, for work when it is made.
cl_command_queue QueueOf(const KernelInfo& info);
/// The session's constants on the device, for those that kernels keep in a form of their own.
DeviceConstants& ConstantsOf(const KernelInfo& info);

/// What is applied to each element of a kernel's result while it is in a register: text that defines EPILOGUE(value,
/// index), EPILOGUE_PARAMETERS, and EPILOGUE_ARGUMENTS for functions with these parameters, and where it reads the
/// context's inputs from kFirstInput on. MatMul then may have a bias too, as input 2.
struct Epilogue {
  std::string defines = "#define EPILOGUE(value, index) (value)\n#define EPILOGUE_PARAMETERS\n#define EPILOGUE_ARGUMENTS\n";
  /// An operand is read at index / inner % count of its elements, a count of 0 being no bound: at the index itself where it
  /// has the result's shape, for each channel or row where it broadcasts.
  struct Broadcast {
    int64_t inner = 1, count = 0;
  };
  std::vector<Broadcast> broadcasts;

  static constexpr size_t kFirstInput = 3, kMostInputs = 4;
  using Operands = std::array<const Tensor*, kMostInputs>;
  /// The operands of one run, for a result of this shape.
  std::span<const Tensor* const> Collect(const KernelContext& context, const Shape& result, Operands& operands) const;
};
/// Beside KernelInfo: the node has an epilogue.
class HasEpilogue {
 public:
  explicit HasEpilogue(Epilogue epilogue) : epilogue_(std::move(epilogue)) {}
  virtual ~HasEpilogue() = default;
  const Epilogue& epilogue() const noexcept { return epilogue_; }

 private:
  Epilogue epilogue_;
};
/// The epilogue that the provider fused with the node; by default, none.
const Epilogue& EpilogueOf(const KernelInfo& info);

/// Floating point types; fp16 is computed in float, double needs a device with fp64.
inline constexpr TypeSet kReals = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16,
                                   ElementType::kDouble};
inline constexpr TypeSet kSigned = {ElementType::kInt8, ElementType::kInt16, ElementType::kInt32, ElementType::kInt64};
inline constexpr TypeSet kUnsigned = {ElementType::kUInt8, ElementType::kUInt16, ElementType::kUInt32,
                                      ElementType::kUInt64};
inline constexpr TypeSet kIntegers = kSigned | kUnsigned;
inline constexpr TypeSet kNumbers = kReals | kIntegers;
/// Read as numbers and, floats of 8 bits, written as them by casts and quantization.
inline constexpr TypeSet kFloat8s = {ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2,
                                     ElementType::kFloat8E5M2FNUZ};
inline constexpr TypeSet kPackedIntegers = {ElementType::kInt4, ElementType::kUInt4, ElementType::kInt2,
                                            ElementType::kUInt2};
/// Types that are only moved: by their width.
inline constexpr TypeSet kMovable =
    kNumbers | TypeSet{ElementType::kBool,         ElementType::kComplex64,      ElementType::kComplex128,
                       ElementType::kFloat8E4M3FN, ElementType::kFloat8E5M2,     ElementType::kFloat8E4M3FNUZ,
                       ElementType::kFloat8E8M0,   ElementType::kFloat8E5M2FNUZ, ElementType::kFloat6E2M3,
                       ElementType::kFloat6E3M2};

/// Macros for one operand, called by a letter: T_ the type that is computed in (fp16: float; bool: uchar), W_ the
/// unsigned type that integers wrap in, GET_(pointer, index) and PUT_(pointer, index, value), GET4_ for four neighbours,
/// ALIGNED4_ where they start at a multiple of their size, ROUND_(value) to what can be stored, REAL_ for floating point.
/// Of A and X also R(number), a literal of T_. What PUT_ makes of numbers outside the range of a float of 8 bits, SATURATE
/// says.
std::string Computed(char name, ElementType type);
/// T_, GET_ and PUT_ for elements that are moved by their width.
std::string Moved(char name, ElementType type);

inline constexpr size_t kMostDims = 8;

/// Where a tensor on the device is; nowhere when it is empty.
BufferRange RangeOf(const Tensor& tensor);

/// Up to kMostDims sizes and strides, passed by value; the same struct stands in prelude.cl.
struct Strided {
  cl_int rank = 0;
  cl_int padding = 0;
  std::array<cl_long, kMostDims> dims{};
  std::array<cl_long, kMostDims> a{};
  std::array<cl_long, kMostDims> b{};
  std::array<cl_long, kMostDims> c{};

  /// Merges neighbouring dimensions that every stride crosses evenly. At least one dimension remains.
  void Coalesce();
};

/// The sizes of a shape. Throws Error where it has more than kMostDims dimensions.
Strided Block(const Shape& shape);
std::array<cl_long, kMostDims> RowMajor(const Shape& shape);
/// Row-major strides; 0 where a dimension of `shape`, aligned to the right of `result`, is broadcast.
std::array<cl_long, kMostDims> BroadcastStrides(const Shape& shape, const Shape& result);

/// The elements of an integer tensor in host memory: sizes, axes.
Shape HostIntegers(const Tensor& tensor);
/// Element `i` of a floating point tensor in host memory.
double HostNumber(const Tensor& tensor, int64_t i);

/// A cl_kernel that several threads may launch: arguments are set and the launch is enqueued under one lock, because OpenCL
/// keeps arguments in the kernel object.
class Launchable {
 public:
  /// Throws Error(kEpFail) where the device does not run groups of the size that the kernel is compiled for. What drivers
  /// say of that is not always so; `tried`: the caller finds out for itself.
  Launchable(Device& device, std::string_view source, const std::string& defines, const char* name, bool tried = false);

  /// Enqueues over `global` work items in groups of `local`, which divides it. Tensors pass as a buffer and a byte offset,
  /// null as no buffer; numbers and structs by value; spans one after the other.
  template <class... Args>
  void operator()(KernelContext& context, std::array<size_t, 3> global, std::array<size_t, 3> local, const Args&... args) {
    auto& stream = static_cast<DeviceStream&>(*context.stream());
    if (stream.waits()) return Timed(stream, global, local, args...);
    if (global[0] * global[1] * global[2] == 0) return;
    const std::array<size_t, 3> groups = {global[0] / local[0], global[1] / local[1], global[2] / local[2]};
    pace_.Run(stream.pace(), groups, (BytesOf(args) + ... + 0.0), LeastGroups(stream.device()),
              [&](const GroupRange& range) {
                std::array<size_t, 3> offset, size;
                for (size_t d = 0; d < 3; ++d) {
                  offset[d] = range.first[d] * local[d];
                  size[d] = range.count[d] * local[d];
                }
                Launch(stream.pace().queue(), nullptr, offset, size, local, args...);
              });
  }
  /// The same without a run.
  template <class... Args>
  void On(cl_command_queue queue, std::array<size_t, 3> global, std::array<size_t, 3> local, const Args&... args) {
    Launch(queue, nullptr, {}, global, local, args...);
  }
  /// Over items x rows x planes, in groups of one size: drivers that compile for each size do so once. The kernel's first
  /// argument is the number of items, because the last group of a row reaches past it.
  template <class... Args>
  void Grid(KernelContext& context, int64_t items, int64_t rows, int64_t planes, const Args&... args) {
    const auto count = static_cast<size_t>(items);
    (*this)(context, {RoundUp(count, group_), static_cast<size_t>(rows), static_cast<size_t>(planes)}, {group_, 1, 1},
            static_cast<cl_ulong>(items), args...);
  }
  /// The same along one dimension, without a run.
  template <class... Args>
  void LinearOn(cl_command_queue queue, int64_t items, const Args&... args) {
    const auto count = static_cast<size_t>(items);
    On(queue, {RoundUp(count, group_), 1, 1}, {group_, 1, 1}, static_cast<cl_ulong>(items), args...);
  }
  /// In this many groups along the first dimension, where every driver takes 2^31 of them: some take 65535 along the
  /// others.
  template <class... Args>
  void Groups(KernelContext& context, int64_t groups, size_t group, const Args&... args) {
    (*this)(context, {static_cast<size_t>(groups) * group, 1, 1}, {group, 1, 1}, args...);
  }
  template <class... Args>
  void Linear(KernelContext& context, int64_t items, const Args&... args) {
    Grid(context, items, 1, 1, args...);
  }

  /// For processors: over rows of `size` elements, as EACH_ROW of prelude.cl takes them. The number of rows and how
  /// many an item has are the last arguments.
  template <class... Args>
  void Rows(KernelContext& context, int64_t size, int64_t rows, const Args&... args) {
    const int64_t together = std::max<int64_t>(kRowPiece / std::max<int64_t>(size, 1), 1);
    (*this)(context, {static_cast<size_t>(CeilDiv(size, kRowPiece)), static_cast<size_t>(CeilDiv(rows, together)), 1},
            {1, 1, 1}, args..., cl_long{rows}, cl_long{together});
  }
  static constexpr int64_t kRowPiece = 4096;
  /// What kernels over rows want defined.
  static std::string RowPieceDefines() { return fmt::format("#define ROW_PIECE {}\n#define STEP 16\n", kRowPiece); }

  /// Most work items that a group of this kernel can have.
  size_t largest_group() const noexcept { return largest_group_; }

 private:
  template <class... Args>
  void Launch(cl_command_queue queue, cl_event* event, std::array<size_t, 3> offset, std::array<size_t, 3> global,
              std::array<size_t, 3> local, const Args&... args) {
    if (global[0] * global[1] * global[2] == 0) return;
    const std::lock_guard lock(mutex_);
    cl_uint index = 0;
    (Set(index, args), ...);
    Enqueue(queue, event, offset, global, local);
  }
  /// Waits for the kernel, and writes down when it ran.
  template <class... Args>
  void Timed(DeviceStream& stream, std::array<size_t, 3> global, std::array<size_t, 3> local, const Args&... args) {
    cl_event handle = nullptr;
    const auto queued = std::chrono::steady_clock::now();
    Launch(stream.pace().queue(), &handle, {}, global, local, args...);
    const Event event(handle);
    stream.Synchronize();
    stream.Trace(name_, handle, queued);
  }
  void Set(cl_uint& index, const Tensor& tensor) { Set(index, RangeOf(tensor)); }
  void Set(cl_uint& index, const Tensor* tensor);
  void Set(cl_uint& index, const BufferRange& range);
  /// An argument that only some variants of a kernel have.
  template <class T>
  void Set(cl_uint& index, const std::optional<T>& value) {
    if (value) Set(index, *value);
  }
  template <class T>
  void Set(cl_uint& index, const std::span<T>& operands) {
    for (const auto& operand : operands) Set(index, operand);
  }
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  void Set(cl_uint& index, const T& value) {
    Check(clSetKernelArg(kernel_.get(), index++, sizeof value, &value), "clSetKernelArg");
  }
  void Enqueue(cl_command_queue queue, cl_event* event, std::array<size_t, 3> offset, std::array<size_t, 3> global,
               std::array<size_t, 3> local);

  /// Bytes of an operand, as far as it is a tensor.
  static double BytesOf(const Tensor& tensor) noexcept { return static_cast<double>(tensor.byte_size()); }
  static double BytesOf(const Tensor* tensor) noexcept { return tensor == nullptr ? 0.0 : BytesOf(*tensor); }
  template <class T>
  static double BytesOf(const std::span<T>& operands) noexcept {
    double bytes = 0;
    for (const auto& operand : operands) bytes += BytesOf(operand);
    return bytes;
  }
  template <class T>
    requires(!std::is_convertible_v<const T&, const Tensor*>)
  static double BytesOf(const T&) noexcept {
    return 0;
  }
  /// Enough for all of the device.
  static size_t LeastGroups(const Device& device) noexcept { return 2 * size_t{device.capabilities().compute_units}; }

  const char* name_;
  ClKernel kernel_;
  size_t largest_group_, group_;
  LaunchPace pace_;
  std::mutex mutex_;
};

/// A kernel that is compiled when it is first needed.
class LazyLaunchable {
 public:
  LazyLaunchable(Device& device, std::string_view source, std::string defines, const char* name)
      : device_(device), source_(source), defines_(std::move(defines)), name_(name) {}
  Launchable& Compile();
  /// Null where the device does not take the kernel, now and later: the caller has another one.
  Launchable* TryCompile();

 private:
  Device& device_;
  std::string_view source_;
  std::string defines_;
  const char* name_;
  std::once_flag once_, tried_;
  std::optional<Launchable> kernel_;
  bool refused_ = false;
};

/// The shape that the graph states, where all of it is known.
inline std::optional<Shape> KnownShape(const TypeInfo& type) { return type.shape ? ToShape(*type.shape) : std::nullopt; }

/// Each file of ops/ registers its operators: a line each in ops.inc.
#define TESSERA_OP(name) void Register##name(KernelRegistry& registry);
#include "opencl/ops/ops.inc"
#undef TESSERA_OP

}  // namespace tessera::opencl
