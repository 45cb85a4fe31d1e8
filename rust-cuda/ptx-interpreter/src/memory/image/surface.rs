//! Surface accesses: raw bytes of an image.

use super::{Geometry, Image, ImageError, ObjectKind};

/// Behavior of an access outside the image (PTX ISA, `suld` and `sust`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutsidePolicy {
    /// `.trap`: the access is an error.
    Trap,
    /// `.clamp`: the access uses the nearest bytes.
    Clamp,
    /// `.zero`: the access loads zeros and stores nothing.
    Zero,
}

impl Image {
    /// Address of the `bytes` bytes of a surface access. The access is given by the number of bytes
    /// before them in their row, the row, and the plane or layer. `None` if it accesses nothing.
    ///
    /// # Errors
    /// If the instruction has other dimensions, or if the bytes are outside and the policy does not
    /// permit it.
    pub(crate) fn surface_address(
        &self,
        accessed: Geometry,
        at: [i64; 3],
        bytes: usize,
        policy: OutsidePolicy,
    ) -> Result<Option<u64>, ImageError> {
        let geometry = self.geometry;
        if !geometry.permits(accessed) {
            return Err(ImageError::Geometry { kind: ObjectKind::Surface, geometry, accessed });
        }
        let [width, height, layers] = self.size.map(u64::from);
        let size = [width * self.format.bytes() as u64, height, layers];
        // The largest coordinates with the bytes inside. None if a row is shorter than the access.
        let last = [
            size[0].checked_sub(bytes as u64).map(|last| last as i64),
            Some(height as i64 - 1),
            Some(layers as i64 - 1),
        ];
        let is_within = at.iter().zip(last).all(|(at, last)| *at >= 0 && last.is_some_and(|last| *at <= last));
        let place = match (policy, last) {
            _ if is_within => at,
            (OutsidePolicy::Clamp, [Some(x), Some(y), Some(layer)]) => {
                [at[0].clamp(0, x), at[1].clamp(0, y), at[2].clamp(0, layer)]
            }
            (OutsidePolicy::Zero, _) => return Ok(None),
            _ => return Err(ImageError::Outside { at, bytes, size, geometry }),
        };
        Ok(Some(self.row(place[1] as u32, place[2] as u32) + place[0] as u64))
    }
}
