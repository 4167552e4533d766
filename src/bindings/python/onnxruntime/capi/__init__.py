"""The parts of ONNX Runtime's package that other programs look into, by their names."""
