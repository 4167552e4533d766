#include "command_line/command_line.h"

#include <CLI/CLI.hpp>

namespace tessera {

CommandLineOption& CommandLineOption::Required() {
  option_->required();
  return *this;
}
CommandLineOption& CommandLineOption::Range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
CommandLineOption& CommandLineOption::Range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
CommandLineOption& CommandLineOption::OneOf(std::initializer_list<int> values) {
  option_->check(CLI::IsMember(std::vector<int>(values)));
  return *this;
}
CommandLineOption& CommandLineOption::OneOf(std::initializer_list<const char*> values) {
  option_->check(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())));
  return *this;
}
CommandLineOption& CommandLineOption::Default(const std::string& text) {
  option_->default_str(text);
  return *this;
}
CommandLineOption& CommandLineOption::Hidden() {
  option_->group("");
  return *this;
}

CommandLine::CommandLine(const std::string& description) : app_(std::make_unique<CLI::App>(description)) {}
CommandLine::~CommandLine() = default;

CommandLineOption CommandLine::Add(const std::string& names, std::string& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, std::filesystem::path& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, int& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, uint32_t& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, double& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, std::optional<int>& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, std::optional<double>& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Add(const std::string& names, std::vector<std::string>& value, const std::string& help) {
  CLI::Option* option = app_->add_option(names, value, help);
  option->allow_extra_args(option->get_positional());
  return CommandLineOption(option);
}
CommandLineOption CommandLine::Add(const std::string& names, std::vector<std::filesystem::path>& value, const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Flag(const std::string& names, bool& value, const std::string& help) {
  return CommandLineOption(app_->add_flag(names, value, help));
}
CommandLineOption CommandLine::Flag(const std::string& names, int& count, const std::string& help) {
  return CommandLineOption(app_->add_flag(names, count, help));
}

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
}

int CommandLine::Exit(const UsageError& error) const { return app_->exit(CLI::ValidationError(error.option, error.what())); }

std::string CommandLine::Help() const { return app_->help(); }

}  // namespace tessera
