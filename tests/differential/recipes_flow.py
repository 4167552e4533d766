"""Random bodies of If, Loop, Scan and SequenceMap in each other, over tensors that they capture, hand around and change the rows of.
Expected results come from an evaluator of these few operators here: ONNX Runtime refuses many such models, and the reference
evaluator knows neither directions nor axes of Scan."""

from collections import namedtuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from recipe import Case, choice, recipe

WIDTH, DEPTH = 3, 3

# `extra` tells which matrices have equally many rows, and how long a sequence is at least.
Value = namedtuple("Value", "name kind extra")
TYPES = {"matrix": (TensorProto.FLOAT, [None, WIDTH]), "row": (TensorProto.FLOAT, [1, WIDTH]), "vector": (TensorProto.FLOAT, [WIDTH]),
         "column": (TensorProto.FLOAT, [None]), "integer": (TensorProto.INT64, []), "flag": (TensorProto.BOOL, [])}


def of(values, *kinds):
    return [value for value in values if value.kind in kinds]


class Flow:
    """Adds statements to lists of nodes; what they make gets names of its own."""

    def __init__(self, rng):
        self.rng, self.count = rng, 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def chance(self, probability):
        return self.rng.random() < probability

    def add(self, nodes, op, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, nodes, array):
        return self.add(nodes, "Constant", [], value=numpy_helper.from_array(np.asarray(array)))

    def declare(self, name, kind):
        if kind == "sequence":
            return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)
        element, dims = TYPES[kind]
        return helper.make_tensor_value_info(name, element, dims if kind in ("integer", "flag") or self.chance(0.7) else None)

    def graph(self, nodes, inputs, outputs):
        return helper.make_graph(nodes, self.name(), [self.declare(v.name, v.kind) for v in inputs], [self.declare(v.name, v.kind) for v in outputs])

    def plain(self, seen, nodes):
        """One operator without a body."""
        kind, add = int(self.rng.integers(0, 9)), lambda *args, **attributes: self.add(nodes, *args, **attributes)
        value = choice(self.rng, of(seen, "matrix", "row", "vector", "column"))
        if kind == 0:
            return Value(add(choice(self.rng, ["Tanh", "Relu", "Neg", "Identity"]), [value.name]), value.kind, value.extra)
        if kind <= 2:
            fits = {"column": [v for v in of(seen, "column") if v.extra == value.extra], "vector": of(seen, "vector"), "row": of(seen, "row", "vector"),
                    "matrix": [v for v in of(seen, "matrix") if v.extra == value.extra] + of(seen, "row", "vector")}[value.kind]
            inputs = [add("Tanh", [value.name]), choice(self.rng, fits).name]
            return Value(add(choice(self.rng, ["Add", "Sub", "Mul", "Max"]), inputs[:: choice(self.rng, [1, -1])]), value.kind, value.extra)
        rows = choice(self.rng, of(seen, "matrix", "row"))
        if kind == 3:
            parts = [choice(self.rng, of(seen, "matrix", "row")).name for _ in range(int(self.rng.integers(1, 4)))]
            return Value(add("Concat", parts, axis=choice(self.rng, [0, -2])), "matrix", self.name())
        if kind == 4:
            bounds = [self.constant(nodes, np.array([int(self.rng.integers(-3, high))])) for high in (3, 5)]
            return Value(add("Slice", [rows.name, *bounds, self.constant(nodes, np.array([0]))]), "matrix", self.name())
        if kind == 5:
            return Value(add("Tanh", [add("ReduceSum", [rows.name, self.constant(nodes, np.array([0]))], keepdims=1)]), "row", 1)
        if kind == 6:
            return Value(add("Squeeze", [add("Shape", [rows.name], start=0, end=1)]), "integer", None)
        if kind == 7 and of(seen, "integer"):
            number = add("Cast", [choice(self.rng, of(seen, "integer")).name], to=TensorProto.FLOAT)
            return Value(add("Add", [choice(self.rng, of(seen, "vector")).name, number]), "vector", None)
        return self.sequence(seen, nodes)

    def sequence(self, seen, nodes):
        kind, sequences, parts = int(self.rng.integers(0, 7)), of(seen, "sequence"), of(seen, "matrix", "row")
        add = lambda *args, **attributes: self.add(nodes, *args, **attributes)  # noqa: E731
        if not sequences or kind == 0:
            if self.chance(0.3):
                return Value(add("SplitToSequence", [choice(self.rng, parts).name], axis=0), "sequence", 0)
            count = int(self.rng.integers(1, 4))
            return Value(add("SequenceConstruct", [choice(self.rng, parts).name for _ in range(count)]), "sequence", count)
        sequence = choice(self.rng, sequences)
        if kind <= 2:
            position = [self.constant(nodes, 0)] if self.chance(0.5) else []
            return Value(add("SequenceInsert", [sequence.name, choice(self.rng, parts).name, *position]), "sequence", sequence.extra + 1)
        if kind == 3:
            element = Value(self.name(), "matrix", self.name())
            body = []
            result = self.block([*seen, element], body, DEPTH - 1, ["matrix"])
            return Value(add("SequenceMap", [sequence.name], body=self.graph(body, [element], result)), "sequence", sequence.extra)
        if sequence.extra == 0 or kind == 4:
            return Value(add("SequenceLength", [sequence.name]), "integer", None)
        if kind == 5:
            return Value(add("SequenceAt", [sequence.name, self.constant(nodes, choice(self.rng, [0, -1]))]), "matrix", self.name())
        return Value(add("ConcatFromSequence", [sequence.name], axis=0), "matrix", self.name())

    def block(self, seen, nodes, depth, kinds):
        """Some statements, and a value of each of `kinds` that is made here."""
        made, results = [], []
        for _ in range(int(self.rng.integers(0, 5))):
            made += self.statement([*seen, *made], nodes, depth)
        for kind in kinds:
            value = choice(self.rng, of([*seen, *made], kind))
            results.append(Value(self.add(nodes, "Identity", [value.name]), kind, value.extra))
        return results

    def statement(self, seen, nodes, depth):
        if depth >= DEPTH or self.chance(0.4):
            return [self.plain(seen, nodes)]
        return choice(self.rng, [self.branches, self.loop, self.scan])(seen, nodes, depth)

    def condition(self, seen, nodes):
        if of(seen, "flag") and self.chance(0.5):
            return choice(self.rng, of(seen, "flag")).name
        number = choice(self.rng, of(seen, "integer")).name
        return self.add(nodes, choice(self.rng, ["Less", "Equal"]), [number, self.constant(nodes, int(self.rng.integers(0, 4)))])

    def kinds(self, seen, least):
        known = sorted({value.kind for value in of(seen, "matrix", "row", "vector", "integer", "sequence")})
        return [choice(self.rng, known) for _ in range(int(self.rng.integers(least, 4)))]

    def handed_on(self, names, kinds, lengths=None):
        return [Value(name, kind, lengths[i] if lengths and kind == "sequence" else 0 if kind == "sequence" else self.name())
                for i, (name, kind) in enumerate(zip(names, kinds))]

    def branches(self, seen, nodes, depth):
        kinds, graphs, made = self.kinds(seen, 1), {}, []
        for name in ("then_branch", "else_branch"):
            body = []
            made.append(self.block(seen, body, depth + 1, kinds))
            graphs[name] = self.graph(body, [], made[-1])
        names = [self.name() for _ in kinds]
        nodes.append(helper.make_node("If", [self.condition(seen, nodes)], names, **graphs))
        return self.handed_on(names, kinds, [min(a.extra, b.extra) if a.kind == "sequence" else None for a, b in zip(*made)])

    def loop(self, seen, nodes, depth):
        """Carried values, perhaps none, then rows of what an iteration makes. Trip count, condition or both may end it."""
        kinds = self.kinds(seen, 0)
        rows = [choice(self.rng, ["vector", "row"]) for _ in range(int(self.rng.integers(0 if kinds else 1, 3)))]
        initial = [choice(self.rng, of(seen, kind)) for kind in kinds]
        iteration, going = Value(self.name(), "integer", None), Value(self.name(), "flag", None)
        inside, body = self.handed_on([self.name() for _ in kinds], kinds), []
        results = self.block([*seen, iteration, going, *inside], body, depth + 1, kinds + rows)
        again = self.add(body, "Identity", [going.name]) if self.chance(0.5) else self.add(body, "Less", [iteration.name, self.constant(body, 2)])
        graph = self.graph(body, [iteration, going, *inside], [Value(again, "flag", None), *results])
        trips = choice(self.rng, of(seen, "trips")).name if self.chance(0.5) else self.constant(nodes, int(self.rng.integers(0, 5)))
        condition = self.condition(seen, nodes) if self.chance(0.4) else ""
        names = [self.name() for _ in kinds + rows]
        nodes.append(helper.make_node("Loop", [trips, condition, *(v.name for v in initial)], names, body=graph))
        stacked = [Value(name, {"vector": "matrix", "row": "cube"}[kind], self.name()) for name, kind in zip(names[len(kinds):], rows)]
        return self.handed_on(names, kinds) + stacked

    def scan(self, seen, nodes, depth):
        """A state, and the rows or columns of one or two matrices, forwards and backwards."""
        axis = int(self.rng.integers(0, 2))
        first = choice(self.rng, of(seen, "matrix", "row"))
        alike = [v for v in of(seen, "matrix", "row") if axis == 1 or v.extra == first.extra]
        sources = [first, *[choice(self.rng, alike) for _ in range(int(self.rng.integers(0, 2)))]]
        initial = choice(self.rng, of(seen, "vector"))
        state = Value(self.name(), "vector", None)
        parts = [Value(self.name(), "column" if axis else "vector", source.extra) for source in sources]
        body, made = [], []
        for _ in range(int(self.rng.integers(0, 4))):
            made += self.statement([v for v in seen if v.kind != "column"] + [state, *parts, *made], body, depth + 1)
        outputs = [choice(self.rng, of([*parts, *made], parts[0].kind)) for _ in range(int(self.rng.integers(1, 3)))]
        results = [Value(self.add(body, "Neg", [v.name]), v.kind, v.extra) for v in [choice(self.rng, of([state, *made], "vector")), *outputs]]
        axes = [int(self.rng.integers(-2, 2)) for _ in outputs]
        names = self.add(nodes, "Scan", [initial.name, *(v.name for v in sources)], 1 + len(outputs), num_scan_inputs=len(sources),
                         body=self.graph(body, [state, *parts], results), scan_input_axes=[axis - choice(self.rng, [0, 2]) for _ in sources],
                         scan_input_directions=[int(self.rng.integers(0, 2)) for _ in sources], scan_output_axes=axes,
                         scan_output_directions=[int(self.rng.integers(0, 2)) for _ in outputs])
        upright = [Value(name, "matrix" if at % 2 == axis else "across", self.name()) for name, at in zip(names[1:], axes)]
        return [Value(names[0], "vector", None), *upright]


class Evaluator:
    """Runs graphs of what Flow makes."""

    def run(self, graph, outer, inputs):
        values = {**outer, "": None, **{info.name: array for info, array in zip(graph.input, inputs)}}
        for node in graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            results = getattr(self, node.op_type)(values, attributes, *(values[name] for name in node.input))
            values.update(zip(node.output, results if isinstance(results, tuple) else (results,)))
        return [values[info.name] for info in graph.output]

    @staticmethod
    def stacked(rows, info, axis):
        if rows:
            return np.stack(rows, axis)
        shape = info.type.tensor_type.shape.dim
        if not info.type.tensor_type.HasField("shape") or not all(dim.HasField("dim_value") for dim in shape):
            raise ValueError("the sizes of no rows are not declared")
        sizes = [dim.dim_value for dim in shape]
        sizes.insert(axis % (len(sizes) + 1), 0)
        return np.zeros(sizes, np.float32)

    def If(self, values, attributes, condition):  # noqa: N802: named as operators are
        return tuple(self.run(attributes["then_branch" if condition else "else_branch"], values, []))

    def Loop(self, values, attributes, trips, condition, *carried):  # noqa: N802
        body, count, iteration = attributes["body"], len(carried), 0
        going, rows = condition is None or bool(condition), []
        while going and iteration < trips:
            going, *results = self.run(body, values, [np.array(iteration), np.array(going), *carried])
            carried, iteration = results[:count], iteration + 1
            rows.append(results[count:])
        outputs = body.output[1 + count:]
        return (*carried, *(self.stacked([row[i] for row in rows], info, 0) for i, info in enumerate(outputs)))

    def Scan(self, values, attributes, state, *sources):  # noqa: N802
        body, rows = attributes["body"], []
        moved = [np.moveaxis(source, axis, 0)[:: -1 if back else 1]
                 for source, axis, back in zip(sources, attributes["scan_input_axes"], attributes["scan_input_directions"])]
        for parts in zip(*moved, strict=True):
            state, *results = self.run(body, values, [state, *parts])
            rows.append(results)
        outputs = [self.stacked([row[i] for row in rows][:: -1 if back else 1], info, axis)
                   for i, (info, axis, back) in enumerate(zip(body.output[1:], attributes["scan_output_axes"], attributes["scan_output_directions"]))]
        return (state, *outputs)

    def SequenceMap(self, values, attributes, sequence):  # noqa: N802
        return [self.run(attributes["body"], values, [element])[0] for element in sequence]

    def SequenceInsert(self, values, attributes, sequence, element, position=None):  # noqa: N802
        at = len(sequence) if position is None else int(position)
        return [*sequence[:at], element, *sequence[at:]]


def plainly(function):
    return lambda self, values, attributes, *inputs: function(attributes, *inputs)


for _name, _function in {
        "Tanh": lambda a, x: np.tanh(x), "Relu": lambda a, x: np.maximum(x, 0), "Neg": lambda a, x: -x, "Identity": lambda a, x: x,
        "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y, "Max": lambda a, x, y: np.maximum(x, y),
        "Less": lambda a, x, y: x < y, "Equal": lambda a, x, y: x == y, "Cast": lambda a, x: x.astype(np.float32),
        "Concat": lambda a, *parts: np.concatenate(parts, a["axis"]), "Slice": lambda a, x, begin, end, axes: x[int(begin[0]):int(end[0])],
        "ReduceSum": lambda a, x, axes: x.sum(0, keepdims=True), "Shape": lambda a, x: np.array(x.shape[:1]), "Squeeze": lambda a, x: np.squeeze(x),
        "Constant": lambda a: numpy_helper.to_array(a["value"]), "SplitToSequence": lambda a, x: np.split(x, len(x)) if len(x) else [],
        "SequenceConstruct": lambda a, *parts: list(parts), "SequenceLength": lambda a, parts: np.array(len(parts)),
        "SequenceAt": lambda a, parts, position: parts[int(position)], "ConcatFromSequence": lambda a, parts: np.concatenate(parts, 0)}.items():
    setattr(Evaluator, _name, plainly(_function))


def fed(rng):
    """Two matrices of equally many rows, one of others, and what conditions and counts depend on."""
    rows, others = int(rng.integers(0, 6)), int(rng.integers(0, 6))
    floats = {name: rng.normal(size=size).astype(np.float32)
              for name, size in {"a": (rows, WIDTH), "b": (rows, WIDTH), "c": (others, WIDTH), "r": (1, WIDTH), "v": (WIDTH,)}.items()}
    return {**floats, "p": np.array(rng.random() < 0.5), "i": np.array(int(rng.integers(0, 4))), "m": np.array(int(rng.integers(0, 4)))}


@recipe("ModelFlow", "ModelFlowOfOneShape")
def flow(rng, name):
    seen = [Value("a", "matrix", "ab"), Value("b", "matrix", "ab"), Value("c", "matrix", "c"), Value("r", "row", 1), Value("v", "vector", None),
            Value("p", "flag", None), Value("i", "integer", None), Value("m", "trips", None)]
    maker, nodes, made = Flow(rng), [], []
    while len(made) < 3:
        made += maker.branches(seen + made, nodes, 0) if rng.random() < 0.2 else choice(rng, [maker.loop, maker.scan])(seen + made, nodes, 0)
    outputs = [value.name for value in made if value.kind != "sequence"]
    graph = helper.make_graph(nodes, "flow", [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in outputs])

    def expected(inputs):
        return Evaluator().run(graph, inputs, [])

    sets = [inputs for inputs in (fed(rng) for _ in range(12)) if known(expected, inputs)][:3]
    case = Case(nodes, sets[0], outputs, 18, {}, 1e-3, 1e-4, expected, dynamic=name == "ModelFlow")
    case.variants = [*sets[1:], sets[0]] if case.dynamic else []
    return case


def known(expected, inputs):
    """False where a Loop or Scan without an iteration gives rows of sizes that nothing tells."""
    try:
        expected(inputs)
    except ValueError:
        return False
    return True
