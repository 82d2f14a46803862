//! Dense verbs of the CPU with separate memory.

use super::*;

impl<T: Scalar> Blas<T> for Apart<T> {
    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &Away<'_, T>,
        tb: Trans,
        b: &Away<'_, T>,
        beta: T,
        c: &mut Away<'_, T>,
    ) -> Result<()> {
        let (a, b) = (a.inner.borrow(), b.inner.borrow());
        self.cpu
            .gemm(alpha, ta, &a, tb, &b, beta, c.inner.get_mut())
    }

    fn syrk(&self, _: Trans, _: &Away<'_, T>, _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &Away<'_, T>,
        b: &mut Away<'_, T>,
    ) -> Result<()> {
        let b = b.inner.get_mut();
        <CpuDevice as Blas<T>>::trsm(&self.cpu, side, uplo, trans, diag, k, &a.inner.borrow(), b)
    }

    fn norm1(&self, a: &Away<'_, T>) -> Result<f64> {
        <CpuDevice as Blas<T>>::norm1(&self.cpu, &a.inner.borrow())
    }

    fn column_norms(&self, a: &Away<'_, T>) -> Result<Vec<f64>> {
        <CpuDevice as Blas<T>>::column_norms(&self.cpu, &a.inner.borrow())
    }

    fn diagonal(&self, a: &Away<'_, T>) -> Result<Vec<T>> {
        self.cpu.diagonal(&a.inner.borrow())
    }
}

impl<T: Scalar> Lapack<T> for Apart<T> {
    fn potrf(&self, uplo: Uplo, a: &mut Away<'_, T>) -> Result<()> {
        <CpuDevice as Lapack<T>>::potrf(&self.cpu, uplo, a.inner.get_mut())
    }

    fn pstrf(&self, _: f64, _: &mut Away<'_, T>) -> Result<PivotedCholesky> {
        unimplemented!()
    }

    fn getrf(&self, _: &mut Away<'_, T>) -> Result<LuInfo> {
        unimplemented!()
    }

    fn laswp(&self, _: Trans, _: &[usize], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn geqrf(&self, _: &mut Away<'_, T>) -> Result<Vec<T>> {
        unimplemented!()
    }

    fn scale_trapezoids(&self, _: &[T], _: &[T], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn geqp3(&self, _: &mut Away<'_, T>) -> Result<PivotedQr<T>> {
        unimplemented!()
    }

    fn qrdc2(&self, _: f64, _: &mut Away<'_, T>) -> Result<PivotedQr<T>> {
        unimplemented!()
    }

    fn ormqr(&self, _: Trans, _: &Away<'_, T>, _: &[T], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn orgqr(&self, _: &Away<'_, T>, _: &[T], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }
}

impl<T: Scalar> Batched<T> for Apart<T> {
    fn batch_bytes(&self, all: usize) -> Result<usize> {
        Ok(all)
    }

    fn potrf_batched(&self, _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn takes(&self, _: ProblemShape) -> bool {
        false
    }

    fn qrls_batched(&self, _: f64, _: Problems<'_, Away<'_, T>>) -> Result<Ranks> {
        unimplemented!()
    }
}

impl<T: Scalar> Streamed<T> for Apart<T> {}

impl<T: Scalar> FactorUpdate<T> for Apart<T> {
    type Reflections = <CpuDevice as FactorUpdate<T>>::Reflections;

    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Self::Reflections> {
        <CpuDevice as FactorUpdate<T>>::reflections(&self.cpu, change, n, k)
    }

    fn update_factor(
        &self,
        change: Change,
        r: &mut Away<'_, T>,
        v: &mut Away<'_, T>,
    ) -> Result<()> {
        let (r, v) = (r.inner.get_mut(), v.inner.get_mut());
        self.cpu.update_factor(change, r, v)
    }

    fn update_panel(
        &self,
        all: &mut Self::Reflections,
        first: usize,
        panel: &mut Away<'_, T>,
        v: &mut Away<'_, T>,
    ) -> Result<()> {
        let (panel, v) = (panel.inner.get_mut(), v.inner.get_mut());
        self.cpu.update_panel(all, first, panel, v)
    }
}

impl<T: Scalar> CovarianceMatrix<T> for Apart<T> {
    type Points<'a> = Points<'a>;

    fn points<'a>(&self, _: Points<'a>) -> Result<Points<'a>> {
        unimplemented!()
    }

    fn covariance(
        &self,
        _: &Covariance,
        _: &Points<'_>,
        _: &Points<'_>,
        _: Block,
        _: &mut Away<'_, T>,
    ) -> Result<()> {
        unimplemented!()
    }
}
