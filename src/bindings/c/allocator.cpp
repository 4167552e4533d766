// Memory: allocators of ours for clients, and theirs for us.

#include "bindings/c/allocator.h"

#include <cstring>
#include <string>

#include "bindings/c/entry.h"
#include "bindings/c/key_values.h"
#include "bindings/c/session.h"

namespace tessera::c_abi {
namespace {

void* AllocateOffered(OrtAllocator* self, size_t size) {
  try {
    return size == 0 ? nullptr : static_cast<OfferedAllocator*>(self)->allocator.Allocate(size);
  } catch (...) {  // the limit, or the machine's
    return nullptr;
  }
}

void FreeOffered(OrtAllocator* self, void* memory) { static_cast<OfferedAllocator*>(self)->allocator.Free(memory); }

const OrtMemoryInfo* InfoOfOffered(const OrtAllocator* self) { return &static_cast<const OfferedAllocator*>(self)->info; }

/// Under the names that ONNX Runtime has for them.
OrtStatusPtr StatsOfOffered(const OrtAllocator* self, OrtKeyValuePairs** out) noexcept {
  return Guarded([&] {
    const AllocatorStats stats = static_cast<const OfferedAllocator*>(self)->allocator.stats();
    auto pairs = std::make_unique<OrtKeyValuePairs>();
    pairs->Set("Limit", std::to_string(stats.limit.value_or(-1)));
    pairs->Set("InUse", std::to_string(stats.bytes_in_use));
    pairs->Set("TotalAllocated", std::to_string(stats.bytes_reserved));
    pairs->Set("MaxInUse", std::to_string(stats.peak_bytes_in_use));
    pairs->Set("NumAllocs", std::to_string(stats.allocations));
    Give(out, [&] { return pairs.release(); });
  });
}

OrtStatusPtr ShrinkOffered(OrtAllocator* self) noexcept {
  return Guarded([&] { static_cast<OfferedAllocator*>(self)->allocator.Shrink(); });
}

/// A client's buffer, which its allocator takes back.
struct ClientBuffer {
  OrtAllocator* allocator;
  int64_t strings;  // how many there are in it

  void operator()(void* memory) const {
    if (memory == nullptr) return;
    std::destroy_n(static_cast<std::string*>(memory), static_cast<size_t>(strings));
    allocator->Free(allocator, memory);
  }
};

class AllocatorOfClient final : public Allocator {
 public:
  explicit AllocatorOfClient(OrtAllocator& client) : client_(client) {}

  const MemoryInfo& memory() const noexcept override { return memory_; }
  void* Allocate(size_t bytes) override {
    void* buffer = bytes == 0 ? nullptr : client_.Alloc(&client_, bytes);
    if (buffer == nullptr && bytes > 0)
      Fail(ErrorCode::kRuntimeException, "the registered allocator gives no {} bytes", bytes);
    return buffer;
  }
  void Free(void* buffer) noexcept override {
    if (buffer != nullptr) client_.Free(&client_, buffer);
  }

 private:
  OrtAllocator& client_;
  const MemoryInfo memory_;
};

// Of an allocator that was released.
void* AllocateNothing(OrtAllocator* /*self*/, size_t /*size*/) { return nullptr; }
void FreeNothing(OrtAllocator* /*self*/, void* /*memory*/) {}
const OrtMemoryInfo* InfoOfNothing(const OrtAllocator* /*self*/) { return CpuInfo(); }

constexpr OrtAllocator Functions(uint32_t version, decltype(OrtAllocator::Alloc) alloc, decltype(OrtAllocator::Free) free,
                                 decltype(OrtAllocator::Info) info, decltype(OrtAllocator::GetStats) stats) {
  OrtAllocator functions{};
  functions.version = version;
  functions.Alloc = alloc;
  functions.Free = free;
  functions.Info = info;
  functions.Reserve = alloc;
  functions.GetStats = stats;
  return functions;
}
constexpr OrtAllocator kOffered = Functions(ORT_API_VERSION, AllocateOffered, FreeOffered, InfoOfOffered, StatsOfOffered);
constexpr OrtAllocator kReleased = Functions(0, AllocateNothing, FreeNothing, InfoOfNothing, nullptr);

}  // namespace

OfferedAllocator::OfferedAllocator(Allocator& offered, OrtMemoryInfo its_info, std::shared_ptr<const void> its_owner)
    : OrtAllocator(kOffered), allocator(offered), info(its_info), owner(std::move(its_owner)) {}

OfferedAllocator::~OfferedAllocator() {
  static_cast<OrtAllocator&>(*this) = kReleased;
  KeepLastWrites(this);
}

OrtAllocator& DefaultAllocator() noexcept {
  static OfferedAllocator& allocator = *new OfferedAllocator(HostAllocator(), *CpuInfo(), nullptr);
  return allocator;
}

Tensor AllocatedTensor(ElementType type, const Shape& shape, OrtAllocator& allocator) {
  if (&allocator == &DefaultAllocator()) return Tensor(type, shape);
  const OrtMemoryInfo* info = allocator.Info != nullptr ? allocator.Info(&allocator) : nullptr;
  const MemoryInfo memory = info != nullptr ? MemoryOf(*info) : MemoryInfo();
  const int64_t elements = shape.num_elements();
  const size_t bytes = ByteSize(type, elements);
  void* buffer = bytes == 0 ? nullptr : allocator.Alloc(&allocator, bytes);
  if (buffer == nullptr && bytes > 0) Fail(ErrorCode::kRuntimeException, "the given allocator gives no {} bytes", bytes);
  const bool strings = type == ElementType::kString;
  if (strings) std::uninitialized_default_construct_n(static_cast<std::string*>(buffer), static_cast<size_t>(elements));
  std::shared_ptr<void> owner(buffer, ClientBuffer{&allocator, strings ? elements : 0});
  return Tensor::Share(type, shape, buffer, std::move(owner), memory);
}

std::shared_ptr<Allocator> ClientAllocator(OrtAllocator& allocator) {
  return std::make_shared<AllocatorOfClient>(allocator);
}

char* CopyText(std::string_view text, OrtAllocator* allocator) {
  OrtAllocator& memory = Given(allocator, "the allocator");
  auto* copy = static_cast<char*>(memory.Alloc(&memory, text.size() + 1));
  if (copy == nullptr) Fail(ErrorCode::kRuntimeException, "the allocator gives no {} bytes", text.size() + 1);
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

char** CopyTexts(std::span<const std::string> texts, OrtAllocator* allocator) {
  OrtAllocator& memory = Given(allocator, "the allocator");
  if (texts.empty()) return nullptr;
  auto* list = static_cast<char**>(memory.Alloc(&memory, texts.size() * sizeof(char*)));
  if (list == nullptr) Fail(ErrorCode::kRuntimeException, "the allocator gives no memory for {} texts", texts.size());
  size_t done = 0;
  try {
    for (; done < texts.size(); ++done) list[done] = CopyText(texts[done], allocator);
  } catch (...) {
    while (done > 0) memory.Free(&memory, list[--done]);
    memory.Free(&memory, list);
    throw;
  }
  return list;
}

void CopyOut(std::string_view text, char* out, size_t* size) {
  const size_t room = std::exchange(Given(size, "the size"), text.size() + 1);
  if (out == nullptr) return;
  Require(room > text.size(), "the buffer has {} bytes, but {} are needed", room, text.size() + 1);
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
}

OrtStatusPtr GetAllocatorWithDefaultOptions(OrtAllocator** out) noexcept {
  return Guarded([&] { Given(out, "out") = &DefaultAllocator(); });
}

OrtStatusPtr AllocatorAlloc(OrtAllocator* ort_allocator, size_t size, void** out) noexcept {
  return Guarded([&] {
    OrtAllocator& allocator = Given(ort_allocator, "the allocator");
    void* memory = allocator.Alloc(&allocator, size);
    if (memory == nullptr && size > 0) Fail(ErrorCode::kRuntimeException, "the allocator gives no {} bytes", size);
    Given(out, "out") = memory;
  });
}

OrtStatusPtr AllocatorFree(OrtAllocator* ort_allocator, void* p) noexcept {
  return Guarded([&] {
    OrtAllocator& allocator = Given(ort_allocator, "the allocator");
    if (p != nullptr) allocator.Free(&allocator, p);
  });
}

OrtStatusPtr AllocatorGetInfo(const OrtAllocator* ort_allocator, const OrtMemoryInfo** out) noexcept {
  return Guarded([&] {
    const OrtAllocator& allocator = Given(ort_allocator, "the allocator");
    Given(out, "out") = allocator.Info(&allocator);
  });
}

OrtStatusPtr AllocatorGetStats(const OrtAllocator* ort_allocator, OrtKeyValuePairs** out) noexcept {
  return Guarded([&] {
    const OrtAllocator& allocator = Given(ort_allocator, "the allocator");
    if (allocator.version >= 23 && allocator.GetStats != nullptr) return ThrowIfFailed(allocator.GetStats(&allocator, out));
    Give(out, [&] { return std::make_unique<OrtKeyValuePairs>().release(); });
  });
}

OrtStatusPtr CreateAllocator(const OrtSession* session, const OrtMemoryInfo* mem_info, OrtAllocator** out) noexcept {
  return Guarded([&] {
    const OrtMemoryInfo& asked = Given(mem_info, "the memory info");
    const Session& loaded = Given(session, "the session").loaded();
    Allocator& allocator = loaded.allocator(MemoryOf(asked));
    auto offered = std::make_unique<OfferedAllocator>(allocator, asked, loaded.state());
    offered->Shrink = ShrinkOffered;
    Give(out, [&] { return offered.release(); });
  });
}

void ReleaseAllocator(OrtAllocator* input) {
  // One without its functions was released before.
  if (input == nullptr || input == &DefaultAllocator() || input->Free != FreeOffered) return;
  delete static_cast<OfferedAllocator*>(input);
}

}  // namespace tessera::c_abi
