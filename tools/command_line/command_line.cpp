#include "command_line/command_line.h"

#include <CLI/CLI.hpp>

#include "command_line/closest.h"

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

CommandLine::CommandLine(const std::string& description) : app_(std::make_unique<CLI::App>(description)) {
  app_->set_version_flag("--version", "Tessera " TESSERA_VERSION, "Say which version this is");
  app_->footer(
      "Exit status: 0 done, 1 it failed for the model or a case, 2 the command line is wrong or names what cannot be used, "
      "3 anything else.");
}
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
CommandLineOption CommandLine::Add(const std::string& names, std::vector<std::filesystem::path>& value,
                                   const std::string& help) {
  return CommandLineOption(app_->add_option(names, value, help));
}
CommandLineOption CommandLine::Flag(const std::string& names, bool& value, const std::string& help) {
  return CommandLineOption(app_->add_flag(names, value, help));
}
CommandLineOption CommandLine::Flag(const std::string& names, int& count, const std::string& help) {
  return CommandLineOption(app_->add_flag(names, count, help));
}

namespace {

/// CLI11 has a number for each kind of mistake.
int StatusOf(int cli11) { return cli11 == 0 ? kDone : kUsageMistake; }

/// What is left over may be an option that is misspelt.
std::string Suggestion(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with("--")) continue;
    if (std::string text = DidYouMean(word.substr(0, word.find('=')), known); !text.empty()) return text;
  }
  return {};
}

}  // namespace

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ExtrasError& error) {
    return StatusOf(app_->exit(CLI::ExtrasError(error.what() + Suggestion(*app_), CLI::ExitCodes::ExtrasError)));
  } catch (const CLI::ParseError& error) {
    return StatusOf(app_->exit(error));
  }
}

int CommandLine::Exit(const UsageError& error) const {
  return StatusOf(app_->exit(CLI::ValidationError(error.option, error.what())));
}

std::string CommandLine::Help() const { return app_->help(); }

}  // namespace tessera
