//! Vectors of four elements that one instruction moves.

macro_rules! vectors {
    ($($(#[$attribute:meta])* $vector:ident of $element:ident;)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C, align(16))]
        pub struct $vector {
            /// The first element.
            pub x: $element,
            /// The second element.
            pub y: $element,
            /// The third element.
            pub z: $element,
            /// The fourth element.
            pub w: $element,
        }

        impl $vector {
            /// The vector (x, y, z, w).
            #[inline(always)]
            pub const fn new(x: $element, y: $element, z: $element, w: $element) -> Self {
                Self { x, y, z, w }
            }

            /// `value` in all four elements.
            #[inline(always)]
            pub const fn splat(value: $element) -> Self {
                Self::new(value, value, value, value)
            }

            /// The elements in order.
            #[inline(always)]
            pub const fn to_array(self) -> [$element; 4] {
                [self.x, self.y, self.z, self.w]
            }
        }

        impl From<[$element; 4]> for $vector {
            #[inline(always)]
            fn from([x, y, z, w]: [$element; 4]) -> Self {
                Self { x, y, z, w }
            }
        }

        impl From<$vector> for [$element; 4] {
            #[inline(always)]
            fn from(vector: $vector) -> Self {
                vector.to_array()
            }
        }
    )*};
}

vectors! {
    /// Four `f32` in 16 bytes: one load or store instead of four (`ld.global.v4.f32`).
    F32x4 of f32;
    /// Four `i32` in 16 bytes: one load or store instead of four (`ld.global.v4.b32`).
    I32x4 of i32;
}
