//! Presets for network and training settings.

use eframe::egui::Ui;
use neural_net::training::{Optimizer, Schedule};

use super::Form;
use crate::Settings;
use crate::settings::{HiddenActivation, NetworkSettings, TrainingSettings};

/// A preset for network and training settings.
#[derive(Clone, Copy, Debug)]
enum Preset {
    Recommended,
    Paper,
    Large,
    Linear,
}

impl Preset {
    const ALL: [Self; 4] = [Self::Recommended, Self::Paper, Self::Large, Self::Linear];

    fn label(self) -> &'static str {
        match self {
            Self::Recommended => "Recommended",
            Self::Paper => "Sigmoids, as in the paper",
            Self::Large => "Large network",
            Self::Linear => "Linear model",
        }
    }

    fn explanation(self) -> &'static str {
        match self {
            Self::Recommended => "Two layers of ReLU neurons, Adam, a falling learning rate",
            Self::Paper => {
                "One layer of sigmoids with gain and threshold, gradient descent with momentum, a constant rate"
            }
            Self::Large => "Three layers of 64 ReLU neurons, 100 epochs: for tables of many rows, and patience",
            Self::Linear => "No hidden layers: the target as a weighted sum of the features",
        }
    }

    /// Applies the preset. Seed, device and threads do not change.
    fn apply(self, settings: &mut Settings) {
        let defaults = Settings::default();
        let (mut network, mut training) = (defaults.network, defaults.training);
        match self {
            Self::Recommended => {}
            Self::Paper => {
                let activation = HiddenActivation::Sigmoid;
                network = NetworkSettings { hidden: vec![16], activation, gain: 1.0, threshold: 0.0, ..network };
                training.set_optimizer(Optimizer::Sgd);
                training.schedule = Schedule::Constant;
            }
            Self::Large => {
                network.hidden = vec![64; 3];
                (training.epochs, training.patience) = (100, Some(20));
            }
            Self::Linear => network.hidden = vec![],
        }
        let TrainingSettings { seed, device, threads, .. } = settings.training;
        settings.network = network;
        settings.training = TrainingSettings { seed, device, threads, ..training };
    }
}

impl Form {
    /// A menu of presets.
    pub(crate) fn presets(&mut self, ui: &mut Ui) {
        let menu = ui.menu_button("Presets", |ui| {
            for preset in Preset::ALL {
                if ui.button(preset.label()).on_hover_text(preset.explanation()).clicked() {
                    let mut settings = self.settings.clone();
                    preset.apply(&mut settings);
                    self.change(|form| form.replace(settings));
                }
            }
        });
        menu.response.on_hover_text("Set network and training to values to begin with");
    }
}
