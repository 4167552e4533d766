// What a call of the C ABI costs on a model of one node: of each library that is named, in turn, in nanoseconds and
// allocations.
//   abi_overhead LIBRARY...

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../tests/abi/library.h"
#include "../tests/abi/tiny_model.h"

extern "C" void* __libc_malloc(size_t size);  // NOLINT
static size_t allocations = 0;
extern "C" void* malloc(size_t size) {  // NOLINT
  ++allocations;
  return __libc_malloc(size);
}

namespace {

constexpr int kRounds = 15, kCalls = 20000;

struct Row {
  const char* name;
  std::vector<double> nanoseconds;
  double allocations = 0;
};

/// One library with a session, its values and a binding.
class Subject {
 public:
  explicit Subject(const char* path) : path_(path), api_(OpenLibrary(path)) {
    const std::string model = tiny::Add();
    Must(api_.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "overhead", &env_));
    OrtSessionOptions* options = nullptr;
    Must(api_.CreateSessionOptions(&options));
    Must(api_.SetIntraOpNumThreads(options, 1));
    Must(api_.CreateSessionFromArray(env_, model.data(), model.size(), options, &session_));
    api_.ReleaseSessionOptions(options);
    Must(api_.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info_));
    for (size_t i = 0; i < 3; ++i) values_[i] = View(data_[i].data());
    Must(api_.CreateIoBinding(session_, &binding_));
    Must(api_.BindInput(binding_, "A", values_[0]));
    Must(api_.BindInput(binding_, "B", values_[1]));
    Must(api_.BindOutput(binding_, "C", values_[2]));
  }

  const char* path() const { return path_; }
  std::vector<Row>& rows() { return rows_; }

  void Round() {
    size_t row = 0;
    Time(row++, [&] { Run(values_[2]); });
    Time(row++, [&] { api_.ReleaseValue(Run(nullptr)); });
    Time(row++, [&] { Must(api_.RunWithBinding(session_, nullptr, binding_)); });
    Time(row++, [&] { api_.ReleaseValue(View(data_[0].data())); });
    Time(row++, [&] { Describe(); });
  }

 private:
  void Must(OrtStatusPtr status) {
    if (status == nullptr) return;
    std::fprintf(stderr, "%s: %s\n", path_, api_.GetErrorMessage(status));
    std::exit(1);
  }

  OrtValue* View(float* data) {
    const int64_t shape[] = {2, 3};
    OrtValue* value = nullptr;
    Must(api_.CreateTensorWithDataAsOrtValue(info_, data, 6 * sizeof(float), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                             &value));
    return value;
  }

  OrtValue* Run(OrtValue* result) {
    const char* const inputs[] = {"A", "B"};
    const char* const outputs[] = {"C"};
    Must(api_.Run(session_, nullptr, inputs, values_.data(), 2, outputs, 1, &result));
    return result;
  }

  void Describe() {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    Must(api_.GetTensorTypeAndShape(values_[2], &info));
    size_t rank = 0;
    int64_t dims[2] = {};
    Must(api_.GetDimensionsCount(info, &rank));
    Must(api_.GetDimensions(info, dims, rank));
    api_.ReleaseTensorTypeAndShapeInfo(info);
  }

  void Time(size_t row, const std::function<void()>& call) {
    for (int i = 0; i < 100; ++i) call();
    const size_t before = allocations;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    rows_[row].nanoseconds.push_back(took.count() / kCalls);
    rows_[row].allocations = static_cast<double>(allocations - before) / kCalls;
  }

  const char* path_;
  const OrtApi& api_;
  OrtEnv* env_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* info_ = nullptr;
  OrtIoBinding* binding_ = nullptr;
  std::array<std::array<float, 6>, 3> data_{};
  std::array<OrtValue*, 3> values_{};
  std::vector<Row> rows_ = {
      {"Run, output given"}, {"Run, output allocated"}, {"RunWithBinding"}, {"tensor over memory"}, {"type and shape"}};
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY...\n", argv[0]);
    return 2;
  }
  std::vector<Subject> subjects;
  subjects.reserve(static_cast<size_t>(argc));
  for (int i = 1; i < argc; ++i) subjects.emplace_back(argv[i]);
  for (int round = 0; round < kRounds; ++round) {
    for (Subject& subject : subjects) subject.Round();
  }
  for (Subject& subject : subjects) {
    std::printf("%s\n%-24s %9s %9s %12s\n", subject.path(), "", "median", "least", "allocations");
    for (const Row& row : subject.rows()) {
      std::printf("%-24s %6.0f ns %6.0f ns %12.2f\n", row.name, Median(row.nanoseconds),
                  *std::min_element(row.nanoseconds.begin(), row.nanoseconds.end()), row.allocations);
    }
  }
}
