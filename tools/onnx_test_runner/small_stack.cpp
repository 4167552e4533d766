#include "small_stack.h"

#include <system_error>

#include "base/thread_of_stack.h"

namespace tessera::runner {

void OnStackOf(int kibibytes, FunctionRef<void()> body) {
  if (kibibytes == 0) return body();
  const int failed = CallOnThread(static_cast<size_t>(kibibytes) << 10, body);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "starting a thread with a stack of --stack");
}

}  // namespace tessera::runner
