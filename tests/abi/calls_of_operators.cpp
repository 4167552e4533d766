// Operators of the program's own: how they are told to a session, which nodes they fit, what they learn and compute.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "answers.h"

namespace {

constexpr auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr auto kInt64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
constexpr auto kString = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
constexpr auto kAny = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
constexpr const char* kDomain = "test.ops";

struct Operator;

/// What a kernel has of its node.
struct Kernel {
  const Operator& op;
  int64_t by = 0;
  OrtOp* add = nullptr;  // of ONNX
};

std::vector<int64_t> ShapeOf(const OrtValue* value, size_t* count) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Must(api->GetTensorTypeAndShape(value, &info));
  size_t rank = 0;
  Must(api->GetDimensionsCount(info, &rank));
  std::vector<int64_t> shape(rank);
  Must(api->GetDimensions(info, shape.data(), rank));
  Must(api->GetTensorShapeElementCount(info, count));
  api->ReleaseTensorTypeAndShapeInfo(info);
  return shape;
}

template <class T>
T* DataOf(const OrtValue* value) {
  void* data = nullptr;
  Must(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  return static_cast<T*>(data);
}

const OrtValue* InputOf(const OrtKernelContext* context, size_t i) {
  const OrtValue* value = nullptr;
  Must(api->KernelContext_GetInput(context, i, &value));
  return value;
}

/// An operator; tests change what they are about.
struct Operator : OrtCustomOp {
  std::string name;
  std::vector<ONNXTensorElementDataType> inputs = {kFloat}, outputs = {kFloat};
  std::vector<OrtCustomOpInputOutputCharacteristic> kinds = {INPUT_OUTPUT_REQUIRED};
  const char* provider = nullptr;
  int first = 1, last = 1000;
  bool fails_to_make = false;
  OrtStatus* (*prepare)(Kernel&, const OrtKernelInfo*) = nullptr;
  OrtStatus* (*compute)(const Kernel&, OrtKernelContext*) = nullptr;
  OrtStatus* (*infer)(OrtShapeInferContext*) = nullptr;

  static const Operator& Self(const OrtCustomOp* op) { return *static_cast<const Operator*>(op); }

  explicit Operator(std::string its_name) : OrtCustomOp{}, name(std::move(its_name)) {
    version = 22;
    GetName = [](const OrtCustomOp* op) { return Self(op).name.c_str(); };
    GetExecutionProviderType = [](const OrtCustomOp* op) { return Self(op).provider; };
    GetInputType = [](const OrtCustomOp* op, size_t i) { return Self(op).inputs[i]; };
    GetInputTypeCount = [](const OrtCustomOp* op) { return Self(op).inputs.size(); };
    GetOutputType = [](const OrtCustomOp* op, size_t i) { return Self(op).outputs[i]; };
    GetOutputTypeCount = [](const OrtCustomOp* op) { return Self(op).outputs.size(); };
    GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) {
      return i < Self(op).kinds.size() ? Self(op).kinds[i] : INPUT_OUTPUT_REQUIRED;
    };
    GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 2; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetStartVersion = [](const OrtCustomOp* op) { return Self(op).first; };
    GetEndVersion = [](const OrtCustomOp* op) { return Self(op).last; };
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatusPtr {
      if (Self(op).fails_to_make) return api->CreateStatus(ORT_INVALID_GRAPH, "not today");
      auto* made = new Kernel{Self(op)};
      api->ReleaseStatus(api->KernelInfoGetAttribute_int64(info, "by", &made->by));
      *kernel = made;
      return Self(op).prepare == nullptr ? nullptr : Self(op).prepare(*made, info);
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatusPtr {
      const auto& made = *static_cast<const Kernel*>(kernel);
      return made.op.compute(made, context);
    };
    KernelDestroy = [](void* kernel) {
      api->ReleaseOp(static_cast<Kernel*>(kernel)->add);
      delete static_cast<Kernel*>(kernel);
    };
    InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) -> OrtStatusPtr {
      return Self(op).infer == nullptr ? nullptr : Self(op).infer(context);
    };
  }
};

OrtStatus* Output(OrtKernelContext* context, const std::vector<int64_t>& shape, OrtValue** out) {
  return api->KernelContext_GetOutput(context, 0, shape.data(), shape.size(), out);
}

/// The first input times the attribute "by".
template <class T>
OrtStatus* Scale(const Kernel& kernel, OrtKernelContext* context) {
  size_t count = 0;
  OrtValue* out = nullptr;
  const OrtValue* input = InputOf(context, 0);
  if (OrtStatus* status = Output(context, ShapeOf(input, &count), &out)) return status;
  for (size_t i = 0; i < count; ++i) DataOf<T>(out)[i] = DataOf<T>(input)[i] * static_cast<T>(kernel.by);
  return nullptr;
}

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

/// A model of one node, Y = op(X...), whose inputs have this type and the shape [batch, 3]. `type`: of Y; 0: not said.
std::string Model(std::string_view op, const std::vector<std::string_view>& inputs, ONNXTensorElementDataType type,
                  int64_t version = 1, std::string_view domain = kDomain, int output_type = 0,
                  std::string_view unread = {}) {
  std::vector<std::string_view> outputs = {"Y"};
  if (!unread.empty()) outputs.push_back(unread);
  tiny::Message node = tiny::Node(op, inputs, outputs, "own");
  node.Bytes(7, domain).Add(5, tiny::Message().Bytes(1, "by").Number(3, 3).Number(20, 2));
  tiny::Message graph;
  graph.Add(1, node).Bytes(2, "owns");
  for (const std::string_view input : inputs) {
    if (!input.empty()) graph.Add(11, tiny::TensorValue(input, type, {{0, "batch"}, {3}}));
  }
  if (output_type == 0) {
    graph.Add(12, tiny::Message().Bytes(1, "Y"));
  } else {
    graph.Add(12, tiny::TensorValue("Y", output_type, {{0, "n"}, {3}}));
  }
  tiny::Message model;
  model.Number(1, 8).Add(7, graph).Add(8, tiny::Message().Bytes(1, "").Number(2, 17));
  if (!domain.empty()) model.Add(8, tiny::Message().Bytes(1, domain).Number(2, static_cast<uint64_t>(version)));
  return model.text();
}

/// The same with a function Scale of the operator's domain, which negates.
std::string WithFunction(const std::string& model) {
  tiny::Message function;
  function.Bytes(1, "Scale").Bytes(4, "a").Bytes(5, "b").Bytes(6, "by").Add(7, tiny::Node("Neg", {"a"}, {"b"}));
  function.Add(9, tiny::Message().Bytes(1, "").Number(2, 17)).Bytes(10, kDomain);
  return model + tiny::Message().Add(25, function).text();
}

/// A session with these operators in one domain. Null where there is none, which the call's line says.
struct Loaded {
  OrtCustomOpDomain* domain = nullptr;
  OrtSession* session = nullptr;

  Loaded(const char* call, const std::string& model, const std::vector<const OrtCustomOp*>& operators,
         const char* name = kDomain, const char* optimized = nullptr) {
    Must(api->CreateCustomOpDomain(name, &domain));
    for (const OrtCustomOp* op : operators) Must(api->CustomOpDomain_Add(domain, op));
    OrtSessionOptions* options = nullptr;
    Must(api->CreateSessionOptions(&options));
    Must(api->AddCustomOpDomain(options, domain));
    Must(api->SetSessionLogSeverityLevel(options, 4));
    Must(api->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    if (optimized != nullptr) Must(api->SetOptimizedModelFilePath(options, optimized));
    Print(call, api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
    api->ReleaseSessionOptions(options);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    api->ReleaseSession(session);
    api->ReleaseCustomOpDomain(domain);
  }

  /// Prints the type of Y as the session has it.
  void PrintType(const char* call) const {
    if (session == nullptr) return;
    OrtTypeInfo* type = nullptr;
    Must(api->SessionGetOutputTypeInfo(session, 0, &type));
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    Must(api->CastTypeInfoToTensorInfo(type, &tensor));
    std::printf("%s:", call);
    PrintTensorType("type", tensor);
    std::printf("\n");
    api->ReleaseTypeInfo(type);
  }

  /// Prints who runs the operator.
  void PrintProvider(const char* call) const {
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0;
    const char* provider = nullptr;
    Must(api->Session_GetEpGraphAssignmentInfo(session, &parts, &count));
    if (count > 0) Must(api->EpAssignedSubgraph_GetEpName(parts[0], &provider));
    std::printf("%s: %zu part, %s\n", call, count, provider);
  }

  /// Runs it with the value for each of these inputs, and prints the first three numbers.
  template <class T>
  void Run(const char* call, OrtValue* value, const std::vector<const char*>& names) const {
    if (session == nullptr) return;
    const std::vector<const OrtValue*> inputs(names.size(), value);
    const char* output = "Y";
    OrtValue* result = nullptr;
    Print(call, api->Run(session, nullptr, names.data(), inputs.data(), names.size(), &output, 1, &result));
    if (result == nullptr) return;
    std::printf("its numbers: %g %g %g\n", static_cast<double>(DataOf<T>(result)[0]),
                static_cast<double>(DataOf<T>(result)[1]), static_cast<double>(DataOf<T>(result)[2]));
    api->ReleaseValue(result);
  }
};

template <class T>
OrtValue* Numbers(ONNXTensorElementDataType type) {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {1, 3};
  OrtValue* value = nullptr;
  Must(api->CreateTensorAsOrtValue(allocator, shape, 2, type, &value));
  for (int i = 0; i < 3; ++i) DataOf<T>(value)[i] = static_cast<T>(i + 1);
  return value;
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

void Parts(OrtValue* floats) {
  Operator probes("Probes");
  probes.outputs = {kFloat, kFloat};
  probes.compute = Probe;
  const Loaded probed("an operator with an output that nobody reads", Model("Probes", {"X"}, kFloat, 1, kDomain, 0, "Z"),
                      {&probes});
  probed.Run<float>("the run that probes", floats, {"X"});
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
  Eager(floats);
  Parts(floats);
  Texts();
  Written(floats);
  Libraries();
  api->ReleaseValue(integers);
  api->ReleaseValue(floats);
}
