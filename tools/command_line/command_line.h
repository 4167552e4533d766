#pragma once

// The programs' command lines. Only command_line.cpp sees CLI11, whose templates take half a minute of each file's build.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera {

/// Exit statuses of the programs.
enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,        // a case failed, or a model cannot be loaded or run
  kUsageMistake = 2,  // the command line is wrong, or names what cannot be used
  kBroken = 3         // anything else
};

/// A mistake in the command line that parsing alone does not find.
struct UsageError : std::runtime_error {
  UsageError(std::string option, const std::string& message) : std::runtime_error(message), option(std::move(option)) {}
  std::string option;
};

/// What more is asked of an option.
class CommandLineOption {
 public:
  explicit CommandLineOption(CLI::Option* option) : option_(option) {}
  CommandLineOption& Required();
  CommandLineOption& Range(int least, int most);
  CommandLineOption& Range(double least, double most);
  CommandLineOption& OneOf(std::initializer_list<int> values);
  CommandLineOption& OneOf(std::initializer_list<const char*> values);
  /// What --help tells of the default.
  CommandLineOption& Default(const std::string& text);
  /// --help does not tell of it.
  CommandLineOption& Hidden();

 private:
  CLI::Option* option_;
};

class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();

  /// "-t,--threads" or, for a positional one, "model". What the command line says of it is written to `value`.
  CommandLineOption Add(const std::string& names, std::string& value, const std::string& help);
  CommandLineOption Add(const std::string& names, std::filesystem::path& value, const std::string& help);
  CommandLineOption Add(const std::string& names, int& value, const std::string& help);
  CommandLineOption Add(const std::string& names, uint32_t& value, const std::string& help);
  CommandLineOption Add(const std::string& names, double& value, const std::string& help);
  CommandLineOption Add(const std::string& names, std::optional<int>& value, const std::string& help);
  CommandLineOption Add(const std::string& names, std::optional<double>& value, const std::string& help);
  /// A positional one takes all that is left; others one value each time that they are given, so that what follows may be
  /// positional.
  CommandLineOption Add(const std::string& names, std::vector<std::string>& value, const std::string& help);
  CommandLineOption Add(const std::string& names, std::vector<std::filesystem::path>& value, const std::string& help);
  CommandLineOption Flag(const std::string& names, bool& value, const std::string& help);
  /// How often the flag is given.
  CommandLineOption Flag(const std::string& names, int& count, const std::string& help);

  /// The exit status when there is nothing more to do: after --help, or a mistake, which it tells of.
  std::optional<int> Parse(int argc, char** argv);
  /// Tells of a mistake as Parse() does; the exit status.
  int Exit(const UsageError& error) const;
  std::string Help() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace tessera
