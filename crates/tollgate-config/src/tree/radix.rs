//! Whole numbers written in another radix, such as `0x1f`.

/// The number in decimal, where it fits 128 bits.
pub(super) fn to_decimal(digits: &str, radix: u32) -> Option<String> {
    u128::from_str_radix(digits, radix).ok().map(|number| number.to_string())
}
