#pragma once

// Einsum's equation, parsed once: for each operand and for the result a list of labels, where kEllipsis stands for "...".

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

inline constexpr int8_t kEllipsis = -1;

/// Of a label: 0..25 for A-Z, 26..51 for a-z.
constexpr char LetterOf(int8_t label) noexcept { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

class EinsumEquation {
 public:
  using Term = std::vector<int8_t>;  // labels

  explicit EinsumEquation(const Node& node)
      : EinsumEquation(AttributeOr<std::string>(node, "equation", ""), node.inputs.size()) {}
  EinsumEquation(std::string_view text, size_t operands) {
    std::string equation;
    for (char c : text) {
      if (c != ' ' && c != '\t') equation += c;
    }
    const size_t arrow = equation.find("->");
    std::string_view left = equation;
    if (arrow != std::string::npos) left = left.substr(0, arrow);
    while (true) {
      const size_t comma = left.find(',');
      inputs_.push_back(ParseTerm(left.substr(0, comma), equation));
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
    Require(inputs_.size() == operands, "equation '{}' has {} operands, the node has {} inputs", equation, inputs_.size(),
            operands);
    output_ =
        arrow == std::string::npos ? ImplicitOutput() : ParseTerm(std::string_view(equation).substr(arrow + 2), equation);
    CheckOutput(equation);
  }

  const std::vector<Term>& inputs() const { return inputs_; }
  const Term& output() const { return output_; }

  /// All combinations of the labels' indices for operands of these shapes, of each of which the result adds up one
  /// product. Shapes need not fit the equation.
  double Combinations(std::span<const Shape* const> operands) const {
    std::array<double, 52> sizes;
    sizes.fill(1);
    double of_ellipsis = 1;
    for (size_t i = 0; i < std::min(operands.size(), inputs_.size()); ++i) {
      const Shape& shape = *operands[i];
      double labelled = 1;
      const bool dots = std::ranges::find(inputs_[i], kEllipsis) != inputs_[i].end();
      const auto rank = static_cast<int64_t>(shape.rank());
      int64_t axis = 0;
      for (const int8_t label : inputs_[i]) {
        if (label == kEllipsis) {  // what follows stands at the end
          axis += rank - static_cast<int64_t>(inputs_[i].size());
        } else if (axis >= 0 && axis < rank) {
          const auto size = static_cast<double>(shape[static_cast<size_t>(axis)]);
          sizes[static_cast<size_t>(label)] = std::max(sizes[static_cast<size_t>(label)], size);
          labelled *= size;
        }
        ++axis;
      }
      if (dots) of_ellipsis = std::max(of_ellipsis, static_cast<double>(shape.num_elements()) / std::max(labelled, 1.0));
    }
    double combinations = of_ellipsis;
    for (const double size : sizes) combinations *= size;
    return combinations;
  }

 private:
  static Term ParseTerm(std::string_view text, std::string_view equation) {
    Term term;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c >= 'A' && c <= 'Z') {
        term.push_back(static_cast<int8_t>(c - 'A'));
      } else if (c >= 'a' && c <= 'z') {
        term.push_back(static_cast<int8_t>(c - 'a' + 26));
      } else {
        const bool dots = text.substr(i, 3) == "...";
        Require(dots && std::ranges::find(term, kEllipsis) == term.end(), "equation '{}' is malformed at '{}'", equation,
                text.substr(i));
        term.push_back(kEllipsis);
        i += 2;
      }
    }
    return term;
  }

  /// The ellipsis, then every label that appears once, in alphabetical order.
  Term ImplicitOutput() const {
    std::array<int, 52> uses{};
    bool ellipsis = false;
    for (const Term& term : inputs_) {
      for (int8_t label : term) {
        if (label == kEllipsis) {
          ellipsis = true;
        } else {
          ++uses[static_cast<size_t>(label)];
        }
      }
    }
    Term term;
    if (ellipsis) term.push_back(kEllipsis);
    for (int8_t label = 0; label < 52; ++label) {
      if (uses[static_cast<size_t>(label)] == 1) term.push_back(label);
    }
    return term;
  }

  void CheckOutput(std::string_view equation) const {
    for (size_t i = 0; i < output_.size(); ++i) {
      const int8_t label = output_[i];
      Require(std::find(output_.begin() + static_cast<ptrdiff_t>(i) + 1, output_.end(), label) == output_.end(),
              "equation '{}' repeats a label in its result", equation);
      const bool known =
          std::ranges::any_of(inputs_, [&](const Term& term) { return std::ranges::find(term, label) != term.end(); });
      Require(known, "equation '{}' has a label in its result that no operand has", equation);
    }
  }

  std::vector<Term> inputs_;
  Term output_;
};

}  // namespace tessera
