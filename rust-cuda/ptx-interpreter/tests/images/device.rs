//! A machine with images, and kernels that access them.

use cuda_launch::LaunchConfig;
use ptx_interpreter::memory::{Channel, Format, Geometry, Image};
use ptx_interpreter::{LaunchError, LaunchReport, Machine, Options};

/// Distance between rows in memory: more than a row needs.
const ROW_ALIGNMENT: usize = 64;

/// An image in a machine's memory, with its texels row by row, without gaps.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) image: Image,
    pub(crate) bytes: Vec<u8>,
}

/// The module around a kernel's body. `object` and `other` are its first parameters. `in` and `out`
/// are the addresses of the thread's 16 bytes in the other two.
pub(crate) fn module(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)
{{
.reg .b64 object, other, in, out, d<8>; .reg .b32 tid, r<20>; .reg .f32 f<20>; .reg .b16 h<8>; .reg .pred p;
ld.param.u64 object, [p0]; ld.param.u64 other, [p1]; ld.param.u64 in, [p2]; ld.param.u64 out, [p3];
mov.u32 tid, %tid.x; mad.wide.u32 in, tid, 16, in; mad.wide.u32 out, tid, 16, out;
{body}
ret;
}}\n"
    )
}

pub(crate) struct Device {
    pub(crate) machine: Machine,
    pub(crate) options: Options,
}

impl Device {
    #[track_caller]
    pub(crate) fn new(body: &str) -> Self {
        let text = module(body);
        let machine = Machine::new(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(machine.refused().next(), None, "{text}");
        Self { machine, options: Options::default() }
    }

    /// An image with these texels.
    pub(crate) fn image(
        &mut self,
        format: (Channel, usize),
        geometry: Geometry,
        size: [u32; 3],
        bytes: Vec<u8>,
    ) -> Stored {
        let format = Format::new(format.0, format.1).unwrap();
        let row = size[0] as usize * format.bytes();
        let pitch = row.next_multiple_of(ROW_ALIGNMENT);
        let rows = (size[1] * size[2]) as usize;
        let start = self.machine.allocate((pitch * rows) as u64).unwrap();
        for (number, row) in bytes.chunks(row).enumerate() {
            self.machine.memory().write(start + (number * pitch) as u64, row).unwrap();
        }
        let image = Image::new(start, format, geometry, size, pitch as u64).unwrap();
        Stored { image, bytes }
    }

    /// The texels of an image.
    pub(crate) fn texels(&self, stored: &Stored) -> Vec<u8> {
        let [width, height, layers] = stored.image.size();
        let row = width as usize * stored.image.format().bytes();
        let pitch = (stored.image.bytes() / u64::from(height * layers)) as usize;
        let mut all = vec![0; stored.image.bytes() as usize];
        let start = self.start_of(stored);
        self.machine.memory().read(start, &mut all).unwrap();
        all.chunks(pitch).flat_map(|with_gap| with_gap[..row].to_vec()).collect()
    }

    fn start_of(&self, stored: &Stored) -> u64 {
        let view = self.machine.memory().view();
        let bytes = stored.image.bytes();
        // The image's allocation is the only one with its size.
        let mut of_size = view.allocations().iter().filter(|allocation| allocation.extent.bytes == bytes);
        of_size.next().expect("the image has an allocation").extent.start
    }

    /// Launches one block with a thread per four input words, and with these objects. Returns as
    /// many output words.
    pub(crate) fn launch(
        &mut self,
        objects: [u64; 2],
        input: &[[u32; 4]],
    ) -> (Result<LaunchReport, LaunchError>, Vec<[u32; 4]>) {
        let bytes: Vec<u8> = input.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let [from, to] = [0; 2].map(|_: u8| self.machine.allocate(bytes.len() as u64).unwrap());
        self.machine.memory().write(from, &bytes).unwrap();
        self.machine.memory().fill_zero(to, bytes.len()).unwrap();
        let parameters = [objects[0], objects[1], from, to].map(u64::to_le_bytes);
        let config = LaunchConfig::new(1, input.len() as u32);
        let parameters = parameters.each_ref().map(|parameter| &parameter[..]);
        let result = self.machine.launch(self.options.clone(), "kernel", config, &parameters);
        let mut output = vec![0; bytes.len()];
        self.machine.memory().read(to, &mut output).unwrap();
        for address in [from, to] {
            self.machine.free(address).unwrap();
        }
        let words: Vec<u32> = output.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        (result, words.as_chunks().0.to_vec())
    }

    /// The output of a launch that must succeed.
    #[track_caller]
    pub(crate) fn output(&mut self, objects: [u64; 2], input: &[[u32; 4]]) -> Vec<[u32; 4]> {
        let (result, output) = self.launch(objects, input);
        result.unwrap_or_else(|error| panic!("{error}"));
        output
    }

    /// The message and name of the fault of a launch.
    #[track_caller]
    pub(crate) fn fault(&mut self, objects: [u64; 2], input: &[[u32; 4]]) -> (&'static str, String) {
        let error = self.launch(objects, input).0.expect_err("the launch has a fault");
        let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
        (fault.kind.id(), fault.to_string())
    }
}
