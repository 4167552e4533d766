// What the runtime looks for in the file: two functions, by their names.

#include "factory.h"

extern "C" {

/// Called once, when the library is registered. `registered_name` is what the client calls it; a library may use that as
/// its provider's name, ours has its own. Objects that log keep the logger: it lives until the library is unregistered.
ORT_EXPORT OrtStatus* CreateEpFactories(const char* /*registered_name*/, const OrtApiBase* base,
                                        const OrtLogger* /*default_logger*/, OrtEpFactory** factories, size_t max_factories,
                                        size_t* num_factories) {
  const OrtApi* table = base->GetApi(teaching::kApiVersion);
  if (table == nullptr) {  // an older runtime: its first table, which every one has, can at least say so
    return base->GetApi(1)->CreateStatus(ORT_FAIL, "the teaching provider needs version 24 of the C interface");
  }
  const teaching::Api api(*table);
  return api.Guarded([&] {
    *num_factories = 0;
    if (max_factories < 1) throw teaching::Error(ORT_INVALID_ARGUMENT, "there is no room for a factory");
    factories[0] = new teaching::Factory(api);
    *num_factories = 1;
  });
}

/// Called for each factory before the file is closed. Nothing that the factory made is in use any more.
ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<teaching::Factory*>(factory);
  return nullptr;
}

}  // extern "C"
