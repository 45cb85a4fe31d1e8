//! An invalid access to an image is a fault at its line, never a panic.

use ptx_interpreter::memory::{Channel, Filter, Format, Geometry, Image, ReadMode, Sampler, Texture};
use ptx_interpreter::{LoadError, Machine, Uninitialised};

use crate::device::{Device, module};

const TEXTURE: u64 = 0x10;
const SURFACE: u64 = 0x20;

const LOAD: &str = "ld.global.v4.b32 {r0, r1, r2, r3}, [in]; ld.global.v4.b32 {f0, f1, f2, f3}, [in];\n";

/// A device with a texture and a surface of an image of 4 × 4 f32 words, all 1.
fn device(body: &str) -> Device {
    let mut device = Device::new(&format!("{LOAD}{body}"));
    let bytes = [1.0_f32; 16].iter().flat_map(|value| value.to_le_bytes()).collect();
    let image = device.image((Channel::F32, 1), Geometry::TwoD, [4, 4, 1], bytes).image;
    device.machine.memory_mut().add_texture(TEXTURE, Texture::new(image, Sampler::default()).unwrap());
    device.machine.memory_mut().add_surface(SURFACE, image);
    device
}

const FETCH: &str = "tex.2d.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0, f1}]; st.global.f32 [out], f4;";
const SURFACE_LOAD: &str = "suld.b.2d.b32.trap {r4}, [object, {r0, r1}]; st.global.b32 [out], r4;";
const SURFACE_STORE: &str = "sust.b.2d.b32.trap [object, {r0, r1}], {r3};";

#[test]
fn a_wrong_handle_is_a_fault() {
    for (body, wrong, says) in [
        (FETCH, 0, "reads a texture by the handle 0x0, which no texture object has"),
        (FETCH, SURFACE, "which no texture object has: it is of the other kind"),
        (SURFACE_LOAD, 5, "reads a surface by the handle 0x5"),
        (
            SURFACE_STORE,
            TEXTURE,
            "writes a surface by the handle 0x10, which no surface object has: it is of the other kind",
        ),
        ("txq.width.b32 r4, [object];", u64::MAX, "reads a texture by the handle"),
        ("suq.width.b32 r4, [object];", TEXTURE, "reads a surface by the handle"),
    ] {
        let (id, message) = device(body).fault([wrong, 0], &[[0; 4]]);
        assert!(id == "image-object" && message.contains(says), "{message}");
    }
    let mut device = device(FETCH);
    assert!(device.machine.memory_mut().remove_image_object(TEXTURE));
    assert!(!device.machine.memory_mut().remove_image_object(TEXTURE));
    assert_eq!(device.fault([TEXTURE, 0], &[[0; 4]]).0, "image-object");
}

#[test]
fn other_dimensions_are_a_fault() {
    for (body, handle) in [
        ("tex.1d.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0}];", TEXTURE),
        ("tex.3d.v4.f32.s32 {f4, f5, f6, f7}, [object, {r0, r1, r2, r2}];", TEXTURE),
        ("tex.a2d.v4.f32.f32 {f4, f5, f6, f7}, [object, {r0, f0, f1, f1}];", TEXTURE),
        ("tld4.r.cube.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0, f1, f2, f2}];", TEXTURE),
        ("suld.b.1d.b32.zero {r4}, [object, {r0}];", SURFACE),
        ("sust.b.a2d.b32.clamp [object, {r0, r0, r1, r1}], {r4};", SURFACE),
    ] {
        let (id, message) = device(body).fault([handle, 0], &[[0; 4]]);
        assert!(id == "image-object" && message.contains(" of 2-D memory by an instruction for "), "{message}");
    }
}

#[test]
fn a_trapping_surface_access_outside_is_a_fault_of_its_thread() {
    for (body, does) in [(SURFACE_LOAD, "reads"), (SURFACE_STORE, "writes")] {
        let (id, message) = device(body).fault([SURFACE, 0], &[[12, 3, 0, 0], [0, 4, 0, 0], [16, 0, 0, 0]]);
        let says = format!("{does} 4 bytes at byte 0 of row 4 of a surface of 16 bytes × 4 rows");
        assert!(id == "out-of-bounds" && message.contains(&says) && message.contains("thread (1, 0, 0)"), "{message}");
    }
    let (id, message) = device(SURFACE_LOAD).fault([SURFACE, 0], &[[2, 0, 0, 0]]);
    assert_eq!(id, "misaligned", "{message}");
}

#[test]
fn after_a_fault_the_other_threads_go_on() {
    let mut device = device(
        "sust.b.2d.b32.trap [object, {r0, r1}], {r3};\nsuld.b.2d.b32.trap {r4}, [object, {r0, r1}];\nst.global.b32 [out], r4;",
    );
    device.options.max_faults = 20;
    let (result, output) = device.launch([SURFACE, 0], &[[0, 0, 0, 5], [16, 0, 0, 6], [4, 0, 0, 7]]);
    let error = result.unwrap_err();
    let (faults, _) = error.fault().unwrap().clone().into_all();
    assert_eq!(faults.iter().map(|fault| fault.kind.id()).collect::<Vec<_>>(), ["out-of-bounds"; 2], "{error}");
    assert_eq!((output[0][0], output[2][0]), (5, 7));
}

#[test]
fn freed_memory_is_a_use_after_free() {
    for (body, handle) in [(FETCH, TEXTURE), (SURFACE_LOAD, SURFACE), (SURFACE_STORE, SURFACE)] {
        let mut device = device(body);
        let start = device.machine.memory().view().allocations()[0].extent.start;
        device.machine.free(start).unwrap();
        let (id, message) = device.fault([handle, 0], &[[0; 4]]);
        assert_eq!(id, "use-after-free", "{message}");
    }
}

/// A texture and a surface of 2 texels with 2 channels. The last channel is never written.
fn partly_written(body: &str, filter: Filter) -> Device {
    let mut device = Device::new(&format!("{LOAD}{body}"));
    let start = device.machine.allocate(16).unwrap();
    device.machine.memory().write(start, &[0; 12]).unwrap();
    let format = Format::new(Channel::F32, 2).unwrap();
    let image = Image::new(start, format, Geometry::OneD, [2, 1, 1], 16).unwrap();
    let sampler = Sampler { filter, ..Sampler::default() };
    device.machine.memory_mut().add_texture(TEXTURE, Texture::new(image, sampler).unwrap());
    device.machine.memory_mut().add_surface(SURFACE, image);
    device
}

#[test]
fn texels_that_nothing_has_written_are_found() {
    let fetch = "tex.1d.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0}];";
    let one = |x: f32| [x.to_bits(), 0, 0, 0];
    for (filter, written, unwritten) in [(Filter::Point, 0.5, 1.5), (Filter::Linear, 0.5, 0.51)] {
        for used in ["f4", "f5"] {
            let body = format!("{fetch}\nadd.f32 f5, f5, f5;\nadd.f32 f4, f4, f4;\nst.global.f32 [out], {used};");
            let mut device = partly_written(&body, filter);
            assert!(device.launch([TEXTURE, 0], &[one(written)]).0.is_ok(), "{filter:?}");
            let (id, message) = device.fault([TEXTURE, 0], &[one(written), one(unwritten)]);
            assert!(id == "uninitialised-read" && message.contains("thread (1, 0, 0)"), "{message}");
            // With less strict options, the fault is a use of the missing channel.
            device.options.uninitialised = Uninitialised::Note;
            let (result, _) = device.launch([TEXTURE, 0], &[one(written), one(unwritten)]);
            assert_eq!(result.is_err(), used == "f5", "{filter:?} {used}");
            device.options.uninitialised = Uninitialised::Off;
            assert!(device.launch([TEXTURE, 0], &[one(unwritten)]).0.is_ok());
        }
    }
    let load = "suld.b.1d.v2.b32.trap {r4, r5}, [object, {r0}];\nadd.u32 r5, r5, 1;\nst.global.b32 [out], r5;";
    let mut device = partly_written(load, Filter::Point);
    assert!(device.launch([SURFACE, 0], &[[0; 4]]).0.is_ok());
    assert_eq!(device.fault([SURFACE, 0], &[[8, 0, 0, 0]]).0, "uninitialised-read");
    device.options.uninitialised = Uninitialised::Note;
    assert_eq!(device.fault([SURFACE, 0], &[[8, 0, 0, 0]]).0, "uninitialised-read");
    // After a store it counts as written.
    let store = "sust.b.1d.v2.b32.trap [object, {r0}], {r3, r3};\nsuld.b.1d.v2.b32.trap {r4, r5}, [object, {r0}];\nadd.u32 r5, r5, 1;\nst.global.b32 [out], r5;";
    assert_eq!(partly_written(store, Filter::Point).output([SURFACE, 0], &[[8, 0, 0, 4]])[0][0], 5);
}

#[test]
fn unordered_accesses_to_a_surface_are_a_race() {
    let two = [[0, 0, 0, 1], [0, 0, 0, 2]];
    let (id, message) = device(SURFACE_STORE).fault([SURFACE, 0], &two);
    assert_eq!(id, "race", "{message}");
    // Each thread reads its neighbor's value, with and without a barrier in between.
    let neighbor = "mul.lo.u32 r0, tid, 4;\nsust.b.1d.b32.trap [object, {r0}], {r0};\nBARRIER\nxor.b32 r1, r0, 4;\nsuld.b.1d.b32.trap {r4}, [object, {r1}];\nst.global.b32 [out], r4;";
    for (barrier, races) in [("bar.sync 0;", false), ("", true)] {
        let mut device = Device::new(&neighbor.replace("BARRIER", barrier));
        let stored = device.image((Channel::U32, 1), Geometry::OneD, [64, 1, 1], vec![0; 256]);
        device.machine.memory_mut().add_surface(SURFACE, stored.image);
        let (result, output) = device.launch([SURFACE, 0], &[[0; 4]; 64]);
        assert_eq!(result.is_err(), races, "{barrier}");
        if !races {
            assert!(output.iter().enumerate().all(|(thread, [found, ..])| *found == (thread as u32 ^ 1) * 4));
        }
    }
}

#[test]
fn a_fetch_of_what_the_kernel_writes_is_a_race() {
    // Textures are read through a cache, so a barrier does not help.
    let body = "sust.b.2d.b32.trap [other, {r0, r1}], {r3};\nbar.sync 0;\ntex.2d.v4.f32.s32 {f4, f5, f6, f7}, [object, {r1, r1}];";
    let (id, message) = device(body).fault([TEXTURE, SURFACE], &[[0; 4]; 2]);
    assert!(id == "race" && message.contains("memory that the kernel does not write"), "{message}");
    // Accesses to different texels do not race.
    let body = "sust.b.2d.b32.trap [other, {r0, r1}], {r3};\ntex.2d.v4.f32.s32 {f4, f5, f6, f7}, [object, {r2, r2}];";
    assert!(device(body).launch([TEXTURE, SURFACE], &[[0, 0, 1, 0]]).0.is_ok());
}

#[test]
fn images_and_filters_that_there_cannot_be_are_errors() {
    let format = Format::new(Channel::F32, 4).unwrap();
    let image = |start, geometry, size, pitch| Image::new(start, format, geometry, size, pitch);
    assert!(image(256, Geometry::TwoD, [4, 3, 1], 64).is_ok());
    for (start, geometry, size, pitch) in [
        (8, Geometry::TwoD, [4, 3, 1], 64),
        (256, Geometry::TwoD, [4, 3, 1], 72),
        (256, Geometry::TwoD, [5, 3, 1], 64),
        (256, Geometry::TwoD, [0, 3, 1], 64),
        (256, Geometry::OneD, [4, 3, 1], 64),
        (256, Geometry::Cube, [4, 3, 6], 64),
        (256, Geometry::LayeredCube, [4, 4, 7], 64),
        (256, Geometry::ThreeD, [4, u32::MAX, u32::MAX], u64::MAX - 15),
        (u64::MAX - 15, Geometry::OneD, [1, 1, 1], 16),
    ] {
        assert!(image(start, geometry, size, pitch).is_err(), "{start} {geometry} {size:?} {pitch}");
    }
    let integers = Image::new(256, Format::new(Channel::U8, 1).unwrap(), Geometry::OneD, [4, 1, 1], 4).unwrap();
    let linear = Sampler { filter: Filter::Linear, ..Sampler::default() };
    assert!(Texture::new(integers, linear).is_err());
    assert!(Texture::new(integers, Sampler { read: ReadMode::NormalizedFloat, ..linear }).is_ok());
}

#[test]
fn other_forms_are_rejected_with_their_line() {
    for body in [
        "tex.2d.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0}];",
        "tex.2d.v4.f32.f32 {f4, f5, f6}, [object, {f0, f1}];",
        "tex.2d.v4.f16.f32 {f4, f5, f6, f7}, [object, {f0, f1}];",
        "tex.2d.v4.f32.f32 {f4, f5, f6, f7}, [r0, {f0, f1}];",
        "tex.2d.v4.f32.f32 {f4, f5, f6, f7}, [object];",
        "tex.2d.v4.f32.f32 {f4, f5, f6, f7}, [object, {d0, d1}];",
        "tex.2dms.v4.f32.s32 {f4, f5, f6, f7}, [object, {r0, r1, r2, r2}];",
        "tex.level.2d.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0, f1}];",
        "tld4.r.3d.v4.f32.f32 {f4, f5, f6, f7}, [object, {f0, f1, f2, f2}];",
        "suld.b.2d.v4.b64.trap {d0, d1, d2, d3}, [object, {r0, r1}];",
        "suld.b.2d.b32 {r4}, [object, {r0, r1}];",
        "sust.p.2d.v4.b32.trap [object, {r0, r1}], {r4, r5, r6, r7};",
        "txq.channel_order.b32 r4, [object];",
        "ld.global.b32 r4, [object, {r0}];",
    ] {
        let machine = Machine::new(&module(body)).unwrap();
        let (_, error) = machine.refused().next().unwrap_or_else(|| panic!("{body}"));
        assert!(
            matches!(error, LoadError::Statement { text, .. } if body.starts_with(text.trim_end_matches(';'))),
            "{error}"
        );
    }
}
