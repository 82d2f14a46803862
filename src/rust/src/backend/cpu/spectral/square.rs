//! A square matrix, and what the double-shift QR iteration does to its columns.

/// A square matrix by columns.
pub(super) struct Square<'a> {
    data: &'a mut [f64],
    pub n: usize,
}

impl Square<'_> {
    pub fn new(data: &mut [f64], n: usize) -> Square<'_> {
        Square { data, n }
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.n + i]
    }

    pub fn set(&mut self, i: usize, j: usize, x: f64) {
        self.data[j * self.n + i] = x;
    }

    pub fn add(&mut self, i: usize, j: usize, x: f64) {
        self.data[j * self.n + i] += x;
    }

    /// Applies the reflection of the vector u, scaled by `half`, to the columns from m on.
    pub fn reflect_columns(&mut self, m: usize, u: &[f64], half: f64) {
        for i in 0..self.n {
            let product = |(k, u): (usize, &f64)| u * self.at(i, m + k);
            let f = u.iter().enumerate().map(product).sum::<f64>() / half;
            u.iter()
                .enumerate()
                .for_each(|(k, u)| self.add(i, m + k, -f * u));
        }
    }

    /// Applies a reflection to columns k, k + 1 and with the `third` pair of numbers k + 2.
    pub fn reflect_few(
        &mut self,
        rows: usize,
        k: usize,
        (x, y, q): (f64, f64, f64),
        third: Option<(f64, f64)>,
    ) {
        for i in 0..rows {
            let mut f = x * self.at(i, k) + y * self.at(i, k + 1);
            if let Some((z, r)) = third {
                f += z * self.at(i, k + 2);
                self.add(i, k + 2, -f * r);
            }
            self.add(i, k, -f);
            self.add(i, k + 1, -f * q);
        }
    }

    /// Rotates columns j and j + 1, by the sine p and the cosine q.
    pub fn rotate_columns(&mut self, rows: usize, j: usize, (p, q): (f64, f64)) {
        for i in 0..rows {
            let (x, y) = (self.at(i, j), self.at(i, j + 1));
            self.set(i, j, q * x + p * y);
            self.set(i, j + 1, q * y - p * x);
        }
    }
}
