"""Version and name of the package."""

from tessera import __version__  # noqa: F401

package_name = "tessera-onnxruntime"
