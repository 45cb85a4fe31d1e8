// Softmax over each row of the last layer's sums, in place: eᶻⁱ / Σⱼ eᶻʲ. Subtracting the row's maximum first prevents
// overflow. One invocation per row, since rows are short and many.

struct Outputs {
    rows: u32,
    units: u32,
}

@group(0) @binding(0) var<uniform> outputs: Outputs;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn softmax(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if row >= outputs.rows {
        return;
    }
    let first = row * outputs.units;
    var largest = y[first];
    for (var unit = 1u; unit < outputs.units; unit++) {
        largest = max(largest, y[first + unit]);
    }
    var total = 0.0;
    for (var unit = 0u; unit < outputs.units; unit++) {
        let e = exp(y[first + unit] - largest);
        y[first + unit] = e;
        total += e;
    }
    for (var unit = 0u; unit < outputs.units; unit++) {
        y[first + unit] /= total;
    }
}
