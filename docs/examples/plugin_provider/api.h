#pragma once

// The runtime's tables of functions, and the border between its C and the C++ of this library: statuses become exceptions
// on the way in, exceptions become statuses on the way out.

#include <onnxruntime_c_api.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace teaching {

/// The version of the interface that this library is written for: 24 is the first that has registries of kernels. Whatever
/// header it is compiled with, it calls no function and fills in no member that came later, and so it loads into every
/// runtime since.
constexpr uint32_t kApiVersion = 24;

/// A status of the runtime's, or a complaint of our own.
class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  OrtErrorCode code() const noexcept { return code_; }

 private:
  OrtErrorCode code_;
};

/// Two pointers, copied to wherever they are needed. A global variable would be shorter, but one process may have two
/// runtimes, which load one file only once.
class Api {
 public:
  explicit Api(const OrtApi& table) : ort_(&table), ep_(table.GetEpApi()) {}

  const OrtApi* operator->() const noexcept { return ort_; }
  const OrtEpApi* ep() const noexcept { return ep_; }

  /// Throws what the status says. Each status that is not null is ours to release.
  void Check(OrtStatus* status) const {
    if (status == nullptr) return;
    const Error error(ort_->GetErrorCode(status), ort_->GetErrorMessage(status));
    ort_->ReleaseStatus(status);
    throw error;
  }

  /// The body of a function that the runtime calls. Between two compilers' C++ an exception must not pass, and many members
  /// of the structs are declared noexcept, where one would end the process.
  template <class Body>
  OrtStatus* Guarded(const Body& body) const noexcept {
    try {
      body();
      return nullptr;
    } catch (const Error& error) {
      return ort_->CreateStatus(error.code(), error.what());
    } catch (const std::exception& error) {
      return ort_->CreateStatus(ORT_EP_FAIL, error.what());
    } catch (...) {
      return ort_->CreateStatus(ORT_EP_FAIL, "an exception of an unknown kind");
    }
  }

 private:
  const OrtApi* ort_;
  const OrtEpApi* ep_;
};

/// An object of the runtime's that is ours, with the function that releases it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

}  // namespace teaching
