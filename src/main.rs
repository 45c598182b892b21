//! The `flipside` program: a check of the CPU, then the command line.
#![deny(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}

/// Refuses a CPU that lacks instructions the program was compiled for, before one of them is executed.
///
/// In a build for x86-64-v3, the compiler may use AVX2 or BMI anywhere, even in the standard library's runtime before `main` if it is
/// inlined into our code. So the check is a static initialiser, which the loader calls before the runtime starts, and it gives the
/// compiler nothing to vectorise: it compares bits of CPUID, and the C library, compiled for any CPU, writes the texts. A test runs
/// it under an emulated Nehalem.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // CPUID's extended state, a static initialiser and two C functions.
mod cpu {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    /// The words of CPUID that features are read from.
    struct Words {
        leaf1_ecx: u32,
        leaf7_ebx: u32,
        extended_ecx: u32,
        /// The state that the operating system saves: 6 for AVX, 0xe6 for AVX-512.
        saved_state: u32,
    }

    /// A feature is needed if the build may use it.
    macro_rules! features {
        ($($name:literal: $field:ident bit $bit:literal, state $state:literal;)*) => {
            #[inline(never)]
            #[allow(clippy::bad_bit_mask)] // State 0 requires nothing, as intended.
            fn report_missing(words: &Words) -> bool {
                let mut any = false;
                $(
                    let found = words.$field >> $bit & 1 == 1 && words.saved_state & $state == $state;
                    if cfg!(target_feature = $name) && !found {
                        if !any {
                            say("flipside: this CPU, or its operating system, lacks instructions this build uses:");
                        }
                        any = true;
                        say(concat!(" ", $name));
                    }
                )*
                any
            }
        };
    }

    features! {
        "sse3": leaf1_ecx bit 0, state 0;
        "ssse3": leaf1_ecx bit 9, state 0;
        "sse4.1": leaf1_ecx bit 19, state 0;
        "sse4.2": leaf1_ecx bit 20, state 0;
        "popcnt": leaf1_ecx bit 23, state 0;
        "movbe": leaf1_ecx bit 22, state 0;
        "lzcnt": extended_ecx bit 5, state 0;
        "bmi1": leaf7_ebx bit 3, state 0;
        "bmi2": leaf7_ebx bit 8, state 0;
        "avx": leaf1_ecx bit 28, state 0x6;
        "f16c": leaf1_ecx bit 29, state 0x6;
        "fma": leaf1_ecx bit 12, state 0x6;
        "avx2": leaf7_ebx bit 5, state 0x6;
        "avx512f": leaf7_ebx bit 16, state 0xe6;
        "avx512dq": leaf7_ebx bit 17, state 0xe6;
        "avx512cd": leaf7_ebx bit 28, state 0xe6;
        "avx512bw": leaf7_ebx bit 30, state 0xe6;
        "avx512vl": leaf7_ebx bit 31, state 0xe6;
    }

    const HINT: &str = "\nBuild the portable version, which runs on every x86-64 CPU:\n  \
        RUSTFLAGS=\"-C target-cpu=x86-64\" cargo build --release --target-dir target/portable\n";

    unsafe extern "C" {
        #[cfg_attr(windows, link_name = "_write")]
        fn write(file: i32, text: *const u8, length: usize) -> isize;
        fn _exit(code: i32) -> !;
    }

    #[inline(never)]
    fn say(text: &'static str) {
        // SAFETY: pointer and length are those of a static text. Nothing can be done if standard error is closed.
        unsafe { write(2, text.as_ptr(), text.len()) };
    }

    #[inline(never)]
    fn read() -> Words {
        let leaf1_ecx = __cpuid(1).ecx;
        let leaf7_ebx = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let extended_ecx = if __cpuid(0x8000_0000).eax > 0x8000_0000 { __cpuid(0x8000_0001).ecx } else { 0 };
        const OSXSAVE: u32 = 1 << 27;
        // SAFETY: the instruction exists if the bit OSXSAVE is set.
        let saved_state = if leaf1_ecx & OSXSAVE != 0 { unsafe { _xgetbv(0) as u32 } } else { 0 };
        Words { leaf1_ecx, leaf7_ebx, extended_ecx, saved_state }
    }

    extern "C" fn check() {
        if report_missing(&read()) {
            say(HINT);
            // SAFETY: ends the process; nothing has been started that needs cleaning up.
            unsafe { _exit(1) }
        }
    }

    // SAFETY: the loader calls the functions of this section once, before `main`, without arguments we rely on.
    #[used]
    #[cfg_attr(all(unix, not(target_vendor = "apple")), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
    static CHECK: extern "C" fn() = check;
}
