//! Modules (PTX ISA 11.1, 11.6).

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Linkage, Module, SyntaxError};

const MODULE_ITEMS: &str =
    "`.entry`, `.func`, a variable (.const, .global or .shared), `.file`, `.section .debug_…` or `.pragma`";

/// Parses a PTX module.
///
/// Skips only syntax that does not affect execution: comments, `.pragma`, `.section .debug_…`, the
/// function name after a `.loc`, the memory of a `.ptr`, and the hint `.noreturn`.
///
/// # Errors
/// The first token that is invalid or unsupported, with the expected alternatives.
///
/// ```
/// let text = ".version 7.0 .target sm_75 .address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n";
/// let module = ptx_interpreter::syntax::parse(text).unwrap();
/// assert_eq!(module.functions[0].name, "nothing");
///
/// let error = ptx_interpreter::syntax::parse(&text.replace("ret;", "ret")).unwrap_err();
/// assert_eq!(error.to_string(), "line 4: expected `;` or an operand, found the end of the line, in: ret");
/// ```
pub fn parse(text: &str) -> Result<Module, SyntaxError> {
    let module = parse_keeping_errors(text)?;
    match module.functions.iter().find_map(|function| function.unsupported.clone()) {
        Some(error) => Err(error),
        None => Ok(module),
    }
}

/// Like [`parse`], but keeps an error in a function's body with the function.
pub(crate) fn parse_keeping_errors(text: &str) -> Result<Module, SyntaxError> {
    Parser::new(text).module()
}

impl Parser<'_> {
    fn module(&mut self) -> Parsed<Module> {
        let mut module = self.header()?;
        // An unsupported body may cause errors in the text after it.
        let unsupported = |module: &Module| module.functions.iter().find_map(|function| function.unsupported.clone());
        self.items(&mut module).map_err(|error| unsupported(&module).unwrap_or(error))?;
        Ok(module)
    }

    /// A module without its items, which follow.
    pub(super) fn header(&mut self) -> Parsed<Module> {
        let version = self.version()?;
        let target = self.target()?;
        let address_size = self.address_size()?;
        Ok(Module { version, target, address_size, variables: Vec::new(), functions: Vec::new(), files: Vec::new() })
    }

    fn items(&mut self, module: &mut Module) -> Parsed<()> {
        while self.kind() != TokenKind::End {
            self.item(module)?;
        }
        Ok(())
    }

    /// The next declaration or other directive at module scope.
    pub(super) fn item(&mut self, module: &mut Module) -> Parsed<()> {
        match self.directive() {
            Some(".file") => module.files.push(self.source_file()?),
            Some(".section") => self.debug_section()?,
            Some(".pragma") => self.pragma()?,
            None if self.kind_after() == TokenKind::Punctuation(b':') => self.section_label()?,
            _ => self.declaration(module)?,
        }
        Ok(())
    }

    fn declaration(&mut self, module: &mut Module) -> Parsed<()> {
        let linkage = self.linkage();
        if linkage == Linkage::Common && self.directive() != Some(".global") {
            return Err(self.error("`.global`, the only space of `.common`"));
        }
        match self.directive() {
            Some(".entry" | ".func") => module.functions.push(self.function(linkage)?),
            Some(".const" | ".global" | ".shared") => self.variables(linkage, &mut module.variables)?,
            _ if linkage == Linkage::Internal => return Err(self.error(MODULE_ITEMS)),
            _ => return Err(self.error("`.entry`, `.func` or a variable (.const, .global or .shared)")),
        }
        Ok(())
    }

    fn linkage(&mut self) -> Linkage {
        let linkage = match self.directive() {
            Some(".visible") => Linkage::Visible,
            Some(".extern") => Linkage::Extern,
            Some(".weak") => Linkage::Weak,
            Some(".common") => Linkage::Common,
            _ => return Linkage::Internal,
        };
        self.advance();
        linkage
    }

    /// Parses `.version 7.0`. The tokenizer treats the number as a decimal fraction.
    fn version(&mut self) -> Parsed<(u32, u32)> {
        if !self.eat_directive(".version") {
            return Err(self.error("`.version`, the first directive of a module"));
        }
        let parts = self.word().split_once('.').filter(|_| self.kind() == TokenKind::Number);
        let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let version = parts.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        let version = version.ok_or_else(|| self.error("a version of the PTX ISA, such as 7.0"))?;
        self.advance();
        Ok(version)
    }

    /// Parses `.target sm_75, debug`. The options after the architecture do not affect execution,
    /// except `map_f64_to_f32`, which is rejected.
    fn target(&mut self) -> Parsed<String> {
        if !self.eat_directive(".target") {
            return Err(self.error("`.target`"));
        }
        if !self.word().starts_with("sm_") {
            return Err(self.error("an architecture, such as sm_75"));
        }
        let target = self.name("an architecture, such as sm_75")?;
        while self.eat(b',') {
            match self.word() {
                "debug" | "texmode_unified" | "texmode_independent" => self.advance(),
                _ => return Err(self.error("`debug`, `texmode_unified` or `texmode_independent`")),
            };
        }
        Ok(target)
    }

    fn address_size(&mut self) -> Parsed<u32> {
        // Required: the default would be 32 bits.
        if !self.eat_directive(".address_size") {
            return Err(self.error("`.address_size 64`, or `,` and an option of the target"));
        }
        if self.word() != "64" {
            return Err(self.error("64, the only supported address size"));
        }
        self.unsigned("64")
    }
}
