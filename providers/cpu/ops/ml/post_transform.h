#pragma once

// The post_transform attribute of ai.onnx.ml's models.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string_view>

#include "base/check.h"

namespace tessera::cpu {

enum class PostTransform : int8_t { kNone = 0, kSoftmax = 1, kLogistic = 2, kSoftmaxZero = 3, kProbit = 4 };

inline PostTransform ParsePostTransform(std::string_view name) {
  if (name == "NONE" || name.empty()) return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  Fail(ErrorCode::kInvalidGraph, "post_transform is '{}', one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT is expected",
       name);
}

inline PostTransform PostTransformOf(int64_t value) {
  Require(value >= 0 && value <= 4, "post_transform is {}, 0 to 4 is expected", value);
  return static_cast<PostTransform>(value);
}

template <class T>
T Logistic(T x) {
  const T y = 1 / (1 + std::exp(-std::abs(x)));
  return x < 0 ? 1 - y : y;
}

/// Winitzki's approximation of the inverse error function, as ONNX's reference has it.
template <class T>
T Probit(T x) {
  const T y = 2 * x - 1;
  const T log = std::log((1 - y) * (1 + y));
  const T v = static_cast<T>(2 / (std::numbers::pi * 0.147)) + log / 2;
  const T root = std::sqrt(-v + std::sqrt(v * v - static_cast<T>(1 / 0.147) * log));
  return static_cast<T>(1.41421356) * (y < 0 ? -root : root);
}

template <class T>
void Softmax(std::span<T> scores) {
  const T top = *std::max_element(scores.begin(), scores.end());
  T sum = 0;
  for (T& score : scores) sum += score = std::exp(score - top);
  for (T& score : scores) score /= sum;
}

/// Softmax in which scores of 0 stay out.
template <class T>
void SoftmaxZero(std::span<T> scores) {
  const T top = *std::max_element(scores.begin(), scores.end());
  const T scale = std::exp(-top);
  T sum = 0;
  for (T& score : scores) {
    score = std::abs(score) > T(1e-7) ? std::exp(score - top) : score * scale;
    sum += score;
  }
  for (T& score : scores) score = sum == 0 ? T(0.5) : score / sum;
}

/// Transforms one row of scores in place.
template <class T>
void Transform(PostTransform transform, std::span<T> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone: return;
    case PostTransform::kSoftmax: return Softmax(scores);
    case PostTransform::kLogistic:
      for (T& score : scores) score = Logistic(score);
      return;
    case PostTransform::kSoftmaxZero: return SoftmaxZero(scores);
    case PostTransform::kProbit:
      for (T& score : scores) score = Probit(score);
      return;
  }
}

/// A single score is only changed by PROBIT: the form that models in the wild are written for.
template <class T>
void TransformRegression(PostTransform transform, std::span<T> scores) {
  if (scores.size() == 1 && transform != PostTransform::kProbit) return;
  Transform(transform, scores);
}

/// The two scores that one decision value stands for. `probability`: the value is the positive class's share of 1.
template <class T>
void TwoScores(PostTransform transform, bool probability, T score, std::span<T, 2> scores) {
  if (transform == PostTransform::kProbit) {
    scores[1] = Probit(score);
    scores[0] = Probit(1 - score);
  } else if (probability) {
    scores[1] = score;
    scores[0] = 1 - score;
  } else if (transform == PostTransform::kLogistic) {
    scores[1] = Logistic(score);
    scores[0] = Logistic(-score);
  } else {
    scores[1] = score;
    scores[0] = -score;
  }
}

}  // namespace tessera::cpu
