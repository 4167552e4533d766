// Operators of the program's own: how they are told to a session, which nodes they fit, what they learn and compute.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "own_operators.h"

namespace {

/// The sum of all inputs that are there, which have one shape.
OrtStatus* Sum(const Kernel&, OrtKernelContext* context) {
  size_t inputs = 0, count = 0;
  Must(api->KernelContext_GetInputCount(context, &inputs));
  OrtValue* out = nullptr;
  if (OrtStatus* status = Output(context, ShapeOf(InputOf(context, 0), &count), &out)) return status;
  std::fill_n(DataOf<float>(out), count, 0.0F);
  for (size_t k = 0; k < inputs; ++k) {
    if (InputOf(context, k) == nullptr) continue;
    for (size_t i = 0; i < count; ++i) DataOf<float>(out)[i] += DataOf<float>(InputOf(context, k))[i];
  }
  return nullptr;
}

/// The length of each text.
OrtStatus* Lengths(const Kernel&, OrtKernelContext* context) {
  size_t count = 0;
  OrtValue* out = nullptr;
  const OrtValue* input = InputOf(context, 0);
  if (OrtStatus* status = Output(context, ShapeOf(input, &count), &out)) return status;
  for (size_t i = 0; i < count; ++i) {
    size_t length = 0;
    if (OrtStatus* status = api->GetStringTensorElementLength(input, i, &length)) return status;
    DataOf<int64_t>(out)[i] = static_cast<int64_t>(length);
  }
  return nullptr;
}

OrtStatus* Refuse(const Kernel&, OrtKernelContext*) { return api->CreateStatus(ORT_EP_FAIL, "not now"); }

/// Leaves its output alone.
OrtStatus* Nothing(const Kernel&, OrtKernelContext*) { return nullptr; }

/// 1, 2 and 3, of the type that the operator says.
OrtStatus* Counts(const Kernel&, OrtKernelContext* context) {
  OrtValue* out = nullptr;
  if (OrtStatus* status = Output(context, {1, 3}, &out)) return status;
  for (int i = 0; i < 3; ++i) DataOf<int64_t>(out)[i] = i + 1;
  return nullptr;
}

/// The output is the input's type and shape; operators that say a type of their own keep that.
OrtStatus* InferSame(OrtShapeInferContext* context) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatus* status = api->ShapeInferContext_GetInputTypeShape(context, 0, &info)) return status;
  return api->ShapeInferContext_SetOutputTypeShape(context, 0, info);
}

/// Twice the first dimension of the input, which may have a name; the type is the input's.
OrtStatus* InferTwice(OrtShapeInferContext* context) {
  size_t inputs = 0;
  Must(api->ShapeInferContext_GetInputCount(context, &inputs));
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatus* status = api->ShapeInferContext_GetInputTypeShape(context, 0, &info)) return status;
  const OrtOpAttr* attribute = nullptr;
  api->ReleaseStatus(api->ShapeInferContext_GetAttribute(context, "nowhere", &attribute));
  if (OrtStatus* status = api->ShapeInferContext_GetAttribute(context, "by", &attribute)) return status;
  int64_t by = 0;
  size_t bytes = 0;
  if (OrtStatus* status = api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &by, sizeof(by), &bytes)) return status;
  int64_t dims[2] = {};
  Must(api->GetDimensions(info, dims, 2));
  const int64_t wanted[2] = {dims[1] * by, -1};
  const char* names[2] = {"", "rows"};
  OrtTensorTypeAndShapeInfo* made = nullptr;
  Must(api->CreateTensorTypeAndShapeInfo(&made));
  Must(api->SetTensorElementType(made, kFloat));
  Must(api->SetDimensions(made, wanted, 2));
  Must(api->SetSymbolicDimensions(made, names, 2));
  OrtStatus* status = api->ShapeInferContext_SetOutputTypeShape(context, 0, made);
  api->ReleaseTensorTypeAndShapeInfo(made);
  return status;
}

/// The same with a function Scale of the operator's domain, which negates.
std::string WithFunction(const std::string& model) {
  tiny::Message function;
  function.Bytes(1, "Scale").Bytes(4, "a").Bytes(5, "b").Bytes(6, "by").Add(7, tiny::Node("Neg", {"a"}, {"b"}));
  function.Add(9, tiny::Message().Bytes(1, "").Number(2, 17)).Bytes(10, kDomain);
  return model + tiny::Message().Add(25, function).text();
}

void Plain(OrtValue* floats) {
  Operator scale("Scale");
  scale.compute = Scale<float>;
  const Loaded loaded("an operator", Model("Scale", {"X"}, kFloat), {&scale});
  loaded.PrintType("its type");
  loaded.PrintProvider("its provider");
  loaded.Run<float>("its run", floats, {"X"});
  const Loaded declared("its output declared", Model("Scale", {"X"}, kFloat, 1, kDomain, kFloat), {&scale});
  declared.PrintType("as declared");
  const Loaded other("its output declared otherwise", Model("Scale", {"X"}, kFloat, 1, kDomain, kInt64), {&scale});
  const Loaded integers("another type", Model("Scale", {"X"}, kInt64), {&scale});
  const Loaded two("too many inputs", Model("Scale", {"X", "B"}, kFloat), {&scale});
  const Loaded none("no input", Model("Scale", {}, kFloat), {&scale});
  const Loaded unknown("another operator", Model("Unknown", {"X"}, kFloat), {&scale});
  const Loaded elsewhere("another domain", Model("Scale", {"X"}, kFloat), {&scale}, "other.ops");
  const Loaded standard("an operator among ONNX's", Model("Scale", {"X"}, kFloat, 1, ""), {&scale}, "");
  standard.Run<float>("its run among ONNX's", floats, {"X"});
  const Loaded microsoft("an operator among Microsoft's", Model("Scale", {"X"}, kFloat, 1, "com.microsoft"), {&scale},
                         "com.microsoft");
  microsoft.Run<float>("its run among Microsoft's", floats, {"X"});
}

void Types(OrtValue* floats, OrtValue* integers) {
  Operator any("Any"), half("Half"), whole("Half"), late("Late");
  any.inputs = any.outputs = {kAny};
  any.compute = Scale<float>;
  const Loaded dynamic("any type", Model("Any", {"X"}, kFloat), {&any});
  dynamic.PrintType("any type's type");
  dynamic.Run<float>("any type's run", floats, {"X"});
  half.compute = Scale<float>;
  whole.inputs = whole.outputs = {kInt64};
  whole.compute = Scale<int64_t>;
  const Loaded both("two definitions", Model("Half", {"X"}, kInt64), {&half, &whole});
  both.PrintType("the second's type");
  both.Run<int64_t>("the second's run", integers, {"X"});
  late.first = 3;
  late.last = 5;
  late.compute = Scale<float>;
  const Loaded in_time("a version between", Model("Late", {"X"}, kFloat, 4), {&late});
  const Loaded too_early("a version before", Model("Late", {"X"}, kFloat, 2), {&late});
  Operator infers("Infers");
  infers.infer = InferTwice;
  infers.compute = Nothing;
  const Loaded inferred("an operator that infers", Model("Infers", {"X"}, kFloat), {&infers});
  inferred.PrintType("what it infers");
  Operator keeps("Keeps");
  keeps.outputs = {kInt64};
  keeps.infer = InferSame;
  keeps.compute = Counts;
  const Loaded kept("an operator whose function says another type", Model("Keeps", {"X"}, kFloat), {&keeps});
  kept.PrintType("the type that it keeps");
  kept.Run<int64_t>("the run in that type", floats, {"X"});
  Operator unknown("Unknown");
  unknown.outputs = {kAny};
  unknown.compute = Nothing;
  const Loaded untyped("an output of no known type", Model("Unknown", {"X"}, kFloat), {&unknown});
}

void Forms(OrtValue* floats) {
  Operator sum("Sum"), maybe("Maybe"), first("First");
  sum.kinds = {INPUT_OUTPUT_VARIADIC};
  sum.compute = Sum;
  const Loaded three("three of a variadic input", Model("Sum", {"A", "B", "C"}, kFloat), {&sum});
  three.Run<float>("the sum of three", floats, {"A", "B", "C"});
  const Loaded one("one where two are least", Model("Sum", {"A"}, kFloat), {&sum});
  maybe.inputs = {kFloat, kFloat, kFloat};
  maybe.kinds = {INPUT_OUTPUT_REQUIRED, INPUT_OUTPUT_OPTIONAL, INPUT_OUTPUT_OPTIONAL};
  maybe.compute = Sum;
  const Loaded left_out("an input left out", Model("Maybe", {"A", "", "C"}, kFloat), {&maybe});
  left_out.Run<float>("the sum without it", floats, {"A", "C"});
  const Loaded shorter("two left out", Model("Maybe", {"A"}, kFloat), {&maybe});
  shorter.Run<float>("the sum without them", floats, {"A"});
  first.inputs = {kFloat, kFloat};
  first.kinds = {INPUT_OUTPUT_VARIADIC, INPUT_OUTPUT_REQUIRED};
  first.compute = Sum;
  const Loaded not_last("a variadic input that is not the last", Model("First", {"A", "B"}, kFloat), {&first});
}

void Failures(OrtValue* floats) {
  Operator unmade("Unmade"), failing("Failing"), elsewhere("Elsewhere");
  unmade.fails_to_make = true;
  const Loaded not_made("a kernel that cannot be made", Model("Unmade", {"X"}, kFloat), {&unmade});
  failing.compute = Refuse;
  const Loaded fails("a kernel that will fail", Model("Failing", {"X"}, kFloat), {&failing});
  fails.Run<float>("its failing run", floats, {"X"});
  elsewhere.provider = "CUDAExecutionProvider";
  elsewhere.compute = Scale<float>;
  const Loaded on_gpu("an operator of another provider", Model("Elsewhere", {"X"}, kFloat), {&elsewhere});
}

void Names(OrtValue* floats) {
  Operator gpu("Both"), cpu("Both");
  gpu.provider = "CUDAExecutionProvider";
  gpu.compute = Nothing;
  cpu.compute = Scale<float>;
  const Loaded both("definitions for two providers", Model("Both", {"X"}, kFloat), {&gpu, &cpu});
  both.Run<float>("the run of the processor's", floats, {"X"});
  Operator scale("Scale");
  scale.compute = Scale<float>;
  const Loaded function("a function of the operator's name", WithFunction(Model("Scale", {"X"}, kFloat)), {&scale});
  function.Run<float>("the run of that name", floats, {"X"});
}

void Texts() {
  Operator lengths("Lengths");
  lengths.inputs = {kString};
  lengths.outputs = {kInt64};
  lengths.compute = Lengths;
  const Loaded loaded("an operator of texts", Model("Lengths", {"X"}, kString), {&lengths});
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {1, 3};
  OrtValue* texts = nullptr;
  Must(api->CreateTensorAsOrtValue(allocator, shape, 2, kString, &texts));
  const char* words[] = {"", "four", "sixteen"};
  Must(api->FillStringTensor(texts, words, 3));
  loaded.Run<int64_t>("the lengths of texts", texts, {"X"});
  api->ReleaseValue(texts);
}

void Written(OrtValue* floats) {
  const std::string path = (std::filesystem::temp_directory_path() / "owns.onnx").string();
  Operator scale("Scale");
  scale.compute = Scale<float>;
  {
    const Loaded loaded("an optimized model with an operator", Model("Scale", {"X"}, kFloat), {&scale}, kDomain,
                        path.c_str());
  }
  OrtCustomOpDomain* domain = nullptr;
  OrtSessionOptions* options = nullptr;
  Must(api->CreateCustomOpDomain(kDomain, &domain));
  Must(api->CustomOpDomain_Add(domain, &scale));
  Must(api->CreateSessionOptions(&options));
  Must(api->AddCustomOpDomain(options, domain));
  OrtSession* session = nullptr;
  Print("the optimized model again", api->CreateSession(env, path.c_str(), options, &session));
  const char *input = "X", *output = "Y";
  const OrtValue* given = floats;
  OrtValue* result = nullptr;
  if (session != nullptr) Print("its run again", api->Run(session, nullptr, &input, &given, 1, &output, 1, &result));
  if (result != nullptr) api->ReleaseValue(result);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseCustomOpDomain(domain);
  std::filesystem::remove(path);
}

void Libraries() {
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  void* handle = nullptr;
  Print("a library of operators that is not there", api->RegisterCustomOpsLibrary_V2(options, "/nonexistent.so"));
  Print("the same, whose handle is asked for", api->RegisterCustomOpsLibrary(options, "/nonexistent.so", &handle));
  Print("a library without operators", api->RegisterCustomOpsLibrary_V2(options, "libdl.so.2"));
  Print("a function that is not there", api->RegisterCustomOpsUsingFunction(options, "NoSuchFunction"));
  Print("a function that is there", api->RegisterCustomOpsUsingFunction(options, "AddTestOperators"));
  api->ReleaseSessionOptions(options);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* AddTestOperators(OrtSessionOptions*, const OrtApiBase* base) {
  std::printf("AddTestOperators: %d\n", base->GetApi(22) != nullptr ? 1 : 0);
  return nullptr;
}

void OperatorCalls() {
  OrtValue* floats = Numbers<float>(kFloat);
  OrtValue* integers = Numbers<int64_t>(kInt64);
  Plain(floats);
  Types(floats, integers);
  Forms(floats);
  Failures(floats);
  KernelCalls(floats);
  Names(floats);
  Texts();
  Written(floats);
  Libraries();
  api->ReleaseValue(integers);
  api->ReleaseValue(floats);
}
