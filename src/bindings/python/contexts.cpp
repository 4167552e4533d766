// What providers store outside of a model that they compiled: the program's functions write it and have it again.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>

#include "bindings/python/callbacks.h"

namespace tessera::python {
namespace {

/// The range of `size` bytes that begins at `offset`; RuntimeError for one that does not lie inside.
size_t RangeIn(size_t size, size_t offset, std::optional<size_t> length) {
  if (offset > size) throw std::runtime_error("the offset is behind the end of the data");
  if (length.value_or(0) > size - offset) throw std::runtime_error("the data has not so many bytes behind the offset");
  return length.value_or(size - offset);
}

/// Bytes of a provider's, which are there as long as the function runs that they are given to.
class ContextData {
 public:
  ContextData(const void* data, size_t size) : data_(static_cast<const char*>(data)), size_(size) {}

  size_t size() const noexcept { return size_; }
  nb::bytes Read(size_t offset, std::optional<size_t> length) const {
    if (ended_) throw std::runtime_error("the data is there only while the function runs that it was given to");
    const size_t count = RangeIn(size_, offset, length);
    return nb::bytes(count == 0 ? "" : data_ + offset, count);
  }
  void End() noexcept { ended_ = true; }

 private:
  const char* data_;
  const size_t size_;
  bool ended_ = false;
};

/// Memory that the function fills for a provider, by the provider's allocator.
class ContextBuffer {
 public:
  ContextBuffer(OrtAllocator* allocator, size_t most) : allocator_(allocator), most_(most) {}
  ContextBuffer(ContextBuffer&& other) noexcept
      : allocator_(other.allocator_),
        most_(other.most_),
        data_(std::exchange(other.data_, nullptr)),
        size_(other.size_),
        allocated_(other.allocated_),
        ended_(other.ended_) {}
  ContextBuffer& operator=(ContextBuffer&&) = delete;
  ~ContextBuffer() { End(); }

  size_t size() const noexcept { return size_; }
  size_t most() const noexcept { return most_; }
  bool allocated() const noexcept { return allocated_; }

  void Allocate(size_t size) {
    RequireTime();
    if (allocated_) throw nb::value_error("the memory is there already; it is allocated once");
    if (size > most_)
      throw nb::value_error(
          (std::to_string(size) + " bytes are more than the " + std::to_string(most_) + " that were said to be the most")
              .c_str());
    if (size > 0) {
      data_ = static_cast<char*>(allocator_->Alloc(allocator_, size));
      if (data_ == nullptr) throw std::bad_alloc();
      std::memset(data_, 0, size);  // what nobody writes is nobody's old bytes
    }
    size_ = size;
    allocated_ = true;
  }

  void Write(nb::handle bytes, size_t offset) {
    RequireTime();
    if (!allocated_) throw nb::value_error("allocate() comes before write()");
    const std::shared_ptr<Py_buffer> given = BufferOf(bytes);
    RequireTime();  // the object may run any code when it is asked for its bytes
    const auto count = static_cast<size_t>(given->len);
    if (offset > size_ || count > size_ - offset)
      throw nb::value_error("the bytes reach beyond the memory that was allocated");
    if (count > 0) std::memcpy(data_ + offset, given->buf, count);
  }

  /// For the provider, who frees it.
  char* Take() noexcept { return std::exchange(data_, nullptr); }
  /// What was not taken is freed.
  void End() noexcept {
    if (data_ != nullptr) allocator_->Free(allocator_, std::exchange(data_, nullptr));
    ended_ = true;
  }

 private:
  void RequireTime() const {
    if (ended_) throw std::runtime_error("the memory is there only while the function runs that it was given to");
  }

  OrtAllocator* allocator_;
  const size_t most_;
  char* data_ = nullptr;
  size_t size_ = 0;
  bool allocated_ = false, ended_ = false;
};

/// Ends what a function was given when the function has ended, whoever kept it and on whatever thread they use it.
template <class T>
class Lent {
 public:
  explicit Lent(T&& given) : object_(nb::cast(std::move(given))) {}
  ~Lent() {
    const Exclusive alone(object_);
    value().End();
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  const nb::object& object() const noexcept { return object_; }
  T& value() const noexcept { return *nb::inst_ptr<T>(object_); }

 private:
  nb::object object_;
};

/// An OrtReadNamedBufferFunc whose state are the callbacks.
OrtStatus* ReadContext(void* state, const char* name, OrtAllocator* allocator, void** data, size_t* size) noexcept {
  auto& callbacks = *static_cast<Callbacks*>(state);
  return callbacks.thrown.Guard([&] {
    const ContextSource& source = callbacks.read;
    const Lent<ContextBuffer> buffer(ContextBuffer(allocator, source.most));
    source.function->get()(nb::str(name), buffer.object());
    const Exclusive alone(buffer.object());
    if (!buffer.value().allocated())
      throw StatusError(ORT_INVALID_ARGUMENT,
                        ErrorText(ORT_INVALID_ARGUMENT, "the function that reads '" + std::string(name) +
                                                            "' did not call allocate() of the buffer that it got"));
    *size = buffer.value().size();
    *data = buffer.value().Take();
  });
}

}  // namespace

void Thrown::Keep(std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (first_ == nullptr) first_ = std::move(thrown);
}

void Thrown::Check(OrtStatus* status) {
  std::exception_ptr first;
  {
    const std::lock_guard lock(mutex_);
    first.swap(first_);
  }
  if (first == nullptr) return python::Check(status);
  const bool failed = status != nullptr;
  Api().ReleaseStatus(status);
  try {
    std::rethrow_exception(first);
  } catch (nb::python_error& error) {
    if (failed) throw;
    error.discard_as_unraisable("a function of the program's, called by tessera");
  } catch (const std::exception& error) {
    if (failed) throw;
    PyErr_SetString(PyExc_RuntimeError, error.what());
    PyErr_WriteUnraisable(nullptr);
  }
}

void Callbacks::ReadBy(OrtSessionOptions& options) {
  if (read.function != nullptr) CheckCall(Api().SessionOptionsSetEpContextDataReadFunc(&options, ReadContext, this));
}

OrtStatus* WriteContext(void* state, const char* name, const void* data, size_t size) noexcept {
  auto& callbacks = *static_cast<Callbacks*>(state);
  return callbacks.thrown.Guard([&] {
    const Lent<ContextData> view(ContextData(data, size));
    callbacks.write->get()(nb::str(name), view.object());
  });
}

void BindContexts(nb::module_& module) {
  Locked<ContextData> data(module, "OrtEpContextData",
                           "What a provider stores outside of a model, for the function that writes it.");
  data.def_prop_ro("size", &ContextData::size, "How many bytes there are.");
  data.def("read", &ContextData::Read, nb::arg("offset") = 0, nb::arg("length") = nb::none(),
           "The bytes from an offset on, all or so many of them.");
  Locked<ContextBuffer> buffer(module, "OrtEpContextDataBuffer",
                               "Memory for what a provider stored outside of a model, for the function that reads it.");
  buffer.def_prop_ro("size", &ContextBuffer::size, "How many bytes were allocated.");
  buffer.def_prop_ro("max_size", &ContextBuffer::most, "How many may be.");
  buffer.def_prop_ro("is_allocated", &ContextBuffer::allocated, "Whether allocate() was called.");
  buffer.def("allocate", &ContextBuffer::Allocate, nb::arg("size"), "Makes the memory, once.");
  buffer.def("write", &ContextBuffer::Write, nb::arg("data"), nb::arg("offset") = 0,
             "Copies bytes, or what has them, to an offset of the memory.");
}

}  // namespace tessera::python
