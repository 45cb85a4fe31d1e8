// All layers for one sample in one launch: a single workgroup goes from layer to layer, with a barrier in between, where a
// batch needs a launch for each. Its activations stay in two buffers that only this workgroup touches.
//
// A layer of few units would leave most of the invocations idle, so each unit's sum is cut into as many parts as there are
// invocations for it; invocations that are neighbours read weights that are neighbours.

struct Layer {
    inputs: u32,
    units: u32,
    activation: u32,
    // Where its weights and its biases begin in `parameters`.
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
        // Each invocation for itself: there are few outputs, and no barrier is needed.
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
