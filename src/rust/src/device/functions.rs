//! Functions of numbers, and the reductions, that a device computes by entries; names as in R.

/// A function of one number, as R has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    Copy,
    Negate,
    Abs,
    Sign,
    Sqrt,
    Ceiling,
    Floor,
    Trunc,
    /// To the nearest integer, halves to the even one.
    Round,
    Exp,
    Expm1,
    Log,
    Log1p,
    Log10,
    Log2,
    Cos,
    Sin,
    Tan,
    /// Cosine of pi times the number, exact at multiples of a half; likewise the next two.
    Cospi,
    Sinpi,
    Tanpi,
    Acos,
    Asin,
    Atan,
    Cosh,
    Sinh,
    Tanh,
    Acosh,
    Asinh,
    Atanh,
}

impl Map {
    /// R's names; a place in this list is the number that stands for the function on its way to the
    /// device.
    pub const NAMES: [(&'static str, Map); 30] = [
        ("copy", Map::Copy),
        ("negate", Map::Negate),
        ("abs", Map::Abs),
        ("sign", Map::Sign),
        ("sqrt", Map::Sqrt),
        ("ceiling", Map::Ceiling),
        ("floor", Map::Floor),
        ("trunc", Map::Trunc),
        ("round", Map::Round),
        ("exp", Map::Exp),
        ("expm1", Map::Expm1),
        ("log", Map::Log),
        ("log1p", Map::Log1p),
        ("log10", Map::Log10),
        ("log2", Map::Log2),
        ("cos", Map::Cos),
        ("sin", Map::Sin),
        ("tan", Map::Tan),
        ("cospi", Map::Cospi),
        ("sinpi", Map::Sinpi),
        ("tanpi", Map::Tanpi),
        ("acos", Map::Acos),
        ("asin", Map::Asin),
        ("atan", Map::Atan),
        ("cosh", Map::Cosh),
        ("sinh", Map::Sinh),
        ("tanh", Map::Tanh),
        ("acosh", Map::Acosh),
        ("asinh", Map::Asinh),
        ("atanh", Map::Atanh),
    ];

    pub fn named(name: &str) -> Option<Map> {
        named(&Map::NAMES, name)
    }

    pub fn number(self) -> i32 {
        self as i32
    }

    /// Whether it gives NaN for some number that is none.
    pub fn may_make_nan(self) -> bool {
        !matches!(
            self,
            Map::Copy
                | Map::Negate
                | Map::Abs
                | Map::Sign
                | Map::Ceiling
                | Map::Floor
                | Map::Trunc
                | Map::Round
                | Map::Exp
                | Map::Expm1
                | Map::Atan
                | Map::Cosh
                | Map::Sinh
                | Map::Tanh
                | Map::Asinh
        )
    }
}

/// A function of two numbers, as R has it: `1^NA` and `NA^0` are 1, `%%` has the sign of its second
/// operand, and `%/%` rounds down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zip {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Modulo,
    Quotient,
}

impl Zip {
    pub const NAMES: [(&'static str, Zip); 7] = [
        ("+", Zip::Add),
        ("-", Zip::Subtract),
        ("*", Zip::Multiply),
        ("/", Zip::Divide),
        ("^", Zip::Power),
        ("%%", Zip::Modulo),
        ("%/%", Zip::Quotient),
    ];

    pub fn named(name: &str) -> Option<Zip> {
        named(&Zip::NAMES, name)
    }

    pub fn number(self) -> i32 {
        self as i32
    }
}

/// What many numbers are reduced to, in double precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Sum,
    /// Infinity for no numbers.
    Min,
    /// Minus infinity for no numbers.
    Max,
    /// How many are not NaN.
    Count,
    /// The sum of absolute values.
    Magnitudes,
    /// The largest absolute value; 0 for no numbers.
    Largest,
    /// The sum of squares, which may overflow.
    Squares,
}

impl Fold {
    pub const NAMES: [(&'static str, Fold); 7] = [
        ("sum", Fold::Sum),
        ("min", Fold::Min),
        ("max", Fold::Max),
        ("count", Fold::Count),
        ("magnitudes", Fold::Magnitudes),
        ("largest", Fold::Largest),
        ("squares", Fold::Squares),
    ];

    pub fn named(name: &str) -> Option<Fold> {
        named(&Fold::NAMES, name)
    }

    pub fn number(self) -> i32 {
        self as i32
    }

    /// What partial results are reduced by.
    pub fn of_parts(self) -> Fold {
        match self {
            Fold::Sum | Fold::Count | Fold::Magnitudes | Fold::Squares => Fold::Sum,
            Fold::Largest | Fold::Max => Fold::Max,
            Fold::Min => Fold::Min,
        }
    }

    /// The outcome for no numbers.
    pub fn of_nothing(self) -> f64 {
        match self {
            Fold::Min => f64::INFINITY,
            Fold::Max => f64::NEG_INFINITY,
            Fold::Sum | Fold::Count | Fold::Magnitudes | Fold::Largest | Fold::Squares => 0.0,
        }
    }
}

/// What is reduced to one number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    All,
    Rows,
    Columns,
}

fn named<V: Copy>(all: &[(&str, V)], name: &str) -> Option<V> {
    all.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_numbers() {
        for (i, (name, f)) in Map::NAMES.into_iter().enumerate() {
            assert_eq!((f.number(), Map::named(name)), (i as i32, Some(f)));
        }
        for (i, (name, f)) in Zip::NAMES.into_iter().enumerate() {
            assert_eq!((f.number(), Zip::named(name)), (i as i32, Some(f)));
        }
        for (i, (name, f)) in Fold::NAMES.into_iter().enumerate() {
            assert_eq!((f.number(), Fold::named(name)), (i as i32, Some(f)));
        }
        assert_eq!(Map::named("gamma"), None);
    }
}
