"""The extension module's names."""

from tessera._core import *  # noqa: F403
from tessera._left_out import AdapterFormat, ModelCompiler, create_and_register_allocator  # noqa: F401
from tessera._nbits import (  # noqa: F401
    quantize_matmul_2bits,
    quantize_matmul_4bits,
    quantize_matmul_8bits,
    quantize_matmul_bnb4,
    quantize_qdq_matmul_2bits,
    quantize_qdq_matmul_4bits,
)
from tessera._providers import get_all_providers  # noqa: F401
