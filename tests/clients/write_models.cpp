// Writes the models that the client programs load into a folder.

#include <filesystem>
#include <fstream>

#include "../abi/tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::ofstream(folder / "add.onnx", std::ios::binary) << tiny::Add(true);
  std::ofstream(folder / "strings.onnx", std::ios::binary) << tiny::Identity(8);
}
