// Libraries of providers that do wrong: what a session makes of each. faulty_provider.cpp has the faults.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "error_of.h"
#include "tessera/session.h"
#include "unary_model.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::UnaryModel;

constexpr const char* kFaulty = "FaultyExecutionProvider";

/// -|x|, by nodes that depend on each other.
UnaryModel Chain() { return {{{"Neg", "x", "a"}, {"Abs", "a", "b"}, {"Neg", "b", "y"}}, {"y"}}; }
/// Two chains side by side: -|x| and |-x|.
UnaryModel TwoChains() {
  return {{{"Abs", "x", "p"}, {"Neg", "x", "q"}, {"Neg", "p", "y"}, {"Abs", "q", "z"}}, {"y", "z"}};
}

std::vector<float> FirstResult(const Session& session) {
  const std::vector<std::string> names = {"x"};
  const std::vector<Value> inputs = {Tensor::Of<float>(Shape{3}, std::vector<float>{-1, 2, -3})};
  const std::vector<Value> results = session.Run(names, inputs);
  const float* data = results.at(0).tensor().data<float>();
  return {data, data + 3};
}

/// An environment with the library, which has the fault.
class Registered {
 public:
  explicit Registered(const char* fault, const char* file = FAULTY_PROVIDER) {
    setenv("FAULTY_PROVIDER", fault, 1);
    environment_.RegisterProviderLibrary("faulty", file);
  }
  ~Registered() {
    if (registered_) environment_.UnregisterProviderLibrary("faulty");
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  void Unregister() {
    environment_.UnregisterProviderLibrary("faulty");
    registered_ = false;
  }
  Session Load(const UnaryModel& model, bool strict = false, const char* provider = kFaulty) const {
    SessionOptions options;
    options.log_level = LogLevel::kFatal;
    options.error_on_failure = strict;
    options.providers = {{provider, {}}};
    return Session(model.bytes(), options, environment_);
  }
  const Environment& environment() const { return environment_; }

 private:
  Environment environment_;
  bool registered_ = true;
};

size_t NodesOn(const Session& session, std::string_view provider = kFaulty) {
  size_t nodes = 0;
  for (const auto& node : session.placement().model_nodes) nodes += node.provider == provider ? 1 : 0;
  return nodes;
}

std::string RefusalsOf(const Session& session) {
  std::string all;
  for (const auto& entry : session.placement().providers) all += entry.status + '\n';
  for (const auto& node : session.placement().model_nodes) {
    for (const auto& [provider, reason] : node.refusals) all += provider + ": " + reason + '\n';
  }
  return all;
}

/// Nothing of a fault is left in the process.
void ExpectAllIsWell() {
  const Registered sound("");
  const Session session = sound.Load(Chain(), true);
  EXPECT_EQ(NodesOn(session), 3u);
  EXPECT_EQ(FirstResult(session), (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(FirstResult(Session(Chain().bytes())), (std::vector<float>{-1, -2, -3}));
}

struct Fault {
  const char* name;
  const char* text;       // in what is said of it
  size_t left = 0;        // nodes that the provider runs all the same
  bool mutual = false;    // of the model with two chains
  bool has_nodes = true;  // whose entry in the report has the text
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }
std::string NameOfFault(const ::testing::TestParamInfo<Fault>& info) { return info.param.name; }

class LoadFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(LoadFaults, TheLibraryIsNotRegistered) {
  const Environment environment;
  setenv("FAULTY_PROVIDER", GetParam().name, 1);
  Environment copy = environment;
  EXPECT_THAT(ErrorOf([&] { copy.RegisterProviderLibrary("faulty", FAULTY_PROVIDER); }), HasSubstr(GetParam().text));
  EXPECT_TRUE(environment.provider_devices().empty());
  EXPECT_THAT(ErrorOf([&] { copy.UnregisterProviderLibrary("faulty"); }), HasSubstr("faulty"));
  ExpectAllIsWell();
}

INSTANTIATE_TEST_SUITE_P(
    PluginFaults, LoadFaults,
    ::testing::Values(Fault{"load_status", "as it was told to"}, Fault{"load_throws", "thrown, as it was told to"},
                      Fault{"no_factory", "made 0 factories"}, Fault{"factory_null", "made 1 factories, and gives 0"},
                      Fault{"five_factories", "made 5 factories, 4 are the most"},
                      Fault{"old_version", "not filled in: version 1"}, Fault{"no_create_ep", "not filled in"},
                      Fault{"name_null", "no name"}, Fault{"devices_status", "as it was told to"},
                      Fault{"devices_throws", "thrown, as it was told to"},
                      Fault{"more_devices_than_given", "offers 2 devices, and gives 1"}),
    NameOfFault);

class SessionFaults : public ::testing::TestWithParam<Fault> {
 protected:
  static UnaryModel Model() { return GetParam().mutual ? TwoChains() : Chain(); }
};

TEST_P(SessionFaults, OnlyWhatIsWrongIsLost) {
  {
    const Registered library(GetParam().name);
    const Session session = library.Load(Model());
    EXPECT_EQ(FirstResult(session), (std::vector<float>{-1, -2, -3}));
    EXPECT_EQ(NodesOn(session), GetParam().left) << RefusalsOf(session);
    if (GetParam().has_nodes) {
      EXPECT_THAT(RefusalsOf(session), HasSubstr(GetParam().text));
    }
  }
  ExpectAllIsWell();
}

TEST_P(SessionFaults, IsAnErrorWhereItIsAskedFor) {
  {
    const Registered library(GetParam().name);
    EXPECT_THAT(ErrorOf([&] { library.Load(Model(), true); }), HasSubstr(GetParam().text));
  }
  ExpectAllIsWell();
}

INSTANTIATE_TEST_SUITE_P(
    PluginFaults, SessionFaults,
    ::testing::Values(
        Fault{"create_ep_status", "as it was told to"}, Fault{"create_ep_throws", "thrown, as it was told to"},
        Fault{"ep_null", "the library made no provider"}, Fault{"ep_name_null", "name"},
        Fault{"ep_without_capability", "GetCapability"}, Fault{"concurrent_status", "as it was told to"},
        Fault{"concurrent_throws", "thrown, as it was told to"}, Fault{"capability_status", "as it was told to"},
        Fault{"capability_throws", "thrown, as it was told to"},
        Fault{"empty_group", "a group without nodes", 1, false, false}, Fault{"foreign_node", "none of the graph's", 1},
        Fault{"null_node", "none of the graph's", 1}, Fault{"node_twice", "a node twice", 1},
        Fault{"overlapping", "another group of its provider has nodes of it", 2},
        Fault{"reentered", "a path leaves it and enters it again", 1},
        Fault{"mutual", "a path leaves it and enters it again", 2, true}, Fault{"kernel_without_registry", "registry"},
        Fault{"registry_status", "as it was told to"}, Fault{"registry_throws", "thrown, as it was told to"},
        Fault{"kernel_create_status", "as it was told to"}, Fault{"kernel_create_throws", "thrown, as it was told to"},
        Fault{"kernel_null", "kernel"}, Fault{"kernel_without_function", "Compute"},
        Fault{"ep_without_compile", "no Compile"}, Fault{"compile_status", "as it was told to"},
        Fault{"compile_throws", "thrown, as it was told to"}, Fault{"info_null", "compiled nothing"},

        Fault{"info_without_compute", "lacks CreateState, Compute or ReleaseState"},
        Fault{"info_without_release", "lacks CreateState, Compute or ReleaseState"},
        Fault{"state_status", "as it was told to"}, Fault{"state_throws", "thrown, as it was told to"}),
    NameOfFault);

class RunFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(RunFaults, EndTheRunAlone) {
  {
    const Registered library(GetParam().name);
    const Session session = library.Load(Chain(), true);
    EXPECT_EQ(NodesOn(session), 3u);
    for (int i = 0; i < 3; ++i) EXPECT_THAT(ErrorOf([&] { FirstResult(session); }), HasSubstr(GetParam().text));
  }
  ExpectAllIsWell();
}

INSTANTIATE_TEST_SUITE_P(PluginFaults, RunFaults,
                         ::testing::Values(Fault{"compute_status", "as it was told to"},
                                           Fault{"compute_throws", "thrown, as it was told to"}, Fault{"no_output", "y"},
                                           Fault{"wrong_size", "[4]"}, Fault{"wrong_rank", "[3,1]"},
                                           Fault{"negative_size", "-2"}, Fault{"foreign_output", "the value is null"},
                                           Fault{"run_start_status", "as it was told to"},
                                           Fault{"run_start_throws", "thrown, as it was told to"},
                                           Fault{"run_end_status", "as it was told to"},
                                           Fault{"run_end_throws", "thrown, as it was told to"}),
                         NameOfFault);

TEST(PluginFaults, AFactoryThatCannotBeReleasedIsLetGo) {
  for (const char* fault : {"release_status", "release_throws"}) {
    Registered library(fault);
    library.Unregister();
    ExpectAllIsWell();
  }
}

TEST(PluginFaults, WhatIsCompiledTwiceToTheSameIsCompiledAgain) {
  const Registered library("info_twice");
  const Session session = library.Load(Chain(), true);
  EXPECT_EQ(NodesOn(session), 2u);
  EXPECT_EQ(FirstResult(session), (std::vector<float>{-1, -2, -3}));
}

TEST(PluginFaults, ALibraryInUseStays) {
  Registered library("");
  {
    const Session session = library.Load(Chain(), true);
    EXPECT_THAT(ErrorOf([&] { library.Unregister(); }), HasSubstr("in use"));
    EXPECT_EQ(FirstResult(session), (std::vector<float>{-1, -2, -3}));
  }
  library.Unregister();
  EXPECT_THAT(ErrorOf([&] { library.Load(Chain()); }), HasSubstr(kFaulty));
}

/// Bytes that the process has in memory.
size_t Resident() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class Rounds : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Rounds, LeaveMemoryFlat) {
  const auto [file, provider] = GetParam();
  const auto round = [&, file = file, provider = provider] {
    const Registered library("", file);
    const Session session = library.Load(Chain(), true, provider);
    EXPECT_EQ(FirstResult(session), (std::vector<float>{-1, -2, -3}));
    EXPECT_EQ(NodesOn(session, provider), 3u);
  };
  for (int i = 0; i < 20; ++i) round();
  const size_t before = Resident();
  for (int i = 0; i < 100; ++i) round();
#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed
  EXPECT_LT(Resident(), before + (size_t{1} << 20));
#else
  EXPECT_GT(before, 0u);
#endif
}

INSTANTIATE_TEST_SUITE_P(PluginFaults, Rounds,
                         ::testing::Values(std::pair{FAULTY_PROVIDER, kFaulty},
                                           std::pair{TEACHING_PROVIDER, "TeachingExecutionProvider"}));

}  // namespace
}  // namespace tessera
