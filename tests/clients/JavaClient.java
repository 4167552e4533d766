// A program for the Java package, on whichever library it loads: prints what it finds, for run.sh to compare.

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.TensorInfo;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

public final class JavaClient {
  private interface Call {
    void run() throws Exception;
  }

  private static void code(String name, Call call) throws Exception {
    try {
      call.run();
      System.out.println(name + ": fine");
    } catch (OrtException error) {
      System.out.println(name + ": " + error.getCode());
    }
  }

  public static void main(String[] arguments) throws Exception {
    String models = arguments[0];
    OrtEnvironment env = OrtEnvironment.getEnvironment();
    System.out.println("cpu: " + OrtEnvironment.getAvailableProviders().stream().anyMatch(p -> p.getName().startsWith("CPU")));
    SessionOptions options = new SessionOptions();
    options.setIntraOpNumThreads(2);
    options.setOptimizationLevel(SessionOptions.OptLevel.ALL_OPT);
    options.addConfigEntry("some.entry", "value");
    options.addCPU(true);
    code("CUDA", () -> new SessionOptions().addCUDA(0));
    try (OrtSession session = env.createSession(models + "/add.onnx", options);
        OnnxTensor a = OnnxTensor.createTensor(env, FloatBuffer.wrap(new float[] {1, 2, 3, 4, 5, 6}), new long[] {2, 3});
        OnnxTensor b = OnnxTensor.createTensor(env, new float[][] {{10, 20, 30}, {40, 50, 60}})) {
      System.out.println(session.getInputNames() + " " + session.getOutputNames() + " " + session.getNumInputs());
      TensorInfo info = (TensorInfo) session.getInputInfo().get("A").getInfo();
      System.out.println(info.type + " " + Arrays.toString(info.getShape()));
      System.out.println(session.getMetadata().getGraphName() + " " + session.getMetadata().getProducerName() + " "
          + session.getMetadata().getVersion() + " " + session.getMetadata().getCustomMetadata());
      try (OrtSession.Result result = session.run(Map.of("A", a, "B", b))) {
        System.out.println(Arrays.deepToString((float[][]) result.get(0).getValue()));
        OnnxValue value = result.get("C").get();
        System.out.println(value.getType() + " " + Arrays.toString(((OnnxTensor) value).getInfo().getShape()));
      }
      code("missing input", () -> session.run(Map.of("A", a)));
      OrtSession.RunOptions run = new OrtSession.RunOptions();
      run.setTerminate(true);
      code("terminated", () -> session.run(Map.of("A", a, "B", b), session.getOutputNames(), run));
    }
    try (OrtSession session = env.createSession(Files.readAllBytes(Path.of(models, "strings.onnx")));
        OnnxTensor text = OnnxTensor.createTensor(env, new String[][] {{"one", "zwei", ""}, {"vier", "five", "six"}});
        OrtSession.Result result = session.run(Map.of("X", text))) {
      System.out.println(Arrays.deepToString((String[][]) result.get(0).getValue()));
    }
    code("missing file", () -> env.createSession(models + "/nothing.onnx"));
    code("no model", () -> env.createSession("garbage!".getBytes()));
    System.out.println("done");
  }
}
