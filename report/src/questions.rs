//! Questions of an assignment and their answers.

use serde::Serialize;

use crate::tables::FormattedTable;

/// A question and its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Question {
    pub(crate) question: &'static str,
    pub(crate) paragraphs: Vec<String>,
    pub(crate) listings: Vec<CaptionedListing>,
    pub(crate) table: Option<CaptionedTable>,
    pub(crate) charts: Vec<CaptionedChart>,
    pub(crate) pictures: Option<CaptionedPictures>,
}

/// An excerpt of the sources, by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CaptionedListing {
    pub(crate) name: &'static str,
    pub(crate) caption: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CaptionedTable {
    pub(crate) name: &'static str,
    pub(crate) caption: String,
    #[serde(flatten)]
    pub(crate) table: FormattedTable,
}

/// A chart, by its name in the document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CaptionedChart {
    pub(crate) name: &'static str,
    pub(crate) caption: String,
}

/// Pictures in one figure, by their names in the document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CaptionedPictures {
    pub(crate) names: Vec<&'static str>,
    pub(crate) caption: String,
}

/// An answer in words.
pub(crate) fn text(question: &'static str, paragraphs: impl IntoIterator<Item = String>) -> Question {
    Question { question, paragraphs: paragraphs.into_iter().collect(), ..Question::default() }
}
