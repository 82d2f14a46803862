//! The number formats of files: size, byte order, integer or floating point.

use std::any::Any;

use crate::base::scalar::Scalar;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberKind {
    Float,
    Signed,
    Unsigned,
    Bool,
}

/// A type of numbers, and its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    kind: NumberKind,
    size: usize,
    swapped: bool,
    /// Whether the smallest integer stands for R's NA.
    na: bool,
}

/// R's NA, a special NaN.
const NA: f64 = f64::from_bits(0x7FF0_0000_0000_07A2);

/// The letter of this machine's byte order in NumPy's names of types.
pub const NATIVE: char = if cfg!(target_endian = "big") {
    '>'
} else {
    '<'
};

impl Number {
    /// The type with NumPy's name: `<f8`, `>i4`, `|b1`. None unless it is a float of four or eight
    /// bytes, an integer of at most eight bytes with or without a sign, or a truth value.
    pub fn parse(name: &str) -> Option<Self> {
        let mut letters = name.chars();
        let swapped = match letters.next()? {
            mark @ ('<' | '>') => mark != NATIVE,
            '|' | '=' => false,
            _ => return None,
        };
        let kind = letters.next()?;
        let size = match letters.as_str() {
            "1" => 1,
            "2" => 2,
            "4" => 4,
            "8" => 8,
            _ => return None,
        };
        let kind = match (kind, size) {
            ('f', 4 | 8) => NumberKind::Float,
            ('i', _) => NumberKind::Signed,
            ('u', _) => NumberKind::Unsigned,
            ('b', 1) => NumberKind::Bool,
            _ => return None,
        };
        Some(Number {
            kind,
            size,
            swapped,
            na: false,
        })
    }

    /// The same type, with the smallest signed integer as NA, as R and bigmemory write it.
    pub fn with_na(self) -> Self {
        Number { na: true, ..self }
    }

    /// The bytes of one number.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Converts the numbers in `bytes`, rounded if `T` has fewer digits. Floats of type `T` keep
    /// their bits.
    pub fn decode<T: Scalar>(&self, bytes: &[u8], to: &mut [T]) {
        macro_rules! each {
            ($type:ty, |$value:ident| $number:expr) => {
                for (to, bytes) in to.iter_mut().zip(pulp::as_arrays(bytes).0) {
                    let mut bytes = *bytes;
                    if self.swapped {
                        bytes.reverse();
                    }
                    let $value = <$type>::from_ne_bytes(bytes);
                    *to = $number;
                }
            };
        }
        macro_rules! signed {
            ($type:ty) => {
                each!($type, |v| T::from_f64(if self.na && v == <$type>::MIN {
                    NA
                } else {
                    v as f64
                }))
            };
        }
        match (self.kind, self.size) {
            (NumberKind::Float, 4) => {
                each!(f32, |v| same(v).unwrap_or_else(|| T::from_f64(v.into())))
            }
            (NumberKind::Float, _) => each!(f64, |v| same(v).unwrap_or_else(|| T::from_f64(v))),
            (NumberKind::Signed, 1) => signed!(i8),
            (NumberKind::Signed, 2) => signed!(i16),
            (NumberKind::Signed, 4) => signed!(i32),
            (NumberKind::Signed, _) => signed!(i64),
            (NumberKind::Unsigned, 1) => each!(u8, |v| T::from_f64(v.into())),
            (NumberKind::Unsigned, 2) => each!(u16, |v| T::from_f64(v.into())),
            (NumberKind::Unsigned, 4) => each!(u32, |v| T::from_f64(v.into())),
            (NumberKind::Unsigned, _) => each!(u64, |v| T::from_f64(v as f64)),
            (NumberKind::Bool, _) => each!(u8, |v| T::from_f64(f64::from(v != 0))),
        }
    }
}

/// The number itself if it is a `T`. A conversion through another type could change a NaN.
fn same<T: Scalar, V: 'static>(v: V) -> Option<T> {
    (&v as &dyn Any).downcast_ref::<T>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<T: Scalar>(name: &str, bytes: &[u8]) -> T {
        let mut to = [T::from_f64(0.5)];
        Number::parse(name).unwrap().decode(bytes, &mut to);
        to[0]
    }

    #[test]
    fn all_types_in_both_orders() {
        assert_eq!(one::<f64>("<f8", &1.25f64.to_le_bytes()), 1.25);
        assert_eq!(one::<f64>(">f8", &1.25f64.to_be_bytes()), 1.25);
        assert_eq!(one::<f64>("<f4", &1.25f32.to_le_bytes()), 1.25);
        assert_eq!(one::<f32>(">f4", &1.25f32.to_be_bytes()), 1.25);
        assert_eq!(one::<f32>(">f8", &0.1f64.to_be_bytes()), 0.1f32);
        assert_eq!(one::<f64>("|i1", &[0x80]), -128.0);
        assert_eq!(one::<f64>("|u1", &[0x80]), 128.0);
        assert_eq!(one::<f64>("|b1", &[2]), 1.0);
        assert_eq!(one::<f64>("<i2", &(-2i16).to_le_bytes()), -2.0);
        assert_eq!(one::<f64>(">u2", &65535u16.to_be_bytes()), 65535.0);
        assert_eq!(one::<f64>(">i4", &(-70000i32).to_be_bytes()), -70000.0);
        assert_eq!(one::<f64>("<u4", &u32::MAX.to_le_bytes()), 4294967295.0);
        let large = 1i64 << 53;
        assert_eq!(one::<f64>(">i8", &(-large).to_be_bytes()), -(large as f64));
        assert_eq!(one::<f64>("<u8", &u64::MAX.to_le_bytes()), 2f64.powi(64));
    }

    #[test]
    fn floats_of_the_same_type_keep_their_bits() {
        for bits in [0x7FF0_0000_0000_07A2, 0xFFF8_0000_0000_0001, 1] {
            let read = one::<f64>("<f8", &u64::to_le_bytes(bits));
            assert_eq!(read.to_bits(), bits);
        }
        for bits in [0x7F80_0001u32, 0xFFC0_0002, 1] {
            let read = one::<f32>("<f4", &bits.to_le_bytes());
            assert_eq!(read.to_bits(), bits);
        }
    }

    #[test]
    fn the_smallest_integer_is_na_only_where_that_is_said() {
        let mut to = [0.0f64; 2];
        let bytes: Vec<u8> = [i32::MIN, 3].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let number = Number::parse("=i4").unwrap();
        number.decode(&bytes, &mut to);
        assert_eq!(to, [f64::from(i32::MIN), 3.0]);
        number.with_na().decode(&bytes, &mut to);
        assert_eq!((to[0].to_bits(), to[1]), (NA.to_bits(), 3.0));
    }

    #[test]
    fn other_types_are_none() {
        for name in [
            "", "<", "<f", "f8", "<f2", "<f16", "<c8", "|O", "<U4", "|S8", "<M8", "<m8", "|V8",
            "|b8", "<f8 ", "<i3", "\u{e9}f8",
        ] {
            assert_eq!(Number::parse(name), None, "{name}");
        }
    }
}
