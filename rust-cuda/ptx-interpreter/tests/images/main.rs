//! Texture fetches and surface accesses follow the CUDA C++ Programming Guide and the PTX ISA.

mod device;
mod faults;
mod gathers;
mod reference;
mod sampling;
mod surfaces;
