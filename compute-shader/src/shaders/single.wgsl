// All layers for one sample in one launch: a single workgroup computes layer after layer with a barrier in between,
// where a batch needs one launch per layer. Activations are double-buffered.
//
// One invocation per unit would leave most invocations idle in a layer of few units, so INVOCATIONS / units of them
// compute partial sums of each unit; adjacent invocations read adjacent weights.

struct Layer {
    inputs: u32,
    units: u32,
    activation: u32,
    // Offsets of its weights and biases in `parameters`.
    weights: u32,
    biases: u32,
}

@group(0) @binding(0) var<storage, read> layers: array<Layer>;
@group(0) @binding(1) var<storage, read> parameters: array<f32>;
@group(0) @binding(2) var<storage, read> sample: array<f32>;
// Two halves, each as long as the widest layer; layer i reads half i and writes half i + 1, modulo 2.
@group(0) @binding(3) var<storage, read_write> activations: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;

const INVOCATIONS: u32 = 256u;

var<workgroup> partial: array<f32, INVOCATIONS>;

fn input(layer: u32, index: u32) -> f32 {
    if layer == 0u {
        return sample[index];
    }
    return activations[(layer % 2u) * (arrayLength(&activations) / 2u) + index];
}

@compute @workgroup_size(256)
fn single(@builtin(local_invocation_index) me: u32) {
    let half = arrayLength(&activations) / 2u;
    let count = arrayLength(&layers);
    for (var index = 0u; index < count; index++) {
        let layer = layers[index];
        let out = ((index + 1u) % 2u) * half;
        for (var first = 0u; first < layer.units; first += INVOCATIONS) {
            let units = min(layer.units - first, INVOCATIONS);
            let parts = INVOCATIONS / units;
            let unit = first + me % units;
            let part = me / units;
            var sum = 0.0;
            if part < parts {
                for (var k = part; k < layer.inputs; k += parts) {
                    sum = fma(input(index, k), parameters[layer.weights + k * layer.units + unit], sum);
                }
            }
            partial[me] = sum;
            workgroupBarrier();
            if me < units {
                var total = parameters[layer.biases + unit];
                for (var i = 0u; i < parts; i++) {
                    total += partial[i * units + me];
                }
                activations[out + unit] = activate(total, layer.activation);
            }
            storageBarrier();
            workgroupBarrier();
        }
    }
    let last = layers[count - 1u];
    let outputs = (count % 2u) * half;
    var shift = 0.0;
    var total = 1.0;
    if last.activation == SOFTMAX {
        // Every invocation computes all of it: outputs are few, and this needs no barrier.
        shift = activations[outputs];
        for (var unit = 1u; unit < last.units; unit++) {
            shift = max(shift, activations[outputs + unit]);
        }
        total = 0.0;
        for (var unit = 0u; unit < last.units; unit++) {
            total += exp(activations[outputs + unit] - shift);
        }
    }
    for (var unit = me; unit < last.units; unit += INVOCATIONS) {
        let z = activations[outputs + unit];
        result[unit] = select(z, exp(z - shift) / total, last.activation == SOFTMAX);
    }
}
