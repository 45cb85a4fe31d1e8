//! Feeds damaged and random files to each reader of the repository. A reader must not panic or take
//! too long. It must say what is wrong with a file that it rejects. If it accepts a file, the
//! written copy must be readable again.

mod cases;
mod checkpoint;
mod dap;
mod edits;
mod figures;
mod finds_defects;
mod idx;
mod launch;
mod networks;
mod pictures;
mod ptx;
mod settings;
/// Helpers from the regression studio's own tests.
#[path = "../../../regression-studio/tests/support/mod.rs"]
mod studio;
mod table;

/// Defines a test for each target, with a number of cases that takes a second or two.
macro_rules! targets {
    ($($name:ident: $reader:expr, $count:expr;)*) => {$(
        #[test]
        fn $name() {
            let reader = $reader;
            if !cases::are_others_wanted() {
                return cases::run_same(stringify!($name), $count, reader);
            }
            bolero::check!().with_type::<edits::Input>().for_each(|input| {
                cases::read(&reader, input);
            });
        }
    )*};
}

targets! {
    idx: idx::reader(), 5_000;
    csv: table::reader(), 5_000;
    settings: settings::reader(), 4_000;
    digits_model: networks::digits_model(), 3_000;
    digits_checkpoint: checkpoint::reader(), 3_000;
    studio_model: networks::studio_model(), 2_000;
    studio_run: networks::studio_run(), 1_000;
    png: pictures::png(), 5_000;
    picture: pictures::picture(), 3_000;
    figures: figures::reader(), 500;
    ptx: ptx::reader(), 2_000;
    launch_file: launch::reader(), 2_000;
    debugger_messages: dap::reader(), 500;
}
