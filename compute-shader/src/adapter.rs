//! Adapters (GPUs and software implementations): search, choice, opening a device, and errors.

use std::sync::{Arc, Mutex, PoisonError};

use wgpu::{Backend, Backends, DeviceType};

use crate::ShaderError;
use crate::description::describe;

/// The environment variable that restricts wgpu's search.
const BACKEND_VARIABLE: &str = "WGPU_BACKEND";

/// An open device with its queue, and the first error that it reported.
#[derive(Debug)]
pub struct Gpu {
    info: wgpu::AdapterInfo,
    has_timestamps: bool,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    failure: Arc<Mutex<Option<ShaderError>>>,
}

impl Gpu {
    /// Opens the adapter that has `wanted` in its name, driver or back end, ignoring case.
    /// `software` means one that runs on the CPU. Without `wanted`, opens the best one: a discrete
    /// GPU, otherwise an integrated one, otherwise a software adapter.
    ///
    /// The environment variable `WGPU_BACKEND` (`vulkan`, `gl`, `dx12`, `metal`) and the driver's
    /// own variables restrict the search.
    ///
    /// # Errors
    /// If `WGPU_BACKEND` has an unknown name, no adapter is found, none matches `wanted`, or the
    /// chosen one cannot be opened.
    pub fn open(wanted: Option<&str>) -> Result<Self, ShaderError> {
        let variable = std::env::var(BACKEND_VARIABLE).ok();
        // wgpu ignores unknown names.
        if let Some(name) =
            variable.iter().flat_map(|names| names.split(',')).find(|name| Backends::from_comma_list(name).is_empty())
        {
            return Err(ShaderError::UnknownBackend { name: name.trim().to_owned() });
        }
        let asked_for = wgpu::InstanceDescriptor::new_without_display_handle_from_env().backends;
        // OpenGL comes last: enumerating it prints warnings on systems without a display.
        let (mut all, mut usable) = (Vec::new(), Vec::new());
        for backends in [asked_for & !Backends::GL, asked_for & Backends::GL] {
            let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
            descriptor.backends = backends;
            descriptor.flags.remove(wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG);
            let instance = wgpu::Instance::new(descriptor);
            let found = pollster::block_on(instance.enumerate_adapters(backends));
            usable.extend(found.iter().filter(|adapter| runs_compute(adapter)).cloned());
            all.extend(found);
            if usable.iter().any(|adapter| wanted.is_none_or(|wanted| is_called(&adapter.get_info(), wanted))) {
                break;
            }
        }
        if usable.is_empty() {
            let unfit: Vec<String> = all.iter().map(|adapter| describe(&adapter.get_info())).collect();
            let reason = match (unfit.is_empty(), &variable) {
                (true, Some(names)) => {
                    format!("{BACKEND_VARIABLE}={names} restricts the search: unset it to search all")
                }
                (true, None) => "neither Vulkan, Metal, DirectX 12 nor OpenGL found one".to_owned(),
                (false, _) => format!("there are: {}", unfit.join("; ")),
            };
            return Err(ShaderError::NoAdapter { reason });
        }
        usable.sort_by_key(|adapter| rank(&adapter.get_info()));
        let chosen = match wanted {
            None => usable.first(),
            Some(wanted) => usable.iter().find(|adapter| is_called(&adapter.get_info(), wanted)),
        };
        match (chosen, wanted) {
            (Some(adapter), _) => Self::open_adapter(adapter),
            (None, wanted) => Err(ShaderError::NoSuchAdapter {
                wanted: wanted.unwrap_or_default().to_owned(),
                found: usable.iter().map(wgpu::Adapter::get_info).collect(),
            }),
        }
    }

    fn open_adapter(adapter: &wgpu::Adapter) -> Result<Self, ShaderError> {
        let info = adapter.get_info();
        let has_timestamps = adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        let descriptor = wgpu::DeviceDescriptor {
            required_features: if has_timestamps { wgpu::Features::TIMESTAMP_QUERY } else { wgpu::Features::empty() },
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) =
            opened.map_err(|error| ShaderError::Open { adapter: describe(&info), reason: error.to_string() })?;
        // Without these callbacks, wgpu panics on a device error.
        let failure = Arc::new(Mutex::new(None));
        let first = Arc::clone(&failure);
        device.on_uncaptured_error(Arc::new(move |error| remember(&first, to_shader_error(error))));
        let first = Arc::clone(&failure);
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed || !message.is_empty() {
                remember(&first, ShaderError::Lost { reason: message });
            }
        });
        Ok(Self { info, has_timestamps, device, queue, failure })
    }

    /// The adapter's name, kind, driver and back end on one line. A software adapter is marked as such.
    pub fn description(&self) -> String {
        describe(&self.info)
    }

    /// The adapter's name, as its driver reports it.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Whether the adapter is a software implementation on the CPU.
    pub fn is_software(&self) -> bool {
        self.info.device_type == DeviceType::Cpu
    }

    /// Whether the adapter has timestamp queries.
    pub fn has_timestamps(&self) -> bool {
        self.has_timestamps
    }

    /// The maximum size of a storage buffer binding, in bytes.
    pub(crate) fn max_binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// The maximum number of workgroups of a launch in one dimension.
    pub(crate) fn max_workgroups(&self) -> u32 {
        self.device.limits().max_compute_workgroups_per_dimension
    }

    /// Waits for all submitted work.
    ///
    /// # Errors
    /// The device's first error so far.
    pub(crate) fn wait(&self) -> Result<(), ShaderError> {
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check()?;
        polled.map(|_| ()).map_err(|error| ShaderError::Lost { reason: error.to_string() })
    }

    /// Returns the device's first error so far, if there is one.
    pub(crate) fn check(&self) -> Result<(), ShaderError> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone().map_or(Ok(()), Err)
    }

    /// Destroys the device like a driver reset, for tests. Every later operation fails with
    /// [`ShaderError::Lost`].
    pub fn lose(&self) {
        self.device.destroy();
        remember(&self.failure, ShaderError::Lost { reason: "it was destroyed".to_owned() });
    }
}

/// Keeps the first error. Later errors are consequences of it.
fn remember(first: &Mutex<Option<ShaderError>>, failure: ShaderError) {
    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
}

fn to_shader_error(error: wgpu::Error) -> ShaderError {
    let reason = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    match error {
        wgpu::Error::OutOfMemory { .. } => ShaderError::OutOfMemory { reason },
        wgpu::Error::Validation { .. } | wgpu::Error::Internal { .. } => ShaderError::Rejected { reason },
    }
}

fn runs_compute(adapter: &wgpu::Adapter) -> bool {
    let limits = adapter.limits();
    let capabilities = adapter.get_downlevel_capabilities();
    capabilities.flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        && limits.max_compute_invocations_per_workgroup >= 256
        && limits.max_storage_buffers_per_shader_stage >= 5
}

/// Sort key of an adapter: GPUs before software, then native back ends before OpenGL.
fn rank(info: &wgpu::AdapterInfo) -> (u8, u8) {
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    };
    (kind, u8::from(info.backend == Backend::Gl))
}

fn is_called(info: &wgpu::AdapterInfo, wanted: &str) -> bool {
    let wanted = wanted.to_lowercase();
    let texts =
        [&info.name, &info.driver, &info.driver_info, &info.backend.to_string()].map(|text| text.to_lowercase());
    texts.iter().any(|text| text.contains(&wanted)) || (wanted == "software" && info.device_type == DeviceType::Cpu)
}
