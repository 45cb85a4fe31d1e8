//! Source locations from the metadata in LLVM IR.

/// Source line and column, each 0 if unknown.
pub(crate) type Place = (u32, u32);

/// The number of the metadata with an instruction's location, `…, !dbg !7`.
pub(crate) fn location_of(instruction: &str) -> Option<u32> {
    number(instruction, "!dbg !")
}

/// The line that defines a metadata number.
pub(crate) fn metadata(ir: &str, number: u32) -> Option<&str> {
    let start = ir.find(&format!("\n!{number} = "))? + 1;
    ir[start..].lines().next()
}

/// The location in a `DILocation`; None if the compiler did not keep it.
pub(crate) fn place(location: &str) -> Option<Place> {
    let line = number(location, "line: ").filter(|&line| line > 0)?;
    Some((line, number(location, "column: ").unwrap_or(0)))
}

/// `FILE:LINE` for the metadata numbered `location`. `name_of_file` names a source file.
pub(crate) fn place_in_source(ir: &str, location: u32, name_of_file: &dyn Fn(&str) -> String) -> Option<String> {
    let location = metadata(ir, location)?;
    let (line, _) = place(location)?;
    let scope = metadata(ir, number(location, "scope: !")?)?;
    let file = metadata(ir, number(scope, "file: !")?)?;
    let (name, directory) = (text(file, "filename: \"")?, text(file, "directory: \"").unwrap_or_default());
    let path = if name.starts_with('/') { name.to_owned() } else { format!("{directory}/{name}") };
    Some(format!("{}:{line}", name_of_file(&path)))
}

/// The distinct locations of conversions from floats to 128-bit integers, which a GPU does not
/// support.
pub(crate) fn wide_conversions(ir: &str, name_of_file: &dyn Fn(&str) -> String) -> Vec<String> {
    let converts =
        |line: &&str| ["@llvm.fptoui.sat.i128.", "@llvm.fptosi.sat.i128."].iter().any(|name| line.contains(name));
    let calls = ir.lines().filter(|line| !line.starts_with("declare ")).filter(converts);
    let mut places: Vec<String> =
        calls.filter_map(|line| place_in_source(ir, location_of(line)?, name_of_file)).collect();
    let mut seen = std::collections::BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

fn number(metadata: &str, key: &str) -> Option<u32> {
    let (_, rest) = metadata.split_once(key)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn text<'a>(metadata: &'a str, key: &str) -> Option<&'a str> {
    metadata.split_once(key)?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_conversion_has_the_place_of_its_call() {
        let ir = "\
define ptx_kernel void @k(double %x) {
  %a = tail call i128 @llvm.fptoui.sat.i128.f64(double %x), !dbg !5
  %b = call i128 @llvm.fptosi.sat.i128.f32(float %y), !dbg !6
  %c = call i128 @llvm.fptosi.sat.i128.f32(float %y), !dbg !6
  %d = call i64 @llvm.fptosi.sat.i64.f32(float %y), !dbg !5
}
declare i128 @llvm.fptoui.sat.i128.f64(double)
!2 = !DIFile(filename: \"src/lib.rs\", directory: \"/k\")
!3 = distinct !DISubprogram(name: \"k\", file: !2, line: 3)
!5 = !DILocation(line: 7, column: 9, scope: !3)
!6 = !DILocation(line: 8, column: 9, scope: !3, inlinedAt: !5)
";
        assert_eq!(wide_conversions(ir, &str::to_owned), ["/k/src/lib.rs:7", "/k/src/lib.rs:8"]);
    }
}
