// Determinants of matrices whose determinants are known, of all types and of sizes on both sides of where Eigen's
// elimination ends.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "model_builder.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

template <class T>
std::vector<double> Determinants(const std::vector<int64_t>& dims, const std::vector<T>& matrices, int threads = 2) {
  ModelBuilder model;
  model.Input("x", ElementTypeOf<T>, dims)
      .Output("y", ElementTypeOf<T>, std::vector<int64_t>(dims.begin(), dims.end() - 2));
  model.Node("Det", {"x"}, {"y"});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = threads;
  std::vector<Value> results(1);
  model.Session(options).Run(std::vector<Value>{Tensor::Of<T>(Shape(dims), matrices)}, results);
  std::vector<double> determinants;
  for (const T determinant : results[0].tensor().values<T>()) determinants.push_back(static_cast<double>(determinant));
  return determinants;
}

/// A lower triangle of ones times an upper one with that diagonal and small numbers, its rows rotated by one: the
/// determinant is the product of the diagonal, and of the opposite sign where n is even.
std::vector<double> KnownMatrix(int64_t n, const std::vector<double>& diagonal) {
  const double above = 0.25 / static_cast<double>(n);
  std::vector<double> matrix;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = (i + 1) % n;
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t k = 0; k <= std::min(row, column); ++k) sum += k == column ? diagonal[static_cast<size_t>(k)] : above;
      matrix.push_back(sum);
    }
  }
  return matrix;
}

TEST(Det, IsTheProductOfTheDiagonalTimesTheSignOfTheRowsOrder) {
  for (const int64_t n : {1, 2, 3, 4, 5, 17, 64, 191, 192, 193, 256, 300}) {
    std::vector<double> diagonal(static_cast<size_t>(n));
    for (size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = i % 3 == 0 ? 2 : i % 3 == 1 ? 0.5 : 1;
    const double product = std::accumulate(diagonal.begin(), diagonal.end(), n % 2 == 0 ? -1.0 : 1.0, std::multiplies<>());
    const std::vector<double> matrix = KnownMatrix(n, diagonal);
    EXPECT_NEAR(Determinants<double>({n, n}, matrix)[0] / product, 1, 1e-9) << n;
    if (n > 5) continue;
    EXPECT_NEAR(Determinants<float>({n, n}, {matrix.begin(), matrix.end()})[0] / product, 1, 1e-5) << n;
    std::vector<Float16> halves;
    for (const double element : matrix) halves.push_back(Float16(static_cast<float>(element)));
    EXPECT_NEAR(Determinants<Float16>({n, n}, halves)[0] / product, 1, 3e-2) << n;
  }
}

TEST(Det, OfManyMatrices) {
  const std::vector<float> matrices = {1, 2, 3, 4, 0, 1, 1, 0, 2, 0, 0, 3};
  EXPECT_THAT(Determinants<float>({3, 2, 2}, matrices), ElementsAre(-2, -1, 6));
  EXPECT_THAT(Determinants<float>({0, 2, 2}, {}), ElementsAre());
}

TEST(Det, OfNothingIsOne) {
  EXPECT_THAT(Determinants<float>({0, 0}, {}), ElementsAre(1));
  EXPECT_THAT(Determinants<double>({2, 0, 0}, {}), ElementsAre(1, 1));
}

TEST(Det, OfSingularMatricesIsZero) {
  EXPECT_THAT(Determinants<float>({2, 2}, {0, 0, 0, 5}), ElementsAre(0));
  EXPECT_THAT(Determinants<float>({3, 3}, {1, 2, 3, 2, 4, 6, 1, 1, 1}), ElementsAre(0));
  // The other pivots' product is too large for a number.
  EXPECT_THAT(Determinants<double>({3, 3}, {1e200, 0, 0, 0, 1e200, 0, 0, 0, 0}), ElementsAre(0));
  for (const int64_t n : {100, 200}) {
    std::vector<double> diagonal(static_cast<size_t>(n), 1);
    diagonal[static_cast<size_t>(n) / 2] = 0;
    std::vector<double> matrix(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) matrix[static_cast<size_t>(i * n + i)] = diagonal[static_cast<size_t>(i)];
    EXPECT_THAT(Determinants<double>({n, n}, matrix), ElementsAre(0)) << n;
  }
}

TEST(Det, IsNoNumberWhereAnElementIsNone) {
  for (const int64_t n : {1, 2, 3, 4, 7, 200}) {
    for (const int64_t at : {int64_t{0}, n / 2, n * n - 1}) {
      std::vector<double> matrix = KnownMatrix(n, std::vector<double>(static_cast<size_t>(n), 1));
      matrix[static_cast<size_t>(at)] = std::numeric_limits<double>::quiet_NaN();
      EXPECT_TRUE(std::isnan(Determinants<double>({n, n}, matrix)[0])) << n << " at " << at;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
