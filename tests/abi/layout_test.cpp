// The tables and structs of the C ABI are where clients that were compiled with another header expect them.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "library.h"

namespace {

using Names = std::vector<std::string>;

/// Names of a table's entries by their place in the struct.
template <size_t kCount>
Names InOrder(std::initializer_list<std::pair<size_t, const char*>> members) {
  Names names(kCount);
  for (const auto& [offset, name] : members) names[offset / sizeof(void*)] = name;
  return names;
}

#define ENTRY(name) {offsetof(Table, name), #name},
#define LATER(name, advice) ENTRY(name)
#define ABSENT(name, provider) ENTRY(name)

std::map<std::string, Names> Tables() {
  std::map<std::string, Names> tables;
  {
    using Table = OrtApi;
    tables["OrtApi"] = InOrder<sizeof(Table) / sizeof(void*)>({
#include "bindings/c/ort_api.inc"
    });
  }
  {
    using Table = OrtModelEditorApi;
    tables["OrtModelEditorApi"] = InOrder<sizeof(Table) / sizeof(void*)>({
#include "bindings/c/model_editor_api.inc"
    });
  }
  {
    using Table = OrtCompileApi;
    tables["OrtCompileApi"] = InOrder<sizeof(Table) / sizeof(void*)>({
#include "bindings/c/compile_api.inc"
    });
  }
  {
    using Table = OrtEpApi;
    tables["OrtEpApi"] = InOrder<sizeof(Table) / sizeof(void*)>({
#include "bindings/c/ep_api.inc"
    });
  }
  {
    using Table = OrtInteropApi;
    tables["OrtInteropApi"] = InOrder<sizeof(Table) / sizeof(void*)>({
#include "bindings/c/interop_api.inc"
    });
  }
  {
    using Table = OrtModelPackageApi;
    tables["OrtModelPackageApi"] = InOrder<sizeof(Table) / sizeof(void*)>({
#include "bindings/c/model_package_api.inc"
    });
  }
  return tables;
}

TEST(Layout, TablesAreAsPinned) {
  std::map<std::string, Names> pinned;
  std::ifstream file(TESSERA_ABI_ENTRIES);
  ASSERT_TRUE(file);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    std::string table, name;
    size_t place = 0;
    row >> table >> place >> name;
    ASSERT_EQ(place, pinned[table].size()) << line;
    pinned[table].push_back(name);
  }
  EXPECT_EQ(Tables(), pinned);
  EXPECT_EQ(pinned["OrtApi"].size(), 428U);
}

TEST(Layout, StructsHaveTheirSizes) {
  EXPECT_EQ(sizeof(OrtAllocator), 64U);
  EXPECT_EQ(offsetof(OrtAllocator, Reserve), 32U);
  EXPECT_EQ(offsetof(OrtAllocator, Shrink), 56U);
  EXPECT_EQ(sizeof(OrtCustomOp), 208U);
  EXPECT_EQ(sizeof(OrtEnvCreationOptions), 48U);
  EXPECT_EQ(sizeof(OrtThreadPoolCallbacksConfig), 48U);
  EXPECT_EQ(sizeof(OrtGraphicsInteropConfig), 24U);
  EXPECT_EQ(sizeof(OrtExternalTensorDescriptor), 32U);
  EXPECT_EQ(sizeof(OrtExternalMemoryDescriptor), 32U);
  EXPECT_EQ(sizeof(OrtExternalSemaphoreDescriptor), 16U);
  EXPECT_EQ(sizeof(OrtCUDAProviderOptions), 64U);
  EXPECT_EQ(sizeof(OrtROCMProviderOptions), 64U);
  EXPECT_EQ(sizeof(OrtTensorRTProviderOptions), 104U);
  EXPECT_EQ(sizeof(OrtMIGraphXProviderOptions), 88U);
  EXPECT_EQ(sizeof(OrtOpenVINOProviderOptions), 56U);
}

TEST(Layout, EnumerationsEndWhereTheyShall) {
  EXPECT_EQ(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, 26);
  EXPECT_EQ(ORT_DEVICE_RESET, 15);
  EXPECT_EQ(ORT_ENABLE_ALL, 99);
  EXPECT_EQ(ONNX_TYPE_OPTIONAL, 6);
  EXPECT_EQ(OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER, 6);
  EXPECT_EQ(OrtReadOnlyAllocator, 2);
  EXPECT_EQ(OrtDeviceMemoryType_HOST_ACCESSIBLE, 5);
}

/// The library itself: each version has the one table, and nothing in it is null.
TEST(Layout, NoEntryIsNull) {
  void* handle = nullptr;
  const OrtApi& api = OpenLibrary(TESSERA_ABI_LIBRARY, &handle);
  const auto* base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"))();
  for (uint32_t version = 1; version <= ORT_API_VERSION; ++version) EXPECT_EQ(base->GetApi(version), &api);
  EXPECT_EQ(base->GetApi(0), nullptr);
  EXPECT_EQ(base->GetApi(ORT_API_VERSION + 1), nullptr);
  EXPECT_STREQ(base->GetVersionString(), "1.31.1");
  const auto expect_full = [](const void* table, size_t bytes) {
    const auto* entries = static_cast<void* const*>(table);
    for (size_t i = 0; i < bytes / sizeof(void*); ++i) EXPECT_NE(entries[i], nullptr) << i;
  };
  expect_full(&api, sizeof(OrtApi));
  expect_full(api.GetModelEditorApi(), sizeof(OrtModelEditorApi));
  expect_full(api.GetCompileApi(), sizeof(OrtCompileApi));
  expect_full(api.GetEpApi(), sizeof(OrtEpApi));
  expect_full(api.GetInteropApi(), sizeof(OrtInteropApi));
  expect_full(api.GetModelPackageApi(), sizeof(OrtModelPackageApi));
  EXPECT_EQ(api.GetTrainingApi(1), nullptr);
}

}  // namespace
