// Loaded models that the program changes before their sessions are finished.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "made_models.h"

namespace {

/// A session of the model that is not finished.
OrtSession* Unfinished(const char* call, const std::string& model) {
  OrtSession* session = nullptr;
  Print(call, editor->CreateModelEditorSessionFromArray(env, model.data(), model.size(), nullptr, &session));
  return session;
}

void Edit(const char* call, OrtSession* session, OrtModel* model) {
  Print(call, editor->ApplyModelToModelEditorSession(session, model));
  api->ReleaseModel(model);
}

void Finish(const char* call, OrtSession* session) {
  Print(call, editor->FinalizeModelEditorSession(session, nullptr, nullptr));
}

void Unchanged() {
  OrtSession* session = Unfinished("an unfinished session", tiny::Identity(1));
  if (session == nullptr) return;
  int opset = 0;
  PrintValue("its opset", editor->SessionGetOpsetForDomain(session, "", &opset), opset);
  PrintValue("its opset by the other name", editor->SessionGetOpsetForDomain(session, "ai.onnx", &opset), opset);
  PrintValue("its opset of Microsoft's", editor->SessionGetOpsetForDomain(session, "com.microsoft", &opset), opset);
  Print("its opset of an unknown domain", editor->SessionGetOpsetForDomain(session, "nobody", &opset));
  size_t count = 7;
  PrintValue("its inputs before", api->SessionGetInputCount(session, &count), count);
  PrintValue("its outputs before", api->SessionGetOutputCount(session, &count), count);
  PrintValue("its overridable ones before", api->SessionGetOverridableInitializerCount(session, &count), count);
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  char* name = nullptr;
  PrintValue("its input's name before", api->SessionGetInputName(session, 0, allocator, &name), name);
  if (name != nullptr) Must(api->AllocatorFree(allocator, std::exchange(name, nullptr)));
  PrintValue("its output's name before", api->SessionGetOutputName(session, 0, allocator, &name), name);
  if (name != nullptr) Must(api->AllocatorFree(allocator, std::exchange(name, nullptr)));
  Print("its second input's name before", api->SessionGetInputName(session, 1, allocator, &name));
  OrtTypeInfo* type = nullptr;
  Print("its input's type is asked for", api->SessionGetInputTypeInfo(session, 0, &type));
  if (type != nullptr) PrintType("its input's type before", type);
  api->ReleaseTypeInfo(type);
  OrtModelMetadata* metadata = nullptr;
  Print("its metadata before", api->SessionGetModelMetadata(session, &metadata));
  api->ReleaseModelMetadata(metadata);
  RunCounted("its run before", session, "X", {1, 3}, "Y");
  OrtIoBinding* binding = nullptr;
  Print("a binding before", api->CreateIoBinding(session, &binding));
  api->ReleaseIoBinding(binding);
  Finish("it is finished", session);
  RunCounted("its run after", session, "X", {1, 3}, "Y");
  PrintValue("its opset after", editor->SessionGetOpsetForDomain(session, "", &opset), opset);
  Graph none;
  Edit("a change after", session, none.Model({}, {}));
  Finish("it is finished again", session);
  api->ReleaseSession(session);
  session = Unfinished("a session that stays unfinished", tiny::Identity(1));
  api->ReleaseSession(session);
}

void Changed() {
  OrtSession* session = Unfinished("a session for a new output", tiny::Identity(1));
  Graph after;
  after.Outputs({ValueInfo("Z", kFloat, {{0, "batch"}, {3}})})
      .Add(Node("Add", {"Y", "W"}, {"Z"}))
      .Weight("W", Counted({3}));
  Edit("a node after", session, after.Model({}, {}));
  size_t count = 7;
  PrintValue("its outputs with it", api->SessionGetOutputCount(session, &count), count);
  Finish("that is finished", session);
  RunCounted("the run with a node after", session, "X", {1, 3}, "Z");
  RunCounted("the output that was there", session, "X", {1, 3}, "Y");
  api->ReleaseSession(session);

  session = Unfinished("a session for a new input", tiny::Identity(1));
  Graph before;
  before.Inputs({ValueInfo("X0", kFloat, {{0, "batch"}, {3}})}).Add(Node("Neg", {"X0"}, {"X"}));
  Edit("a node before", session, before.Model({""}, {17}));
  Finish("that is finished, too", session);
  RunCounted("the run with a node before", session, "X0", {1, 3}, "Y");
  api->ReleaseSession(session);

  session = Unfinished("a session for two changes", tiny::Identity(1));
  Graph one, two;
  one.Outputs({ValueInfo("Z1", kFloat, {{0, "batch"}, {3}})}).Add(Node("Neg", {"Y"}, {"Z1"}));
  Edit("the first", session, one.Model({}, {}));
  two.Outputs({ValueInfo("Z2", kFloat, {{0, "batch"}, {3}})}).Add(Node("Neg", {"Z1"}, {"Z2"}));
  Edit("the second", session, two.Model({}, {}));
  Finish("both are finished", session);
  RunCounted("the run with both", session, "X", {1, 3}, "Z2");
  api->ReleaseSession(session);

  std::vector<float> weight(32, 1.0F);
  session = Unfinished("a session for an external weight", tiny::Identity(1));
  Graph external;
  external.Outputs({ValueInfo("Z", kFloat, {{32}, {3}})});
  external.Add(Node("Add", {"Y", "W"}, {"Z"})).Weight("W", Floats(weight.data(), {32, 1}), true);
  Edit("that weight", session, external.Model({}, {}));
  Finish("the weight is finished", session);
  RunCounted("the run with that weight", session, "X", {32, 3}, "Z");
  api->ReleaseSession(session);

  session = Unfinished("a session for Microsoft's operator", tiny::Identity(1));
  Graph microsoft;
  microsoft.Outputs({ValueInfo("Z", kFloat, {{0, "batch"}, {3}})}).Add(Node("Gelu", {"Y"}, {"Z"}, {}, "com.microsoft"));
  Edit("Microsoft's operator", session, microsoft.Model({"com.microsoft"}, {1}));
  Finish("that operator is finished", session);
  api->ReleaseSession(session);
}

/// Tries to change and finish a session that is like the others.
void Refused(const char* call, Graph& graph, const std::vector<const char*>& domains = {},
             const std::vector<int>& versions = {}) {
  const std::string model = tiny::Identity(1);
  OrtSession* session = nullptr;
  Must(editor->CreateModelEditorSessionFromArray(env, model.data(), model.size(), nullptr, &session));
  OrtModel* changes = graph.Model(domains, versions);
  OrtStatus* status = editor->ApplyModelToModelEditorSession(session, changes);
  const bool applied = status == nullptr;
  Print(call, status);
  if (applied) Finish((std::string(call) + ", finished").c_str(), session);
  api->ReleaseModel(changes);
  api->ReleaseSession(session);
}

void WrongChanges() {
  Graph empty;
  Refused("a change of nothing", empty);
  Graph other_opset;
  Refused("another opset", other_opset.Add(Node("Neg", {"Y"}, {"t"})), {""}, {18});
  Graph dangling;
  Refused("a change by a value that nobody makes", dangling.Add(Node("Neg", {"nowhere"}, {"t"})));
  Graph again;
  Refused("a change that makes a value again", again.Add(Node("Neg", {"X"}, {"Y"})));
  Graph no_operator;
  Refused("a change by an unknown operator", no_operator.Add(Node("Nonsense", {"X"}, {"t"})));
  Graph no_domain;
  Refused("a change by an unknown domain", no_domain.Add(Node("Neg", {"X"}, {"t"}, {}, "no.domain")));
  Graph no_maker;
  Refused("a change to an output that nobody makes", no_maker.Outputs({ValueInfo("nowhere", kFloat, {{3}})}));
  Graph no_input;
  Refused("a change that takes the input away", no_input.Inputs({ValueInfo("other", kFloat, {{3}})}));
  Graph weight;
  Refused("a weight of the input's name", weight.Weight("X", Counted({1, 3})));
  OrtSession* session = nullptr;
  const std::string model = tiny::Identity(1);
  Print("bytes that are no model", editor->CreateModelEditorSessionFromArray(env, "garbage", 7, nullptr, &session));
  Print("no bytes", editor->CreateModelEditorSessionFromArray(env, model.data(), 0, nullptr, &session));
  Print("a file that is not there", editor->CreateModelEditorSession(env, "/nonexistent.onnx", nullptr, &session));
  Must(api->CreateSessionFromArray(env, model.data(), model.size(), nullptr, &session));
  int opset = 0;
  PrintValue("the opset of a loaded session", editor->SessionGetOpsetForDomain(session, "", &opset), opset);
  Graph none;
  Edit("a change of a loaded session", session, none.Model({}, {}));
  Finish("a loaded session is finished", session);
  api->ReleaseSession(session);
}

/// Y = X + W and M = the largest of C, whose weight has 4 KiB and whose constant 80: parts that are left where they lie.
std::string LargeParts() {
  std::vector<float> weight(1024);
  std::iota(weight.begin(), weight.end(), 1.0F);
  tiny::Message graph, list, tensor;
  list.Bytes(1, "value_floats").Number(20, 6);
  std::vector<float> values(20000);
  std::iota(values.begin(), values.end(), 1.0F);
  list.Bytes(7, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  tensor.Number(1, 1024).Number(2, 1).Bytes(8, "W");
  tensor.Bytes(9, {reinterpret_cast<const char*>(weight.data()), weight.size() * sizeof(float)});
  graph.Add(1, tiny::Node("Add", {"X", "W"}, {"Y"}, "add")).Add(1, tiny::Node("Constant", {}, {"C"}, "many").Add(5, list));
  graph.Add(1, tiny::Node("ReduceMax", {"C"}, {"M"}, "largest")).Bytes(2, "parts").Add(5, tensor);
  graph.Add(11, tiny::TensorValue("X", 1, {{1}})).Add(12, tiny::TensorValue("Y", 1, {{1024}}));
  return tiny::Model(graph.Add(12, tiny::TensorValue("M", 1, {{1}})));
}

void Large() {
  OrtSession* session = Unfinished("a session for large parts", LargeParts());
  Graph graph;
  graph.Outputs({ValueInfo("Z", kFloat, {{1}}), ValueInfo("M", kFloat, {{1}})});
  Edit("their change", session, graph.Add(Node("ReduceMax", {"Y"}, {"Z"})).Model({}, {}));
  Finish("they are finished", session);
  RunCounted("the largest sum", session, "X", {1}, "Z");
  RunCounted("the largest constant", session, "X", {1}, "M");
  api->ReleaseSession(session);
}

/// A model in a file, and its weight in one beside it.
void Files() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "edited";
  std::filesystem::create_directory(folder);
  const std::string model = tiny::AddWeight(true);
  std::ofstream(folder / "m.onnx", std::ios::binary).write(model.data(), static_cast<std::streamsize>(model.size()));
  const float weight[] = {10, 20, 30};
  std::ofstream(folder / "w.bin", std::ios::binary).write(reinterpret_cast<const char*>(weight), sizeof(weight));
  OrtSession* session = nullptr;
  Print("a session of a file", editor->CreateModelEditorSession(env, (folder / "m.onnx").c_str(), nullptr, &session));
  int opset = 0;
  PrintValue("the file's opset", editor->SessionGetOpsetForDomain(session, "", &opset), opset);
  Graph graph;
  graph.Outputs({ValueInfo("Z", kFloat, {{0, "n"}, {3}})}).Add(Node("Neg", {"Y"}, {"Z"}));
  Edit("the file's change", session, graph.Model({}, {}));
  Finish("the file is finished", session);
  RunCounted("the file's run", session, "X", {1, 3}, "Z");
  api->ReleaseSession(session);
  std::filesystem::create_directory(folder / "links");
  std::filesystem::create_symlink(folder / "m.onnx", folder / "links" / "m.onnx");
  std::filesystem::create_symlink(folder / "w.bin", folder / "links" / "w.bin");
  Print("a session of a link",
        editor->CreateModelEditorSession(env, (folder / "links" / "m.onnx").c_str(), nullptr, &session));
  Graph of_link;
  of_link.Outputs({ValueInfo("Z", kFloat, {{0, "n"}, {3}})}).Add(Node("Neg", {"Y"}, {"Z"}));
  Edit("the link's change", session, of_link.Model({}, {}));
  Finish("the link is finished", session);
  RunCounted("the link's run", session, "X", {1, 3}, "Z");
  api->ReleaseSession(session);
  std::filesystem::remove_all(folder);
}

}  // namespace

void EditCalls() {
  editor = api->GetModelEditorApi();
  Unchanged();
  Changed();
  WrongChanges();
  Large();
  Files();
}
