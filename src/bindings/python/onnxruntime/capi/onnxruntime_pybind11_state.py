"""The extension module's names."""

from tessera import _core
from tessera._adapters import AdapterFormat  # noqa: F401
from tessera._core import *  # noqa: F403
from tessera._nbits import (  # noqa: F401
    pack_fp4_weights_for_cuda_moe_gemm,
    quantize_matmul_2bits,
    quantize_matmul_4bits,
    quantize_matmul_8bits,
    quantize_matmul_bnb4,
    quantize_qdq_matmul_2bits,
    quantize_qdq_matmul_4bits,
)
from tessera._options import get_default_session_options  # noqa: F401
from tessera._providers import get_all_providers  # noqa: F401

kNextPowerOfTwo, kSameAsRequested = _core.ArenaExtendStrategy.kNextPowerOfTwo, _core.ArenaExtendStrategy.kSameAsRequested  # noqa: N816
