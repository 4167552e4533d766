// What providers have compiled, in a model.

#include <string>

#include "graph/microsoft/compiled.h"
#include "graph/microsoft/define.h"

namespace tessera {

/// Shapes and types of the results are those that the model declares.
void AddCompiledSchemas(MicrosoftSchemas& schemas) {
  Define(schemas, std::string(kCompiledPart))
      .Int("main_context", 1)
      .String("ep_cache_context")
      .Int("embed_mode", 1)
      .String("ep_sdk_version")
      .String("onnx_model_filename")
      .String("hardware_architecture")
      .String("partition_name")
      .String("source")
      .String("notes")
      .Int("max_size")
      .VariadicIn("inputs", "T")
      .VariadicOut("outputs", "T")
      .Type("T", onnx::OpSchema::all_tensor_types_ir10());
}

}  // namespace tessera
