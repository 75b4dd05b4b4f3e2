//! How the program is linked.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if packs_relocations() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether relocations may be packed (`DT_RELR`), which makes the program smaller: glibc reads them since
/// 2.36, and the program is to run on the machine that builds it.
fn packs_relocations() -> bool {
    let is_native =
        env::var("HOST").is_ok_and(|host| env::var("TARGET").is_ok_and(|at| at == host));
    let is_glibc = env::var("TARGET").is_ok_and(|at| at == "x86_64-unknown-linux-gnu");
    is_native && is_glibc && glibc().is_some_and(|version| version >= (2, 36))
}

/// Major and minor version, as `getconf` says it: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
