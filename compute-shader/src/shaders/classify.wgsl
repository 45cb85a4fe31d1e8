// Counts the rows whose largest output, the first of equals, is at the label's index, so that only the count leaves the
// device. One invocation per row; each workgroup counts in workgroup memory and adds its count to the global one.

struct Outputs {
    rows: u32,
    units: u32,
    // Index in the data set of the batch's first row.
    first: u32,
}

@group(0) @binding(0) var<uniform> outputs: Outputs;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read> labels: array<u32>;
@group(0) @binding(3) var<storage, read_write> correct: atomic<u32>;

var<workgroup> correct_here: atomic<u32>;

@compute @workgroup_size(64)
fn classify(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = id.x;
    if row < outputs.rows {
        let start = row * outputs.units;
        var best = 0u;
        for (var unit = 1u; unit < outputs.units; unit++) {
            if y[start + unit] > y[start + best] {
                best = unit;
            }
        }
        if best == labels[outputs.first + row] {
            atomicAdd(&correct_here, 1u);
        }
    }
    workgroupBarrier();
    if local == 0u {
        atomicAdd(&correct, atomicLoad(&correct_here));
    }
}
