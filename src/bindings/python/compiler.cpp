// ModelCompiler: writes a model with what the providers compiled of it.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bindings/python/callbacks.h"
#include "bindings/python/options.h"
#include "bindings/python/ort_value.h"

namespace tessera::python {
namespace {

const OrtCompileApi& CompileApi() { return *Api().GetCompileApi(); }

/// Where a weight lies outside of the model: a value, which functions get and give.
struct WeightLocation {
  std::string file;
  int64_t offset = 0;
  size_t bytes = 0;
};

nb::object LocationOf(const OrtExternalInitializerInfo* info) {
  if (info == nullptr) return nb::none();
  return nb::cast(WeightLocation{Api().ExternalInitializerInfo_GetFilePath(info),
                                 Api().ExternalInitializerInfo_GetFileOffset(info),
                                 Api().ExternalInitializerInfo_GetByteSize(info)});
}

/// An OrtGetInitializerLocationFunc whose state are the callbacks.
OrtStatus* PlaceWeight(void* state, const char* name, const OrtValue* weight, const OrtExternalInitializerInfo* now,
                       OrtExternalInitializerInfo** answer) noexcept {
  auto& callbacks = *static_cast<Callbacks*>(state);
  *answer = nullptr;
  return callbacks.thrown.Guard([&] {
    // A copy: functions may keep it longer than the weight is there.
    const nb::object place =
        callbacks.place_weight->get()(nb::str(name), nb::cast(HeldValue(weight->tensor().Clone())), LocationOf(now));
    if (place.is_none()) return;
    const WeightLocation* location = nullptr;
    if (!nb::try_cast(place, location, false) || location == nullptr)
      throw nb::type_error("the function that places weights returns OrtExternalInitializerInfo, or None");
    Check(Api().CreateExternalInitializerInfo(location->file.c_str(), location->offset, location->bytes, answer));
  });
}

/// An OrtWriteBufferFunc whose state are the callbacks.
OrtStatus* WriteStream(void* state, const void* data, size_t size) noexcept {
  auto& callbacks = *static_cast<Callbacks*>(state);
  return callbacks.thrown.Guard([&] { callbacks.stream->get()(nb::bytes(data, size)); });
}

/// Bytes of the library's allocator.
class LibraryBuffer {
 public:
  LibraryBuffer() { Check(Api().GetAllocatorWithDefaultOptions(&allocator_)); }
  ~LibraryBuffer() {
    if (data_ != nullptr) Api().ReleaseStatus(Api().AllocatorFree(allocator_, data_));
  }
  LibraryBuffer(const LibraryBuffer&) = delete;
  LibraryBuffer& operator=(const LibraryBuffer&) = delete;

  void WriteBy(OrtModelCompilationOptions* options) {
    Check(CompileApi().ModelCompilationOptions_SetOutputModelBuffer(options, allocator_, &data_, &size_));
  }
  nb::bytes bytes() const { return nb::bytes(size_ == 0 ? "" : data_, size_); }

 private:
  OrtAllocator* allocator_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
};

class Compiler {
 public:
  Compiler(const PySessionOptions& options, nb::handle model, bool from_file, nb::handle embed, std::string weights_file,
           size_t least_weight, uint32_t flags, ::GraphOptimizationLevel level, nb::object place_weight);

  void SetWriter(nb::object function);
  void ClearWriter() { PutWriter(nullptr); }
  void ToFile(const std::optional<std::string>& path) const;
  nb::bytes ToBytes() const;
  void ToStream(nb::object function) const;

  /// For the interpreter's search for cycles.
  int Visit(visitproc visit, void* arg) const;
  void Forget();

 private:
  class Compilation;

  void PutWriter(HeldFunction writer) {
    const std::lock_guard lock(mutex_);
    writer_.swap(writer);
  }
  HeldFunction writer() const {
    const std::lock_guard lock(mutex_);
    return writer_;
  }

  PySessionOptions options_;
  std::string path_;  // of the model; empty: it is bytes
  nb::object model_;
  const bool embed_;
  const std::string weights_file_;
  const size_t least_weight_;
  const uint32_t flags_;
  const ::GraphOptimizationLevel level_;
  HeldFunction place_weight_;
  mutable std::mutex mutex_;  // of the pointer only
  HeldFunction writer_;
};

/// One, with options and callbacks of its own: threads may use one compiler at once.
class Compiler::Compilation {
 public:
  explicit Compilation(const Compiler& compiler) : options_(nullptr, CompileApi().ReleaseModelCompilationOptions) {
    const auto session = compiler.options_.ForSession();
    callbacks_.read = compiler.options_.context_source;  // which is there as long
    callbacks_.ReadBy(*session);
    OrtModelCompilationOptions* made = nullptr;
    Check(CompileApi().CreateModelCompilationOptionsFromSessionOptions(&Env(), session.get(), &made));
    options_.reset(made);
    SetModel(compiler);
    Check(CompileApi().ModelCompilationOptions_SetEpContextEmbedMode(made, compiler.embed_));
    Check(CompileApi().ModelCompilationOptions_SetFlags(made, compiler.flags_));
    Check(CompileApi().ModelCompilationOptions_SetGraphOptimizationLevel(made, compiler.level_));
    SetWeights(compiler);
    callbacks_.write = compiler.writer();
    if (callbacks_.write != nullptr)
      Check(CompileApi().ModelCompilationOptions_SetEpContextDataWriteFunc(made, WriteContext, &callbacks_));
  }

  OrtModelCompilationOptions* options() const noexcept { return options_.get(); }

  void StreamTo(nb::object function) {
    callbacks_.stream = std::make_shared<const Held>(std::move(function));
    Check(CompileApi().ModelCompilationOptions_SetOutputModelWriteFunc(options(), WriteStream, &callbacks_));
  }

  void Do() {
    OrtEnv& env = Env();
    OrtStatus* status = nullptr;
    {
      const Unlocked unlocked;
      status = CompileApi().CompileModel(&env, options());
    }
    callbacks_.thrown.Check(status);
  }

 private:
  void SetModel(const Compiler& compiler) {
    if (!compiler.path_.empty())
      return Check(CompileApi().ModelCompilationOptions_SetInputModelPath(options(), compiler.path_.c_str()));
    PyObject* bytes = compiler.model_.ptr();
    Check(CompileApi().ModelCompilationOptions_SetInputModelFromBuffer(options(), PyBytes_AS_STRING(bytes),
                                                                       static_cast<size_t>(PyBytes_GET_SIZE(bytes))));
  }

  void SetWeights(const Compiler& compiler) {
    if (!compiler.weights_file_.empty())
      Check(CompileApi().ModelCompilationOptions_SetOutputModelExternalInitializersFile(
          options(), compiler.weights_file_.c_str(), compiler.least_weight_));
    callbacks_.place_weight = compiler.place_weight_;
    if (callbacks_.place_weight != nullptr)
      Check(CompileApi().ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(options(), PlaceWeight,
                                                                                          &callbacks_));
  }

  Callbacks callbacks_;
  std::unique_ptr<OrtModelCompilationOptions, void (*)(OrtModelCompilationOptions*)> options_;
};

Compiler::Compiler(const PySessionOptions& options, nb::handle model, bool from_file, nb::handle embed,
                   std::string weights_file, size_t least_weight, uint32_t flags, ::GraphOptimizationLevel level,
                   nb::object place_weight)
    : options_(options),
      embed_(Truth(embed)),
      weights_file_(std::move(weights_file)),
      least_weight_(least_weight),
      flags_(flags),
      level_(level) {
  options_.EndLoadsWith(options);
  if (from_file) {
    path_ = nb::cast<std::string>(model);
  } else {
    if (!PyBytes_Check(model.ptr())) throw nb::type_error("a model is bytes, or the path of a file");
    model_ = nb::borrow(model);
  }
  if (!place_weight.is_none()) {
    if (PyCallable_Check(place_weight.ptr()) == 0) throw nb::type_error("expected a function that places weights, or None");
    place_weight_ = std::make_shared<const Held>(std::move(place_weight));
  }
  const Compilation checked(*this);  // what cannot be is said here
}

int Compiler::Visit(visitproc visit, void* arg) const {
  if (const int shown = options_.Visit(visit, arg); shown != 0) return shown;
  if (const int shown = Show(place_weight_, visit, arg); shown != 0) return shown;
  const std::lock_guard lock(mutex_);
  return Show(writer_, visit, arg);
}

void Compiler::Forget() {
  options_.Forget();
  place_weight_.reset();
  ClearWriter();
}

void Compiler::SetWriter(nb::object function) {
  if (function.is_none()) throw std::runtime_error("there is no function: clear_ep_context_data_write_func() forgets one");
  if (PyCallable_Check(function.ptr()) == 0) throw nb::type_error("expected a function");
  PutWriter(std::make_shared<const Held>(std::move(function)));
}

void Compiler::ToFile(const std::optional<std::string>& path) const {
  Compilation compilation(*this);
  if (path) Check(CompileApi().ModelCompilationOptions_SetOutputModelPath(compilation.options(), path->c_str()));
  compilation.Do();
}

nb::bytes Compiler::ToBytes() const {
  LibraryBuffer buffer;
  Compilation compilation(*this);
  buffer.WriteBy(compilation.options());
  compilation.Do();
  return buffer.bytes();
}

void Compiler::ToStream(nb::object function) const {
  if (PyCallable_Check(function.ptr()) == 0) throw nb::type_error("expected a function that takes bytes");
  Compilation compilation(*this);
  compilation.StreamTo(std::move(function));
  compilation.Do();
}

}  // namespace

void BindCompiler(nb::module_& module) {
  nb::class_<WeightLocation> location(module, "OrtExternalInitializerInfo", "Where a weight lies outside of its model.");
  location.def("__init__", [](WeightLocation* self, const std::string& file, int64_t offset, size_t bytes) {
    new (self) WeightLocation{file, offset, bytes};
  });
  location.def_ro("filepath", &WeightLocation::file, "The file, from the model's folder.");
  location.def_ro("file_offset", &WeightLocation::offset, "Where it begins there.");
  location.def_ro("byte_size", &WeightLocation::bytes, "How many bytes it has.");
  nb::class_<Compiler> compiler(module, "ModelCompiler", "Writes a model with what the providers compiled of it.",
                                nb::type_slots(Collected<Compiler>::kSlots));
  compiler.def(nb::init<const PySessionOptions&, nb::handle, bool, nb::handle, std::string, size_t, uint32_t,
                        ::GraphOptimizationLevel, nb::object>(),
               nb::arg("session_options").lock(), nb::arg("model"), nb::arg("from_file"),
               nb::arg("embed_compiled_data_into_model").none() = false, nb::arg("external_initializers_file_path") = "",
               nb::arg("external_initializers_size_threshold") = 1024, nb::arg("flags") = 0,
               nb::arg("graph_optimization_level").noconvert() = ORT_DISABLE_ALL,
               nb::arg("get_initializer_location_func").none() = nb::none());
  compiler.def("compile_to_file", &Compiler::ToFile, nb::arg("output_model_path") = nb::none(),
               "Writes the compiled model to a file; without a path beside the model, as NAME_ctx.onnx.");
  compiler.def("compile_to_bytes", &Compiler::ToBytes, "The compiled model as bytes.");
  compiler.def("compile_to_stream", &Compiler::ToStream, nb::arg("write_function"),
               "Gives the bytes of the compiled model to a function, in one call or several.");
  compiler.def("set_ep_context_data_write_func", &Compiler::SetWriter, nb::arg("write_func").none(),
               "A function (name, data) that takes what providers store outside of the model, on any thread; data can be "
               "read until it returns.");
  compiler.def("clear_ep_context_data_write_func", &Compiler::ClearWriter, "Providers write files beside the model again.");
}

}  // namespace tessera::python
