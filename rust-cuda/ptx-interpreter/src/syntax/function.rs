//! Kernels and functions (PTX ISA 11.3, 11.4).

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Function, Linkage, Performance, Variable};

impl Parser<'_> {
    /// Parses `.entry NAME(…) .maxntid 256 { … }` or `.func (…) NAME (…);`. The next token is
    /// `.entry` or `.func`.
    pub(super) fn function(&mut self, linkage: Linkage) -> Parsed<Function> {
        let is_entry = self.eat_directive(".entry");
        if !is_entry {
            self.advance();
        }
        let returns = if is_entry { Vec::new() } else { self.parameters(false)? };
        let line = self.peek().line;
        let name = self.name(if is_entry { "the name of a kernel" } else { "the name of a function" })?;
        let parameters = self.parameters(is_entry)?;
        let performance = self.performance(is_entry)?;
        let mut unsupported = None;
        let body = match self.kind() {
            TokenKind::Punctuation(b';') => {
                self.advance();
                None
            }
            TokenKind::Punctuation(b'{') => {
                let start = self.position();
                match self.body() {
                    Ok(body) => Some(body),
                    Err(error) => {
                        self.rewind_to(start);
                        if !self.skip_block() {
                            return Err(error);
                        }
                        unsupported = Some(error);
                        None
                    }
                }
            }
            _ if is_entry => {
                let expected = "`{`, `;`, `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg`, `.reqnctapercluster`, \
                                `.maxclusterrank`, `.explicitcluster` or `.pragma` (other directives are not supported)";
                return Err(self.error(expected));
            }
            _ => return Err(self.error("`{`, `;`, `.noreturn` or `.pragma`")),
        };
        Ok(Function { name, is_entry, linkage, returns, parameters, performance, body, unsupported, line })
    }

    /// `(…)`, or nothing.
    pub(super) fn parameters(&mut self, is_entry: bool) -> Parsed<Vec<Variable>> {
        let mut parameters = Vec::new();
        if !self.eat(b'(') || self.eat(b')') {
            return Ok(parameters);
        }
        loop {
            parameters.push(self.parameter(is_entry)?);
            if !self.eat(b',') {
                self.expect(b')', "`)` or `,`")?;
                return Ok(parameters);
            }
        }
    }

    fn performance(&mut self, is_entry: bool) -> Parsed<Performance> {
        let mut performance = Performance::default();
        loop {
            let directive = self.directive().unwrap_or("");
            match directive {
                ".pragma" => self.pragma()?,
                ".noreturn" if !is_entry => {
                    self.advance();
                }
                ".maxntid" if is_entry => {
                    self.reject_duplicate(performance.max_threads.is_some())?;
                    performance.max_threads = Some(self.threads()?);
                }
                ".reqntid" if is_entry => {
                    self.reject_duplicate(performance.required_threads.is_some())?;
                    performance.required_threads = Some(self.threads()?);
                }
                ".reqnctapercluster" if is_entry => {
                    self.reject_duplicate(performance.required_cluster.is_some())?;
                    self.reject_sizes_of_clusters(performance.max_cluster_rank.is_some())?;
                    performance.required_cluster = Some(self.threads()?);
                }
                ".maxclusterrank" if is_entry => {
                    self.reject_duplicate(performance.max_cluster_rank.is_some())?;
                    self.reject_sizes_of_clusters(performance.required_cluster.is_some())?;
                    performance.max_cluster_rank = Some(self.number_after_directive()?);
                }
                // A launch without explicit clusters takes their size from `.reqnctapercluster`.
                ".explicitcluster" if is_entry => {
                    self.advance();
                }
                ".minnctapersm" if is_entry => {
                    self.reject_duplicate(performance.min_blocks.is_some())?;
                    performance.min_blocks = Some(self.number_after_directive()?);
                }
                ".maxnreg" if is_entry => {
                    self.reject_duplicate(performance.max_registers.is_some())?;
                    performance.max_registers = Some(self.number_after_directive()?);
                }
                _ => return Ok(performance),
            }
        }
    }

    fn reject_duplicate(&self, is_duplicate: bool) -> Parsed<()> {
        if is_duplicate {
            return Err(self.error("each of these directives at most once"));
        }
        Ok(())
    }

    fn reject_sizes_of_clusters(&self, has_other: bool) -> Parsed<()> {
        if has_other {
            return Err(self.error("either `.reqnctapercluster` or `.maxclusterrank`"));
        }
        Ok(())
    }

    fn number_after_directive(&mut self) -> Parsed<u32> {
        self.advance();
        self.positive("a positive number of at most 32 bits")
    }

    /// `.maxntid 16, 16`; missing dimensions are 1.
    fn threads(&mut self) -> Parsed<[u32; 3]> {
        let mut threads = [self.number_after_directive()?, 1, 1];
        for threads in &mut threads[1..] {
            if !self.is_punctuation(b',') {
                break;
            }
            *threads = self.number_after_directive()?;
        }
        Ok(threads)
    }
}
