// Each name that people give kernels, parameters and variables, as all three at once: no name of theirs meets one of the macro's.
// Included by tests on the host and by a crate that is compiled to PTX.

macro_rules! kernels {
    ($($name:ident)*) => {
        #[allow(missing_docs)]
        pub mod named {$(
            pub mod $name {
                use ::cuda_std::{GlobalMut, kernel, thread, warp};

                /// out[i] = x[i] + 1, with all names of the kernel the same.
                #[kernel]
                pub fn $name($name: &[u32], out: GlobalMut<u32>) {
                    let i = thread::index_1d() as usize;
                    let first = $name[i];
                    let mut $name = first;
                    while $name <= first {
                        $name += 1;
                    }
                    out.set(i, $name + warp::lane_id() / 32);
                }

                pub mod other {
                    // The kernel is in scope.
                    use super::*;

                    pub fn twice(out: GlobalMut<u32>) {
                        let $name = thread::index_1d() as usize;
                        out.set($name, 2 * out.get($name));
                    }
                }
            }
        )*}

        /// Calls `$visit!` with each name.
        #[allow(unused_macros)]
        macro_rules! for_each_name {
            ($visit:ident) => {
                $($visit!($name);)*
            };
        }
    };
}

kernels! {
    abs accumulate activate adam add add_one age all alloc alpha any argmax array asm atomic average axpy backward
    ball barrier batch bernoulli beta bfs bias bin bitonic block blur body bool borrow bounds break_even bucket
    budget buffer cell center clamp clear clone cluster cmp col color column compare compute config conv copy core
    cos count cross csr cuda_std current data decode delta den depth derivative device diff dim dot drop element
    else_branch encode end entry epoch eps err error euler exp expand fft fill filter find finish first fma fn_name
    force forward frame from func gain gamma gather gelu gemm gen_id get global grad gradient grey grid group hash
    heat height histogram host id idx image in_place index init inner input insert item iter kernel key knn lane
    last launch layer ld lds left len length lerp level life limit line ln load local lock log loss main mandelbrot
    map mask matmul matrix max mean median memory merge min mod_inverse momentum mul n name nbody neg new next node
    norm normalize num offset one op out_degree outer output pad pass path pi pivot pixel point pop pow predict
    prefix process product push queue r radius rank raw read real reduce relu rem reset result ret rev reverse rng
    rotate round row run saxpy scale scan scatter select set shared shift shuffle sigmoid sin size slice softmax
    solve sort span sqrt st start state std std_dev step stop store str stride sub sum swap sync t table tanh target
    temp test thread threshold tile time tmp to_grey top total transform transpose tree u32 f32 usize update val
    value vec velocity w wait warp weight width window word write x y z zero r#type r#loop r#match r#fn r#mod r#move
    r#ref r#in r#const r#struct r#static r#use
}
