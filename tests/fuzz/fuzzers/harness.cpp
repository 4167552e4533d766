#include "harness.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

// A size that an input names may be huge: such an allocation fails, and must become an Error.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "max_allocation_size_mb=512:allocator_may_return_null=1:detect_leaks=0";
}

extern "C" __attribute__((visibility("default"))) const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1";
}

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr auto kDeadline = std::chrono::milliseconds(1000);
constexpr int64_t kMostElements = 1 << 16;  // of an input
constexpr const char* kMemory = "256M";

/// An element such as models expect: sizes, positions and counts are small, and so are numbers.
template <class T>
void FillModest(Tensor& tensor, Random& random) {
  for (T& element : tensor.mutable_values<T>()) {
    if constexpr (std::is_floating_point_v<T>) {
      element = static_cast<T>(static_cast<int>(Below(random, 2001)) - 1000) / T{250};
    } else {
      element = static_cast<T>(static_cast<int>(Below(random, 8)) - (std::is_signed_v<T> && OneIn(random, 4) ? 4 : 0));
    }
  }
}

void FillModest(Tensor& tensor, Random& random) {
  switch (tensor.type()) {
    case ElementType::kFloat: return FillModest<float>(tensor, random);
    case ElementType::kDouble: return FillModest<double>(tensor, random);
    case ElementType::kInt32: return FillModest<int32_t>(tensor, random);
    case ElementType::kInt64: return FillModest<int64_t>(tensor, random);
    case ElementType::kUInt32: return FillModest<uint32_t>(tensor, random);
    case ElementType::kUInt64: return FillModest<uint64_t>(tensor, random);
    case ElementType::kBool:
      for (uint8_t& element : tensor.mutable_values<uint8_t>()) element = static_cast<uint8_t>(random() & 1);
      return;
    case ElementType::kString: {
      static const std::string texts[] = {"", "a", "b", "ab", "1.5", "-2", "tessera", "two words", "\xc3\xa9"};
      for (std::string& element : tensor.mutable_values<std::string>()) element = texts[Below(random, std::size(texts))];
      return;
    }
    default:
      for (uint8_t& element : tensor.mutable_values<uint8_t>()) element = static_cast<uint8_t>(random() & 0x3f);
  }
}

Shape ShapeOf(const std::optional<SymbolicShape>& declared, Random& random) {
  Shape shape;
  const auto any_size = [&] { return static_cast<int64_t>(OneIn(random, 12) ? 0 : 1 + Below(random, 5)); };
  if (!declared) {
    for (size_t rank = Below(random, 5); rank > 0; --rank) shape.Append(any_size());
    return shape;
  }
  for (const Dimension& dim : *declared) shape.Append(dim.known() ? dim.value : any_size());
  return shape;
}

std::optional<Value> RandomTensorOf(const TypeInfo& type, Random& random) {
  if (BitWidth(type.element) == 0) return std::nullopt;
  const Shape shape = ShapeOf(type.shape, random);
  if (shape.num_elements() > kMostElements) return std::nullopt;
  if (OneIn(random, 4)) return RandomTensor(type.element, shape, random);
  Tensor tensor(type.element, shape);
  FillModest(tensor, random);
  return tensor;
}

std::optional<Value> RandomSequence(const TypeInfo& type, Random& random) {
  Sequence sequence{*type.inner, {}};
  for (size_t n = Below(random, 4); n > 0; --n) {
    auto element = RandomValue(*type.inner, random);
    if (!element) return std::nullopt;
    sequence.elements.push_back(std::move(*element));
  }
  return sequence;
}

std::optional<Value> RandomMap(const TypeInfo& type, Random& random) {
  if (BitWidth(type.element) == 0) return std::nullopt;
  const size_t size = Below(random, 4);
  Map map{RandomTensor(type.element, {static_cast<int64_t>(size)}, random), *type.inner, {}};
  for (size_t i = 0; i < size; ++i) {
    auto value = RandomValue(*type.inner, random);
    if (!value) return std::nullopt;
    map.values.push_back(std::move(*value));
  }
  return map;
}

std::optional<Value> RandomSparse(const TypeInfo& type, Random& random) {
  if (BitWidth(type.element) == 0 || type.element == ElementType::kString) return std::nullopt;
  const Shape shape = ShapeOf(type.shape, random);
  const auto count = static_cast<int64_t>(Below(random, 4));
  return SparseTensor{RandomTensor(type.element, {count}, random), RandomTensor(ElementType::kInt64, {count}, random),
                      shape};
}

}  // namespace

SessionOptions OptionsOf(uint8_t provider, uint8_t flags) {
  SessionOptions options;
  constexpr uint8_t kFirstOfOnednn = 160, kFirstOfOpencl = 248;
  if (provider >= kFirstOfOpencl) {
    options.providers = {{"opencl", {}}};
  } else if (provider >= kFirstOfOnednn) {
    options.providers = {{"dnnl", {{"claims", "all"}}}};
  }
  options.config["session.min_island_nodes"] = "0";
  options.log_level = LogLevel::kFatal;
  options.config["session.load_memory_limit"] = options.config["session.run_memory_limit"] = kMemory;
  options.load_timeout = kDeadline;
  options.intra_op_threads = (flags & 1) != 0 ? 2 : 1;
  options.inter_op_threads = 2;
  if ((flags & 2) != 0) options.optimization_level = OptimizationLevel::kNone;
  options.enable_arena = (flags & 4) != 0;
  options.enable_memory_pattern = (flags & 8) != 0;
  if ((flags & 0x30) == 0x30) options.execution_mode = ExecutionMode::kParallel;
  if ((flags & 0xc0) == 0xc0) options.config["session.precision"] = (flags & 0x10) != 0 ? "int8-dynamic" : "bf16-weights";
  return options;
}

bool Tolerate(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool WithDeadline(const std::function<void(const RunOptions&)>& run) {
  RunOptions options;
  options.log_level = LogLevel::kFatal;
  options.timeout = kDeadline;
  const auto begin = std::chrono::steady_clock::now();
  Tolerate([&] { run(options); });
  return std::chrono::steady_clock::now() - begin < kDeadline;
}

std::optional<Value> RandomValue(const TypeInfo& type, Random& random) {
  switch (type.kind) {
    case ValueKind::kTensor: return RandomTensorOf(type, random);
    case ValueKind::kSequence: return RandomSequence(type, random);
    case ValueKind::kMap: return RandomMap(type, random);
    case ValueKind::kSparseTensor: return RandomSparse(type, random);
    case ValueKind::kOptional: return OneIn(random, 3) ? Value() : RandomValue(*type.inner, random);
    default: return std::nullopt;
  }
}

bool RunOnRandomInputs(const Session& session, Random& random) {
  std::vector<Value> inputs;
  for (const NamedType& input : session.inputs()) {
    std::optional<Value> value;
    if (!Tolerate([&] { value = RandomValue(input.type, random); }) || !value) return true;
    inputs.push_back(std::move(*value));
  }
  return WithDeadline([&](const RunOptions& options) {
    std::vector<Value> results(session.outputs().size());
    session.Run(inputs, results, options);
  });
}

const fs::path& ScratchFolder() {
  static const fs::path* const folder = [] {
    std::string name = (fs::temp_directory_path() / "tessera_fuzz_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    auto* const made = new fs::path(name);
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(ScratchFolder(), ignored);
    });
    return made;
  }();
  return *folder;
}

}  // namespace tessera::fuzz
