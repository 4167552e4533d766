#include "engine.h"

namespace teaching {

Engine::Engine(const Api& api, const std::string& model, std::vector<std::string> inputs, std::vector<std::string> outputs)
    : api_(api),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      environment_(nullptr, api->ReleaseEnv),
      memory_(nullptr, api->ReleaseMemoryInfo),
      session_(nullptr, api->ReleaseSession) {
  // The process's environment, counted once more. A factory must not keep it: libraries are let go when the last one who
  // has it releases it, and that would be a factory of a library.
  OrtEnv* environment = nullptr;
  api_.Check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "teaching", &environment));
  environment_.reset(environment);

  OrtMemoryInfo* memory = nullptr;
  api_.Check(api_->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  memory_.reset(memory);

  OrtSessionOptions* options = nullptr;
  api_.Check(api_->CreateSessionOptions(&options));
  const Owned<OrtSessionOptions> keeps_options(options, api_->ReleaseSessionOptions);
  api_.Check(api_->SetIntraOpNumThreads(options, 1));  // the session around us has threads of its own
  OrtSession* session = nullptr;
  api_.Check(api_->CreateSessionFromArray(environment, model.data(), model.size(), options, &session));
  session_.reset(session);
}

std::vector<Engine::Result> Engine::Run(const std::vector<TensorView>& inputs) const {
  std::vector<Owned<OrtValue>> owned;
  std::vector<const OrtValue*> given;
  for (const TensorView& input : inputs) {
    // Tensors over memory that is there already: nothing is copied, and nothing is written to it.
    OrtValue* value = nullptr;
    api_.Check(api_->CreateTensorWithDataAsOrtValue(memory_.get(), const_cast<void*>(input.data), input.bytes,
                                                    input.shape.data(), input.shape.size(), input.element, &value));
    owned.emplace_back(value, api_->ReleaseValue);
    given.push_back(value);
  }

  std::vector<const char*> input_names, output_names;
  for (const std::string& name : inputs_) input_names.push_back(name.c_str());
  for (const std::string& name : outputs_) output_names.push_back(name.c_str());
  std::vector<OrtValue*> values(outputs_.size());
  api_.Check(api_->Run(session_.get(), nullptr, input_names.data(), given.data(), given.size(), output_names.data(),
                       output_names.size(), values.data()));

  std::vector<Result> results;
  for (OrtValue* value : values) {
    Owned<OrtValue> keeps(value, api_->ReleaseValue);
    TensorView tensor = ViewOf(api_, *value);
    results.push_back({std::move(tensor), std::move(keeps)});
  }
  return results;
}

}  // namespace teaching
