//! NVIDIA GPUs, through our own kernels.
