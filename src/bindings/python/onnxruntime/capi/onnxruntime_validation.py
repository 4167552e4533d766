"""What the build is for."""

has_ortmodule = False
package_name = "tessera-onnxruntime"
cuda_version = ""


def check_training_module() -> tuple[bool, str, str]:
    """Whether training is built in, the package's name, and its CUDA version."""
    return has_ortmodule, package_name, cuda_version
