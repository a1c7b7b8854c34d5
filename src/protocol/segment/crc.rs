//! The two checksums of segments.

const CRC24_START: u32 = 0x87_5060;
const CRC24_POLYNOMIAL: u32 = 0x197_4F0B;

/// CRC32 (IEEE) of the four bytes FA 2D 55 CA, which are put before every payload.
const CRC32_PRELOADED: u32 = 1_148_681_939;

const CRC24_TABLE: [u32; 256] = crc24_table();

const fn crc24_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u32) << 16;
        let mut bit = 0;
        while bit < 8 {
            crc <<= 1;
            if crc & 0x100_0000 != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The checksum of a segment's header.
#[must_use]
pub fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(CRC24_START, |crc, byte| {
        let index = ((crc >> 16) as u8) ^ byte;
        ((crc << 8) & 0xFF_FFFF) ^ CRC24_TABLE[usize::from(index)]
    })
}

/// The checksum of a segment's payload, over the bytes as they travel.
#[must_use]
pub fn crc32(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(CRC32_PRELOADED);
    hasher.update(payload);
    hasher.finalize()
}
