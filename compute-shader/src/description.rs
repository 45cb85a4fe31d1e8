//! One-line descriptions of adapters.

use wgpu::{AdapterInfo, DeviceType};

/// The adapter's name, kind, back end and driver.
pub(crate) fn describe(info: &AdapterInfo) -> String {
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Other => "unknown kind",
        DeviceType::Cpu => "software, runs on the CPU",
    };
    let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
    let driver = if driver.trim().is_empty() { String::new() } else { format!(", {}", driver.trim()) };
    format!("{} ({kind}, {}{driver})", info.name, info.backend)
}
