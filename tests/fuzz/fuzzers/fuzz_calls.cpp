// Sequences of an application's calls: sessions, values of any shape and type in buffers of their own or in parts of one
// buffer, bindings, runs in every form, cancelled from another thread, and objects that outlive each other. The input is a
// program, byte after byte.

#include <thread>

#include "../fixed_models.h"
#include "choices.h"
#include "harness.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kSessions = 2, kBindings = 2, kMostCalls = 64;

const std::vector<std::string>& SerializedModels() {
  static const auto* const models = [] {
    auto* const serialized = new std::vector<std::string>;
    for (const FixedModel& model : FixedModels()) serialized->push_back(model.proto.SerializeAsString());
    return serialized;
  }();
  return *models;
}

/// Sessions are slow to make: those of a provider and a model are made once.
const Session& Model(size_t model, bool onednn) {
  static auto* const sessions = new std::vector<std::optional<Session>>(2 * SerializedModels().size());
  std::optional<Session>& session = (*sessions)[2 * model + (onednn ? 1 : 0)];
  if (!session) session.emplace(std::as_bytes(std::span(SerializedModels()[model])), OptionsOf(onednn ? 200 : 0, 8));
  return *session;
}

class Application {
 public:
  explicit Application(std::span<const uint8_t> program)
      : choices_(program), random_(static_cast<uint32_t>(program.size())) {
    for (auto& bytes : memory_) bytes.resize(4096);
  }

  void Run() {
    for (size_t i = 0; i < kMostCalls && !choices_.done(); ++i) Call();
  }

 private:
  void Call() {
    std::shared_ptr<Session>& session = sessions_[choices_.Below(kSessions)];
    std::unique_ptr<IoBinding>& binding = bindings_[choices_.Below(kBindings)];
    const uint8_t call = choices_.Byte();
    Tolerate([&] {
      if (session == nullptr || call % 16 == 0) return MakeSession(session, call);
      if (binding == nullptr || call % 16 == 1) return void(binding = std::make_unique<IoBinding>(*session));
      switch (call % 16) {
        case 2:
        case 3: return BindInput(*session, *binding);
        case 4: return BindOutput(*session, *binding);
        case 5: return binding->BindOutput(AnyName(*session));
        case 6: return choices_.Flag() ? binding->ClearInputs() : binding->ClearOutputs();
        case 7:
        case 8: return RunBinding(*session, *binding);
        case 9:
        case 10: return RunPositions(*session);
        case 11: return RunNames(*session);
        case 12: return ReadOutputs(*binding);
        case 13: return Drop(session, binding);
        case 14: return session->Copy(AnyTensor(*session), last_);
        default: return RunOnThreads(*session);
      }
    });
  }

  void MakeSession(std::shared_ptr<Session>& session, uint8_t choice) {
    const size_t model = choices_.Below(SerializedModels().size());
    if (choice >= 240) {  // one of its own
      const uint8_t provider = choices_.Byte();
      session = std::make_shared<Session>(std::as_bytes(std::span(SerializedModels()[model])),
                                          OptionsOf(provider, choices_.Byte()));
    } else {
      session = std::shared_ptr<Session>(std::shared_ptr<void>(), const_cast<Session*>(&Model(model, choice >= 160)));
    }
  }

  std::string AnyName(const Session& session) {
    const size_t in = session.inputs().size(), out = session.outputs().size(), i = choices_.Below(in + out + 1);
    return i < in ? session.inputs()[i].name : i < in + out ? session.outputs()[i - in].name : choices_.Text();
  }

  /// As one of the session's inputs or outputs is declared, or not.
  Tensor AnyTensor(const Session& session) {
    const size_t in = session.inputs().size(), i = choices_.Below(in + session.outputs().size());
    const TypeInfo& type = i < in ? session.inputs()[i].type : session.outputs()[i - in].type;
    ElementType element = type.element;
    if (choices_.Below(12) == 0) element = static_cast<ElementType>(choices_.Below(kElementTypeCount + 1));
    Shape shape;
    for (const Dimension& dim : type.shape.value_or(SymbolicShape{}))
      shape.Append(dim.known() ? dim.value : static_cast<int64_t>(choices_.Below(9)));
    if (choices_.Below(10) == 0) shape.Append(static_cast<int64_t>(choices_.Below(4)));
    if (choices_.Below(10) == 0 && shape.rank() > 0) shape[choices_.Below(shape.rank())] = choices_.Number<int64_t>();
    if (choices_.Below(3) != 0 || element == ElementType::kString) {
      if (shape.num_elements() > 4096) return last_;
      return RandomTensor(element, shape, random_);
    }
    // A view of memory that other tensors may share.
    auto& bytes = memory_[choices_.Below(memory_.size())];
    const size_t size = ByteSize(element, shape.num_elements()), offset = choices_.Below(5) * 16;
    if (size + offset > bytes.size()) return last_;
    return Tensor::View(element, shape, bytes.data() + offset);
  }

  Value AnyValue(const Session& session) {
    switch (choices_.Below(12)) {
      case 0: return {};
      case 1: {
        Sequence sequence{TypeInfo::OfTensor(ElementType::kFloat), {}};
        for (size_t n = choices_.Below(3); n > 0; --n) sequence.elements.emplace_back(AnyTensor(session));
        return sequence;
      }
      case 2: {
        const Tensor values = AnyTensor(session);
        return SparseTensor{values, AnyTensor(session), Shape{2, 3}};
      }
      default: return AnyTensor(session);
    }
  }

  void BindInput(const Session& session, IoBinding& binding) {
    const std::string name = AnyName(session);
    binding.BindInput(name, AnyValue(session));
  }

  void BindOutput(const Session& session, IoBinding& binding) {
    const std::string name = AnyName(session);
    binding.BindOutput(name, AnyTensor(session));
  }

  void RunBinding(const Session& session, IoBinding& binding) {
    WithDeadline([&](const RunOptions& options) { session.Run(binding, options); });
  }

  void RunPositions(const Session& session) {
    std::vector<Value> inputs, results(session.outputs().size() + choices_.Below(8) / 7);
    for (size_t i = session.inputs().size() + choices_.Below(8) / 7; i > 0; --i) inputs.push_back(AnyValue(session));
    for (Value& result : results) {
      if (choices_.Flag()) result = AnyTensor(session);
    }
    WithDeadline([&](const RunOptions& options) { session.Run(inputs, results, options); });
    if (!results.empty() && results[0].is_tensor()) last_ = results[0].tensor();
  }

  void RunNames(const Session& session) {
    std::vector<std::string> names, wanted;
    std::vector<Value> inputs;
    for (size_t i = choices_.Below(4); i > 0; --i) {
      names.push_back(AnyName(session));
      inputs.push_back(AnyValue(session));
    }
    for (size_t i = choices_.Below(3); i > 0; --i) wanted.push_back(AnyName(session));
    if (choices_.Below(8) == 0) inputs.emplace_back();
    WithDeadline([&](const RunOptions& options) { kept_ = session.Run(names, inputs, wanted, options); });
  }

  /// Two threads run it, and this one cancels one of them at some time.
  void RunOnThreads(const Session& session) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < session.inputs().size(); ++i) inputs.push_back(AnyValue(session));
    RunOptions options;
    options.log_level = LogLevel::kFatal;
    options.timeout = std::chrono::seconds(1);
    const auto run = [&] {
      Tolerate([&] {
        std::vector<Value> results(session.outputs().size());
        session.Run(inputs, results, options);
      });
    };
    std::thread one(run), other(run);
    for (size_t spins = choices_.Below(256); spins > 0; --spins) std::this_thread::yield();
    options.Cancel();
    one.join();
    other.join();
  }

  static void ReadOutputs(const IoBinding& binding) {
    volatile std::byte sink{};
    for (const Value& value : binding.outputs()) {
      const Tensor* const tensor = value.tensor_if();
      if (tensor == nullptr || tensor->is(ElementType::kString) || tensor->byte_size() == 0) continue;
      sink = static_cast<const std::byte*>(tensor->raw())[tensor->byte_size() - 1];
    }
    (void)sink;
  }

  void Drop(std::shared_ptr<Session>& session, std::unique_ptr<IoBinding>& binding) {
    switch (choices_.Below(4)) {
      case 0: session.reset(); return;  // values and bindings of it live on
      case 1: binding.reset(); return;
      case 2: binding = std::make_unique<IoBinding>(std::move(*binding)); return;
      default: kept_.clear();
    }
  }

  Choices choices_;
  Random random_;
  std::vector<std::vector<uint8_t>> memory_{3};
  std::shared_ptr<Session> sessions_[kSessions];
  std::unique_ptr<IoBinding> bindings_[kBindings];
  Tensor last_;
  std::vector<Value> kept_;
};

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::fuzz::Application({data, size}).Run();
  return 0;
}
