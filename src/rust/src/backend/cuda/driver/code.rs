//! Unpacks the code of a family, and reads the parameters of its kernels.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use lzma_rust2::LzmaReader;

use super::kernels::ParameterKind;
use crate::base::error::{Error, Result};

/// The kinds of the parameters of kernels, by the kernels' names.
pub(super) type Parameters = HashMap<String, Vec<ParameterKind>>;

pub(super) fn damaged(e: impl std::fmt::Display) -> Error {
    Error::Internal {
        what: format!("the code of kernels does not unpack: {e}"),
    }
}

/// Unpacks the PTX text that `tools/kernels.py` packed.
pub(crate) fn unpack(packed: &[u8]) -> Result<String> {
    let mut text = String::new();
    LzmaReader::new_mem_limit(packed, u32::MAX, None)
        .and_then(|mut reader| reader.read_to_string(&mut text))
        .map_err(damaged)?;
    Ok(text)
}

/// Unpacks the machine code for an architecture from a file that `tools/kernels.py` packed, and the
/// kinds of the parameters of every kernel in it.
///
/// The file begins with lines: `sm_90 BYTES` for each architecture, `kernel NAME KINDS` for each
/// kernel with one letter for each parameter, and an empty line. The code of the architectures
/// follows in their order.
pub(super) fn unpack_code(packed: &[u8], arch: i32) -> Result<(Vec<u8>, Parameters)> {
    let reader = LzmaReader::new_mem_limit(packed, u32::MAX, None).map_err(damaged)?;
    read_code(BufReader::new(reader), arch)
}

/// As [`unpack_code`], for a file that is unpacked.
fn read_code(mut reader: impl BufRead, arch: i32) -> Result<(Vec<u8>, Parameters)> {
    let wanted = format!("sm_{arch}");
    let (mut before, mut length) = (0, None);
    let mut parameters = Parameters::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(damaged)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => break,
            ["kernel", name, ref kinds @ ..] => {
                let kinds = kinds.concat().chars().map(kind_of).collect::<Option<_>>();
                let kinds = kinds.ok_or_else(|| damaged("unknown kind of parameter"))?;
                parameters.insert(name.to_string(), kinds);
            }
            [name, bytes] => {
                let bytes: u64 = bytes.parse().map_err(damaged)?;
                if name == wanted {
                    length = Some(bytes);
                } else if length.is_none() {
                    before += bytes;
                }
            }
            _ => return Err(damaged("unknown line")),
        }
    }
    let length = length.ok_or_else(|| damaged("an architecture is missing"))?;
    std::io::copy(&mut (&mut reader).take(before), &mut std::io::sink()).map_err(damaged)?;
    let mut code = Vec::new();
    reader
        .take(length)
        .read_to_end(&mut code)
        .map_err(damaged)?;
    if code.len() as u64 != length {
        return Err(damaged("it is cut short"));
    }
    Ok((code, parameters))
}

fn kind_of(sign: char) -> Option<ParameterKind> {
    match sign {
        'l' => Some(ParameterKind::Long),
        'i' => Some(ParameterKind::Int),
        'd' => Some(ParameterKind::Double),
        'f' => Some(ParameterKind::Float),
        _ => None,
    }
}

/// The kinds of the parameters of every kernel in PTX text. A kernel with a parameter of another
/// kind is left out.
pub(crate) fn parameters(ptx: &str) -> Parameters {
    let entry = |text: &str| {
        let (name, rest) = text.split_once('(')?;
        let (list, _) = rest.split_once(')')?;
        let kinds = list.lines().filter(|l| l.contains(".param")).map(kind);
        Some((name.to_string(), kinds.collect::<Option<_>>()?))
    };
    ptx.split(".entry ").skip(1).filter_map(entry).collect()
}

fn kind(parameter: &str) -> Option<ParameterKind> {
    [
        (".u64", ParameterKind::Long),
        (".u32", ParameterKind::Int),
        (".f64", ParameterKind::Double),
        (".f32", ParameterKind::Float),
    ]
    .into_iter()
    .find_map(|(name, kind)| parameter.contains(name).then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver::kernels::Family;

    /// On every kind of GPU, each family for it unpacks to code for that GPU in which every kernel
    /// can be started.
    #[test]
    fn every_family_unpacks() {
        for (major, minor) in [(6, 0), (7, 5), (8, 0), (8, 9), (9, 0), (10, 3), (12, 0)] {
            for family in Family::ALL {
                let Some((packed, arch)) = family.ptx((major, minor)) else {
                    let clusters = [Family::LuPanel, Family::LuFollow].contains(&family);
                    let oldest = if clusters { 9 } else { 8 };
                    assert!(major < oldest || family.is_exact(), "{family:?}");
                    assert_eq!(family.machine_code((major, minor)), None, "{family:?}");
                    continue;
                };
                let text = unpack(packed).unwrap();
                let target = text.split(".target sm_").nth(1).unwrap();
                let target = target.lines().next().unwrap();
                assert_eq!(target.ends_with('a'), family.is_exact(), "{family:?}");
                let target: i32 = target.trim_end_matches('a').parse().unwrap();
                assert_eq!(target, arch, "{family:?}");
                assert!(target <= 10 * major + minor, "{family:?}");
                let entries = text.matches(".entry ").count();
                assert!(entries > 0, "{family:?}");
                let from_ptx = parameters(&text);
                assert_eq!(from_ptx.len(), entries, "{family:?}");
                assert_eq!(
                    text.lines()
                        .any(|l| l.contains("mma.sync") && l.contains(".f64")),
                    family.is_double_on_tensor_cores(),
                    "{family:?}"
                );
                if let Some((packed, arch)) = family.machine_code((major, minor)) {
                    assert!(arch <= 10 * major + minor && arch / 10 == major);
                    let (code, parameters) = unpack_code(packed, arch).unwrap();
                    assert_eq!(code[..4], *b"\x7fELF", "{family:?}");
                    assert_eq!(parameters, from_ptx, "{family:?}");
                }
            }
        }
    }

    /// Every family has machine code for the GPUs for which the package promises it.
    #[cfg(not(feature = "ptx-only"))]
    #[test]
    fn machine_code_is_complete() {
        for capability in [
            (7, 5),
            (8, 0),
            (8, 6),
            (8, 9),
            (9, 0),
            (10, 0),
            (12, 0),
            (12, 1),
        ] {
            for family in Family::ALL {
                // No GPU of that generation takes these kernels.
                let left_out = capability.0 == 12 && family.has_portable_twin();
                assert_eq!(
                    family.machine_code(capability).is_some(),
                    family.ptx(capability).is_some() && !left_out,
                    "{family:?} on {capability:?}"
                );
            }
        }
        assert_eq!(Family::Norms.machine_code((7, 0)), None);
        assert_eq!(Family::Norms.machine_code((13, 0)), None);
    }

    #[test]
    fn code_of_one_architecture_is_taken() {
        let file = b"sm_90 3\nsm_100 2\nkernel a lifd\nkernel b\n\n\n9\x000\n";
        let (first, parameters) = read_code(&file[..], 90).unwrap();
        assert_eq!(first, b"\n9\x00");
        let kinds = [
            ParameterKind::Long,
            ParameterKind::Int,
            ParameterKind::Float,
            ParameterKind::Double,
        ];
        assert_eq!(parameters["a"], [kinds[0], kinds[1], kinds[2], kinds[3]]);
        assert_eq!(parameters["b"], []);
        let (second, _) = read_code(&file[..], 100).unwrap();
        assert_eq!(second, b"0\n");
        assert!(read_code(&file[..], 120).is_err());
    }

    #[test]
    fn damaged_code_does_not_unpack() {
        for file in [
            "sm_90 3\n\n12",
            "sm_90 2\nkernel a x\n\n12",
            "sm_90 2\na b c\n\n12",
            "sm_90 two\n\n12",
            "",
        ] {
            assert!(read_code(file.as_bytes(), 90).is_err(), "{file}");
        }
        assert!(unpack_code(&[], 90).is_err());
    }

    #[test]
    fn parameters_are_read_in_order() {
        let ptx =
            ".visible .entry first(\n\t.param .u64 a,\n\t.param .f32 b\n)\n{ ld.param.u32 x; }\n\
            .visible .entry second(\n\n)\n{}\n.visible .entry third(\n\t.param .b8 c[4]\n)\n{}\n";
        let found = parameters(ptx);
        assert_eq!(
            found.get("first"),
            Some(&vec![ParameterKind::Long, ParameterKind::Float])
        );
        assert_eq!(found.get("second"), Some(&vec![]));
        assert_eq!(found.get("third"), None);
    }

    #[test]
    fn what_is_cut_short_does_not_unpack() {
        let (packed, _) = Family::Norms.ptx((6, 0)).unwrap();
        assert!(unpack(&packed[..packed.len() / 2]).is_err());
        assert!(unpack(&[]).is_err());
    }
}
