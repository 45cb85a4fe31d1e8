//! The result as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format). Editors and
//! GitHub's code scanning read this format.

use ptx_interpreter::syntax::printable;
use ptx_interpreter::{Fault, Place};
use serde::Serialize;

use kernel_check::check::Outcome;
use kernel_check::location::Locations;
use kernel_check::rule::{self, RULES};
use kernel_check::text;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
struct Run {
    tool: Tool,
    results: Vec<SarifResult>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<RuleDescriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleDescriptor {
    id: &'static str,
    short_description: Message,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: Level,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Note,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: Level,
    message: Message,
    locations: [SarifLocation; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<SarifLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
}

/// The result as a SARIF log.
///
/// # Errors
/// If serialization fails.
pub(crate) fn document(outcome: &Outcome) -> serde_json::Result<String> {
    let rules = RULES.iter().map(|rule| RuleDescriptor {
        id: rule.id,
        short_description: Message { text: rule.description.to_owned() },
        default_configuration: Configuration { level: Level::Error },
    });
    let driver = Driver { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION"), rules: rules.collect() };
    let locations = &outcome.locations;
    let faults = outcome.faults.iter().map(|fault| SarifResult::of_fault(fault, locations));
    let notes = outcome.notes.iter().map(|note| SarifResult::of_note(note, locations));
    let run = Run { tool: Tool { driver }, results: faults.chain(notes).collect() };
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run] };
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

impl Message {
    /// A text as it is: SARIF takes `[text](target)` in a message for a link (3.11.6), and a backslash for the way to write a bracket.
    fn of(text: &str) -> Self {
        Self { text: printable(text).replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]") }
    }
}

impl SarifResult {
    fn of_fault(fault: &Fault, locations: &Locations) -> Self {
        let other = fault.kind.other_place();
        Self::new(
            (fault.kind.id(), Level::Error),
            format!("{fault}. Replay it with {}", text::replay(fault)),
            &fault.place,
            other.map(|place| (place, format!("The other place: {place}"))),
            locations,
        )
    }

    fn of_note(note: &Fault, locations: &Locations) -> Self {
        let other = note.kind.other_place().map(|place| (place, format!("The other place: {place}")));
        Self::new((note.kind.id(), Level::Note), note.to_string(), &note.place, other, locations)
    }

    fn new(
        (rule_id, level): (&'static str, Level),
        message: String,
        place: &Place,
        other: Option<(&Place, String)>,
        locations: &Locations,
    ) -> Self {
        let location = |place: &Place, message: Option<String>| {
            let location = locations.line_to_mark(place);
            SarifLocation {
                physical_location: PhysicalLocation {
                    artifact_location: ArtifactLocation { uri: location.uri() },
                    region: Region { start_line: location.line, start_column: location.column },
                },
                message: message.as_deref().map(Message::of),
            }
        };
        Self {
            rule_id,
            rule_index: rule::index(rule_id),
            level,
            message: Message::of(&message),
            locations: [location(place, None)],
            related_locations: other.map(|(place, message)| location(place, Some(message))).into_iter().collect(),
        }
    }
}
