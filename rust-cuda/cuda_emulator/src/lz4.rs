//! Decompression of LZ4 blocks, in which compilers embed PTX (LZ4 Block Format Description).

/// Shortest match in bytes.
const MIN_MATCH: usize = 4;

/// The bytes of a block whose decompressed size is `bytes`; None if it is not a valid block of that size.
pub(crate) fn decompress(block: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let mut output = Vec::new();
    output.try_reserve_exact(bytes).ok()?;
    let mut input = block.iter().copied();
    loop {
        let token = input.next()?;
        let literals = length(token >> 4, &mut input)?;
        let rest = input.len();
        if literals > rest || output.len() + literals > bytes {
            return None;
        }
        output.extend(input.by_ref().take(literals));
        if output.len() == bytes {
            return Some(output);
        }
        let distance = usize::from(u16::from_le_bytes([input.next()?, input.next()?]));
        let count = length(token & 15, &mut input)? + MIN_MATCH;
        let start = output.len().checked_sub(distance).filter(|_| distance > 0)?;
        if output.len() + count > bytes {
            return None;
        }
        for index in start..start + count {
            output.push(output[index]);
        }
    }
}

/// A length: 15 in the token continues in bytes, of which the last is less than 255.
fn length(of_token: u8, input: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut length = usize::from(of_token);
    if of_token == 15 {
        loop {
            let more = input.next()?;
            length = length.checked_add(more.into())?;
            if more < 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn literals_and_overlapping_matches() {
        // Two literals, a match of six bytes at distance two, one literal.
        let block = [0x22, b'a', b'b', 2, 0, 0x10, b'!'];
        assert_eq!(decompress(&block, 9).unwrap(), b"abababab!");
        // Twenty literals: 15 + 5.
        let long: Vec<u8> = [0xf0, 5].into_iter().chain(0..20).collect();
        assert_eq!(decompress(&long, 20).unwrap(), (0..20).collect::<Vec<u8>>());
    }

    #[test]
    fn a_damaged_block_is_no_text() {
        for block in [&[][..], &[0x10], &[0x20, 1], &[0x10, 1, 9, 0], &[0x10, 1, 0, 0, 0x10, 1], &[0xff]] {
            assert_eq!(decompress(block, 9), None, "{block:?}");
        }
    }
}
