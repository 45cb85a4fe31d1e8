#!/usr/bin/env bash
# Gradescope runs this once, with a network: it installs what the grader needs and compiles it, so that run_autograder needs none.
# To try it without a network, PROJECT names a folder of this project and COURSE its compiled program course.
set -euo pipefail
root=${AUTOGRADER:-/autograder}

if [ -n "${PROJECT:-}" ]; then
    ln -sfn "$PROJECT" "$root/project"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive CARGO_HOME=$root/cargo RUSTUP_HOME=$root/rustup PATH=$root/cargo/bin:$PATH
apt-get update
apt-get install -y bubblewrap build-essential ca-certificates curl git
# Without this toolchain the tests of the kernels' PTX are left out of the points.
apt-get install -y rustc-web cargo-web rust-web-src || echo "there is no toolchain for PTX: its tests are not graded"
# One version of rustup, checked before it runs. It installs the version of Rust that the project's rust-toolchain.toml names.
case $(uname -m) in
x86_64) sum=20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c ;;
aarch64) sum=e3853c5a252fca15252d07cb23a1bdd9377a8c6f3efa01531109281ae47f841c ;;
*) echo "no checksum of rustup for $(uname -m) is known: add it to this script" >&2 && exit 1 ;;
esac
rustup=$root/rustup-init
curl --proto '=https' --tlsv1.2 -sSf -o "$rustup" "https://static.rust-lang.org/rustup/archive/1.28.2/$(uname -m)-unknown-linux-gnu/rustup-init"
echo "$sum  $rustup" | sha256sum --check --quiet
chmod +x "$rustup"
"$rustup" -y --no-modify-path --profile minimal --default-toolchain none
git clone GIT_URL "$root/project"
cd "$root/project"
git checkout --detach GIT_REV
cargo build --locked --manifest-path course/Cargo.toml
# Compiles the tests and what submissions depend on.
target/debug/course starter "$root/solved" --solutions --part 1,2,3,activation,augmentation,filters,distributed
target/debug/course grade "$root/solved" GRADE_OPTIONS
