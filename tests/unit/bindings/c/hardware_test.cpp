// The devices that an environment's entry names.

#include "bindings/c/hardware.h"

#include <gtest/gtest.h>

#include "error_of.h"

namespace tessera::c_abi {
namespace {

TEST(Hardware, TheMachineHasAProcessor) {
  const HardwareDevices devices = FindHardware();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.front()->type, OrtHardwareDeviceType_CPU);
  EXPECT_NE(devices.front()->vendor, "");
}

TEST(Hardware, AnEntryStandsForIt) {
  const HardwareDevices devices = ParseHardware("cpu:0x8086;GPU:0x10de:0x2330;npu:20803:7:Somebody");
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0]->vendor, "Intel");
  EXPECT_EQ(devices[1]->type, OrtHardwareDeviceType_GPU);
  EXPECT_EQ(devices[1]->vendor_id, 0x10DEu);
  EXPECT_EQ(devices[1]->device_id, 0x2330u);
  EXPECT_EQ(devices[2]->type, OrtHardwareDeviceType_NPU);
  EXPECT_EQ(devices[2]->vendor_id, 20803u);
  EXPECT_EQ(devices[2]->vendor, "Somebody");
}

TEST(Hardware, AnEntryMayComeOnTop) { EXPECT_EQ(ParseHardware("+gpu:1").size(), FindHardware().size() + 1); }

class NoHardware : public ::testing::TestWithParam<const char*> {};

TEST_P(NoHardware, IsRefused) {
  EXPECT_NE(testing::ErrorOf([&] { ParseHardware(GetParam()); }), "no error");
}

INSTANTIATE_TEST_SUITE_P(Hardware, NoHardware,
                         ::testing::Values("", ";", "cpu", "cpu:", "disk:1", "cpu:0x", "cpu:0x8086z", "gpu:1:z",
                                           "cpu:99999999999"));

}  // namespace
}  // namespace tessera::c_abi
