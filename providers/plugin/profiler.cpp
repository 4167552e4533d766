#include "plugin/profiler.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/ep/profiling.h"
#include "plugin/call.h"

namespace tessera::plugin {
namespace {

using c_abi::ThrowIfFailed;

constexpr uint32_t kFirstWithProfilers = 25;

OrtProfilingEvent ToOrt(const ProfileEvent& event) {
  OrtProfilingEvent shown;
  shown.category = static_cast<OrtProfilingEventCategory>(event.category);
  shown.process = static_cast<int32_t>(event.process);
  shown.thread = static_cast<int32_t>(event.thread);
  shown.name = event.name;
  shown.timestamp_us = static_cast<int64_t>(event.start_us);
  shown.duration_us = static_cast<int64_t>(event.duration_us);
  shown.arguments.insert(event.arguments.begin(), event.arguments.end());
  return shown;
}

ProfileEvent FromOrt(OrtProfilingEvent&& event) {
  ProfileEvent taken{.category = static_cast<ProfileEvent::Category>(event.category),
                     .name = std::move(event.name),
                     .process = event.process,
                     .thread = event.thread,
                     .start_us = static_cast<double>(event.timestamp_us),
                     .duration_us = static_cast<double>(event.duration_us),
                     .arguments = {}};
  for (const auto& [key, value] : event.arguments) taken.arguments.emplace_back(key, value);
  return taken;
}

class PluginProfiler final : public ProviderProfiler {
 public:
  /// Takes `impl` over.
  PluginProfiler(std::shared_ptr<Ep> ep, OrtEpProfilerImpl& impl) noexcept : ep_(std::move(ep)), impl_(impl) {}
  ~PluginProfiler() override {
    Quietly([&] { impl_.Release(&impl_); });
  }

  void Start(std::chrono::steady_clock::time_point zero) {
    Require(impl_.ort_version_supported >= kFirstWithProfilers && impl_.StartProfiling != nullptr &&
                impl_.EndProfiling != nullptr,
            "its profiler is of version {} of the interface, or lacks StartProfiling or EndProfiling",
            impl_.ort_version_supported);
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - zero;
    ThrowIfFailed(Call(impl_.StartProfiling, &impl_, passed.count()));
  }

  void OnNodeStart(uint64_t number) noexcept override {
    if (impl_.StartEvent == nullptr) return;
    Told("a node's start", [&] { ThrowIfFailed(Call(impl_.StartEvent, &impl_, number)); });
  }

  void OnNodeEnd(uint64_t number, const ProfileEvent& event) noexcept override {
    if (impl_.StopEvent == nullptr) return;
    Told("a node's end", [&] {
      const OrtProfilingEvent shown = ToOrt(event);
      ThrowIfFailed(Call(impl_.StopEvent, &impl_, number, &shown));
    });
  }

  std::vector<ProfileEvent> Finish() noexcept override {
    std::vector<ProfileEvent> events;
    Told("the profile's end", [&] {
      OrtProfilingEventsContainer container;
      ThrowIfFailed(Call(impl_.EndProfiling, &impl_, &container));
      for (OrtProfilingEvent& event : container.events) events.push_back(FromOrt(std::move(event)));
    });
    return events;
  }

 private:
  /// What goes wrong is told, and the run goes on.
  template <class Tell>
  void Told(std::string_view what, const Tell& tell) noexcept {
    try {
      tell();
    } catch (const std::exception& error) {
      Quietly([&] {
        ep_->logger().logger(LogLevel::kError, "{}: told of {}, its profiler fails: {}", ep_->name(), what, error.what());
      });
    }
  }

  const std::shared_ptr<Ep> ep_;
  OrtEpProfilerImpl& impl_;
};

}  // namespace

std::unique_ptr<ProviderProfiler> StartProfile(const std::shared_ptr<Ep>& ep, std::chrono::steady_clock::time_point zero) {
  if (!ep->HasSince(kFirstWithProfilers) || (*ep)->CreateProfiler == nullptr) return nullptr;
  try {
    OrtEpProfilerImpl* impl = nullptr;
    ThrowIfFailed(Call((*ep)->CreateProfiler, ep->get(), &impl));
    if (impl == nullptr) return nullptr;
    Require(impl->Release != nullptr, "its profiler lacks Release");
    auto profiler = std::make_unique<PluginProfiler>(ep, *impl);
    profiler->Start(zero);
    return profiler;
  } catch (const std::exception& error) {
    ep->logger().logger(LogLevel::kError, "{} has no part in the profile: {}", ep->name(), error.what());
    return nullptr;
  }
}

}  // namespace tessera::plugin
