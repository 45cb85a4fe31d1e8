// One layer for a batch: y = activation(x·W + b), where x is rows × inputs, W is inputs × units and y is rows × units.
//
// A workgroup computes a tile of ROWS × UNITS outputs. It loads DEPTH columns of x and rows of W at a time into
// workgroup memory, so that it reads each of its weights and inputs once; an invocation accumulates four rows of one
// unit.

struct Layer {
    rows: u32,
    inputs: u32,
    units: u32,
    activation: u32,
}

@group(0) @binding(0) var<uniform> layer: Layer;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> biases: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const UNITS: u32 = 16u;
const ROWS: u32 = 64u;
const DEPTH: u32 = 16u;
const ROWS_EACH: u32 = 4u;

var<workgroup> x_tile: array<array<f32, DEPTH>, ROWS>;
var<workgroup> weight_tile: array<array<f32, UNITS>, DEPTH>;

@compute @workgroup_size(16, 16)
fn dense(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
    let unit = workgroup.x * UNITS + local.x;
    let first_row = workgroup.y * ROWS;
    var sums = vec4<f32>();
    for (var k = 0u; k < layer.inputs; k += DEPTH) {
        // The tiles are zero-padded outside x and W.
        for (var i = 0u; i < ROWS_EACH; i++) {
            let row = i * DEPTH + local.y;
            let is_inside = first_row + row < layer.rows && k + local.x < layer.inputs;
            x_tile[row][local.x] = 0.0;
            if is_inside {
                x_tile[row][local.x] = x[(first_row + row) * layer.inputs + k + local.x];
            }
        }
        weight_tile[local.y][local.x] = 0.0;
        if k + local.y < layer.inputs && unit < layer.units {
            weight_tile[local.y][local.x] = weights[(k + local.y) * layer.units + unit];
        }
        workgroupBarrier();
        for (var p = 0u; p < DEPTH; p++) {
            let inputs = vec4(
                x_tile[local.y][p],
                x_tile[local.y + 16u][p],
                x_tile[local.y + 32u][p],
                x_tile[local.y + 48u][p],
            );
            sums = fma(inputs, vec4(weight_tile[p][local.x]), sums);
        }
        workgroupBarrier();
    }
    if unit < layer.units {
        for (var i = 0u; i < ROWS_EACH; i++) {
            let row = first_row + i * 16u + local.y;
            if row < layer.rows {
                y[row * layer.units + unit] = activate(sums[i] + biases[unit], layer.activation);
            }
        }
    }
}
