// Events of providers for profiles.

#include "bindings/c/ep/profiling.h"

#include <memory>
#include <utility>

#include "bindings/c/entry.h"

namespace tessera::c_abi {
namespace {

const OrtProfilingEvent& EventIn(const OrtProfilingEvent* event) { return Given(event, "the event"); }

}  // namespace

OrtStatusPtr CreateProfilingEvent(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                                  const char* event_name, int64_t timestamp_us, int64_t duration_us,
                                  const char* const* arg_keys, const char* const* arg_values, size_t num_args,
                                  OrtProfilingEvent** out) noexcept {
  return Guarded([&] {
    OrtProfilingEvent*& given = Given(out, "out");
    given = nullptr;
    Require(category >= OrtProfilingEventCategory_SESSION && category <= OrtProfilingEventCategory_API,
            "there is no category {}", static_cast<int>(category));
    auto event = std::make_unique<OrtProfilingEvent>();
    event->category = category;
    event->process = process_id;
    event->thread = thread_id;
    event->name = &Given(event_name, "the event's name");
    event->timestamp_us = timestamp_us;
    event->duration_us = duration_us;
    for (size_t i = 0; i < num_args; ++i) {
      const char* key = &Given((&Given(arg_keys, "the arguments' names"))[i], "an argument's name");
      event->arguments.emplace(key, &Given((&Given(arg_values, "the arguments"))[i], "an argument"));
    }
    given = event.release();
  });
}

void ReleaseProfilingEvent(OrtProfilingEvent* input) { delete input; }

OrtStatusPtr ProfilingEvent_GetCategory(const OrtProfilingEvent* event, OrtProfilingEventCategory* out) noexcept {
  return Guarded([&] { Given(out, "out") = EventIn(event).category; });
}

OrtStatusPtr ProfilingEvent_GetName(const OrtProfilingEvent* event, const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = EventIn(event).name.c_str(); });
}

OrtStatusPtr ProfilingEvent_GetTimestampUs(const OrtProfilingEvent* event, int64_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = EventIn(event).timestamp_us; });
}

OrtStatusPtr ProfilingEvent_GetDurationUs(const OrtProfilingEvent* event, int64_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = EventIn(event).duration_us; });
}

OrtStatusPtr ProfilingEvent_GetArgValue(const OrtProfilingEvent* event, const char* key, const char** out) noexcept {
  return Guarded([&] {
    const auto& arguments = EventIn(event).arguments;
    const auto found = arguments.find(std::string_view(&Given(key, "the argument's name")));
    Given(out, "out") = found == arguments.end() ? nullptr : found->second.c_str();
  });
}

OrtStatusPtr ProfilingEventsContainer_AddEvents(OrtProfilingEventsContainer* events_container,
                                                const OrtProfilingEvent* const* events, size_t num_events) noexcept {
  return Guarded([&] {
    std::vector<OrtProfilingEvent>& held = Given(events_container, "the container").events;
    Require(events != nullptr && num_events > 0, "no events are given");
    std::vector<OrtProfilingEvent> added;
    added.reserve(num_events);
    for (size_t i = 0; i < num_events; ++i) added.push_back(EventIn(events[i]));
    held.insert(held.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  });
}

}  // namespace tessera::c_abi
