#pragma once

namespace tessera::c_abi {

// What to use instead of entries that are not implemented.
inline constexpr char kCustomOperators[] =
    "operators of the client's are not taken yet; write the model with operators of ONNX or com.microsoft, or give a "
    "provider its kernels through Tessera's C++ interface (docs/adding_a_provider.md)";
inline constexpr char kGraphViews[] =
    "only providers look at graphs, through Tessera's C++ interface (docs/adding_a_provider.md)";
inline constexpr char kModelEditor[] =
    "models are not built or changed through this table yet; write the model with the onnx package and give its bytes to "
    "CreateSessionFromArray";
inline constexpr char kCompiling[] =
    "models are not compiled ahead through this table yet; set SetOptimizedModelFilePath to keep the optimized model";
inline constexpr char kPlugins[] =
    "libraries of providers are not loaded yet; providers that are built in are named to "
    "SessionOptionsAppendExecutionProvider";
inline constexpr char kInterop[] =
    "no provider here imports memory of graphics programs; copy it to the processor's and use "
    "CreateTensorWithDataAsOrtValue";
inline constexpr char kModelPackages[] = "open the model of the variant that you want with CreateSession";
inline constexpr char kSyncStreams[] = "no provider here has streams for clients; a run returns when its results are there";
inline constexpr char kOtherSparse[] =
    "sparse tensors have coordinates here: use FillSparseTensorCoo or UseCooIndices, whose indices count the elements in "
    "row-major order";
inline constexpr char kOpaque[] = "values of a client's own type are not taken; pass their bytes as a tensor of uint8";
inline constexpr char kInitializers[] =
    "weights are not replaced at load yet; make them inputs of the model, which each run is given";
inline constexpr char kThreadCallbacks[] =
    "threads tell nothing of their work yet; profile the session instead (EnableProfiling)";
inline constexpr char kRunProfiles[] = "one run is not profiled alone yet; profile the session (EnableProfiling)";

}  // namespace tessera::c_abi
