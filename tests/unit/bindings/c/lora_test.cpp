// Adapters that strangers may have written.

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "bindings/c/table.h"

namespace tessera::testing {
namespace {

/// A file of adapters, written from its start to its end.
class AdapterFile {
 public:
  /// Tensors "a", "b" and so on, of so many bytes each, which all lie in one vector where they are `shared`.
  AdapterFile(size_t tensors, uint32_t bytes, bool shared) {
    Put<uint32_t>(0);
    bytes_ += "TORT";
    // The tables' lists of where their fields are: 0 for what is left out.
    for (const uint16_t number : {12, 12, 4, 0, 0, 8}) Put(number);
    for (const uint16_t number : {12, 20, 4, 8, 12, 16}) Put(number);
    constexpr int32_t kOfRoot = 8, kOfTensor = 20;
    Refer(0);
    Put<int32_t>(static_cast<int32_t>(bytes_.size()) - kOfRoot);
    Put<int32_t>(1);
    const size_t list = Put<uint32_t>(0);
    Refer(list);
    Put(static_cast<uint32_t>(tensors));
    const size_t entries = bytes_.size();
    for (size_t i = 0; i < tensors; ++i) Put<uint32_t>(0);
    std::vector<size_t> data;
    for (size_t i = 0; i < tensors; ++i) {
      Refer(entries + i * sizeof(uint32_t));
      Put<int32_t>(static_cast<int32_t>(bytes_.size()) - kOfTensor);
      const size_t name = Put<uint32_t>(0), dims = Put<uint32_t>(0);
      Put<int32_t>(ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8);
      data.push_back(Put<uint32_t>(0));
      Refer(name);
      Put<uint32_t>(1);
      Put(static_cast<char>('a' + i));
      Refer(dims);
      Put<uint32_t>(1);
      Put(int64_t{bytes});
    }
    for (size_t i = 0; i < tensors; ++i) {
      Refer(data[i]);
      if (shared && i + 1 < tensors) continue;
      Put(bytes);
      bytes_.append(bytes, '\1');
    }
  }

  OrtErrorCode Load() const {
    OrtLoraAdapter* adapter = nullptr;
    const OrtErrorCode code = CodeOf(Api().CreateLoraAdapterFromArray(bytes_.data(), bytes_.size(), nullptr, &adapter));
    Api().ReleaseLoraAdapter(adapter);
    return code;
  }

 private:
  /// Gives where it stands.
  template <class T>
  size_t Put(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    return bytes_.size() - sizeof(number);
  }
  /// What stands at `at` leads to what comes next.
  void Refer(size_t at) {
    const auto distance = static_cast<uint32_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &distance, sizeof(distance));
  }

  std::string bytes_;
};

TEST(LoraAdapters, AreNoLargerThanTheirFile) {
  EXPECT_EQ(AdapterFile(1, 1000, true).Load(), ORT_OK);
  EXPECT_EQ(AdapterFile(20, 1000, false).Load(), ORT_OK);
  EXPECT_EQ(AdapterFile(20, 1000, true).Load(), ORT_FAIL);
}

}  // namespace
}  // namespace tessera::testing
