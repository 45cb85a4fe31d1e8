//! Typesets a report's document with Typst, using one template and embedded fonts, without disk or
//! network access.

pub mod document;

use std::collections::HashMap;

use typst::diag::{FileError, FileResult, SourceDiagnostic};
use typst::foundations::{Bytes, Datetime, Dict, Duration, IntoValue};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Feature, Library, LibraryExt, World, WorldExt};
use typst_html::{HtmlDocument, HtmlOptions};
use typst_layout::PagedDocument;
use typst_pdf::PdfOptions;

use self::document::{Document, Template};

const SHARED: &str = include_str!("../template/shared.typ");

/// The template's file name and source.
fn source_of(template: Template) -> (&'static str, &'static str) {
    match template {
        Template::Homework1 => ("report.typ", include_str!("../template/report.typ")),
        Template::Assignment2 => ("hw2.typ", include_str!("../template/hw2.typ")),
        Template::Assignment3 => ("hw3.typ", include_str!("../template/hw3.typ")),
        Template::Form => ("form.typ", include_str!("../template/form.typ")),
    }
}

const REFERENCES: &str = include_str!("../template/references.yml");

/// An error from Typst: the template does not match its input. This is a bug in the template, not
/// in the figures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the report could not be typeset: {0}")]
pub struct TypesetError(String);

/// A report as a PDF file.
#[derive(Clone, Debug)]
pub struct Pdf {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Number of pages.
    pub pages: usize,
}

/// Typesets the document as PDF.
///
/// # Errors
/// If the template does not match the document.
pub fn pdf(document: &Document) -> Result<Pdf, TypesetError> {
    let world = TemplateWorld::of(document, "paged")?;
    let pages = typst::compile::<PagedDocument>(&world).output.map_err(|errors| world.explained(&errors))?;
    let bytes = typst_pdf::pdf(&pages, &PdfOptions::default()).map_err(|errors| world.explained(&errors))?;
    Ok(Pdf { bytes, pages: pages.pages().len() })
}

/// Typesets the document as one HTML page with embedded images.
///
/// # Errors
/// If the template does not match the document.
pub fn html(document: &Document) -> Result<String, TypesetError> {
    let world = TemplateWorld::of(document, "html")?;
    let page = typst::compile::<HtmlDocument>(&world).output.map_err(|errors| world.explained(&errors))?;
    typst_html::html(&page, &HtmlOptions::default()).map_err(|errors| world.explained(&errors))
}

/// Typst's `World`: the only files and fonts that the template can access.
struct TemplateWorld {
    library: LazyHash<Library>,
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
    template: Source,
    shared: Source,
    files: HashMap<FileId, Bytes>,
}

impl TemplateWorld {
    /// The world for a document and a target (`paged` or `html`).
    fn of(document: &Document, target: &str) -> Result<Self, TypesetError> {
        let inputs: Dict = [("target".into(), target.into_value())].into_iter().collect();
        let (name, template) = source_of(document.template);
        let library = Library::builder().with_features([Feature::Html].into_iter().collect()).with_inputs(inputs);
        let fonts: Vec<Font> = typst_assets::fonts().flat_map(|font| Font::iter(Bytes::new(font))).collect();
        let mut files = HashMap::new();
        files.insert(file("report.json")?, Bytes::new(document.value.to_string().into_bytes()));
        files.insert(file("references.yml")?, Bytes::new(REFERENCES.as_bytes()));
        for (name, svg) in &document.charts {
            files.insert(file(&format!("{name}.svg"))?, Bytes::new(svg.clone().into_bytes()));
        }
        for (name, png) in &document.pictures {
            files.insert(file(&format!("{name}.png"))?, Bytes::new(png.0.clone()));
        }
        Ok(Self {
            library: LazyHash::new(library.build()),
            book: LazyHash::new(FontBook::from_fonts(&fonts)),
            fonts,
            template: Source::new(file(name)?, template.to_owned()),
            shared: Source::new(file("shared.typ")?, SHARED.to_owned()),
            files,
        })
    }

    /// Describes the first error, with its line in the template.
    fn explained(&self, errors: &[SourceDiagnostic]) -> TypesetError {
        let Some(error) = errors.first() else { return TypesetError("Typst reported no reason".to_owned()) };
        let source = [&self.template, &self.shared].into_iter().find(|source| error.span.id() == Some(source.id()));
        let before = source.zip(self.range(error.span)).and_then(|(source, range)| source.text().get(..range.start));
        match source.zip(before) {
            Some((source, before)) => {
                let (file, line) = (source.id().get().vpath().get_without_slash(), before.split('\n').count());
                TypesetError(format!("{file}, line {line}: {}", error.message))
            }
            None => TypesetError(error.message.to_string()),
        }
    }
}

fn file(name: &str) -> Result<FileId, TypesetError> {
    let path = VirtualPath::new(name).map_err(|error| TypesetError(format!("{name}: {error:?}")))?;
    Ok(RootedPath::new(VirtualRoot::Project, path).intern())
}

impl World for TemplateWorld {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        &self.book
    }

    fn main(&self) -> FileId {
        self.template.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        let sources = [&self.template, &self.shared];
        sources.into_iter().find(|source| source.id() == id).cloned().ok_or(FileError::NotSource)
    }

    fn file(&self, id: FileId) -> FileResult<Bytes> {
        let missing = || FileError::NotFound(id.get().vpath().get_without_slash().into());
        self.files.get(&id).cloned().ok_or_else(missing)
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.get(index).cloned()
    }

    fn today(&self, _offset: Option<Duration>) -> Option<Datetime> {
        None
    }
}
