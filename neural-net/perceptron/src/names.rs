//! Names by which command lines and files select the mathematical options.

/// The error for a name that no value of a type has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} {name:?}: it must be one of {}", .names.join(", "))]
pub struct UnknownName {
    /// The type in words, such as "activation".
    pub kind: &'static str,
    /// The given name.
    pub name: String,
    /// The names of all values.
    pub names: Vec<&'static str>,
}

/// Implements `Display` and `FromStr` for a type with `ALL` and `name`: a value is displayed as its
/// name and parsed from exactly that name.
#[macro_export]
macro_rules! display_and_parse_names {
    ($choice:ty, $kind:literal) => {
        impl std::fmt::Display for $choice {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|choice| choice.name() == name);
                found.ok_or_else(|| $crate::names::UnknownName {
                    kind: $kind,
                    name: name.to_owned(),
                    names: Self::ALL.map(Self::name).to_vec(),
                })
            }
        }
    };
}

pub use crate::display_and_parse_names;
