//! Lookup of functions by name and version.

use std::ffi::{c_int, c_void};

use super::{arrays, contexts, export, images, launches, memory, modules, streams, unsupported};
use crate::abi::{Out, Text};
use crate::error::{Error, Result};

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD_STREAM: u64 = 2;

/// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`, `CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT`.
const NOT_FOUND: c_int = 1;
const TOO_OLD: c_int = 2;

/// Functions with changed parameters: the name that programs ask for, and the function that it
/// means from each CUDA version on (cudaTypedefs.h).
const VERSIONS: &[(&str, &[(c_int, &str)])] = &[
    ("cuCtxCreate", &[(2000, "cuCtxCreate_v2"), (11040, "cuCtxCreate_v3"), (12050, "cuCtxCreate_v4")]),
    ("cuCtxGetDevice", &[(2000, "cuCtxGetDevice"), (13000, "cuCtxGetDevice_v2")]),
    ("cuCtxSynchronize", &[(2000, "cuCtxSynchronize"), (13000, "cuCtxSynchronize_v2")]),
    ("cuGetProcAddress", &[(11030, "cuGetProcAddress"), (12000, "cuGetProcAddress_v2")]),
    ("cuGraphAddDependencies", &[(10000, "cuGraphAddDependencies"), (12030, "cuGraphAddDependencies_v2")]),
    ("cuGraphAddKernelNode", &[(10000, "cuGraphAddKernelNode"), (12000, "cuGraphAddKernelNode_v2")]),
    ("cuGraphAddNode", &[(12020, "cuGraphAddNode"), (12030, "cuGraphAddNode_v2")]),
    (
        "cuGraphExecKernelNodeSetParams",
        &[(10010, "cuGraphExecKernelNodeSetParams"), (12000, "cuGraphExecKernelNodeSetParams_v2")],
    ),
    ("cuGraphExecUpdate", &[(10020, "cuGraphExecUpdate"), (12000, "cuGraphExecUpdate_v2")]),
    ("cuGraphGetEdges", &[(10000, "cuGraphGetEdges"), (12030, "cuGraphGetEdges_v2")]),
    ("cuGraphInstantiate", &[(10000, "cuGraphInstantiate_v2"), (12000, "cuGraphInstantiateWithFlags")]),
    ("cuGraphKernelNodeGetParams", &[(10000, "cuGraphKernelNodeGetParams"), (12000, "cuGraphKernelNodeGetParams_v2")]),
    ("cuGraphKernelNodeSetParams", &[(10000, "cuGraphKernelNodeSetParams"), (12000, "cuGraphKernelNodeSetParams_v2")]),
    ("cuGraphNodeGetDependencies", &[(10000, "cuGraphNodeGetDependencies"), (12030, "cuGraphNodeGetDependencies_v2")]),
    (
        "cuGraphNodeGetDependentNodes",
        &[(10000, "cuGraphNodeGetDependentNodes"), (12030, "cuGraphNodeGetDependentNodes_v2")],
    ),
    ("cuGraphRemoveDependencies", &[(10000, "cuGraphRemoveDependencies"), (12030, "cuGraphRemoveDependencies_v2")]),
    ("cuLaunchHostFunc", &[(10000, "cuLaunchHostFunc"), (13010, "cuLaunchHostFunc_v2")]),
    ("cuMemAdvise", &[(8000, "cuMemAdvise"), (12020, "cuMemAdvise_v2")]),
    ("cuMemPrefetchAsync", &[(8000, "cuMemPrefetchAsync"), (12020, "cuMemPrefetchAsync_v2")]),
    ("cuMemcpyBatchAsync", &[(12080, "cuMemcpyBatchAsync"), (13000, "cuMemcpyBatchAsync_v2")]),
    ("cuStreamBeginCapture", &[(10000, "cuStreamBeginCapture"), (10010, "cuStreamBeginCapture_v2")]),
    (
        "cuStreamGetCaptureInfo",
        &[
            (10010, "cuStreamGetCaptureInfo"),
            (11030, "cuStreamGetCaptureInfo_v2"),
            (12030, "cuStreamGetCaptureInfo_v3"),
        ],
    ),
    ("cuStreamGetCtx", &[(9020, "cuStreamGetCtx"), (12050, "cuStreamGetCtx_v2")]),
    (
        "cuStreamUpdateCaptureDependencies",
        &[(11030, "cuStreamUpdateCaptureDependencies"), (12030, "cuStreamUpdateCaptureDependencies_v2")],
    ),
];

export! {
    fn cuGetProcAddress(name: Text, function: Out<*const c_void>, version: c_int, flags: u64) =>
        look_up(name, function, version, flags, None);
    fn cuGetProcAddress_v2(
        name: Text, function: Out<*const c_void>, version: c_int, flags: u64, status: Out<c_int>,
    ) => look_up(name, function, version, flags, Some(status));
}

/// Names of the functions that behave as in NVIDIA's driver, by group.
pub const IMPLEMENTED: [&[&str]; 8] = [
    contexts::NAMES,
    memory::NAMES,
    arrays::NAMES,
    images::NAMES,
    modules::NAMES,
    launches::NAMES,
    streams::NAMES,
    NAMES,
];

/// Address of the exported function with exactly this name. For an unsupported function, a stub
/// that reports this.
pub fn address_of(name: &str) -> Option<*const c_void> {
    let groups = [
        contexts::address,
        memory::address,
        arrays::address,
        images::address,
        modules::address,
        launches::address,
        streams::address,
        address,
    ];
    groups.into_iter().find_map(|group| group(name)).or_else(|| unsupported::address(name))
}

pub(super) fn look_up(
    name: Text,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
    status: Option<Out<c_int>>,
) -> Result {
    let name = name.get()?;
    let (found, outcome) = match find(&name, version, flags & PER_THREAD_STREAM != 0) {
        Ok(found) => (found, 0),
        Err(outcome) => (std::ptr::null(), outcome),
    };
    function.set(found)?;
    if let Some(status) = status {
        status.set_if_wanted(outcome);
    }
    if outcome == 0 { Ok(()) } else { Err(Error::NOT_FOUND) }
}

fn find(name: &str, version: c_int, per_thread: bool) -> std::result::Result<*const c_void, c_int> {
    let exact = match VERSIONS.iter().find(|(known, _)| *known == name) {
        Some((_, versions)) => {
            let newest = versions.iter().rev().find(|(since, _)| *since <= version);
            newest.ok_or(TOO_OLD)?.1.to_owned()
        }
        // For the others, the second version has 64-bit pointers and sizes, like every program
        // here.
        None if address_of(&format!("{name}_v2")).is_some() => format!("{name}_v2"),
        None => name.to_owned(),
    };
    let of_thread = ["_ptsz", "_ptds"].map(|suffix| format!("{exact}{suffix}"));
    let of_thread = of_thread.iter().filter(|_| per_thread).find_map(|name| address_of(name));
    of_thread.or_else(|| address_of(&exact)).ok_or(NOT_FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_function_of_the_callers_version() {
        let found = |name, version| find(name, version, false).map(|address| Some(address as usize));
        let exact = |name| Ok(address_of(name).map(|address| address as usize));
        assert_eq!(found("cuMemAlloc", 2000), exact("cuMemAlloc_v2"));
        assert_eq!(found("cuInit", 2000), exact("cuInit"));
        assert_eq!(found("cuCtxCreate", 12_000), exact("cuCtxCreate_v3"));
        assert_eq!(found("cuCtxCreate", 13_000), exact("cuCtxCreate_v4"));
        assert_eq!(found("cuCtxSynchronize", 12_090), exact("cuCtxSynchronize"));
        assert_eq!(found("cuStreamGetCtx", 9000), Err(TOO_OLD));
        assert_eq!(found("cuNoSuchFunction", 13_000), Err(NOT_FOUND));
    }

    #[test]
    fn every_version_is_exported() {
        for (name, versions) in VERSIONS {
            for (_, exact) in *versions {
                assert!(address_of(exact).is_some(), "{name}: {exact}");
            }
        }
    }

    #[test]
    fn functions_of_a_threads_default_stream_are_found() {
        let address = address_of("cuMemcpyAsync_ptsz").unwrap() as usize;
        assert_eq!(find("cuMemcpyAsync", 13_000, true).map(|address| address as usize), Ok(address));
        assert!(find("cuMemcpyHtoD", 13_000, true).is_ok());
        assert!(find("cuMemAlloc", 13_000, true).is_ok());
    }
}
