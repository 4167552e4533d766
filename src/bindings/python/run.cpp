// Runs: what is fed, without copies, and what comes out.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/small_array.h"
#include "bindings/python/arrays.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/sessions.h"
#include "bindings/python/strings.h"

namespace tessera::python {
namespace {

constexpr size_t kInline = 16;  // inputs or outputs without touching the heap

/// A name's characters, which live as long as the object; they may be handed to the C ABI.
const char* CharactersOf(PyObject* name) {
  if (!PyUnicode_Check(name)) throw nb::type_error("names of inputs and outputs are str");
  Py_ssize_t size = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(name, &size);
  if (characters == nullptr) nb::raise_python_error();
  if (std::strlen(characters) != static_cast<size_t>(size))
    throw Error(ErrorCode::kInvalidArgument, "a name has a character 0, behind '" + std::string(characters) + "'");
  return characters;
}

/// The outputs that a run is asked for.
class Wanted {
 public:
  Wanted(const Loaded& loaded, nb::handle names)
      : held_(Names(names)),
        names_(Count(held_)),
        all_(names_.size() == 0 ? std::span<const char* const>(loaded.output_names) : std::span<const char* const>()),
        results_(names_.size() == 0 ? all_.size() : names_.size()),
        pointers_(results_.size()) {
    for (size_t i = 0; i < names_.size(); ++i) names_[i] = CharactersOf(PyTuple_GET_ITEM(held_.ptr(), i));
    for (size_t i = 0; i < results_.size(); ++i) pointers_[i] = &results_[i];
  }
  const char* const* names() noexcept { return all_.empty() ? names_.values().data() : all_.data(); }
  size_t size() const noexcept { return results_.size(); }
  OrtValue** pointers() noexcept { return pointers_.values().data(); }
  /// After a run. An output that is asked for twice has a value of the library's the second time.
  std::span<OrtValue> results() {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (pointers_[i] == &results_[i]) [[likely]]
        continue;
      static_cast<Value&>(results_[i]) = *pointers_[i];
      Api().ReleaseValue(std::exchange(pointers_[i], &results_[i]));
    }
    return results_.values();
  }

 private:
  static nb::object Names(nb::handle names) {
    if (names.is_none()) return {};
    if (PyUnicode_Check(names.ptr())) throw nb::type_error("the outputs are a list of names, not one name");
    // A tuple, which keeps the names whatever other threads do to a list.
    PyObject* tuple = PySequence_Tuple(names.ptr());
    if (tuple == nullptr) nb::raise_python_error();
    return nb::steal(tuple);
  }
  static size_t Count(const nb::object& names) noexcept {
    return names.is_valid() ? static_cast<size_t>(PyTuple_GET_SIZE(names.ptr())) : 0;
  }

  nb::object held_;  // the tuple whose strings the names are
  SmallArray<const char*, kInline> names_;
  std::span<const char* const> all_;
  SmallArray<OrtValue, kInline> results_;
  SmallArray<OrtValue*, kInline> pointers_;
};

/// The dict that a mapping is, or holds.
nb::object DictOf(nb::handle feed) {
  if (PyDict_Check(feed.ptr())) [[likely]]
    return nb::borrow(feed);
  PyObject* made = PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), feed.ptr());
  if (made == nullptr) nb::raise_python_error();
  return nb::steal(made);
}

/// What a run is fed: values that look at the program's arrays, which are kept until it ends.
class Feed {
 public:
  Feed(const Loaded& loaded, nb::object dict)
      : count_(static_cast<size_t>(PyDict_GET_SIZE(dict.ptr()))),
        names_(count_),
        keys_(count_),
        keep_(count_),
        values_(count_),
        pointers_(count_) {
    TakeObjects(dict);
    for (size_t k = 0; k < count_; ++k) names_[k] = CharactersOf(keys_[k].ptr());
    RequireInputs(loaded);
    for (size_t k = 0; k < count_; ++k) Convert(loaded, k);
  }

  const char* const* names() noexcept { return names_.values().data(); }
  const OrtValue* const* pointers() noexcept { return pointers_.values().data(); }
  size_t size() const noexcept { return count_; }

 private:
  /// Objects first: converting them may run any code, which could change the dict.
  void TakeObjects(const nb::object& dict) {
    const Exclusive alone(dict);
    PyObject *key = nullptr, *object = nullptr;
    Py_ssize_t position = 0;
    size_t k = 0;
    for (; k < count_ && PyDict_Next(dict.ptr(), &position, &key, &object); ++k) {
      keys_[k] = nb::borrow(key);
      keep_[k] = nb::borrow(object);
    }
    if (k < count_) throw std::runtime_error("another thread took inputs out of the feed meanwhile");
  }

  void Convert(const Loaded& loaded, size_t k) {
    const NamedType* declared = loaded.InputNamed(k, names_[k]);
    static const TypeInfo unknown;
    const nb::object object = std::move(keep_[k]);
    keep_[k] = object;
    static_cast<Value&>(values_[k]) = Borrow(object, declared == nullptr ? unknown : declared->type, keep_[k]);
    if (!keep_[k].is_valid()) keep_[k] = object;
    pointers_[k] = &values_[k];
  }

  /// Programs catch this as a ValueError, before the session is asked.
  void RequireInputs(const Loaded& loaded) {
    const std::vector<NamedType>& inputs = loaded.core().inputs();
    bool in_order = inputs.size() <= count_;
    for (size_t k = 0; in_order && k < inputs.size(); ++k) in_order = inputs[k].name == names_[k];
    if (in_order) [[likely]]
      return;
    std::string missing, given;
    for (const NamedType& input : inputs) {
      const auto names = names_.values();
      const bool there = std::ranges::any_of(names, [&](const char* name) { return input.name == name; });
      if (!there && input.type.kind != ValueKind::kOptional) missing += (missing.empty() ? "'" : ", '") + input.name + "'";
    }
    if (missing.empty()) return;
    for (const char* name : names_.values()) given += std::string(given.empty() ? "'" : ", '") + name + "'";
    throw nb::value_error(("Required inputs ([" + missing + "]) are missing from input feed ([" + given + "]).").c_str());
  }

  const size_t count_;
  SmallArray<const char*, kInline> names_;
  SmallArray<nb::object, kInline> keys_, keep_;
  SmallArray<OrtValue, kInline> values_;
  SmallArray<const OrtValue*, kInline> pointers_;
};

/// The run itself, while other threads have the interpreter.
void RunUnlocked(const Loaded& loaded, Feed& feed, Wanted& wanted, const OrtRunOptions* options) {
  OrtStatus* status = nullptr;
  {
    const Unlocked unlocked;
    status = Api().Run(loaded.session, options, feed.names(), feed.pointers(), feed.size(), wanted.names(), wanted.size(),
                       wanted.pointers());
  }
  Check(status);
}

nb::list ListOf(std::span<OrtValue> results) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(results.size()));
  if (list == nullptr) nb::raise_python_error();
  nb::list made = nb::steal<nb::list>(list);
  for (size_t i = 0; i < results.size(); ++i)
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), ToPython(std::move(static_cast<Value&>(results[i]))).release().ptr());
  return made;
}

/// A run that nobody waits for, with all that it needs.
struct Pending {
  Pending(std::shared_ptr<Loaded> session, nb::handle names, nb::handle given, nb::object to_call, nb::object data,
          nb::object run_options)
      : loaded(std::move(session)),
        output_names(nb::borrow(names)),
        wanted(*loaded, names),
        feed(*loaded, DictOf(given)),
        callback(std::move(to_call)),
        user_data(std::move(data)),
        options(std::move(run_options)) {}

  std::shared_ptr<Loaded> loaded;
  nb::object output_names;
  Wanted wanted;
  Feed feed;
  nb::object callback, user_data, options;
};

/// With the lock held.
void CallBack(Pending& pending, OrtStatus* status) {
  nb::object results = nb::list();
  std::string error;
  try {
    Check(status);
    results = ListOf(pending.wanted.results());
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  try {
    pending.callback(results, pending.user_data, nb::str(error.c_str()));
  } catch (nb::python_error& failure) {
    failure.discard_as_unraisable(pending.callback);
  }
}

void Complete(void* user_data, OrtValue** /*outputs*/, size_t /*count*/, OrtStatusPtr status) {
  if (!InterpreterRuns()) return;
  const Inside locked;
  Loaded::EndElsewhere here;  // this is a thread of the session's, which cannot wait for its own end
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(user_data));
  CallBack(*pending, status);
}

}  // namespace

nb::list PySession::Run(nb::handle output_names, nb::handle feed, nb::handle run_options) const {
  const std::shared_ptr<Loaded> session = loaded();
  const OrtRunOptions* options = OptionsIn(run_options);
  Wanted wanted(*session, output_names);
  Feed given(*session, DictOf(feed));
  RunUnlocked(*session, given, wanted, options);
  return ListOf(wanted.results());
}

nb::list PySession::RunWithValues(nb::handle output_names, nb::handle feed, nb::handle run_options) const {
  // The extension module of ONNX Runtime takes the feed first.
  if (PyDict_Check(output_names.ptr())) std::swap(output_names, feed);
  const std::shared_ptr<Loaded> session = loaded();
  const OrtRunOptions* options = OptionsIn(run_options);
  Wanted wanted(*session, output_names);
  Feed given(*session, DictOf(feed));
  RunUnlocked(*session, given, wanted, options);
  nb::list results;
  for (OrtValue& value : wanted.results()) results.append(nb::cast(HeldValue(std::move(static_cast<Value&>(value)))));
  return results;
}

std::vector<HeldValue> PySession::RunWithVectors(nb::handle run_options, const std::vector<std::string>& feed_names,
                                                 const std::vector<HeldValue>& feeds,
                                                 const std::vector<std::string>& output_names,
                                                 std::vector<HeldValue> results) const {
  if (feed_names.size() != feeds.size()) throw nb::value_error("there must be as many names as values to feed");
  const std::shared_ptr<Loaded> session = loaded();
  const OrtRunOptions* options = OptionsIn(run_options);
  for (const HeldValue& value : results) RequireWritable(value.value);
  results.resize(output_names.size());
  std::vector<const char*> names, outputs;
  std::vector<const OrtValue*> given;
  std::vector<OrtValue*> pointers;
  names.reserve(feed_names.size());
  outputs.reserve(output_names.size());
  given.reserve(feeds.size());
  pointers.reserve(results.size());
  for (const std::string& name : feed_names) names.push_back(CharactersOf(name));
  for (const std::string& name : output_names) outputs.push_back(CharactersOf(name));
  for (const HeldValue& value : feeds) given.push_back(&value.value);
  for (HeldValue& value : results) pointers.push_back(&value.value);
  const std::vector<OrtValue*> own = pointers;
  OrtStatus* status = nullptr;
  {
    const Unlocked unlocked;
    status = Api().Run(session->session, options, names.data(), given.data(), given.size(), outputs.data(), outputs.size(),
                       pointers.data());
  }
  Check(status);
  for (size_t i = 0; i < own.size(); ++i) {  // an output that is asked for twice
    if (pointers[i] == own[i]) continue;
    static_cast<Value&>(*own[i]) = *pointers[i];
    Api().ReleaseValue(pointers[i]);
  }
  return results;
}

void PySession::RunAsync(nb::handle output_names, nb::handle feed, nb::object callback, nb::object user_data,
                         nb::object run_options) const {
  const OrtRunOptions* options = OptionsIn(run_options);
  auto pending = std::make_unique<Pending>(loaded(), output_names, feed, std::move(callback), std::move(user_data),
                                           std::move(run_options));
  Pending& run = *pending.release();  // for Complete, unless the run is refused
  OrtStatus* status = Api().RunAsync(run.loaded->session, options, run.feed.names(), run.feed.pointers(), run.feed.size(),
                                     run.wanted.names(), run.wanted.size(), run.wanted.pointers(), Complete, &run);
  if (status != nullptr) delete &run;
  Check(status);
}

}  // namespace tessera::python
