// A program for onnxruntime-node, on whichever library lies in its package: prints what it finds, for run.sh to compare.
//   node node_client.js FOLDER_OF_NODE_MODULES FOLDER_OF_MODELS
const path = require("path");
const ort = require(path.join(process.argv[2], "node_modules", "onnxruntime-node"));
const models = process.argv[3];

async function code(name, promise) {
  try {
    await promise();
    console.log(`${name}: fine`);
  } catch (error) {
    console.log(`${name}: error`);
  }
}

async function main() {
  const session = await ort.InferenceSession.create(path.join(models, "add.onnx"), {
    intraOpNumThreads: 2,
    graphOptimizationLevel: "all",
    executionMode: "sequential",
    enableCpuMemArena: true,
    enableMemPattern: true,
    logId: "node",
    logSeverityLevel: 3,
    extra: { session: { "some.entry": "value" } },
  });
  console.log(session.inputNames.join(), session.outputNames.join());
  const a = new ort.Tensor("float32", Float32Array.from([1, 2, 3, 4, 5, 6]), [2, 3]);
  const b = new ort.Tensor("float32", Float32Array.from([10, 20, 30, 40, 50, 60]), [2, 3]);
  const result = await session.run({ A: a, B: b });
  console.log(result.C.type, result.C.dims.join("x"), Array.from(result.C.data).join());
  const only = await session.run({ A: a, B: b }, ["C"]);
  console.log(Object.keys(only).join());
  await code("missing input", () => session.run({ A: a }));
  await code("wrong shape", () => session.run({ A: a, B: new ort.Tensor("float32", new Float32Array(2), [2]) }));
  await code("missing file", () => ort.InferenceSession.create(path.join(models, "nothing.onnx")));
  await code("no model", () => ort.InferenceSession.create(Buffer.from("garbage!")));

  const strings = await ort.InferenceSession.create(require("fs").readFileSync(path.join(models, "strings.onnx")));
  const text = new ort.Tensor("string", ["one", "zwei", "", "vier", "five", "six"], [2, 3]);
  const same = await strings.run({ X: text });
  console.log(same.Y.type, same.Y.dims.join("x"), same.Y.data.join("|"));
  const providers = ort.listSupportedBackends().map((backend) => backend.name);
  console.log("cpu", providers.includes("cpu"));
  await session.release();
  await strings.release();
}

main().then(
  () => console.log("done"),
  (error) => {
    console.log(`failed: ${error}`);
    process.exit(1);
  },
);
