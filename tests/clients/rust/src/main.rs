// A program for the crate `ort`, on whichever library ORT_DYLIB_PATH names: prints what it finds, for run.sh to compare.

use ort::{
    ep,
    session::{RunOptions, Session},
    value::{Tensor, TensorRef},
};

fn code<T>(name: &str, result: ort::Result<T>) {
    match result {
        Ok(_) => println!("{name}: fine"),
        Err(error) => println!("{name}: {:?}", error.code()),
    }
}

fn main() -> ort::Result<()> {
    let models = std::env::args().nth(1).expect("usage: client MODELS");
    let add = format!("{models}/add.onnx");
    // A default of the environment that is not there falls back.
    let env = ort::init()
        .with_name("rust")
        .with_execution_providers([ep::CUDA::default().build()])
        .build()?;

    let a = [1f32, 2., 3., 4., 5., 6.];
    let b = [10f32, 20., 30., 40., 50., 60.];
    let left = || TensorRef::from_array_view(([2usize, 3], &a[..]));
    let right = || TensorRef::from_array_view(([2usize, 3], &b[..]));

    let mut session = Session::builder(&env)?.with_intra_threads(2)?.commit_from_file(&add)?;
    for outlet in session.inputs().iter().chain(session.outputs()) {
        println!("{} {:?}", outlet.name(), outlet.dtype());
    }
    {
        let metadata = session.metadata()?;
        println!(
            "{:?} {:?} {:?} {:?} {:?}",
            metadata.producer(),
            metadata.name(),
            metadata.version(),
            metadata.custom("key"),
            metadata.custom_keys()?
        );
    }
    {
        let outputs = session.run(ort::inputs!["A" => left()?, "B" => right()?])?;
        println!("{:?}", outputs["C"].try_extract_tensor::<f32>()?);
    }
    code("missing input", session.run(ort::inputs!["A" => left()?]).map(drop));
    let options = RunOptions::new()?;
    options.terminate()?;
    code(
        "terminated",
        session.run_with_options(ort::inputs!["A" => left()?, "B" => right()?], &options).map(drop),
    );
    // Lists of providers: one that is not there falls back, or is an error where that is asked for.
    let lenient = Session::builder(&env)?
        .with_execution_providers([ep::TensorRT::default().build(), ep::OpenVINO::default().build(), ep::CPU::default().build()])?
        .commit_from_file(&add);
    code("fallback", lenient);
    let strict = Session::builder(&env)?
        .with_execution_providers([ep::CUDA::default().build().error_on_failure()])
        .map_err(ort::Error::from);
    code("strict", strict);

    let bytes = std::fs::read(format!("{models}/strings.onnx")).expect("the model");
    let mut strings = Session::builder(&env)?.commit_from_memory(&bytes)?;
    let texts = ["one", "zwei", "", "vier", "five", "six"];
    let value = Tensor::from_string_array(([2usize, 3], &texts[..]))?;
    let outputs = strings.run(ort::inputs!["X" => value])?;
    println!("{:?}", outputs["Y"].try_extract_strings()?);

    code("missing file", Session::builder(&env)?.commit_from_file(format!("{models}/nothing.onnx")));
    code("no model", Session::builder(&env)?.commit_from_memory(b"garbage!"));
    println!("done");
    Ok(())
}
