// Binarizer, Imputer, Normalizer, Scaler, FeatureVectorizer and ArrayFeatureExtractor, ai.onnx.ml, version 1.

#include "cpu/ops/ml/features.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "cpu/engine/element.h"
#include "cpu/engine/on_texts.h"
#include "cpu/ops/ops.h"
#include "kernels/reduce/fold.h"

namespace tessera::cpu {
namespace {

template <class T>
class Binarizer final : public Kernel {
 public:
  explicit Binarizer(const KernelInfo& info) : threshold_(info.attribute<float>("threshold", 0)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor* y = context.output(0, x.type(), x.shape());
    if (y == nullptr) return;
    const T* in = x.data<T>();
    T* out = y->mutable_data<T>();
    context.threads().ParallelFor(x.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(in[i] > static_cast<Compared>(threshold_));
    });
  }

 private:
  using Compared = std::conditional_t<std::is_same_v<T, float>, float, double>;
  float threshold_;
};

template <class T>
class Imputer final : public Kernel {
 public:
  explicit Imputer(const KernelInfo& info) {
    const auto floats = info.attribute<std::vector<float>>("imputed_value_floats", {});
    const auto ints = info.attribute<std::vector<int64_t>>("imputed_value_int64s", {});
    Require(floats.empty() != ints.empty(), "one of imputed_value_floats and imputed_value_int64s is expected");
    if (!floats.empty()) {
      for (const float value : floats) values_.push_back(Converted(value));
      const float replaced = info.attribute<float>("replaced_value_float", 0);
      replaces_nan_ = std::isnan(replaced);
      if (!replaces_nan_) replaced_ = Converted(replaced);
    } else {
      for (const int64_t value : ints) values_.push_back(static_cast<T>(value));
      replaced_ = static_cast<T>(info.attribute<int64_t>("replaced_value_int64", 0));
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto width = static_cast<int64_t>(values_.size());
    Require(width == 1 || (x.shape().rank() > 0 && x.shape().back() == width), "{} imputed values do not fit X of shape {}",
            width, x.shape());
    Tensor* y = context.output(0, x.type(), x.shape());
    if (y == nullptr) return;
    const T* in = x.data<T>();
    T* out = y->mutable_data<T>();
    context.threads().ParallelFor(x.num_elements() / width, 0.5 * static_cast<double>(width),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t row = begin; row < end; ++row) {
                                      for (int64_t i = 0; i < width; ++i) {
                                        const T value = in[row * width + i];
                                        const bool missing = replaces_nan_ ? value != value : value == replaced_;
                                        out[row * width + i] = missing ? values_[static_cast<size_t>(i)] : value;
                                      }
                                    }
                                  });
  }

 private:
  static T Converted(float value) {
    if constexpr (std::is_integral_v<T>) {
      Require(value >= static_cast<float>(std::numeric_limits<T>::min()) &&
                  value < static_cast<float>(std::numeric_limits<T>::max()),
              "imputed value {} does not fit the element type", value);
    }
    return static_cast<T>(value);
  }

  std::vector<T> values_;
  T replaced_ = 0;
  bool replaces_nan_ = false;
};

class Normalizer final : public Kernel {
 public:
  explicit Normalizer(const KernelInfo& info) {
    const auto norm = info.attribute<std::string>("norm", "MAX");
    Require(norm == "MAX" || norm == "L1" || norm == "L2", "norm is '{}', MAX, L1 or L2 is expected", norm);
    // Not the largest magnitude: the specification divides by max(X).
    fold_ = norm == "MAX" ? Fold::kMax : norm == "L1" ? Fold::kSumAbs : Fold::kSumSquare;
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    Tensor* y = context.output(0, ElementType::kFloat, x.shape());
    if (y == nullptr || x.num_elements() == 0) return;
    const int64_t width = rows.features;
    const float* in = ElementsAs<float>(context, x);
    float* out = y->mutable_data<float>();
    const double row_ns = 10 + 0.3 * static_cast<double>(width);
    context.threads().ParallelFor(rows.count, row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; row += kRows)
        Normalize(in + row * width, out + row * width, std::min(kRows, end - row), width);
    });
  }

 private:
  static constexpr int64_t kRows = 64, kLongRow = 65536;
  static constexpr double kElementNs = 0.5;

  void Normalize(const float* in, float* out, int64_t rows, int64_t width) const {
    double acc[kRows];
    std::fill_n(acc, rows, FoldIdentity<double>(fold_));
    const FoldKernels<float>& kernels = FoldKernelsOf<float>(fold_);
    if (width < kLongRow) {
      kernels.rows(in, rows, width, width, nullptr, acc);
    } else {
      for (int64_t row = 0; row < rows; ++row) {
        InCancellablePieces(0, width, kElementNs, [&](int64_t begin, int64_t end) {
          kernels.rows(in + row * width + begin, 1, width, end - begin, nullptr, acc + row);
        });
      }
    }
    for (int64_t row = 0; row < rows; ++row, in += width, out += width) {
      const auto divisor = static_cast<float>(fold_ == Fold::kSumSquare ? std::sqrt(acc[row]) : acc[row]);
      InCancellablePieces(0, width, kElementNs, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = divisor == 0 ? in[i] : in[i] / divisor;
      });
    }
  }

  Fold fold_;
};

template <class T>
class Scaler final : public Kernel {
 public:
  explicit Scaler(const KernelInfo& info)
      : offset_(info.attribute<std::vector<float>>("offset", {})), scale_(info.attribute<std::vector<float>>("scale", {})) {
    if (offset_.empty()) offset_.assign(std::max<size_t>(scale_.size(), 1), 0.0f);
    if (scale_.empty()) scale_.assign(offset_.size(), 1.0f);
    const size_t width = std::max(offset_.size(), scale_.size());
    if (offset_.size() == 1) offset_.resize(width, offset_[0]);
    if (scale_.size() == 1) scale_.resize(width, scale_[0]);
    Require(offset_.size() == scale_.size(), "offset has {} elements, scale {}", offset_.size(), scale_.size());
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto width = static_cast<int64_t>(offset_.size());
    Require(width == 1 || (x.shape().rank() > 0 && x.shape().back() == width), "{} offsets do not fit X of shape {}", width,
            x.shape());
    Tensor* y = context.output(0, ElementType::kFloat, x.shape());
    if (y == nullptr) return;
    const T* in = x.data<T>();
    float* out = y->mutable_data<float>();
    context.threads().ParallelFor(
        x.num_elements() / width, 0.4 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
          if (width == 1) {
            const float offset = offset_[0], scale = scale_[0];
            for (int64_t i = begin; i < end; ++i) out[i] = (static_cast<float>(in[i]) - offset) * scale;
            return;
          }
          for (int64_t row = begin; row < end; ++row) {
            for (int64_t i = 0; i < width; ++i) {
              out[row * width + i] = (static_cast<float>(in[row * width + i]) - offset_[static_cast<size_t>(i)]) *
                                     scale_[static_cast<size_t>(i)];
            }
          }
        });
  }

 private:
  std::vector<float> offset_, scale_;
};

class FeatureVectorizer final : public Kernel {
 public:
  explicit FeatureVectorizer(const KernelInfo& info)
      : widths_(info.attribute<std::vector<int64_t>>("inputdimensions", {})) {
    Require(widths_.empty() || widths_.size() == info.num_inputs(), "inputdimensions has {} elements for {} inputs",
            widths_.size(), info.num_inputs());
    for (const int64_t width : widths_) Require(width >= 0, "inputdimensions holds {}", width);
  }

  void Compute(KernelContext& context) override {
    int64_t count = -1, total = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Rows rows(context.required_input(i));
      Require(count < 0 || rows.count == count, "input {} has {} rows, the first has {}", i, rows.count, count);
      count = rows.count;
      total = CheckedAdd(total, widths_.empty() ? rows.features : widths_[i]);
    }
    Tensor* y = context.output(0, ElementType::kFloat, Shape{std::max<int64_t>(count, 0), total});
    if (y == nullptr) return;
    int64_t at = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.required_input(i);
      const int64_t features = Rows(x).features;
      const int64_t width = widths_.empty() ? features : widths_[i];
      VisitType(MlNumberTypes{}, x.type(), [&]<class T>() {
        PacedCancellationPoint look(0.5);
        for (int64_t row = 0; row < count; ++row) {
          look.Pass(width + 8);
          float* out = y->mutable_data<float>() + row * total + at;
          ConvertElements(x.data<T>() + row * features, out, std::min(width, features));
          FillCancellably(out + std::min(width, features), width - std::min(width, features), 0.0f);
        }
      });
      at += width;
    }
  }

 private:
  std::vector<int64_t> widths_;
};

template <class T>
class ArrayFeatureExtractor final : public Kernel {
 public:
  explicit ArrayFeatureExtractor(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(x.shape().rank() >= 1, "X is a scalar, one dimension at least is expected");
    const int64_t width = x.shape().back(), count = indices.num_elements();
    PacedCancellationPoint look(1);
    for (const int64_t index : indices.values<int64_t>()) {
      look.Pass();
      Require(index >= 0 && index < width, "index {} is outside the last dimension of X, {}", index, width);
    }
    Shape shape = x.shape();
    if (shape.rank() == 1) {
      shape = Shape{1, count};
    } else {
      shape[shape.rank() - 1] = count;
    }
    Tensor* y = context.output(0, x.type(), shape);
    if (y == nullptr || width == 0) return;
    const int64_t* index = indices.data<int64_t>();
    const auto* in = static_cast<const T*>(x.raw());
    auto* out = static_cast<T*>(y->mutable_raw());
    context.threads().ParallelFor(x.num_elements() / width, static_cast<double>(count), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        InCancellablePieces(0, count, 2, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) out[row * count + i] = in[row * width + index[i]];
        });
      }
    });
  }
};

std::unique_ptr<Kernel> MakeArrayFeatureExtractor(const KernelInfo& info) {
  return VisitElement(KindOf(MovedType(info.input_type(0))), [&]<class T>() -> std::unique_ptr<Kernel> {
    return OnTexts(info, std::make_unique<ArrayFeatureExtractor<T>>(info));
  });
}

}  // namespace

void RegisterBinarizer(KernelRegistry& registry) {
  registry.Add(Op("Binarizer", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers)
                   .InPlace(0, 0)
                   .Factory(MakeTyped<Binarizer, MlNumberTypes>));
}
void RegisterImputer(KernelRegistry& registry) {
  registry.Add(Op("Imputer", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers)
                   .InPlace(0, 0)
                   .Factory(MakeTyped<Imputer, MlNumberTypes>));
}
void RegisterNormalizer(KernelRegistry& registry) {
  registry.Add(Op("Normalizer", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<Normalizer>());
}
void RegisterScaler(KernelRegistry& registry) {
  registry.Add(Op("Scaler", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Factory(MakeTyped<Scaler, MlNumberTypes>));
}
void RegisterFeatureVectorizer(KernelRegistry& registry) {
  registry.Add(Op("FeatureVectorizer", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<FeatureVectorizer>());
}
void RegisterArrayFeatureExtractor(KernelRegistry& registry) {
  registry.Add(Op("ArrayFeatureExtractor", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers | TypeSet{ElementType::kString})
                   .Factory(MakeArrayFeatureExtractor));
}

}  // namespace tessera::cpu
