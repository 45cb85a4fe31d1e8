//! CUDA arrays and multidimensional copies.

use std::ffi::{c_int, c_uint};

use super::export;
use crate::abi::{Array3DDescriptor, ArrayDescriptor, Copy2D, Copy3D, HostAddress, In, Out};
use crate::driver::memory::Address::{Device, Host};
use crate::driver::memory::{self, array_part, copy};
use crate::driver::{array, device};
use crate::handles::Handle;

export! {
    fn cuArrayCreate_v2(array: Out<Handle>, descriptor: In<ArrayDescriptor>) => array::create(array, descriptor);
    fn cuArray3DCreate_v2(array: Out<Handle>, descriptor: In<Array3DDescriptor>) => array::create_3d(array, descriptor.get()?);
    fn cuArrayDestroy(array: Handle) => array::destroy(array);
    fn cuArrayGetDescriptor_v2(descriptor: Out<ArrayDescriptor>, array: Handle) => array::descriptor(descriptor, array);
    fn cuArray3DGetDescriptor_v2(descriptor: Out<Array3DDescriptor>, array: Handle) =>
        descriptor.set(array::descriptor_3d(array)?);
    fn cuDeviceGetTexture1DLinearMaxWidth(texels: Out<usize>, format: c_int, channels: c_uint, device: c_int) => {
        device::with_ordinal(device)?;
        array::max_linear_width(texels, format, channels)
    };

    fn cuMemcpy2D_v2[cuMemcpy2D_v2_ptds, cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds](copy: In<Copy2D>) =>
        memory::copy_2d(copy, None);
    fn cuMemcpy2DAsync_v2[cuMemcpy2DAsync_v2_ptsz](copy: In<Copy2D>, stream: Handle) =>
        memory::copy_2d(copy, Some(stream));
    fn cuMemcpy3D_v2[cuMemcpy3D_v2_ptds](copy: In<Copy3D>) => memory::copy_3d(copy.get()?, None);
    fn cuMemcpy3DAsync_v2[cuMemcpy3DAsync_v2_ptsz](copy: In<Copy3D>, stream: Handle) =>
        memory::copy_3d(copy.get()?, Some(stream));
    fn cuMemcpyHtoA_v2[cuMemcpyHtoA_v2_ptds](to: Handle, offset: usize, from: HostAddress, bytes: usize) =>
        copy(array_part(to, offset), Host(from), bytes, None);
    fn cuMemcpyHtoAAsync_v2[cuMemcpyHtoAAsync_v2_ptsz](
        to: Handle, offset: usize, from: HostAddress, bytes: usize, stream: Handle,
    ) => copy(array_part(to, offset), Host(from), bytes, Some(stream));
    fn cuMemcpyAtoH_v2[cuMemcpyAtoH_v2_ptds](to: HostAddress, from: Handle, offset: usize, bytes: usize) =>
        copy(Host(to), array_part(from, offset), bytes, None);
    fn cuMemcpyAtoHAsync_v2[cuMemcpyAtoHAsync_v2_ptsz](
        to: HostAddress, from: Handle, offset: usize, bytes: usize, stream: Handle,
    ) => copy(Host(to), array_part(from, offset), bytes, Some(stream));
    fn cuMemcpyDtoA_v2[cuMemcpyDtoA_v2_ptds](to: Handle, offset: usize, from: u64, bytes: usize) =>
        copy(array_part(to, offset), Device(from), bytes, None);
    fn cuMemcpyAtoD_v2[cuMemcpyAtoD_v2_ptds](to: u64, from: Handle, offset: usize, bytes: usize) =>
        copy(Device(to), array_part(from, offset), bytes, None);
    fn cuMemcpyAtoA_v2[cuMemcpyAtoA_v2_ptds](
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize,
    ) => copy(array_part(to, to_offset), array_part(from, from_offset), bytes, None);
}
