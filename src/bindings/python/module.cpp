// tessera._core: everything of the package that is not written in Python.

#include "bindings/python/runtime.h"

NB_MODULE(_core, module) {
  using namespace tessera::python;
  module.doc() = "Tessera's ONNX runtime, as the package's Python modules use it.";
  BindErrors(module);
  BindEnvironment(module);
  BindDevices(module);
  BindValues(module);
  BindSparse(module);
  BindOptions(module);
  BindSessions(module);
  BindIoBinding(module);
  BindContexts(module);
  BindCompiler(module);
  BindArenas(module);
  BindCompatibility(module);
}
