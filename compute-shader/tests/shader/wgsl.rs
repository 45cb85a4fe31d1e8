use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Prepended to the shaders that call `activate`, as in `pipelines.rs`.
const ACTIVATION: &str = include_str!("../../src/shaders/activation.wgsl");

const SHADERS: [(&str, &[&str], [u32; 3]); 4] = [
    ("dense", &[ACTIVATION, include_str!("../../src/shaders/dense.wgsl")], [16, 16, 1]),
    ("single", &[ACTIVATION, include_str!("../../src/shaders/single.wgsl")], [256, 1, 1]),
    ("softmax", &[include_str!("../../src/shaders/softmax.wgsl")], [64, 1, 1]),
    ("classify", &[include_str!("../../src/shaders/classify.wgsl")], [64, 1, 1]),
];

#[test]
fn shader_sources_are_valid_wgsl() {
    for (name, files, size) in SHADERS {
        let source = files.concat();
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
        // Without optional capabilities.
        let validated = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
        validated.unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
        let [entry] = &module.entry_points[..] else { panic!("{name} needs one entry point") };
        assert_eq!((entry.name.as_str(), entry.workgroup_size), (name, size));
    }
}

#[test]
fn shader_sources_are_all_validated() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/shaders");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["activation", "classify", "dense", "single", "softmax"]);
}
