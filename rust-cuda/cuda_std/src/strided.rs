//! The bounds of a strided view.

/// Whether each element of the view with these sizes and strides from `first` on is one of `length`. True if a size is
/// zero, since the view has no elements then.
#[inline(always)]
pub(crate) fn is_within<const N: usize>(length: usize, first: u32, sizes: [u32; N], strides: [u32; N]) -> bool {
    // Terms above 32 bits count apart, so that the sum cannot overflow.
    let (mut last, mut is_beyond, mut is_empty) = (first as u64, false, false);
    for dimension in 0..N {
        let size = sizes[dimension];
        let reach = size.wrapping_sub(1) as u64 * strides[dimension] as u64;
        is_empty |= size == 0;
        is_beyond |= reach > u32::MAX as u64;
        last += reach & u32::MAX as u64;
    }
    is_empty || (!is_beyond && last < length as u64)
}

/// The number of a buffer's elements that views address, whose offsets have 32 bits.
#[inline(always)]
pub(crate) fn addressed(length: usize) -> usize {
    if length > u32::MAX as usize { u32::MAX as usize + 1 } else { length }
}

/// The place of the element of the largest indices. No size is zero.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn last<const N: usize>(first: u32, sizes: [u32; N], strides: [u32; N]) -> usize {
    let reach = |dimension: usize| (sizes[dimension] as usize - 1).saturating_mul(strides[dimension] as usize);
    (0..N).map(reach).fold(first as usize, usize::saturating_add)
}

/// The offset of an element; or an index that is not less than its dimension's size, with the size.
#[cfg(not(target_arch = "nvptx64"))]
#[inline]
pub(crate) fn offset<const N: usize>(
    indices: [u32; N],
    sizes: [u32; N],
    strides: [u32; N],
) -> Result<usize, (usize, usize)> {
    let mut offset = 0;
    for ((&index, &size), &stride) in indices.iter().zip(&sizes).zip(&strides) {
        if index >= size {
            return Err((index as usize, size as usize));
        }
        offset += index as usize * stride as usize;
    }
    Ok(offset)
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use proptest::prelude::*;

    use super::is_within;

    /// The definition, element by element.
    fn each_is_within(length: usize, first: u32, [a, b]: [u32; 2], [x, y]: [u32; 2]) -> bool {
        let offset = |i: u32, j: u32| u64::from(first) + u64::from(i) * u64::from(x) + u64::from(j) * u64::from(y);
        (0..a).all(|i| (0..b).all(|j| offset(i, j) < length as u64))
    }

    fn strides() -> impl Strategy<Value = u32> {
        prop_oneof![0_u32..30, Just(u32::MAX), Just(1 << 31), Just(u32::MAX / 5)]
    }

    proptest! {
        #[test]
        fn a_view_is_within_if_each_element_is(
            length in 0_usize..60, first in 0_u32..20, sizes in [0_u32..7, 0_u32..7], strides in [strides(), strides()]
        ) {
            prop_assert_eq!(is_within(length, first, sizes, strides), each_is_within(length, first, sizes, strides));
        }
    }

    #[test]
    fn terms_beyond_64_bits_are_not_within() {
        assert!(!is_within(usize::MAX, u32::MAX, [u32::MAX; 3], [u32::MAX; 3]));
        assert!(!is_within(100, 0, [5, 1], [1 << 31, 1 << 30]));
        assert!(is_within(1, 0, [u32::MAX, 1], [0, u32::MAX]));
    }
}
