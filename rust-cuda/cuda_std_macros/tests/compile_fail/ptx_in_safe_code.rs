//! A GPU runs PTX unchecked, so making a `PtxVariant` is unsafe.

use cuda_std::PtxVariant;

static OF_A_CALL: PtxVariant = PtxVariant::new((7, 5), ".visible .entry k() { st.global.u32 [4096], 1; }");

fn main() {}
