"""Elementwise operators."""

import numpy as np

from recipe import FLOATS, INTS, NUMBERS, SIGNED, UNSIGNED, broadcastable, choice, recipe, shape, single, values

DOMAIN = {  # where the function is defined, when not everywhere
    "Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.95, 0.95), "Acosh": (1, 8), "Log": (0.01, 8), "Sqrt": (0, 8),
    "Reciprocal": (0.5, 4), "Tan": (-1.2, 1.2), "Exp": (-5, 5),
}


def function_body(case):
    """The reference evaluates a function body whose constants are float, also for double."""
    case.rtol, case.atol = max(case.rtol, 1e-4), max(case.atol, 1e-6)
    return case


@recipe("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "Reciprocal",
        "Round", "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Softplus", "Softsign", "HardSwish", "Mish")
def float_unary(rng, op):
    dtype = choice(rng, FLOATS)
    low, high = DOMAIN.get(op, (-4, 4))
    case = single(op, [values(rng, shape(rng), dtype, low, high)], dtype=dtype)
    return function_body(case) if op in ("HardSwish", "Mish", "Softsign") else case


@recipe("Abs", "Neg", "Sign", "Relu")
def number_unary(rng, op):
    dtype = choice(rng, FLOATS + SIGNED if op in ("Neg", "Relu") else NUMBERS)
    return single(op, [values(rng, shape(rng), dtype)], dtype=dtype)


@recipe("Elu", "Celu", "LeakyRelu", "ThresholdedRelu")
def alpha_unary(rng, op):
    dtype = np.float32 if op == "Celu" else choice(rng, FLOATS)
    return single(op, [values(rng, shape(rng), dtype)], dtype=dtype, alpha=float(rng.uniform(0.1, 2)))


@recipe("Selu")
def selu(rng):
    dtype = choice(rng, FLOATS)
    return single("Selu", [values(rng, shape(rng), dtype)], dtype=dtype, alpha=1.5, gamma=float(rng.uniform(1, 2)))


@recipe("HardSigmoid")
def hard_sigmoid(rng):
    dtype = choice(rng, FLOATS)
    return single("HardSigmoid", [values(rng, shape(rng), dtype)], dtype=dtype, alpha=0.3, beta=0.4)


@recipe("Gelu")
def gelu(rng):
    dtype = choice(rng, FLOATS)
    case = single("Gelu", [values(rng, shape(rng), dtype)], dtype=dtype, approximate=choice(rng, ["none", "tanh"]))
    return function_body(case)


@recipe("Shrink")
def shrink(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int32])
    return single("Shrink", [values(rng, shape(rng), dtype)], dtype=dtype, lambd=0.5, bias=0.25 if dtype != np.int32 else 1.0)


@recipe("PRelu")
def prelu(rng):
    dtype = choice(rng, [np.float32, np.float64, np.float16])
    dims = shape(rng)
    return single("PRelu", [values(rng, dims, dtype), values(rng, broadcastable(rng, dims), dtype)], dtype=dtype)


@recipe("Add", "Sub", "Mul", "Div")
def arithmetic(rng, op):
    dtype = choice(rng, NUMBERS)
    full = shape(rng)
    right = values(rng, broadcastable(rng, full), dtype)
    if op == "Div":
        right = np.where(right == 0, np.ones_like(right), right).astype(dtype)
    left = values(rng, full, dtype)
    return single(op, [left, right] if rng.random() < 0.6 or op == "Div" else [right, left], dtype=dtype)


@recipe("Max", "Min", "Sum", "Mean")
def variadic(rng, op):
    dtype = choice(rng, NUMBERS if op in ("Max", "Min") else FLOATS)
    full = shape(rng)
    count = int(rng.integers(1, 5))
    arrays = [values(rng, full, dtype)] + [values(rng, broadcastable(rng, full), dtype) for _ in range(count - 1)]
    return single(op, arrays, dtype=dtype)


@recipe("Pow")
def power(rng):
    dtype = choice(rng, FLOATS + [np.int32, np.int64])
    exponent = choice(rng, NUMBERS)
    full = shape(rng)
    base = values(rng, full, dtype, 0.5, 4)
    high = 3 if np.issubdtype(dtype, np.integer) or np.issubdtype(exponent, np.integer) else 2
    dims = () if rng.random() < 0.3 else broadcastable(rng, full)
    raised = np.asarray(rng.uniform(0, high, dims)).astype(exponent)
    if rng.random() < 0.2:
        raised = np.full(dims, choice(rng, [0, 1, 2, 3, 4])).astype(exponent)
    if np.issubdtype(dtype, np.integer) and not np.issubdtype(exponent, np.integer):
        raised = np.floor(raised.astype(np.float64)).astype(exponent)  # a power near an integer truncates to either side
    return single("Pow", [base, raised], dtype=dtype)


@recipe("Mod")
def modulo(rng):
    integer = rng.random() < 0.6
    dtype = choice(rng, INTS if integer else [np.float32, np.float64])
    full = shape(rng)
    right = values(rng, broadcastable(rng, full), dtype)
    right = np.where(right == 0, np.ones_like(right), right).astype(dtype)
    fmod = 1 if not integer else int(rng.integers(0, 2))
    return single("Mod", [values(rng, full, dtype), right], dtype=dtype, fmod=fmod)


@recipe("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def comparison(rng, op):
    dtype = choice(rng, [np.float32, np.float64, np.float16] + INTS)
    full = shape(rng)
    return single(op, [values(rng, full, dtype), values(rng, broadcastable(rng, full), dtype)])


@recipe("And", "Or", "Xor")
def logical(rng, op):
    full = shape(rng)
    return single(op, [values(rng, full, np.bool_), values(rng, broadcastable(rng, full), np.bool_)])


@recipe("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(rng, op):
    dtype = choice(rng, INTS)
    full = shape(rng)
    return single(op, [values(rng, full, dtype), values(rng, broadcastable(rng, full), dtype)])


@recipe("BitShift")
def bit_shift(rng):
    dtype = choice(rng, UNSIGNED)
    full = shape(rng)
    amount = rng.integers(0, 7, size=broadcastable(rng, full)).astype(dtype)
    return single("BitShift", [values(rng, full, dtype), amount], direction=choice(rng, ["LEFT", "RIGHT"]), opset=27)


@recipe("Not")
def logical_not(rng):
    return single("Not", [values(rng, shape(rng), np.bool_)])


@recipe("IsNaN", "IsInf")
def classify(rng, op):
    return single(op, [values(rng, shape(rng), choice(rng, [np.float32, np.float64]), special=True)])


@recipe("Where")
def where(rng):
    dtype = choice(rng, NUMBERS)
    full = shape(rng)
    return single("Where", [values(rng, broadcastable(rng, full), np.bool_), values(rng, full, dtype),
                            values(rng, broadcastable(rng, full), dtype)], dtype=dtype)


@recipe("ClipByAttributes")
def clip_by_attributes(rng):
    x = values(rng, shape(rng), np.float32)
    if x.size > 2:
        x.flat[0], x.flat[-1] = np.inf, -np.inf
    case = single("Clip", [x], min=choice(rng, [None, -1.0]), max=choice(rng, [None, 2.0]))
    case.opset, case.peer = choice(rng, [6, 7, 10]), "ort"
    return case


@recipe("Clip")
def clip(rng):
    dtype = choice(rng, NUMBERS)
    low = np.asarray(1, dtype) if rng.random() < 0.7 else None
    high = np.asarray(3, dtype) if rng.random() < 0.7 else None
    return single("Clip", [values(rng, shape(rng), dtype), low, high], dtype=dtype)


@recipe("BitwiseNot")
def bitwise_not(rng):
    return single("BitwiseNot", [values(rng, shape(rng), choice(rng, INTS))])


@recipe("Swish")
def swish(rng):
    dtype = choice(rng, [np.float32, np.float16])
    return single("Swish", [values(rng, shape(rng), dtype)], dtype=dtype, alpha=float(rng.uniform(0.5, 2)))


@recipe("SwiGLU")
def swiglu(rng):
    dtype = choice(rng, [np.float32, np.float16])
    dims = shape(rng)
    return single("SwiGLU", [values(rng, dims, dtype), values(rng, dims, dtype)], dtype=dtype, alpha=float(rng.uniform(0.5, 2)))


@recipe("BitCast")
def bit_cast(rng):
    from onnx import helper
    source, target = choice(rng, [(np.float32, np.int32), (np.uint32, np.float32), (np.int64, np.float64), (np.float64, np.uint64), (np.int16, np.uint16),
                                  (np.int8, np.uint8), (np.float16, np.int16)])
    return single("BitCast", [values(rng, shape(rng), source)], to=helper.np_dtype_to_tensor_dtype(np.dtype(target)))


@recipe("Dropout")
def dropout(rng):
    """Outside training, where it is the identity."""
    return single("Dropout", [values(rng, shape(rng), choice(rng, [np.float32, np.float64, np.float16])), np.asarray(0.4, np.float32)], outputs=2)
