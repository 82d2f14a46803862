//! Products of a sparse symmetric matrix with blocks of the host, by several threads.

use crate::algo::krylov::blocks::Operator;
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::base::error::Result;
use crate::base::sparse::symmetric::Symmetric;
use crate::base::threads::share;

/// An entry of the matrix costs about as much as this many multiplications.
const ENTRY: f64 = 4.0;

impl Operator<Host> for Symmetric {
    fn order(&self, _: &Host) -> usize {
        self.rows()
    }

    fn multiply(&self, host: &Host, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        let (n, k) = x.shape();
        if n == 0 {
            return Ok(());
        }
        let columns: Vec<&[f64]> = (0..k).map(|j| x.column(j)).collect();
        let outs = out.values_mut().chunks_exact_mut(n);
        let threads = share(host.threads, ENTRY * (self.entries() * k) as f64);
        self.multiply_columns(&columns, outs.collect(), threads);
        Ok(())
    }
}
