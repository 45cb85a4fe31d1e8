//! SHA-256, as in Rust-CUDA's example `sha2_crates_io`, whose kernels call the crate `sha2`. The hasher here has that crate's
//! interface, since crates of kernels depend on `cuda_std` alone.

use cuda_std::prelude::*;

/// The first 32 fractional bits of the square roots of the first 8 primes (FIPS 180-4, section 5.3.3).
#[rustfmt::skip]
const INITIAL: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

/// The first 32 fractional bits of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2).
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// Bytes of a block of the message.
const BLOCK: usize = 64;

/// Bytes of a digest.
pub const DIGEST: usize = 32;

/// A SHA-256 hasher (FIPS 180-4).
struct Sha256 {
    state: [u32; 8],
    /// The bytes that do not fill a block yet.
    rest: [u8; BLOCK],
    /// Bytes of the message so far.
    length: u64,
}

impl Sha256 {
    /// The digest of a message.
    fn digest(message: &[u8]) -> [u8; DIGEST] {
        let mut hasher = Self::new();
        hasher.update(message);
        hasher.finalize()
    }

    fn new() -> Self {
        Self { state: INITIAL, rest: [0; BLOCK], length: 0 }
    }

    /// Appends a part of the message.
    fn update(&mut self, part: &[u8]) {
        for &byte in part {
            let place = self.length as usize % BLOCK;
            self.rest[place] = byte;
            self.length += 1;
            if place + 1 == BLOCK {
                self.compress();
            }
        }
    }

    /// Pads the message with a one bit, zeros, and its length in bits.
    fn finalize(mut self) -> [u8; DIGEST] {
        let bits = 8 * self.length;
        self.update(&[0x80]);
        while self.length as usize % BLOCK != BLOCK - 8 {
            self.update(&[0]);
        }
        self.update(&bits.to_be_bytes());
        let mut digest = [0; DIGEST];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        digest
    }

    /// The 64 rounds on the block in `rest`. The message schedule is a ring of the last 16 words.
    // Inlined, the rounds would be in the PTX once for each call of `update`.
    #[inline(never)]
    fn compress(&mut self) {
        let mut words = [0_u32; 16];
        for (word, bytes) in words.iter_mut().zip(self.rest.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
        for (round, constant) in ROUNDS.iter().enumerate() {
            let word = words[round % 16];
            let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let first = h.wrapping_add(sum).wrapping_add(e & f ^ !e & g).wrapping_add(*constant).wrapping_add(word);
            let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = sum.wrapping_add(a & b ^ a & c ^ b & c);
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
            let (next, near) = (words[(round + 1) % 16], words[(round + 14) % 16]);
            words[round % 16] = word
                .wrapping_add(next.rotate_right(7) ^ next.rotate_right(18) ^ next >> 3)
                .wrapping_add(words[(round + 9) % 16])
                .wrapping_add(near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10);
        }
        for (state, word) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *state = state.wrapping_add(word);
        }
    }
}

/// The digest of a message, by the first thread of the grid.
///
/// # Safety
/// `digest` has [`DIGEST`] bytes.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn sha256_of_message(message: &[u8], digest: *mut [u8; DIGEST]) {
    let thread = thread::index_1d() as usize;
    if thread == 0 {
        let hash = Sha256::digest(message);
        // SAFETY: only this thread accesses the digest.
        let out = unsafe { &mut *digest };
        out.copy_from_slice(&hash);
    }
}

/// The digest of a message in two parts, by the first thread of the grid.
///
/// # Safety
/// `digest` has [`DIGEST`] bytes.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn sha256_of_parts(first: &[u8], second: &[u8], digest: *mut [u8; DIGEST]) {
    let thread = thread::index_1d() as usize;
    if thread == 0 {
        let mut hasher = Sha256::new();
        hasher.update(first);
        hasher.update(second);
        let hash = hasher.finalize();
        // SAFETY: only this thread accesses the digest.
        let out = unsafe { &mut *digest };
        out.copy_from_slice(&hash);
    }
}
