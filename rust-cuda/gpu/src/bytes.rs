//! Slices of elements viewed as bytes.

use cuda_std::Element;

/// The bytes of a slice of elements.
#[allow(unsafe_code)]
pub(crate) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: an element is a scalar or a vector of scalars without padding, so each of its bytes
    // is initialized; a byte has alignment 1; the slice covers the same memory for the same
    // lifetime.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The mutable bytes of a slice of elements.
#[allow(unsafe_code)]
pub(crate) fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`, and `Element` requires that any bit pattern is valid.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_memory_order() {
        assert_eq!(bytes_of(&[1_u32, 0x0403_0201]), [1, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(bytes_of::<f64>(&[]), []);
        let mut values = [0.0_f32; 2];
        bytes_of_mut(&mut values)[4..].copy_from_slice(&1.5_f32.to_le_bytes());
        assert_eq!(values, [0.0, 1.5]);
    }
}
