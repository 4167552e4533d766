#include "random_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <random>
#include <set>

#include "command_line/command_line.h"

namespace tessera::perf {
namespace {

template <class T, class Generate>
void Fill(Tensor& tensor, Generate generate) {
  for (T& element : tensor.mutable_values<T>()) element = static_cast<T>(generate());
}

void FillRandom(Tensor& tensor, std::mt19937& random) {
  std::uniform_real_distribution<float> real(-1.0f, 1.0f);
  const auto number = [&] { return real(random); };
  const auto bit = [&] { return random() & 1u; };
  switch (tensor.type()) {
    case ElementType::kFloat: return Fill<float>(tensor, number);
    case ElementType::kDouble: return Fill<double>(tensor, number);
    case ElementType::kFloat16: return Fill<Float16>(tensor, number);
    case ElementType::kBFloat16: return Fill<BFloat16>(tensor, number);
    case ElementType::kComplex64: return Fill<std::complex<float>>(tensor, number);
    case ElementType::kComplex128: return Fill<std::complex<double>>(tensor, number);
    case ElementType::kString: return Fill<std::string>(tensor, [] { return std::string("a"); });
    default: break;
  }
  // Every other type: small non-negative integers by their width; the float8 and packed types get the bits of 0 and 1.
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
  std::fill_n(bytes, tensor.byte_size(), uint8_t{0});
  const size_t width = std::max(1, BitWidth(tensor.type()) / 8);
  for (size_t i = 0; i < tensor.byte_size(); i += width) bytes[i] = static_cast<uint8_t>(bit());
}

/// A misspelt name would leave the dimension at 1.
void CheckNames(const Session& session, const std::map<std::string, int64_t>& dims) {
  std::set<std::string> symbols;
  for (const NamedType& input : session.inputs()) {
    if (!input.type.shape) continue;
    for (const Dimension& dim : *input.type.shape) {
      if (!dim.symbol.empty()) symbols.insert(dim.symbol);
    }
  }
  for (const auto& [name, size] : dims) {
    if (symbols.contains(name)) continue;
    throw UsageError("--dim",
                     fmt::format("no input has a dimension '{}' (their dimensions: {})", name,
                                 symbols.empty() ? "none has a name" : fmt::format("{}", fmt::join(symbols, ", "))));
  }
}

}  // namespace

std::vector<Value> RandomInputs(const Session& session, const std::map<std::string, int64_t>& dims,
                                std::vector<std::string>* ones, uint32_t seed) {
  CheckNames(session, dims);
  std::mt19937 random(seed);
  std::vector<Value> inputs;
  for (const NamedType& input : session.inputs()) {
    if (!input.type.is_tensor() || !input.type.shape) {
      throw Error(ErrorCode::kNotImplemented, fmt::format("input '{}' is {}: only tensors of known rank can be made up",
                                                          input.name, input.type.ToString()));
    }
    Shape shape;
    for (const Dimension& dim : *input.type.shape) {
      const auto given = dims.find(dim.symbol);
      shape.Append(dim.known() ? dim.value : given != dims.end() ? given->second : 1);
      if (dim.known() || given != dims.end() || ones == nullptr) continue;
      const std::string name = dim.symbol.empty() ? fmt::format("a nameless dimension of {}", input.name) : dim.symbol;
      if (std::ranges::find(*ones, name) == ones->end()) ones->push_back(name);
    }
    Tensor tensor(input.type.element, shape);
    FillRandom(tensor, random);
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace tessera::perf
