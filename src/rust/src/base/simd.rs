//! Code for the widest vector instructions of the processor.

/// Runs work with the widest vectors that this processor has.
#[inline(always)]
pub(crate) fn dispatch<T: crate::base::scalar::Scalar, W: pulp::WithSimd>(work: W) -> W::Output {
    let processor = <T as faer::traits::ComplexField>::Arch::default();
    faer::traits::SimdArch::dispatch(processor, work)
}

/// Defines functions compiled for the widest vectors this processor has.
///
/// Functions that they call must be `#[inline(always)]`. Otherwise the compiler builds those for
/// the oldest processor of the architecture.
macro_rules! vectorized {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$($life:lifetime,)* T $(, const $N:ident)?>(
        $($argument:ident: $type:ty),* $(,)?
    ) -> $answer:ty $body:block) => {
        $(#[$doc])*
        $vis fn $name<$($life,)* T: $crate::base::scalar::Scalar $(, const $N: usize)?>(
            $($argument: $type),*
        ) -> $answer {
            struct Arguments<$($life,)* T $(, const $N: usize)?> {
                $($argument: $type),*
            }
            impl<$($life,)* T: $crate::base::scalar::Scalar $(, const $N: usize)?> pulp::WithSimd
                for Arguments<$($life,)* T $(, $N)?>
            {
                type Output = $answer;

                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) -> $answer {
                    let Self { $($argument),* } = self;
                    $body
                }
            }
            $crate::base::simd::dispatch::<T, _>(Arguments { $($argument),* })
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$($life:lifetime,)* T $(, const $N:ident)?>(
        $($argument:ident: $type:ty),* $(,)?
    ) $body:block) => {
        vectorized! {
            $(#[$doc])* $vis fn $name<$($life,)* T $(, const $N)?>(
                $($argument: $type),*
            ) -> () $body
        }
    };
}
pub(crate) use vectorized;

/// Calls a closure compiled for the widest vectors this processor has.
///
/// The closure and the functions that it calls must be `#[inline(always)]`.
///
/// The bound is `FnMut`, although the call happens once. For `FnOnce` the compiler calls a closure
/// that implements `Fn` through a shim, and compiles that shim for the oldest processor of the
/// architecture.
pub(crate) fn on_widest<R>(f: impl FnMut() -> R) -> R {
    struct Call<F>(F);
    impl<R, F: FnMut() -> R> pulp::WithSimd for Call<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(mut self, _: S) -> R {
            (self.0)()
        }
    }
    pulp::Arch::new().dispatch(Call(f))
}
