//! Accesses through texture and surface objects.
//!
//! A fetch reads through a cache that may miss the kernel's writes, so the race detector treats it
//! as a read-only load. Surface loads and stores are plain accesses.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::LaneAddresses;
use super::lanes::{groups, lanes_of};
use super::options::Uninitialised;
use super::resolve::{Request, WarpAccess};
use super::warp::Warp;
use crate::memory::{Coordinates, Footprint, Format, ImageError, Texel, Texture};
use crate::program::image::{Fetch, ImageAccess, ImagePlace, ImageQuery, Queried, SurfaceAccess};
use crate::program::instruction::{MemoryOrdering, Register};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;

/// A lane's texture, and the texels that it reads.
struct LaneFetch<'a> {
    texture: &'a Texture,
    texels: Vec<Texel>,
    /// The texels read so far: their bytes (`None` for the border) and weights.
    read: Vec<(Option<[u8; 16]>, u32)>,
}

/// Unwritten memory that an access has read.
struct Unwritten {
    /// For each destination, the bits of each lane.
    bits: Vec<Lanes>,
    /// For each lane, the error to report when the bits are used.
    of_lanes: Vec<(u8, FaultKind)>,
}

impl Unwritten {
    fn new(destinations: usize) -> Self {
        Self { bits: vec![[0; LANES]; destinations], of_lanes: Vec::new() }
    }

    /// Records an error of a lane, unless the lane already has one.
    fn note(&mut self, lane: usize, kind: impl FnOnce() -> Option<FaultKind>) {
        if self.of_lanes.iter().all(|(other, _)| usize::from(*other) != lane)
            && let Some(kind) = kind()
        {
            self.of_lanes.push((lane as u8, kind));
        }
    }

    /// # Errors
    /// The first lane's error, if the options make a read of such bytes an error.
    fn check(&self, option: Uninitialised) -> Result<(), Failure> {
        match self.of_lanes.iter().min_by_key(|(lane, _)| *lane) {
            Some((lane, kind)) if option == Uninitialised::Error => Err(Failure::at((*lane).into(), kind.clone())),
            _ => Ok(()),
        }
    }
}

fn failure(lane: usize, access: Access, error: ImageError) -> Failure {
    Failure::at(lane, FaultKind::Access { access, error: error.into() })
}

impl Warp {
    pub(super) fn access_image(
        &mut self,
        pc: usize,
        access: &ImageAccess,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        match access {
            ImageAccess::Fetch(fetch) => self.fetch(pc, (fetch, None), active, context),
            ImageAccess::Gather { fetch, channel } => self.fetch(pc, (fetch, Some(*channel)), active, context),
            ImageAccess::Load(load) => self.load_surface(pc, load, active, context),
            ImageAccess::Store(store) => self.store_surface(pc, store, active, context),
            ImageAccess::Query(query) => self.query_image(query, active, context),
        }
    }

    /// Fetches texels, or gathers a channel.
    fn fetch(
        &mut self,
        pc: usize,
        (fetch, gathered): (&Fetch, Option<usize>),
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let objects = context.launch.view.image_objects();
        let mut lanes: [Option<LaneFetch<'_>>; LANES] = [const { None }; LANES];
        for lane in lanes_of(active) {
            let handle = self.registers[fetch.place.object as usize][lane];
            let found = objects.texture(handle).and_then(|texture| {
                let texels = self.texels(texture, fetch, gathered.is_some(), lane)?;
                Ok(LaneFetch { texture, texels, read: Vec::new() })
            });
            lanes[lane] = Some(found.map_err(|error| failure(lane, Access::Read, error))?);
        }
        let mut unwritten = Unwritten::new(4);
        for slot in 0..Footprint::MAX {
            self.read_texels(pc, slot, &mut lanes, gathered, &mut unwritten, context)?;
        }
        unwritten.check(context.launch.options.uninitialised)?;
        let mut values = [[0; LANES]; 4];
        for (lane, fetched) in lanes.iter().enumerate() {
            let Some(LaneFetch { texture, read, .. }) = fetched else { continue };
            let registers = match gathered {
                None => texture.filtered(read),
                Some(channel) => std::array::from_fn(|texel| {
                    read.get(texel).map_or(0, |(texel, _)| texture.channel(texel.as_ref(), channel))
                }),
            };
            values.iter_mut().zip(registers).for_each(|(values, register)| values[lane] = register.into());
        }
        for (destination, values) in fetch.destinations.iter().zip(&values) {
            if let Some(destination) = destination {
                self.write(*destination, values, active);
            }
        }
        let is_computed = lanes.iter().flatten().any(|lane| lane.texels.len() > 1) && gathered.is_none();
        self.track_unwritten(pc, &fetch.destinations, is_computed, unwritten, context);
        Ok(())
    }

    /// The texels of a lane's fetch.
    fn texels(&self, texture: &Texture, fetch: &Fetch, gathers: bool, lane: usize) -> Result<Vec<Texel>, ImageError> {
        let ImagePlace { geometry, layer, at, .. } = fetch.place;
        let layer = layer.map_or(0, |layer| self.registers[layer as usize][lane] as u32);
        let at = at.map(|register| self.registers[register as usize][lane] as u32);
        let floats = at.map(f32::from_bits);
        if gathers {
            return Ok(texture.around(geometry, layer, floats)?.map(|place| Texel { place, weight: 1 }).to_vec());
        }
        let at = match fetch.is_float {
            true => Coordinates::Floats(floats),
            false => Coordinates::Integers(at.map(|bits| bits as i32)),
        };
        Ok(texture.footprint(geometry, layer, at)?.texels().to_vec())
    }

    /// Reads texel number `slot` of each lane's fetch.
    fn read_texels(
        &self,
        pc: usize,
        slot: usize,
        lanes: &mut [Option<LaneFetch<'_>>; LANES],
        gathered: Option<usize>,
        unwritten: &mut Unwritten,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (mut addresses, mut sizes, mut inside) = ([0; LANES], [0; LANES], 0);
        for (lane, fetched) in lanes.iter_mut().enumerate() {
            let Some((fetched, Texel { place, weight })) =
                fetched.as_mut().and_then(|fetched| fetched.texels.get(slot).copied().map(|texel| (fetched, texel)))
            else {
                continue;
            };
            match place {
                None => fetched.read.push((None, weight)),
                Some(place) => {
                    let image = fetched.texture.image();
                    (addresses[lane], sizes[lane]) = (image.address(place), image.format().bytes());
                    inside |= 1 << lane;
                }
            }
        }
        let ordering = MemoryOrdering { read_only: true, ..MemoryOrdering::default() };
        for (bytes, same_size) in groups(inside, |lane| sizes[lane]) {
            let request = Request { ordering, ..Request::plain(pc, bytes, Access::Read) };
            let resolved = self.resolve_image(request, &addresses, same_size, context)?;
            for lane in lanes_of(same_size) {
                let Some(fetched) = &mut lanes[lane] else { continue };
                let (memory, offset) = resolved.at(lane);
                let region = context.region(memory, self);
                let mut texel = [0; 16];
                region.read(offset, &mut texel[..bytes]);
                let missing = region.unwritten(offset, bytes);
                if missing != 0 {
                    let kind = |error| FaultKind::Access { access: Access::Read, error };
                    unwritten.note(lane, || context.first_uninitialised(self, (memory, offset), bytes).map(kind));
                    for (destination, bits) in unwritten.bits.iter_mut().enumerate() {
                        let is_of = |channel: usize| {
                            gathered.map_or(channel == destination, |of| of == channel && slot == destination)
                        };
                        let format = fetched.texture.image().format();
                        if (0..format.channels()).any(|channel| is_of(channel) && misses(format, channel, missing)) {
                            bits[lane] = u32::MAX.into();
                        }
                    }
                }
                let weight = fetched.texels[slot].weight;
                fetched.read.push((Some(texel), weight));
            }
        }
        Ok(())
    }

    /// Resolves, checks and records the lanes' access to an image. Uninitialized bytes are not an
    /// error yet.
    fn resolve_image(
        &self,
        request: Request<'_>,
        addresses: &Lanes,
        lanes: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        let mut resolved = LaneAddresses::unresolved();
        let access = WarpAccess { space: Space::Global, block: None, request };
        context.reading_uninitialised(true, |context| {
            self.resolve_lanes(access, addresses, lanes, &mut resolved, context)
        })?;
        self.record_lanes(request, lanes, &resolved, context)?;
        Ok(resolved)
    }

    /// Addresses of the bytes that lanes access, and the mask of lanes that access any.
    fn surface_addresses(
        &self,
        surface: &SurfaceAccess,
        access: Access,
        active: u32,
        context: &Context<'_>,
    ) -> Result<(Lanes, u32), Failure> {
        let objects = context.launch.view.image_objects();
        let ImagePlace { object, geometry, layer, at } = surface.place;
        let bytes = surface.bytes * surface.registers.len();
        let (mut addresses, mut inside) = ([0; LANES], 0);
        for lane in lanes_of(active) {
            let value = |register: Register| i64::from(self.registers[register as usize][lane] as i32);
            let [x, y, z] = at.map(value);
            let place = match (layer, geometry.dimensions()) {
                // A layer is unsigned.
                (Some(layer), dimensions) => {
                    let layer = i64::from(self.registers[layer as usize][lane] as u32);
                    [x, if dimensions > 1 { y } else { 0 }, layer]
                }
                (None, 1) => [x, 0, 0],
                (None, 2) => [x, y, 0],
                (None, _) => [x, y, z],
            };
            let handle = self.registers[object as usize][lane];
            let address = objects
                .surface(handle)
                .and_then(|image| image.surface_address(geometry, place, bytes, surface.outside))
                .map_err(|error| failure(lane, access, error))?;
            if let Some(address) = address {
                addresses[lane] = address;
                inside |= 1 << lane;
            }
        }
        Ok((addresses, inside))
    }

    fn load_surface(
        &mut self,
        pc: usize,
        load: &SurfaceAccess,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let bytes = load.bytes * load.registers.len();
        let (addresses, inside) = self.surface_addresses(load, Access::Read, active, context)?;
        let request = Request::plain(pc, bytes, Access::Read);
        let resolved = self.resolve_image(request, &addresses, inside, context)?;
        let mut unwritten = Unwritten::new(load.registers.len());
        let mut values = vec![[0; LANES]; load.registers.len()];
        for lane in lanes_of(inside) {
            let (memory, offset) = resolved.at(lane);
            let region = context.region(memory, self);
            let missing = region.unwritten(offset, bytes);
            if missing != 0 {
                let kind = |error| FaultKind::Access { access: Access::Read, error };
                unwritten.note(lane, || context.first_uninitialised(self, (memory, offset), bytes).map(kind));
            }
            for (part, values) in values.iter_mut().enumerate() {
                let at = part * load.bytes;
                values[lane] = region.load(offset + at, load.bytes);
                let of_part = (0..load.bytes).filter(|byte| missing >> (at + byte) & 1 == 1);
                unwritten.bits[part][lane] = of_part.fold(0, |bits, byte| bits | 0xff << (8 * byte));
            }
        }
        unwritten.check(context.launch.options.uninitialised)?;
        for (destination, values) in load.registers.iter().zip(&mut values) {
            if let Some(destination) = destination {
                load.extend.extend(values);
                self.write(*destination, values, active);
            }
        }
        unwritten.bits.iter_mut().for_each(|bits| load.extend.extend(bits));
        self.track_unwritten(pc, &load.registers, false, unwritten, context);
        Ok(())
    }

    fn store_surface(
        &mut self,
        pc: usize,
        store: &SurfaceAccess,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let sources: Vec<Register> = store.registers.iter().flatten().copied().collect();
        let bytes = store.bytes * sources.len();
        let (addresses, inside) = self.surface_addresses(store, Access::Write, active, context)?;
        if inside == 0 {
            return Ok(());
        }
        let request = Request { stored: &sources, ..Request::plain(pc, bytes, Access::Write) };
        let resolved = self.resolve_image(request, &addresses, inside, context)?;
        context.note_change();
        let has_uninitialised = !self.uninitialised.is_empty();
        for (part, source) in sources.iter().enumerate() {
            for lane in lanes_of(inside) {
                let (memory, offset) = resolved.at(lane);
                let offset = offset + part * store.bytes;
                context.region(memory, self).store(offset, store.bytes, self.registers[*source as usize][lane]);
                if has_uninitialised {
                    self.store_uninitialised(*source, store.bytes, lane, (memory, offset), context)?;
                }
            }
        }
        Ok(())
    }

    fn query_image(&mut self, query: &ImageQuery, active: u32, context: &Context<'_>) -> Result<(), Failure> {
        let objects = context.launch.view.image_objects();
        let mut values = [0; LANES];
        for lane in lanes_of(active) {
            let handle = self.registers[query.object as usize][lane];
            let found = match query.is_texture {
                true => {
                    objects.texture(handle).map(|texture| (texture.image(), texture.sampler().normalized_coordinates))
                }
                false => objects.surface(handle).map(|image| (&**image, false)),
            };
            let (image, is_normalized) = found.map_err(|error| failure(lane, Access::Read, error))?;
            values[lane] = match query.of {
                Queried::Size(2) | Queried::Layers
                    if image.geometry().is_layered() != (query.of == Queried::Layers) =>
                {
                    0
                }
                Queried::Size(axis) if axis >= image.geometry().dimensions() => 0,
                Queried::Size(axis) => image.size()[axis].into(),
                Queried::Layers => image.size()[2].into(),
                Queried::NormalizedCoordinates => is_normalized.into(),
            };
        }
        self.write(query.destination, &values, active);
        Ok(())
    }

    /// Marks destination bits as uninitialized if an access has read them from unwritten memory.
    fn track_unwritten(
        &mut self,
        pc: usize,
        destinations: &[Option<Register>],
        is_computed: bool,
        unwritten: Unwritten,
        context: &mut Context<'_>,
    ) {
        let registers = destinations.iter().zip(unwritten.bits);
        let registers: Vec<_> =
            registers.filter_map(|(register, bits)| register.map(|register| (register, bits))).collect();
        if !unwritten.of_lanes.is_empty() && context.launch.options.uninitialised != Uninitialised::Off {
            self.track_image(pc, &registers, is_computed, unwritten.of_lanes, context);
        }
    }
}

/// Whether any byte of a channel is among the missing bytes of a texel.
fn misses(format: Format, channel: usize, missing: u16) -> bool {
    let bytes = format.channel().bytes();
    missing >> (channel * bytes) & ((1 << bytes) - 1) != 0
}
