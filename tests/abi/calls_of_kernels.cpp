// What kernels of the program's own call and ask for.

#include <cstdio>

#include "own_operators.h"

namespace {

/// Sum of the first two inputs, by ONNX's Add.
OrtStatus* PrepareAdd(Kernel& kernel, const OrtKernelInfo* info) {
  const char* name = "T";
  const ONNXTensorElementDataType type = kFloat;
  return api->CreateOp(info, "Add", "", 14, &name, &type, 1, nullptr, 0, 2, 1, &kernel.add);
}
OrtStatus* CallAdd(const Kernel& kernel, OrtKernelContext* context) {
  const OrtValue* inputs[] = {InputOf(context, 0), InputOf(context, 1)};
  size_t count = 0;
  OrtValue* out = nullptr;
  if (OrtStatus* status = Output(context, ShapeOf(inputs[0], &count), &out)) return status;
  return api->InvokeOp(context, kernel.add, inputs, 2, &out, 1);
}
OrtStatus* PrepareNonsense(Kernel& kernel, const OrtKernelInfo* info) {
  Print("CreateOp of nonsense",
        api->CreateOp(info, "Nonsense", "", 14, nullptr, nullptr, 0, nullptr, 0, 1, 1, &kernel.add));
  return nullptr;
}

/// Clip of ONNX to 2 at most, whose least value is left out.
OrtStatus* PrepareClip(Kernel& kernel, const OrtKernelInfo* info) {
  return api->CreateOp(info, "Clip", "", 13, nullptr, nullptr, 0, nullptr, 0, 3, 1, &kernel.add);
}
OrtStatus* CallClip(const Kernel& kernel, OrtKernelContext* context) {
  size_t count = 0;
  OrtValue* out = nullptr;
  const OrtValue* input = InputOf(context, 0);
  if (OrtStatus* status = Output(context, ShapeOf(input, &count), &out)) return status;
  float most = 2;
  OrtValue* bound = Floats(&most, {});
  const OrtValue* inputs[] = {input, nullptr, bound};
  OrtStatus* status = api->InvokeOp(context, kernel.add, inputs, 3, &out, 1);
  api->ReleaseValue(bound);
  return status;
}

/// Asks for what is not there, and for one output twice; computes the first.
OrtStatus* Probe(const Kernel& kernel, OrtKernelContext* context) {
  const OrtValue* input = nullptr;
  OrtValue* out = nullptr;
  const int64_t shape[] = {1, 3}, other[] = {4, 4};
  Print("an input after the last", api->KernelContext_GetInput(context, 7, &input));
  std::printf("it is there: %d\n", input != nullptr ? 1 : 0);
  Print("an output after the last", api->KernelContext_GetOutput(context, 7, shape, 2, &out));
  std::printf("it is there: %d\n", out != nullptr ? 1 : 0);
  Print("an output that nobody reads", api->KernelContext_GetOutput(context, 1, shape, 2, &out));
  std::printf("it is there: %d\n", out != nullptr ? 1 : 0);
  if (OrtStatus* status = Scale<float>(kernel, context)) return status;
  Print("the first output again", api->KernelContext_GetOutput(context, 0, shape, 2, &out));
  std::printf("it holds: %g\n", static_cast<double>(DataOf<float>(out)[2]));
  Print("the first output in another shape", api->KernelContext_GetOutput(context, 0, other, 2, &out));
  return nullptr;
}

void Eager(OrtValue* floats) {
  Operator adds("Adds"), nonsense("Nonsense");
  adds.inputs = {kFloat, kFloat};
  adds.prepare = PrepareAdd;
  adds.compute = CallAdd;
  const Loaded loaded("a kernel that calls Add", Model("Adds", {"A", "B"}, kFloat), {&adds});
  loaded.Run<float>("the run that calls Add", floats, {"A", "B"});
  Operator clips("Clips");
  clips.prepare = PrepareClip;
  clips.compute = CallClip;
  const Loaded clip("a kernel that calls Clip", Model("Clips", {"X"}, kFloat), {&clips});
  clip.Run<float>("the run that calls Clip", floats, {"X"});
  nonsense.prepare = PrepareNonsense;
  nonsense.compute = Scale<float>;
  const Loaded wrong("a kernel that calls nonsense", Model("Nonsense", {"X"}, kFloat), {&nonsense});
}

void Probes(OrtValue* floats) {
  Operator probes("Probes");
  probes.outputs = {kFloat, kFloat};
  probes.compute = Probe;
  const Loaded probed("an operator with an output that nobody reads", Model("Probes", {"X"}, kFloat, 1, kDomain, 0, "Z"),
                      {&probes});
  probed.Run<float>("the run that probes", floats, {"X"});
}

}  // namespace

void KernelCalls(OrtValue* floats) {
  Eager(floats);
  Probes(floats);
}
