//! A vector of four floats that one instruction moves.

/// Four `f32` in 16 bytes: one load or store instead of four (`ld.global.v4.f32`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct F32x4 {
    /// The first element.
    pub x: f32,
    /// The second element.
    pub y: f32,
    /// The third element.
    pub z: f32,
    /// The fourth element.
    pub w: f32,
}

impl F32x4 {
    /// The vector (x, y, z, w).
    #[inline(always)]
    pub const fn new(x: f32, y: f32, z: f32, w: f32) -> Self {
        Self { x, y, z, w }
    }

    /// `value` in all four elements.
    #[inline(always)]
    pub const fn splat(value: f32) -> Self {
        Self::new(value, value, value, value)
    }

    /// The elements in order.
    #[inline(always)]
    pub const fn to_array(self) -> [f32; 4] {
        [self.x, self.y, self.z, self.w]
    }
}

impl From<[f32; 4]> for F32x4 {
    #[inline(always)]
    fn from([x, y, z, w]: [f32; 4]) -> Self {
        Self { x, y, z, w }
    }
}
