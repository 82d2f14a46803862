//! The glue to R.
