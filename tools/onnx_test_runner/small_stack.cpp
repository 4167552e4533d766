#include "small_stack.h"

#include <pthread.h>

#include <exception>
#include <system_error>

namespace tessera::runner {
namespace {

struct Call {
  FunctionRef<void()> body;
  std::exception_ptr error;
};

void* Enter(void* argument) {
  Call& call = *static_cast<Call*>(argument);
  try {
    call.body();
  } catch (...) {
    call.error = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void OnStackOf(int kibibytes, FunctionRef<void()> body) {
  if (kibibytes == 0) return body();
  Call call{body, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int error = pthread_attr_setstacksize(&attributes, static_cast<size_t>(kibibytes) << 10);
  pthread_t thread;
  if (error == 0) error = pthread_create(&thread, &attributes, Enter, &call);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::system_error(error, std::generic_category(), "starting a thread with a stack of --stack");
  pthread_join(thread, nullptr);
  if (call.error != nullptr) std::rethrow_exception(call.error);
}

}  // namespace tessera::runner
