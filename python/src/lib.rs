//! The Python package `flipside`: weights, kept games and features in NumPy arrays. The docstrings of Python are the comments here.

mod boards;
mod games;
mod patterns;
mod threads;
mod weights;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Whether the processor has all instructions of x86-64-v3 that a build for it may use. Asks CPUID, since `is_x86_feature_detected!` is a
/// constant `true` for features of the build.
#[cfg(target_arch = "x86_64")]
#[pyfunction]
#[pyo3(name = "_has_v3")]
fn has_v3() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    /// BMI1, AVX2 and BMI2 in EBX of leaf 7.
    const LEAF7_EBX: u32 = 1 << 3 | 1 << 5 | 1 << 8;
    /// FMA, MOVBE, OSXSAVE, AVX and F16C in ECX of leaf 1.
    const LEAF1_ECX: u32 = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29;
    /// LZCNT in ECX of leaf 0x80000001.
    const EXTENDED_ECX: u32 = 1 << 5;
    let has_leaves = __cpuid(0).eax >= 7 && __cpuid(0x8000_0000).eax > 0x8000_0000;
    has_leaves
        && __cpuid_count(7, 0).ebx & LEAF7_EBX == LEAF7_EBX
        && __cpuid(1).ecx & LEAF1_ECX == LEAF1_ECX
        && __cpuid(0x8000_0001).ecx & EXTENDED_ECX == EXTENDED_ECX
}

#[cfg(not(target_arch = "x86_64"))]
#[pyfunction]
#[pyo3(name = "_has_v3")]
fn has_v3() -> bool {
    false
}

/// The module that the package's `__init__.py` takes everything from.
#[pymodule(name = "_flipside")]
fn flipside_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    if cfg!(target_feature = "avx2") && !has_v3() {
        return Err(PyImportError::new_err(
            "this build needs a CPU with AVX2 and BMI2; for others build it with RUSTFLAGS=\"-C target-cpu=x86-64\"",
        ));
    }
    threads::prepare(module)?;
    module.add_function(wrap_pyfunction!(has_v3, module)?)?;
    module.add_class::<weights::Weights>()?;
    module.add_class::<patterns::PatternSet>()?;
    module.add_class::<games::Games>()?;
    module.add_class::<games::Batches>()?;
    module.add_function(wrap_pyfunction!(weights::load, module)?)?;
    module.add_function(wrap_pyfunction!(weights::save, module)?)?;
    module.add_function(wrap_pyfunction!(boards::boards, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::features, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::pattern_set, module)?)?;
    module.add_function(wrap_pyfunction!(games::games, module)?)?;
    module.add_function(wrap_pyfunction!(games::unpickled, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::threads, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
