// Sequences of a client's calls of the C ABI: environments, options, sessions, values of every kind, run options, bindings
// and type infos, made, used, and released in any order; null handles, names that are not there, and numbers that fit
// nothing. The input is a program, byte after byte. Handles are used after nobody holds them only where ONNX Runtime allows
// it: values outlive their session, and what a value was made of.

#include <cstdlib>
#include <string>
#include <vector>

#include "../fixed_models.h"
#include "c_client.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kMostCalls = 64, kSlots = 4;

const std::vector<std::string>& SerializedModels() {
  static const auto* const models = [] {
    auto* const serialized = new std::vector<std::string>;
    for (const FixedModel& model : FixedModels()) serialized->push_back(model.proto.SerializeAsString());
    return serialized;
  }();
  return *models;
}

class Client : ClientParts {
 public:
  using ClientParts::ClientParts;
  ~Client() {
    for (OrtIoBinding*& binding : bindings_) Api().ReleaseIoBinding(binding);
    for (OrtSession*& session : sessions_) Api().ReleaseSession(session);
    for (OrtValue*& value : values_) Api().ReleaseValue(value);
    for (OrtSessionOptions*& options : options_) Api().ReleaseSessionOptions(options);
    for (OrtRunOptions*& options : run_options_) Api().ReleaseRunOptions(options);
    for (OrtTypeInfo*& type : types_) Api().ReleaseTypeInfo(type);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Run() {
    for (size_t i = 0; i < kMostCalls && !choices_.done(); ++i) Call();
  }

 private:
  template <class T>
  T*& Any(T* (&slots)[kSlots]) {
    return slots[choices_.Below(kSlots)];
  }

  /// A slot that nobody holds.
  template <class T, class Release>
  T*& Empty(T* (&slots)[kSlots], Release release) {
    T*& slot = Any(slots);
    release(slot);
    slot = nullptr;
    return slot;
  }

  void Call() {
    switch (choices_.Below(16)) {
      case 0: return MakeSession();
      case 1: return SetOptions();
      case 2:
      case 3:
      case 4: return MakeValue();
      case 5: return MakeSparse();
      case 6: return CombineValues();
      case 7: return LookAtValue();
      case 8: return LookAtSession();
      case 9: return Bind();
      case 10: return RunBinding();
      case 11: return SetRunOptions();
      case 12: return Drop();
      case 13: return UseStrings();
      default: return RunSession();
    }
  }

  void MakeSession() {
    OrtSession*& session = Empty(sessions_, Api().ReleaseSession);
    const std::string& model = SerializedModels()[choices_.Below(SerializedModels().size())];
    const size_t size = choices_.Below(16) == 0 ? choices_.Number<uint16_t>() % (model.size() + 1) : model.size();
    Good(Api().CreateSessionFromArray(env_, model.data(), size, Any(options_), &session));
  }

  void SetOptions() {
    OrtSessionOptions*& options = Any(options_);
    if (options == nullptr && choices_.Below(4) != 0) Good(Api().CreateSessionOptions(&options));
    const std::string name = choices_.Text(), text = choices_.Text();
    const OrtValue* value = Any(values_);
    const char* key = name.c_str();
    switch (choices_.Below(9)) {
      case 0: Good(Api().AddSessionConfigEntry(options, name.c_str(), text.c_str())); return;
      case 1: Good(Api().SetIntraOpNumThreads(options, static_cast<int>(choices_.Below(4)) - 1)); return;
      case 2:
        Good(Api().SetSessionGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(choices_.Byte())));
        return;
      case 3: Good(Api().AddFreeDimensionOverride(options, name.c_str(), choices_.Number<int8_t>())); return;
      case 4: Good(Api().AddFreeDimensionOverrideByName(options, name.c_str(), choices_.Number<int8_t>())); return;
      case 5: Good(Api().SessionOptionsAppendExecutionProvider(options, name.c_str(), nullptr, nullptr, 0)); return;
      case 6: Good(Api().AddExternalInitializers(options, &key, &value, 1)); return;
      case 7: Good(Api().DisableMemPattern(options)); return;
      default: {
        OrtSessionOptions* copy = nullptr;
        if (Good(Api().CloneSessionOptions(options, &copy))) Api().ReleaseSessionOptions(copy);
      }
    }
  }

  ONNXTensorElementDataType AnyElement() { return static_cast<ONNXTensorElementDataType>(choices_.Below(30)); }

  void MakeValue() {
    OrtValue*& value = Empty(values_, Api().ReleaseValue);
    const std::vector<int64_t> shape = AnyShape();
    const ONNXTensorElementDataType element = choices_.Below(3) == 0 ? AnyElement() : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    if (choices_.Flag()) {
      MakeTensor(shape, element, value);
    } else {
      ViewMemory(shape, element, value);
    }
  }

  void MakeSparse() {
    OrtValue*& value = Empty(values_, Api().ReleaseValue);
    const std::vector<int64_t> shape = AnyShape();
    Good(Api().CreateSparseTensorAsOrtValue(allocator_, shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                            &value));
    int64_t inner[4] = {}, outer[5] = {};
    for (int64_t& index : inner) index = choices_.Number<int8_t>();
    for (int64_t& index : outer) index = choices_.Number<int8_t>();
    const int64_t count = static_cast<int64_t>(choices_.Below(5));
    const size_t rows = choices_.Below(6);
    int32_t blocks[4] = {0, 1, 2, 3};
    const int64_t block_shape[] = {2, count}, block_values[] = {1, 1, count};
    switch (choices_.Below(3)) {
      case 0:
        Good(Api().FillSparseTensorCoo(value, memory_info_, &count, 1, memory_.data(), inner, choices_.Below(5)));
        break;
      case 1:
        Good(Api().FillSparseTensorCsr(value, memory_info_, &count, 1, memory_.data(), inner, choices_.Below(5), outer,
                                       rows));
        break;
      default:
        if (count <= 2) {
          Good(Api().FillSparseTensorBlockSparse(value, memory_info_, block_values, 3, memory_.data(), block_shape, 2,
                                                 blocks));
        }
    }
    OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
    Good(Api().GetSparseTensorFormat(value, &format));
    size_t number = 0;
    const void* indices = nullptr;
    Good(Api().GetSparseTensorIndices(value, static_cast<OrtSparseIndicesFormat>(choices_.Below(5)), &number, &indices));
  }

  void CombineValues() {
    const OrtValue* const parts[] = {Any(values_), Any(values_), Any(values_)};
    OrtValue* made = nullptr;
    Good(Api().CreateValue(parts, choices_.Below(4), static_cast<ONNXType>(choices_.Below(7)), &made));
    size_t count = 0;
    OrtValue* part = nullptr;
    Good(Api().GetValueCount(made, &count));
    Good(Api().GetValue(made, static_cast<int>(choices_.Below(4)), allocator_, &part));
    OrtValue*& slot = Empty(values_, Api().ReleaseValue);
    slot = part;
    Api().ReleaseValue(made);
  }

  void LookAtValue() {
    OrtValue* value = Any(values_);
    OrtTypeInfo*& type = Empty(types_, Api().ReleaseTypeInfo);
    Good(Api().GetTypeInfo(value, &type));
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    if (type != nullptr) Good(Api().CastTypeInfoToTensorInfo(type, &tensor));
    size_t rank = 0;
    int64_t dims[2] = {};
    if (tensor != nullptr && Good(Api().GetDimensionsCount(tensor, &rank))) Good(Api().GetDimensions(tensor, dims, 2));
    void* data = nullptr;
    Good(Api().GetTensorMutableData(value, &data));
    const int64_t place[] = {choices_.Number<int8_t>(), choices_.Number<int8_t>()};
    Good(Api().TensorAt(value, place, choices_.Below(3), &data));
    size_t bytes = 0;
    Good(Api().GetTensorSizeInBytes(value, &bytes));
    const OrtMemoryInfo* info = nullptr;
    Good(Api().GetTensorMemoryInfo(value, &info));
  }

  void UseStrings() {
    OrtValue* value = Any(values_);
    const std::string text = choices_.Text();
    const char* const texts[] = {text.c_str(), "", nullptr};
    Good(Api().FillStringTensor(value, texts, choices_.Below(4)));
    Good(Api().FillStringTensorElement(value, text.c_str(), choices_.Below(8)));
    size_t length = 0;
    Good(Api().GetStringTensorDataLength(value, &length));
    char content[64];
    size_t offsets[4];
    Good(Api().GetStringTensorContent(value, content, choices_.Below(65), offsets, choices_.Below(5)));
    char* buffer = nullptr;
    Good(Api().GetResizedStringTensorElementBuffer(value, choices_.Below(4), choices_.Byte(), &buffer));
  }

  void LookAtSession() {
    const OrtSession* session = Any(sessions_);
    size_t count = 0;
    Good(Api().SessionGetInputCount(session, &count));
    char* name = nullptr;
    if (Good(Api().SessionGetInputName(session, choices_.Below(4), allocator_, &name)))
      Good(Api().AllocatorFree(allocator_, name));
    Good(Api().SessionGetOutputTypeInfo(session, choices_.Below(4), &Empty(types_, Api().ReleaseTypeInfo)));
    OrtModelMetadata* metadata = nullptr;
    if (!Good(Api().SessionGetModelMetadata(session, &metadata))) return;
    char* text = nullptr;
    if (Good(Api().ModelMetadataGetGraphName(metadata, allocator_, &text))) Good(Api().AllocatorFree(allocator_, text));
    Api().ReleaseModelMetadata(metadata);
  }

  /// The name of an input or output of a session, or any text.
  std::string AnyName(const OrtSession* session, bool input) {
    if (session == nullptr || choices_.Below(8) == 0) return choices_.Text();
    char* name = nullptr;
    const size_t i = choices_.Below(3);
    OrtStatusPtr status = input ? Api().SessionGetInputName(session, i, allocator_, &name)
                                : Api().SessionGetOutputName(session, i, allocator_, &name);
    if (!Good(status)) return "none";
    const std::string text = name;
    Good(Api().AllocatorFree(allocator_, name));
    return text;
  }

  void RunSession() {
    OrtSession* session = Any(sessions_);
    const std::string in[] = {AnyName(session, true), AnyName(session, true)},
                      out[] = {AnyName(session, false), AnyName(session, false)};
    const char* const inputs[] = {in[0].c_str(), in[1].c_str()};
    const char* const outputs[] = {out[0].c_str(), out[1].c_str()};
    const OrtValue* const given[] = {Any(values_), Any(values_)};
    const bool into = choices_.Below(4) == 0;
    OrtValue* const buffer = into ? Any(values_) : nullptr;
    OrtValue* results[2] = {buffer, nullptr};
    const size_t count = choices_.Below(3);
    Good(Api().Run(session, Any(run_options_), inputs, given, choices_.Below(3), outputs, count, results));
    for (OrtValue* result : results) {
      if (result == nullptr || result == buffer) continue;
      Empty(values_, [&](OrtValue* held) {
        if (held != buffer) Api().ReleaseValue(held);
        else kept_ = held;
      }) = result;
    }
    if (kept_ != nullptr) Api().ReleaseValue(std::exchange(kept_, nullptr));
  }

  void SetRunOptions() {
    OrtRunOptions*& options = Any(run_options_);
    if (options == nullptr) Good(Api().CreateRunOptions(&options));
    switch (choices_.Below(5)) {
      case 0: Good(Api().RunOptionsSetTerminate(options)); return;
      case 1: Good(Api().RunOptionsUnsetTerminate(options)); return;
      case 2: Good(Api().RunOptionsSetRunTag(options, choices_.Text().c_str())); return;
      case 3: Good(Api().AddRunConfigEntry(options, choices_.Text().c_str(), choices_.Text().c_str())); return;
      default: Good(Api().RunOptionsSetRunLogSeverityLevel(options, choices_.Number<int8_t>()));
    }
  }

  void Bind() {
    OrtSession* session = Any(sessions_);
    OrtIoBinding*& binding = Any(bindings_);
    if (binding == nullptr) Good(Api().CreateIoBinding(session, &binding));
    if (choices_.Flag()) {
      Good(Api().BindInput(binding, AnyName(session, true).c_str(), Any(values_)));
    } else if (choices_.Flag()) {
      Good(Api().BindOutput(binding, AnyName(session, false).c_str(), Any(values_)));
    } else {
      Good(Api().BindOutputToDevice(binding, AnyName(session, false).c_str(), memory_info_));
    }
  }

  void RunBinding() {
    OrtIoBinding* binding = Any(bindings_);
    Good(Api().RunWithBinding(Any(sessions_), Any(run_options_), binding));
    OrtValue** results = nullptr;
    size_t count = 0;
    if (binding == nullptr || !Good(Api().GetBoundOutputValues(binding, allocator_, &results, &count))) return;
    for (size_t i = 0; i < count; ++i) Empty(values_, Api().ReleaseValue) = results[i];
    if (results != nullptr) Good(Api().AllocatorFree(allocator_, results));
    if (choices_.Flag()) Api().ClearBoundInputs(binding);
    if (choices_.Flag()) Api().ClearBoundOutputs(binding);
  }

  void Drop() {
    switch (choices_.Below(5)) {
      case 0: Empty(values_, Api().ReleaseValue); return;
      case 1: Empty(run_options_, Api().ReleaseRunOptions); return;
      case 2: Empty(options_, Api().ReleaseSessionOptions); return;
      case 3: Empty(bindings_, Api().ReleaseIoBinding); return;
      default: {  // a binding of the session does not outlive it
        for (OrtIoBinding*& binding : bindings_) Api().ReleaseIoBinding(std::exchange(binding, nullptr));
        Empty(sessions_, Api().ReleaseSession);
      }
    }
  }

  OrtValue* kept_ = nullptr;  // the buffer of the run that is under way
  OrtSession* sessions_[kSlots] = {};
  OrtSessionOptions* options_[kSlots] = {};
  OrtRunOptions* run_options_[kSlots] = {};
  OrtIoBinding* bindings_[kSlots] = {};
  OrtValue* values_[kSlots] = {};
  OrtTypeInfo* types_[kSlots] = {};
};

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::fuzz::Client({data, size}).Run();
  return 0;
}
