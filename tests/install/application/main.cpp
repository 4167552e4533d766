// Adds two tensors through the installed library: what a first program looks like.
#include <tessera/tessera.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const tessera::Session session{std::filesystem::path(argv[1])};
    const std::vector<float> ones(3 * 4 * 5, 1.0f);
    const tessera::Shape shape{3, 4, 5};
    const std::vector<tessera::Value> inputs = {tessera::Tensor::Of<float>(shape, ones),
                                                tessera::Tensor::Of<float>(shape, ones)};
    std::vector<tessera::Value> outputs(1);
    session.Run(inputs, outputs);
    for (float sum : outputs[0].tensor().values<float>()) {
      if (sum != 2.0f) return 1;
    }
    std::printf("tessera %s: 1 + 1 = 2, sixty times\n", std::string(tessera::version()).c_str());
    return 0;
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
