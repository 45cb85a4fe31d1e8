use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::compile::{Compilation, Flags, Settings, WITHOUT_PASS};
use crate::error::{BuilderError, describe, install_in_a_line};
use crate::features::Features;
use crate::files::{cannot, canonical, read_text};
use crate::fingerprint::{Fingerprint, FingerprintHasher};
use crate::float_methods::EXTREMES;
use crate::header::Header;
use crate::locked::locked_dependencies;
use crate::manifest::Manifest;
use crate::modules::{Modules, files_of_modules};
use crate::outcome::{Comparison, Origin, Ptx, Rebuilt, debug_file, read_debug, write_both};
use crate::postprocess::{Cluster, LaunchBounds, Postprocessed, postprocess};
use crate::source_names::SourceNames;
use crate::staleness::{FORMAT, Staleness};
use crate::std_methods::std_methods;
use crate::toolchain::{Candidate, Toolchain, find_toolchain, toolchain_candidates};
use crate::{Arch, STALE, STRICT_VARIABLE, UPDATE_VARIABLE, compiling_kernels};

/// Builds PTX from a crate of kernels for one architecture. See the [crate]'s documentation for its
/// use.
///
/// Paths are relative to the current directory. For a build script, that is its package's
/// directory.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    kernel_crate: PathBuf,
    arch: Arch,
    ptx_version: Option<(u32, u32)>,
    fma_contraction: bool,
    is_optimised: bool,
    checks_overflow: bool,
    features: Vec<String>,
    launch_bounds: Vec<LaunchBounds>,
    clusters: Vec<Cluster>,
    /// The kernels that may start before the previous launch has finished.
    dependent: Vec<String>,
    add_to_fingerprint: Vec<PathBuf>,
    has_debug_file: bool,
    committed: Option<Committed>,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    toolchains: Option<Vec<Candidate>>,
    strict: Option<bool>,
    updates: Option<bool>,
}

#[derive(Clone, Debug)]
enum Committed {
    File(PathBuf),
    Directory(PathBuf),
}

impl CudaBuilder {
    /// A builder for the crate in the directory `kernel_crate`, for [`Arch::Sm75`].
    pub fn new(kernel_crate: impl AsRef<Path>) -> Self {
        Self {
            kernel_crate: kernel_crate.as_ref().to_owned(),
            arch: Arch::Sm75,
            ptx_version: None,
            fma_contraction: false,
            is_optimised: true,
            checks_overflow: false,
            features: Vec::new(),
            launch_bounds: Vec::new(),
            clusters: Vec::new(),
            dependent: Vec::new(),
            add_to_fingerprint: Vec::new(),
            has_debug_file: true,
            committed: None,
            copy_to: None,
            target_dir: None,
            toolchains: None,
            strict: None,
            updates: None,
        }
    }

    /// Sets the architecture. Kernels can test for it with `cfg(target_feature = "sm_80")`, which
    /// holds for sm_80 and later.
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// The architecture.
    pub fn target_arch(&self) -> Arch {
        self.arch
    }

    /// Sets a PTX ISA version later than the architecture's first one, such as `(7, 8)`. Drivers
    /// older than that version reject the result.
    pub fn ptx_version(mut self, major: u32, minor: u32) -> Self {
        self.ptx_version = Some((major, minor));
        self
    }

    /// Sets whether a product and a following sum are fused into one operation that rounds once,
    /// like nvcc's `-fmad`, and like Rust-CUDA's builder by default. Off by default: kernels then
    /// give the same bits on a GPU and in the simulator, and `math::fma` marks fused operations
    /// explicitly.
    pub fn fma_contraction(mut self, contracts: bool) -> Self {
        self.fma_contraction = contracts;
        self
    }

    /// Sets whether the compiler optimizes, which is the default. Without optimization, each memory
    /// access in the source becomes an instruction, in source order. The optimizer removes accesses
    /// without effect on the result, even invalid ones, and moves others. Turn it off for
    /// comparisons and debuggers, not for speed.
    pub fn optimised(mut self, optimises: bool) -> Self {
        self.is_optimised = optimises;
        self
    }

    /// Sets whether an integer overflow panics, as in the simulator, or wraps, which is the
    /// default. The checks cost time on a GPU, so use them for tests. See
    /// [Overflow](https://doc.rust-lang.org/reference/expressions/operator-expr.html#overflow) in
    /// the Rust Reference.
    pub fn overflow_checks(mut self, checks: bool) -> Self {
        self.checks_overflow = checks;
        self
    }

    /// Compiles the kernel crate with these features in addition to its default ones. The kernel
    /// crate's own build script does not need to list the features that cargo builds the crate
    /// with: kernels are compiled with the same ones, so all devices run the same code.
    pub fn features<F: AsRef<str>>(mut self, features: impl IntoIterator<Item = F>) -> Self {
        self.features.extend(features.into_iter().map(|feature| feature.as_ref().to_owned()));
        self
    }

    /// Sets a kernel's launch bounds, like CUDA's `__launch_bounds__`: at most `max_threads`
    /// threads per block, and few enough registers for `min_blocks` resident blocks per
    /// multiprocessor (0: no minimum). A launch with more threads fails.
    pub fn launch_bounds(mut self, kernel: &str, max_threads: u32, min_blocks: u32) -> Self {
        self.launch_bounds.push(LaunchBounds { kernel: kernel.to_owned(), max_threads, min_blocks });
        self
    }

    /// Sets a kernel's required cluster size, like CUDA's `__cluster_dims__(blocks)`; for sm_90 and
    /// later. A launch with another size fails.
    pub fn cluster(mut self, kernel: &str, blocks: u32) -> Self {
        self.clusters.push(Cluster { kernel: kernel.to_owned(), blocks });
        self
    }

    /// Lets a launch of a kernel start while the previous launch in its stream is still running,
    /// like CUDA's programmatic dependent launch; for sm_90 and later. The kernel's first
    /// instructions permit the next launch to start, and wait until the previous one has finished.
    /// So only the work before a kernel's first instruction overlaps, and memory accesses never do.
    pub fn dependent_launch(mut self, kernel: &str) -> Self {
        self.dependent.push(kernel.to_owned());
        self
    }

    /// Adds a file or directory to the fingerprint. It already covers the source directories of the
    /// kernel crate and of its path dependencies for the GPU. Build scripts and files outside those
    /// directories are not covered.
    pub fn add_to_fingerprint(mut self, path: impl AsRef<Path>) -> Self {
        self.add_to_fingerprint.push(path.as_ref().to_owned());
        self
    }

    /// Sets whether debug names of functions and variables are written beside the PTX, which is the
    /// default. They take as much space as the PTX.
    pub fn debug_file(mut self, writes: bool) -> Self {
        self.has_debug_file = writes;
        self
    }

    /// Sets the path of the committed PTX.
    pub fn committed(mut self, path: impl AsRef<Path>) -> Self {
        self.committed = Some(Committed::File(path.as_ref().to_owned()));
        self
    }

    /// Sets the directory of the committed PTX. Its file name is then `LIBRARY.ARCH.ptx`, such as
    /// `kernels_gpu.sm_75.ptx`.
    pub fn committed_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.committed = Some(Committed::Directory(path.as_ref().to_owned()));
        self
    }

    /// Also writes the PTX to `path`, whether it is committed or built, and the debug names beside
    /// it.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Sets cargo's target directory for the kernels; the default is `nvptx` in the build script's
    /// OUT_DIR. Several architectures and processes may share it, so crates that do not depend on
    /// the architecture are compiled only once.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the toolchains to try, instead of [`toolchain_candidates`].
    pub fn toolchains(mut self, candidates: Vec<Candidate>) -> Self {
        self.toolchains = Some(candidates);
        self
    }

    /// Sets whether stale PTX without a toolchain is an error. The default comes from
    /// [`STRICT_VARIABLE`].
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = Some(strict);
        self
    }

    /// Sets whether a build also writes newly compiled PTX to the committed path. The default comes
    /// from [`UPDATE_VARIABLE`].
    pub fn update(mut self, updates: bool) -> Self {
        self.updates = Some(updates);
        self
    }

    /// The path of the committed PTX, if one was set.
    ///
    /// # Errors
    /// If the kernel crate's Cargo.toml cannot be read.
    pub fn committed_path(&self) -> Result<Option<PathBuf>, BuilderError> {
        Ok(self.committed_path_of(&Manifest::load(&self.kernel_crate)?))
    }

    /// The fingerprint of the current sources and settings.
    ///
    /// # Errors
    /// If a source or a Cargo.toml cannot be read.
    pub fn fingerprint(&self) -> Result<Fingerprint, BuilderError> {
        self.fingerprint_of(&self.crates()?)
    }

    /// Why a build would not use the committed PTX, or None if it would.
    ///
    /// # Errors
    /// If a source, a Cargo.toml or the committed file cannot be read.
    pub fn staleness(&self) -> Result<Option<Staleness>, BuilderError> {
        let crates = self.crates()?;
        let fingerprint = self.fingerprint_of(&crates)?;
        Ok(self.committed_text(&crates[0], &fingerprint)?.err())
    }

    /// Provides the PTX to a build script: the committed file if it is fresh, otherwise a newly
    /// built one. Prints cargo's `rerun-if-changed` directives, and a warning if a committed file
    /// is stale.
    ///
    /// # Errors
    /// If the committed PTX is stale, there is no toolchain, and the build is strict; if the
    /// kernels do not compile; or if a file cannot be read or written.
    pub fn build(self) -> Result<Ptx, BuilderError> {
        if compiling_kernels() {
            return Err(BuilderError::Recursion);
        }
        let crates = self.crates()?;
        let kernels = &crates[0];
        for directive in self.rerun_directives(&crates) {
            println!("{directive}");
        }
        warn_of_std_methods(kernels)?;
        let fingerprint = self.fingerprint_of(&crates)?;
        let committed = self.committed_path_of(kernels);
        let (text, debug, origin) = match self.committed_text(kernels, &fingerprint)? {
            Ok(text) => {
                let debug = committed.as_deref().map_or(Ok(String::new()), read_debug)?;
                (text, debug, Origin::Committed)
            }
            Err(staleness) => {
                let toolchain = match self.find_toolchain(kernels, Some(&staleness)) {
                    Err(error) if self.is_strict() => return Err(error),
                    Err(_) => return self.stale(kernels, staleness),
                    Ok(toolchain) => toolchain,
                };
                let rebuilt = self.compile(&crates, fingerprint, &toolchain)?;
                let compiler = rebuilt.header.compiler.clone();
                if rebuilt.messages.contains(WITHOUT_PASS) {
                    println!("cargo::warning={}: {WITHOUT_PASS}", kernels.package);
                }
                if let Some(path) = &committed {
                    if self.updates.unwrap_or_else(|| is_one(UPDATE_VARIABLE)) {
                        rebuilt.write_to(path)?;
                    } else {
                        let what = describe(&kernels.package, self.arch, Some(path));
                        println!(
                            "cargo::warning={what}: {staleness}; built with {compiler}. `{UPDATE_VARIABLE}=1 cargo build` refreshes it"
                        );
                    }
                }
                (rebuilt.text(), rebuilt.debug, Origin::Built { staleness, compiler })
            }
        };
        let path = match (&self.copy_to, &origin, committed) {
            (None, Origin::Committed, Some(committed)) => committed,
            _ => self.write(kernels, &text, &debug)?,
        };
        Ok(Ptx { path, arch: self.arch, origin })
    }

    /// Provides a text that explains why there is no PTX, and prints a warning.
    fn stale(&self, kernels: &Manifest, staleness: Staleness) -> Result<Ptx, BuilderError> {
        // Warn once for all architectures.
        static HAS_WARNED: AtomicBool = AtomicBool::new(false);
        if !HAS_WARNED.swap(true, Ordering::Relaxed) {
            println!(
                "cargo::warning={}: the PTX is stale, and no toolchain here can build it: the simulator runs the changed kernels, GPUs \
                 and the PTX interpreter do not. {}",
                kernels.package,
                install_in_a_line()
            );
        }
        let text = format!("{STALE}{staleness}\n");
        Ok(Ptx { path: self.write(kernels, &text, "")?, arch: self.arch, origin: Origin::Stale { staleness } })
    }

    /// Writes the provided files and returns the path of the PTX.
    fn write(&self, kernels: &Manifest, text: &str, debug: &str) -> Result<PathBuf, BuilderError> {
        let path = match &self.copy_to {
            Some(path) => path.clone(),
            None => self.target_directory()?.join(self.file_name(kernels)),
        };
        write_both(&path, text, debug)?;
        Ok(path)
    }

    fn is_strict(&self) -> bool {
        self.strict.unwrap_or_else(|| is_one(STRICT_VARIABLE))
    }

    /// Compiles the kernels, even if the committed PTX is fresh.
    ///
    /// # Errors
    /// If there is no toolchain, the kernels do not compile, or a file cannot be read or written.
    pub fn rebuild(&self) -> Result<Rebuilt, BuilderError> {
        let crates = self.crates()?;
        let kernels = &crates[0];
        let fingerprint = self.fingerprint_of(&crates)?;
        let staleness = self.committed_text(kernels, &fingerprint)?.err();
        let toolchain = self.find_toolchain(kernels, staleness.as_ref())?;
        self.compile(&crates, fingerprint, &toolchain)
    }

    /// Compiles the kernels and compares the result with the committed files, ignoring the
    /// compiler's version.
    ///
    /// # Errors
    /// Same as [`CudaBuilder::rebuild`], and if no committed path was set.
    pub fn check(&self) -> Result<Comparison, BuilderError> {
        let path = self.committed_path()?.ok_or(BuilderError::NoCommittedPath)?;
        if !path.exists() {
            return Ok(Comparison::Missing);
        }
        let committed = read_text(&path)?;
        let rebuilt = self.rebuild()?;
        Ok(Comparison::of(&committed, &read_debug(&path)?, &rebuilt))
    }

    /// The kernel crate, followed by its path dependencies.
    fn crates(&self) -> Result<Vec<Manifest>, BuilderError> {
        let kernels = Manifest::load(&self.kernel_crate)?;
        let dependencies = kernels.path_dependencies()?;
        Ok(std::iter::once(kernels).chain(dependencies).collect())
    }

    fn fingerprint_of(&self, crates: &[Manifest]) -> Result<Fingerprint, BuilderError> {
        let mut hasher = FingerprintHasher::default();
        hasher.field("format", FORMAT.as_bytes());
        hasher.field("arch", self.arch.name().as_bytes());
        hasher.field("flags", self.flags().description().as_bytes());
        let features = Features::of(&crates[0], &self.features);
        for feature in &features.names {
            hasher.field("feature", feature.as_bytes());
        }
        if !features.has_default {
            hasher.field("default features", b"none");
        }
        for LaunchBounds { kernel, max_threads, min_blocks } in &self.launch_bounds {
            hasher.field("launch bounds", format!("{kernel} {max_threads} {min_blocks}").as_bytes());
        }
        for Cluster { kernel, blocks } in &self.clusters {
            hasher.field("cluster", format!("{kernel} {blocks}").as_bytes());
        }
        for kernel in &self.dependent {
            hasher.field("dependent launch", kernel.as_bytes());
        }
        let programs = crates.iter().flat_map(Manifest::files_of_programs);
        let skipped = crates.iter().flat_map(Manifest::host_only).chain(programs).map(|path| canonical(&path));
        let skipped = skipped.collect::<Result<Vec<_>, _>>()?;
        for found in crates {
            hasher.source_crate(found, &skipped)?;
        }
        let locked = locked_dependencies(crates)?;
        if !locked.is_empty() {
            hasher.field("locked", locked.as_bytes());
        }
        for path in &self.add_to_fingerprint {
            hasher.path(path)?;
        }
        Ok(hasher.finish())
    }

    fn flags(&self) -> Flags {
        Flags::new(Settings {
            arch: self.arch,
            ptx_version: self.ptx_version,
            contracts: self.fma_contraction,
            optimises: self.is_optimised,
            checks_overflow: self.checks_overflow,
        })
    }

    fn file_name(&self, kernels: &Manifest) -> String {
        format!("{}.{}.ptx", kernels.library(), self.arch)
    }

    fn committed_path_of(&self, kernels: &Manifest) -> Option<PathBuf> {
        match self.committed.as_ref()? {
            Committed::File(path) => Some(path.clone()),
            Committed::Directory(directory) => Some(directory.join(self.file_name(kernels))),
        }
    }

    /// The committed PTX if it is fresh, otherwise the reason why it is not.
    fn committed_text(
        &self,
        kernels: &Manifest,
        fingerprint: &Fingerprint,
    ) -> Result<Result<String, Staleness>, BuilderError> {
        let Some(path) = self.committed_path_of(kernels) else { return Ok(Err(Staleness::NotCommitted)) };
        if !path.exists() {
            return Ok(Err(Staleness::Missing));
        }
        let text = read_text(&path)?;
        Ok(match Header::staleness(&text, fingerprint) {
            Some(staleness) => Err(staleness),
            None => Ok(text),
        })
    }

    fn find_toolchain(&self, kernels: &Manifest, staleness: Option<&Staleness>) -> Result<Toolchain, BuilderError> {
        let candidates = self.toolchains.clone().unwrap_or_else(toolchain_candidates);
        find_toolchain(&candidates, self.arch, &kernels.directory).map_err(|refusals| BuilderError::NoToolchain {
            package: kernels.package.clone(),
            arch: self.arch,
            committed: self.committed_path_of(kernels),
            staleness: staleness.cloned(),
            refusals,
        })
    }

    fn target_directory(&self) -> Result<PathBuf, BuilderError> {
        let in_out_dir = || std::env::var_os("OUT_DIR").map(|out_dir| Path::new(&out_dir).join("nvptx"));
        let directory = self.target_dir.clone().or_else(in_out_dir).ok_or(BuilderError::NoTargetDirectory)?;
        // The path must be absolute, because the compilation runs in another directory.
        std::path::absolute(&directory).map_err(cannot("find", &directory))
    }

    fn compile(
        &self,
        crates: &[Manifest],
        fingerprint: Fingerprint,
        toolchain: &Toolchain,
    ) -> Result<Rebuilt, BuilderError> {
        let kernels = &crates[0];
        let target_directory = self.target_directory()?;
        let names = SourceNames::new(crates)?;
        let compilation = Compilation {
            kernels,
            arch: self.arch,
            flags: self.flags(),
            features: &Features::of(kernels, &self.features),
            names: &names,
            target_directory: &target_directory,
        };
        let compiled = compilation.run(toolchain)?;
        let processed = postprocess(
            &compiled.text,
            compiled.ir.as_deref(),
            &names,
            &self.launch_bounds,
            &self.clusters,
            &self.dependent,
        )?;
        let Postprocessed { ptx: body, debug } = processed;
        let debug = if self.has_debug_file { debug } else { String::new() };
        let header = Header::new(&kernels.package, self.arch, fingerprint, &toolchain.compiler, &body);
        Ok(Rebuilt { header, body, debug, messages: compiled.messages })
    }

    /// The directives that tell cargo when to rerun the build script. Missing paths are omitted,
    /// because cargo would rerun the script every time.
    fn rerun_directives(&self, crates: &[Manifest]) -> Vec<String> {
        let sources = crates.iter().flat_map(|found| [Some(found.path()), Some(found.source_directory())]);
        let workspaces = crates.iter().map(Manifest::workspace_path);
        // If the committed file does not exist yet, watch its directory or that directory's parent.
        let committed = self.committed_path_of(&crates[0]).and_then(|path| std::path::absolute(path).ok());
        let committed =
            committed.and_then(|path| path.ancestors().take(3).find(|path| path.exists()).map(Path::to_owned));
        let also = self.add_to_fingerprint.iter().cloned().map(Some);
        let debug = committed.as_deref().map(debug_file);
        let lock = Some(crates[0].lock_path());
        let mut paths: Vec<_> =
            sources.chain(workspaces).chain([lock, committed, debug]).chain(also).flatten().collect();
        paths.retain(|path| fs::exists(path).unwrap_or(false));
        paths.sort();
        paths.dedup();
        let changed = paths.into_iter().map(|path| format!("cargo::rerun-if-changed={}", path.display()));
        let variables = [Candidate::RUSTC_VARIABLE, Candidate::CARGO_VARIABLE, STRICT_VARIABLE, UPDATE_VARIABLE];
        changed.chain(variables.map(|name| format!("cargo::rerun-if-env-changed={name}"))).collect()
    }
}

fn is_one(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// Warns about float methods that exist on the host but not on a GPU: once for all architectures,
/// and also without a toolchain.
fn warn_of_std_methods(kernels: &Manifest) -> Result<(), BuilderError> {
    static HAS_WARNED: AtomicBool = AtomicBool::new(false);
    if HAS_WARNED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    for warning in std_method_warnings(kernels)? {
        println!("cargo::warning={warning}");
    }
    Ok(())
}

/// A warning for each call of such a method in the source files of the kernels' library.
fn std_method_warnings(kernels: &Manifest) -> Result<Vec<String>, BuilderError> {
    let skipped: Vec<PathBuf> = kernels.host_only().iter().map(|path| canonical(path)).collect::<Result<_, _>>()?;
    let mut warnings = Vec::new();
    for path in files_of_modules(&kernels.library_path(), Modules::OfKernels) {
        let found = canonical(&path)?;
        if skipped.iter().any(|skipped| found.starts_with(skipped)) {
            continue;
        }
        let name = path.strip_prefix(&kernels.directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        warnings.extend(std_methods(&read_text(&path)?).into_iter().map(|(line, method)| {
            let (difference, call) = match EXTREMES.contains(&method) {
                true => ("may return either of 0 and −0 on the host", format!("{method}(x, y)")),
                false => (
                    "is the method of `std` on the host, whose last bits differ, and missing on a GPU",
                    format!("{method}(x)"),
                ),
            };
            format!(
                "{name}:{line}: of a float, `{method}` {difference}: write `GpuFloat::{call}`, by \
                 `use cuda_std::math::GpuFloat;`"
            )
        }));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace_file;

    #[test]
    fn only_what_the_kernels_library_is_compiled_from_has_warnings() {
        let directory = tempfile::tempdir().unwrap();
        let function = "pub fn f(x: f32) -> f32 { x.sin() }\n";
        for (name, text) in [
            ("Cargo.toml", "[package]\nname = \"k\"\n[[bin]]\nname = \"other\"\npath = \"src/other.rs\"\n"),
            ("src/lib.rs", "mod waves;\n#[cfg(any(test, not(target_arch = \"nvptx64\")))]\nmod reference;\n"),
            ("src/waves.rs", function),
            ("src/reference.rs", function),
            ("src/main.rs", &format!("mod arguments;\n{function}")),
            ("src/arguments.rs", function),
            ("src/other.rs", function),
            ("src/bin/tool.rs", function),
            ("examples/example.rs", function),
            ("tests/test.rs", function),
        ] {
            replace_file(&directory.path().join(name), text).unwrap();
        }
        let kernels = Manifest::load(directory.path()).unwrap();
        let warnings = std_method_warnings(&kernels).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("src/waves.rs:1: of a float, `sin` is the method of `std`"), "{warnings:?}");
    }
}
