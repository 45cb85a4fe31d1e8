//! Statements of a function body (PTX ISA 4.3).

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Linkage, Statement};
use crate::limits::MAX_BLOCK_DEPTH;

const STATEMENTS: &str = "an instruction, a label, `.reg`, a variable (.local, .param, .shared, .global or .const), \
                          `.loc`, `.pragma`, `{` or `}`";

impl Parser<'_> {
    /// Parses a function's `{ … }`.
    pub(super) fn body(&mut self) -> Parsed<Vec<Statement>> {
        self.block(0)
    }

    fn block(&mut self, depth: usize) -> Parsed<Vec<Statement>> {
        if depth > MAX_BLOCK_DEPTH {
            return Err(self.error(format!("at most {MAX_BLOCK_DEPTH} nested blocks")));
        }
        self.expect(b'{', "`{`")?;
        let mut statements = Vec::new();
        while !self.eat(b'}') {
            self.statement(depth, &mut statements)?;
        }
        Ok(statements)
    }

    fn statement(&mut self, depth: usize, statements: &mut Vec<Statement>) -> Parsed<()> {
        match self.kind() {
            TokenKind::Name if self.kind_after() == TokenKind::Punctuation(b':') => statements.push(self.label()?),
            TokenKind::Name | TokenKind::Punctuation(b'@') => {
                statements.push(Statement::Instruction(self.instruction()?));
            }
            TokenKind::Punctuation(b'{') => statements.push(Statement::Block(self.block(depth + 1)?)),
            TokenKind::Directive => match self.word() {
                ".reg" => statements.push(self.registers()?),
                ".loc" => statements.push(Statement::Location(self.location()?)),
                ".pragma" => self.pragma()?,
                ".local" | ".param" | ".shared" | ".global" | ".const" => {
                    let mut variables = Vec::new();
                    self.variables(Linkage::Internal, &mut variables)?;
                    statements.extend(variables.into_iter().map(Statement::Variable));
                }
                _ => return Err(self.error(STATEMENTS)),
            },
            _ => return Err(self.error(STATEMENTS)),
        }
        Ok(())
    }

    /// `NAME:`, `NAME: .branchtargets A, B;`, `NAME: .calltargets F, G;` or `NAME: .callprototype (…) _ (…);`
    fn label(&mut self) -> Parsed<Statement> {
        let line = self.peek().line;
        let name = self.name("a label")?;
        self.advance();
        match self.directive() {
            Some(".branchtargets") => {
                let targets = self.names("a label")?;
                Ok(Statement::BranchTargets { name, targets, line })
            }
            Some(".calltargets") => {
                let functions = self.names("the name of a function")?;
                Ok(Statement::CallTargets { name, functions, line })
            }
            Some(".callprototype") => {
                self.advance();
                let returns = self.parameters(false)?;
                self.name("`_`, in place of a function's name")?;
                let parameters = self.parameters(false)?;
                self.eat_directive(".noreturn");
                self.expect(b';', "`;`, `(…)` or `.noreturn`")?;
                Ok(Statement::CallPrototype { name, returns, parameters, line })
            }
            _ => Ok(Statement::Label { name, line }),
        }
    }

    /// The names after the next token, a directive, up to the semicolon.
    fn names(&mut self, expected: &str) -> Parsed<Vec<String>> {
        self.advance();
        let mut names = vec![self.name(expected)?];
        while self.eat(b',') {
            names.push(self.name(expected)?);
        }
        self.expect(b';', "`;` or `,`")?;
        Ok(names)
    }
}
