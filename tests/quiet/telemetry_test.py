"""Whatever of ours imports ONNX Runtime, or runs programs on its library, has turned its telemetry off before: itself, or by a module of
ours that it imports first.

    telemetry_test.py SOURCE_FOLDER
"""

import ast
import pathlib
import sys

VARIABLE = "ORT_DISABLE_TELEMETRY"


def events(nodes):
    """Names of imported modules and VARIABLE where it is set, in the order of execution; bodies of functions come last."""
    later = []
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            later.append(node)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
            yield from events(node.body)
        elif VARIABLE in ast.unparse(node):
            yield VARIABLE
    for node in later:
        yield from events(node.body)


def events_of(path):
    package = path.parent / "__init__.py"  # runs first
    for source in (package, path) if package.exists() and package != path else (path,):
        yield from events(ast.parse(source.read_text(encoding="utf-8")).body)


def turns_off(path):
    """Importing the module is enough."""
    for event in events_of(path):
        if event == VARIABLE:
            return True
        if event.split(".")[0] == "onnxruntime":
            return False
        ours = path.parent / (event.lstrip(".") + ".py")
        if event and ours.exists() and ours != path and turns_off(ours):
            return True
    return False


def imports_runtime(path):
    return any(event.split(".")[0] == "onnxruntime" for event in events_of(path))


def runs_library(path):
    """Whether it looks for the genuine library in a wheel, on which programs of ours are then run."""
    return path.name != pathlib.Path(__file__).name and 'glob("libonnxruntime.so' in path.read_text(encoding="utf-8")


def main():
    sources = [path for folder in ("benchmarks", "tests", "tools") for path in sorted((pathlib.Path(sys.argv[1]) / folder).rglob("*.py"))]
    users = [path for path in sources if imports_runtime(path) or runs_library(path)]
    bad = [path for path in users if not turns_off(path)]
    for path in bad:
        print(f"{path} uses ONNX Runtime before {VARIABLE} is set")
    print(f"{len(users)} files use ONNX Runtime")
    sys.exit(1 if bad or not users else 0)


if __name__ == "__main__":
    main()
