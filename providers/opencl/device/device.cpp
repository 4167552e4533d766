#include "opencl/device/device.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <mutex>

#include "base/check.h"
#include "base/fork.h"
#include "opencl/device/sources.h"

namespace tessera::opencl {
namespace {

/// What is in no device's OpenCL C 1.2, programs ask for by this define.
const char* BuildOptions(std::string_view source) {
  return source.find("#define DOTS_OF_OPENCL_C\n") == std::string_view::npos ? "-cl-std=CL1.2" : "-cl-std=CL3.0";
}

template <class Get>
std::string InfoString(Get get) {
  size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (get(size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}

std::string DeviceString(cl_device_id id, cl_device_info what) {
  return InfoString([&](size_t size, void* data, size_t* needed) { return clGetDeviceInfo(id, what, size, data, needed); });
}
std::string PlatformString(cl_platform_id id, cl_platform_info what) {
  return InfoString(
      [&](size_t size, void* data, size_t* needed) { return clGetPlatformInfo(id, what, size, data, needed); });
}

template <class T>
T DeviceValue(cl_device_id id, cl_device_info what) {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): OpenCL's handles are pointers, and the handle itself is what is asked for
  Check(clGetDeviceInfo(id, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

bool HasExtension(const std::string& extensions, std::string_view name) {
  return fmt::format(" {} ", extensions).find(fmt::format(" {} ", name)) != std::string::npos;
}

/// Major number of the compute capability of one of NVIDIA's GPUs; 0 for other devices.
cl_uint ComputeCapability(cl_device_id id, const std::string& extensions) {
  constexpr cl_device_info kComputeCapabilityMajor = 0x4000;  // cl_nv_device_attribute_query
  cl_uint major = 0;
  const bool known = HasExtension(extensions, "cl_nv_device_attribute_query") &&
                     clGetDeviceInfo(id, kComputeCapabilityMajor, sizeof major, &major, nullptr) == CL_SUCCESS;
  return known ? major : 0;
}

/// The version that "OpenCL 3.0 ..." starts with; 0.0 where it does not.
std::pair<int, int> VersionOf(const std::string& text) {
  std::pair found{0, 0};
  return std::sscanf(text.c_str(), "OpenCL %d.%d", &found.first, &found.second) == 2 ? found : std::pair(0, 0);
}

Int8Dots Int8DotsOf(cl_device_id id, const Capabilities& device, cl_uint compute_capability,
                    const std::string& extensions) {
  constexpr cl_uint kLeast = 7;  // 6.1 in truth, but for its sister 6.0
  if (compute_capability >= kLeast) return Int8Dots::kPtx;
  // Some drivers have the functions, but no instruction for them.
  constexpr cl_device_info kAccelerated =
      0x1075;                            // CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR
  std::array<cl_bool, 6> accelerated{};  // of signed bytes, of others...
  const bool feature = HasExtension(extensions, "cl_khr_integer_dot_product") &&
                       VersionOf(device.version) >= std::pair(3, 0) &&
                       clGetDeviceInfo(id, kAccelerated, sizeof accelerated, accelerated.data(), nullptr) == CL_SUCCESS &&
                       accelerated[0] == CL_TRUE;
  return feature ? Int8Dots::kOpenclC : Int8Dots::kNone;
}

bool IsOf(cl_device_type type, cl_device_id id) { return (DeviceValue<cl_device_type>(id, CL_DEVICE_TYPE) & type) != 0; }

Capabilities Probe(cl_device_id id) {
  Capabilities c;
  c.platform = PlatformString(DeviceValue<cl_platform_id>(id, CL_DEVICE_PLATFORM), CL_PLATFORM_VERSION);
  c.name = DeviceString(id, CL_DEVICE_NAME);
  c.vendor = DeviceString(id, CL_DEVICE_VENDOR);
  c.version = DeviceString(id, CL_DEVICE_VERSION);
  c.driver = DeviceString(id, CL_DRIVER_VERSION);
  const std::string extensions = DeviceString(id, CL_DEVICE_EXTENSIONS);
  c.is_gpu = IsOf(CL_DEVICE_TYPE_GPU, id);
  c.is_cpu = IsOf(CL_DEVICE_TYPE_CPU, id);
  c.fp64 = HasExtension(extensions, "cl_khr_fp64");
  c.fp16 = HasExtension(extensions, "cl_khr_fp16");
  constexpr cl_uint kFirstWithMatrixUnits = 8;  // of fp16
  const cl_uint compute_capability = ComputeCapability(id, extensions);
  c.matrix_units = compute_capability >= kFirstWithMatrixUnits;
  c.int8_dots = Int8DotsOf(id, c, compute_capability, extensions);
  c.shares_host_memory = DeviceValue<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  c.memory_bytes = DeviceValue<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  c.largest_buffer_bytes = DeviceValue<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  c.largest_group = DeviceValue<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  c.compute_units = DeviceValue<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  c.local_bytes = DeviceValue<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  return c;
}

std::vector<std::pair<cl_platform_id, cl_device_id>> AllDevices(cl_device_type type, std::string_view platform_part) {
  // Drivers initialize when they are first asked, and not all of them (pocl 3.1) let a second thread wait for that.
  static std::mutex mutex;
  if (LostInFork(ForeignThreads::kOpenCl)) {
    Fail(ErrorCode::kEpFail,
         "OpenCL was in use when this process was forked, which its drivers do not survive; start a process of its own "
         "(exec)");
  }
  const std::lock_guard lock(mutex);
  NoteUse(ForeignThreads::kOpenCl);
  std::vector<std::pair<cl_platform_id, cl_device_id>> found;
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return found;
  std::vector<cl_platform_id> platforms(count);
  Check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    if (PlatformString(platform, CL_PLATFORM_NAME).find(platform_part) == std::string::npos) continue;
    cl_uint devices = 0;
    if (clGetDeviceIDs(platform, type, 0, nullptr, &devices) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(devices);
    Check(clGetDeviceIDs(platform, type, devices, ids.data(), nullptr), "clGetDeviceIDs");
    for (cl_device_id id : ids) found.emplace_back(platform, id);
  }
  return found;
}

/// Why kernels do not run on the device; empty where they do. What it does not answer counts as a no.
std::string WhyUnusable(cl_device_id id) {
  try {
    constexpr std::pair kLeast{1, 2};
    const std::string version = DeviceString(id, CL_DEVICE_VERSION);
    if (VersionOf(version) < kLeast) {
      return fmt::format("its version is '{}'; OpenCL 1.2 is needed", version);
    }
    if (DeviceValue<cl_bool>(id, CL_DEVICE_AVAILABLE) != CL_TRUE) return "it is not available now";
    if (DeviceValue<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) != CL_TRUE) return "its driver has no compiler";
    if (DeviceValue<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) != CL_TRUE) return "it is big-endian";
    const std::string profile = DeviceString(id, CL_DEVICE_PROFILE);
    return profile == "FULL_PROFILE" ? "" : fmt::format("its profile is '{}'; FULL_PROFILE is needed", profile);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string WhyNoDevice() {
  cl_uint count = 0;
  const cl_int status = clGetPlatformIDs(0, nullptr, &count);
  if (status == CL_SUCCESS && count > 0) return fmt::format("none of the {} installed platforms has one", count);
  return fmt::format("no platform is installed (clGetPlatformIDs gives {})", status);
}

cl_device_type TypeFromName(std::string_view name) {
  if (name == "gpu") return CL_DEVICE_TYPE_GPU;
  if (name == "cpu") return CL_DEVICE_TYPE_CPU;
  if (name == "accelerator") return CL_DEVICE_TYPE_ACCELERATOR;
  return CL_DEVICE_TYPE_ALL;
}

/// Nothing where the driver has none to give.
std::vector<std::byte> BinaryOf(cl_program program) {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS) return {};
  std::vector<std::byte> bytes(size);
  auto* data = reinterpret_cast<unsigned char*>(bytes.data());
  if (size == 0 || clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS) return {};
  return bytes;
}

std::string Option(const ProviderOptions& options, std::string_view name) {
  const auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

}  // namespace

std::vector<std::string> DescribeDevices() {
  std::vector<std::string> rows_here;
  for (const auto& [platform, id] : AllDevices(CL_DEVICE_TYPE_ALL, "")) {
    const std::string where =
        fmt::format("{} on {}", DeviceString(id, CL_DEVICE_NAME), PlatformString(platform, CL_PLATFORM_NAME));
    if (const std::string why = WhyUnusable(id); !why.empty()) {
      rows_here.push_back(fmt::format("{}: not used: {}", where, why));
      continue;
    }
    try {
      const Capabilities c = Probe(id);
      rows_here.push_back(fmt::format("{}: {}, driver {}, {} MiB{}{}{}{}", where, c.version, c.driver, c.memory_bytes >> 20,
                                      c.fp64 ? ", fp64" : "", c.fp16 ? ", fp16" : "",
                                      c.matrix_units ? ", matrix units" : "",
                                      c.int8_dots != Int8Dots::kNone ? ", dots of bytes" : ""));
    } catch (const Error& error) {
      rows_here.push_back(fmt::format("{}: does not answer: {}", where, error.what()));
    }
  }
  return rows_here;
}

std::string WhyNotByDefault() {
  try {
    std::vector<std::string> processors;
    for (const auto& [platform, id] : AllDevices(CL_DEVICE_TYPE_ALL, "")) {
      if (!WhyUnusable(id).empty()) continue;
      if (!IsOf(CL_DEVICE_TYPE_CPU, id)) return {};
      processors.push_back(DeviceString(id, CL_DEVICE_NAME));
    }
    if (processors.empty()) return fmt::format("there is no OpenCL device that it could use: {}", WhyNoDevice());
    return fmt::format("its only device is a processor ({}), on which the CPU provider is faster",
                       fmt::join(processors, ", "));
  } catch (const Error& error) {
    return error.what();
  }
}

std::shared_ptr<Device> Device::Open(const ProviderOptions& options) {
  // Devices stay open: the programs that they hold are worth more than their contexts. Never destroyed, because drivers may
  // have been unloaded by then.
  static std::mutex& mutex = *new std::mutex;
  static auto& open = *new std::map<std::pair<cl_device_id, std::string>, std::shared_ptr<Device>>;
  const std::string type = Option(options, "device_type"), platform = Option(options, "platform");
  const std::string number = Option(options, "device_id"), cache = Option(options, "program_cache_path");
  size_t index = 0;
  std::from_chars(number.data(), number.data() + number.size(), index);  // a number, as options are checked
  auto devices = AllDevices(TypeFromName(type), platform);
  std::erase_if(devices, [](const auto& d) { return !WhyUnusable(d.second).empty(); });
  // GPUs first where any kind will do, processors last.
  std::ranges::stable_sort(devices, {}, [](const auto& d) {
    return IsOf(CL_DEVICE_TYPE_GPU, d.second) ? 0 : IsOf(CL_DEVICE_TYPE_CPU, d.second) ? 2 : 1;
  });
  if (index >= devices.size()) {
    const std::vector<std::string> known = DescribeDevices();
    if (known.empty()) Fail(ErrorCode::kEpFail, "there is no OpenCL device: {}", WhyNoDevice());
    Fail(ErrorCode::kEpFail, "there is no OpenCL device {} of type '{}' on platform '{}'; found: {}", index, type, platform,
         fmt::join(known, "; "));
  }
  const std::lock_guard lock(mutex);
  auto& held = open[{devices[index].second, cache}];
  if (held == nullptr || !held->Works()) held.reset(new Device(devices[index].first, devices[index].second, cache));
  return held;
}

Device::Device(cl_platform_id platform, cl_device_id id, const std::string& cache_folder)
    : id_(id), cache_(cache_folder), capabilities_(Probe(id)) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform), 0};
  cl_int status = CL_SUCCESS;
  context_ = Context(clCreateContext(properties, 1, &id_, nullptr, nullptr, &status));
  Check(status, "clCreateContext");
}

bool Device::Works() const noexcept {
  cl_int status = CL_SUCCESS;
  const Queue queue(clCreateCommandQueue(context(), id_, 0, &status));
  if (status != CL_SUCCESS) return false;
  const Buffer buffer(clCreateBuffer(context(), CL_MEM_READ_WRITE, sizeof(cl_int), nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const cl_int zero = 0;
  return clEnqueueWriteBuffer(queue.get(), buffer.get(), CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, nullptr) ==
             CL_SUCCESS &&
         clFinish(queue.get()) == CL_SUCCESS;
}

Queue Device::CreateQueue(bool timed) const {
  cl_int status = CL_SUCCESS;
  Queue queue(clCreateCommandQueue(context(), id_, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &status));
  Check(status, "clCreateCommandQueue");
  return queue;
}

Buffer Device::NewBuffer(size_t bytes, bool pinned) const {
  cl_int status = CL_SUCCESS;
  Buffer buffer(
      clCreateBuffer(context(), CL_MEM_READ_WRITE | (pinned ? CL_MEM_ALLOC_HOST_PTR : 0), bytes, nullptr, &status));
  Check(status, "clCreateBuffer");
  return buffer;
}

Buffer Device::BufferOf(const void* data, size_t bytes) const {
  cl_int status = CL_SUCCESS;
  Buffer buffer(
      clCreateBuffer(context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, const_cast<void*>(data), &status));
  Check(status, "clCreateBuffer");
  return buffer;
}

Buffer Device::ViewOf(const void* data, size_t bytes) const {
  const bool shares = capabilities_.shares_host_memory && reinterpret_cast<uintptr_t>(data) % kHostAlignment == 0;
  if (!shares) return BufferOf(data, bytes);
  cl_int status = CL_SUCCESS;
  Buffer buffer(clCreateBuffer(context(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, const_cast<void*>(data), &status));
  Check(status, "clCreateBuffer");
  return buffer;
}

ClKernel Device::CreateKernel(std::string_view source, const std::string& defines, const char* name) {
  const std::string text =
      fmt::format("{}{}#define KERNEL_{}\n{}", KernelSource("prelude"), defines, name, KernelSource(source));
  const std::lock_guard lock(mutex_);
  auto program = programs_.find(text);
  if (program == programs_.end()) program = programs_.emplace(text, Build(text)).first;
  cl_int status = CL_SUCCESS;
  ClKernel kernel(clCreateKernel(program->second.get(), name, &status));
  Check(status, "clCreateKernel");
  return kernel;
}

std::string Device::Key(std::string_view text) const {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", capabilities_.platform, capabilities_.name, capabilities_.version,
                     capabilities_.driver, BuildOptions(text), text);
}

std::optional<std::string> Device::Remembered(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = remembered_.find(key); found != remembered_.end()) return found->second;
  const auto bytes = cache_.Load(Key(key));
  if (!bytes) return std::nullopt;
  return remembered_[key] = std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void Device::Remember(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  remembered_[key] = text;
  cache_.Store(Key(key), std::as_bytes(std::span(text)));
}

Program Device::Build(const std::string& source) {
  const std::string key = Key(source);
  if (const auto binary = cache_.Load(key)) {
    Program cached = FromBinary(*binary, BuildOptions(source));
    if (cached.get() != nullptr) return cached;
  }
  cl_int status = CL_SUCCESS;
  const char* text = source.c_str();
  Program program(clCreateProgramWithSource(context(), 1, &text, nullptr, &status));
  Check(status, "clCreateProgramWithSource");
  if (status = clBuildProgram(program.get(), 1, &id_, BuildOptions(source), nullptr, nullptr); status != CL_SUCCESS) {
    const std::string log = InfoString([&](size_t size, void* data, size_t* needed) {
      return clGetProgramBuildInfo(program.get(), id_, CL_PROGRAM_BUILD_LOG, size, data, needed);
    });
    throw DeviceError(status, fmt::format("{} cannot compile a kernel: clBuildProgram failed with OpenCL error {} ({}) {}",
                                          capabilities_.name, status, ErrorName(status), log));
  }
  if (cache_.enabled()) {
    if (const std::vector<std::byte> binary = BinaryOf(program.get()); !binary.empty()) cache_.Store(key, binary);
  }
  return program;
}

Program Device::FromBinary(std::span<const std::byte> binary, const char* options) const {
  const size_t size = binary.size();
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int binary_status = CL_SUCCESS, status = CL_SUCCESS;
  Program program(clCreateProgramWithBinary(context(), 1, &id_, &size, &data, &binary_status, &status));
  // What the driver does not accept any more is simply built anew.
  if (status != CL_SUCCESS || binary_status != CL_SUCCESS) return {};
  if (clBuildProgram(program.get(), 1, &id_, options, nullptr, nullptr) != CL_SUCCESS) return {};
  return program;
}

}  // namespace tessera::opencl
