// NaN among numbers: found by vector code of every instruction set, and never a reason to touch what lies outside.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attributes.h"
#include "kernels/elementwise/swish.h"
#include "kernels/reduce/arg_extreme.h"
#include "kernels/reduce/fold.h"
#include "model_builder.h"
#include "on_each_target.h"

namespace tessera::testing {
namespace {

using ::testing::Each;

class NotANumber : public TestOfTarget {};

INSTANTIATE_TEST_SUITE_P(On, NotANumber, EachTarget(), NameOfTarget);

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

/// What the operators say: NaN beats every number, and of equals the first or the last wins.
template <class T>
int64_t Expected(const std::vector<T>& x, bool minimum, bool last) {
  int64_t best = 0;
  for (size_t i = 1; i < x.size(); ++i) {
    const T a = x[static_cast<size_t>(best)], b = x[i];
    const bool wins = std::isnan(a) || std::isnan(b) ? std::isnan(b) && (last || !std::isnan(a))
                      : a == b                       ? last
                                                     : (minimum ? b < a : b > a);
    if (wins) best = static_cast<int64_t>(i);
  }
  return best;
}

/// A row that leaves nothing to chance: both zeros, both infinities, and as many NaNs as asked for, quiet, negative and
/// signalling.
template <class T>
std::vector<T> Row(int64_t count, int64_t first_nan, int64_t nans) {
  std::vector<T> row;
  for (int64_t i = 0; i < count; ++i) row.push_back(static_cast<T>((i * 37 % 101) - 50) * (i % 5 == 0 ? T{0} : T{1}));
  if (count > 3) row[static_cast<size_t>(count / 3)] = std::numeric_limits<T>::infinity();
  if (count > 4) row[static_cast<size_t>(count / 2)] = -std::numeric_limits<T>::infinity();
  const T kinds[] = {kNan<T>, -kNan<T>, std::numeric_limits<T>::signaling_NaN()};
  for (int64_t i = 0; i < nans; ++i) row[static_cast<size_t>((first_nan + i * 7) % count)] = kinds[i % 3];
  return row;
}

template <class T>
void CheckRows() {
  for (const int64_t count : {1, 5, 16, 33, 64, 200, 1023, 1024, 3000}) {
    for (const int64_t nans : {0, 1, 2}) {
      for (const int64_t first : {int64_t{0}, count / 2, count - 1}) {
        const std::vector<T> row = Row<T>(count, first, nans);
        for (const bool minimum : {false, true}) {
          const cpu::ArgKernels<T>& kernels = cpu::ArgKernelsOf<T>(minimum);
          for (const bool last : {false, true}) {
            ASSERT_EQ(kernels.row(row.data(), count, last), Expected(row, minimum, last))
                << (minimum ? "the least" : "the greatest") << " of " << count << ", " << nans << " NaN from " << first
                << " on";
          }
        }
      }
    }
  }
}

TEST_P(NotANumber, IsTheExtremeOfARow) {
  CheckRows<float>();
  CheckRows<double>();
}

TEST_P(NotANumber, StaysInActivations) {
  for (const int64_t count : {1, 7, 16, 33}) {
    for (int64_t at = 0; at < count; ++at) {
      std::vector<float> swish(static_cast<size_t>(count), 1.5f);
      swish[static_cast<size_t>(at)] = kNan<float>;
      std::vector<float> gelu = swish;
      cpu::SwishRow(swish.data(), count, 1.0f);
      cpu::FastGeluRow(gelu.data(), count);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(std::isnan(swish[static_cast<size_t>(i)]), i == at);
        ASSERT_EQ(std::isnan(gelu[static_cast<size_t>(i)]), i == at);
      }
    }
  }
}

template <class T>
void CheckFolds(const std::vector<T>& row) {
  for (const cpu::Fold fold : {cpu::Fold::kMax, cpu::Fold::kMin}) {
    cpu::Wide<T> result = cpu::FoldIdentity<cpu::Wide<T>>(fold);
    cpu::FoldKernelsOf<T>(fold).rows(row.data(), 1, static_cast<int64_t>(row.size()), static_cast<int64_t>(row.size()),
                                     nullptr, &result);
    ASSERT_TRUE(std::isnan(result)) << row.size();
  }
}

TEST_P(NotANumber, IsTheExtremeOfAFold) {
  for (const int64_t count : {1, 9, 17, 63, 64, 300}) {
    for (int64_t at = 0; at < count; at += std::max<int64_t>(count / 5, 1)) {
      CheckFolds(Row<float>(count, at, 1));
      CheckFolds(Row<double>(count, at, 1));
    }
  }
}

/// One node from x of [rows, count] to y.
ModelBuilder Along(const std::string& op, ElementType type, int64_t rows, int64_t count, ElementType result) {
  ModelBuilder model;
  model.Input("x", type, {rows, count}).AnyOutput("y", result);
  Int(model.Node(op, {"x"}, {"y"}), "axis", 1);
  return model;
}

template <class T>
Value RowsOf(int64_t rows, int64_t count, int64_t nan_at) {
  std::vector<T> x;
  for (int64_t r = 0; r < rows; ++r) {
    for (const float number : Row<float>(count, nan_at, 1)) x.push_back(T(number));
  }
  return Tensor::Of<T>(Shape{rows, count}, x);
}

template <class T>
void CheckHardmax(ElementType type) {
  for (const int64_t count : {4, 24, 40, 1500, 2500}) {
    for (const int64_t rows : {1, 20}) {
      const int64_t nan_at = count * 3 / 4;
      const Value x = RowsOf<T>(rows, count, nan_at);
      std::vector<Value> results(1);
      Along("Hardmax", type, rows, count, type).Session().Run({&x, 1}, results);
      const T* y = results[0].tensor().data<T>();
      for (int64_t i = 0; i < rows * count; ++i)
        ASSERT_EQ(static_cast<float>(y[i]), i % count == nan_at ? 1.0f : 0.0f) << i << " of " << count;
    }
  }
}

TEST_P(NotANumber, GetsHardmaxsOne) {
  CheckHardmax<float>(ElementType::kFloat);
  CheckHardmax<double>(ElementType::kDouble);
  CheckHardmax<Float16>(ElementType::kFloat16);
  CheckHardmax<BFloat16>(ElementType::kBFloat16);
}

TEST_P(NotANumber, IsFoundInHalves) {
  for (const int64_t count : {8, 64, 1024, 1030, 4000}) {
    for (const int64_t nan_at : {int64_t{0}, count / 2, count - 1}) {
      for (const char* op : {"ArgMax", "ArgMin"}) {
        const Value x = RowsOf<Float16>(3, count, nan_at);
        std::vector<Value> results(1);
        Along(op, ElementType::kFloat16, 3, count, ElementType::kInt64).Session().Run({&x, 1}, results);
        EXPECT_THAT(results[0].tensor().values<int64_t>(), Each(nan_at));
      }
    }
  }
}

/// Three classes by the features' sums; NaN in X makes every score NaN.
TEST_P(NotANumber, GetsALabelOfTheModel) {
  constexpr int64_t kFeatures = 4, kClasses = 40;
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(1);
  model.Input("x", ElementType::kFloat, {2, kFeatures})
      .Output("label", ElementType::kInt64, {2})
      .Output("z", ElementType::kFloat, {2, kClasses});
  auto& node = model.Node("LinearClassifier", {"x"}, {"label", "z"});
  node.set_domain("ai.onnx.ml");
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < kClasses; ++i) labels.push_back(1000 + i);
  Ints(node, "classlabels_ints", labels);
  for (const auto& [name, count] : {std::pair{"coefficients", kFeatures * kClasses}, std::pair{"intercepts", kClasses}}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::FLOATS);
    for (int64_t i = 0; i < count; ++i) attribute->add_floats(static_cast<float>(i % 7) - 3);
  }
  const Value x = Floats({2, kFeatures}, {1, kNan<float>, 2, 3, kNan<float>, kNan<float>, kNan<float>, kNan<float>});
  std::vector<Value> results(2);
  model.Session().Run({&x, 1}, results);
  EXPECT_THAT(results[0].tensor().values<int64_t>(), Each(1000));
}

/// A sum that numbers join and leave as it goes over the channels.
TEST(NumbersBesideNone, AreNormalizedAsIfAlone) {
  constexpr int64_t kChannels = 12, kColumns = 3;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, kChannels, kColumns})
      .Output("y", ElementType::kFloat, {1, kChannels, kColumns});
  Int(model.Node("LRN", {"x"}, {"y"}), "size", 3);
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  const Session session = model.Session(options);
  const auto normalized = [&](const std::vector<float>& x) {
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Tensor::Of<float>({1, kChannels, kColumns}, x)}, results);
    return ToVector(results[0]);
  };
  std::vector<float> x(kChannels * kColumns, 1.5f);
  const std::vector<float> alone = normalized(x);
  constexpr size_t kAt = 4 * kColumns;
  x[kAt] = kNan<float>;
  x[kAt + 1] = std::numeric_limits<float>::infinity();
  x[kAt + 2] = 1e15f;
  const std::vector<float> beside = normalized(x);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t channel = i / kColumns;
    if (channel >= 3 && channel <= 5) continue;
    EXPECT_NEAR(beside[i], alone[i], 1e-6f) << "channel " << channel << ", column " << i % kColumns;
  }
}

TEST_P(NotANumber, AtTheBorderOfAnImageIsNotMetByPointsOutside) {
  constexpr float kNo = kNan<float>, kInfinity = std::numeric_limits<float>::infinity();
  for (const char* mode : {"linear", "cubic", "nearest"}) {
    ModelBuilder model(20);
    model.Input("x", ElementType::kFloat, {1, 1, 2, 5})
        .Input("grid", ElementType::kFloat, {1, 1, 6, 2})
        .Output("y", ElementType::kFloat, {1, 1, 1, 6});
    auto& node = model.Node("GridSample", {"x", "grid"}, {"y"});
    Text(node, "mode", mode);
    Text(node, "padding_mode", "zeros");
    const Session session = model.Session();
    std::vector<Value> results(1);
    const std::vector<Value> inputs = {Floats({1, 1, 2, 5}, {kNo, 1, 1, 1, kInfinity, -kInfinity, 1, 1, 1, kNo}),
                                       Floats({1, 1, 6, 2}, {-9, -9, 9, 9, 9, -9, -9, 9, 0, 9, kNo, kNo})};
    session.Run(inputs, results);
    EXPECT_THAT(ToVector(results[0]), Each(0.0f)) << mode;
  }
}

}  // namespace
}  // namespace tessera::testing
