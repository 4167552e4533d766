"""Version and name of the package."""

from tessera import get_version_string as _get_version_string

__version__ = _get_version_string()
package_name = "tessera-onnxruntime"
