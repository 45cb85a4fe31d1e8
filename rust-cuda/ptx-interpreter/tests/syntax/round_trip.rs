//! Parsing loses nothing: a printed tree is the same text, and parses to the same tree.

use crate::support::{TEXTS, print};
use ptx_interpreter::syntax::{Module, Statement, Variable, parse};

/// The text without debug information, pragmas and whitespace. Computed line by line, to share no
/// code with the parser under test.
fn essence(text: &str) -> String {
    let (mut essence, mut files) = (String::new(), String::new());
    let mut in_section = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap().trim();
        if line.starts_with(".section") || line.starts_with("$L__sec_end") {
            in_section = true;
        }
        // A pragma is a hint to the assembler.
        if !in_section && !line.starts_with(".pragma") {
            let line = match line.strip_prefix(".loc") {
                Some(place) => format!(".loc{}", place.split(',').next().unwrap()),
                None => line.to_owned(),
            };
            let line = if line.starts_with(".target") { line.split(',').next().unwrap().to_owned() } else { line };
            let line = match line.split_once(".ptr .align ") {
                Some((before, after)) => format!("{before}.ptr {}", after.split_once(' ').unwrap().1),
                None => line,
            };
            // The tree does not record their position, so they come last, as in the printer's output.
            if line.starts_with(".file") { files.push_str(&line) } else { essence.push_str(&line) }
        }
        if in_section && line.ends_with('}') {
            in_section = false;
        }
    }
    essence.push_str(&files);
    essence.retain(|character| !character.is_whitespace());
    essence
}

fn without_lines(mut module: Module) -> Module {
    let forget = |variables: &mut Vec<Variable>| variables.iter_mut().for_each(|variable| variable.line = 0);
    forget(&mut module.variables);
    for function in &mut module.functions {
        function.line = 0;
        forget(&mut function.returns);
        forget(&mut function.parameters);
        function.body.iter_mut().for_each(|statements| forget_in(statements));
    }
    module
}

fn forget_in(statements: &mut [Statement]) {
    for statement in statements {
        match statement {
            Statement::Registers { line, .. }
            | Statement::Label { line, .. }
            | Statement::BranchTargets { line, .. }
            | Statement::CallTargets { line, .. } => {
                *line = 0;
            }
            Statement::CallPrototype { returns, parameters, line, .. } => {
                *line = 0;
                returns.iter_mut().chain(parameters).for_each(|variable| variable.line = 0);
            }
            Statement::Variable(variable) => variable.line = 0,
            Statement::Instruction(instruction) => {
                instruction.line = 0;
                // It comes from a comment, which is not printed.
                instruction.reason = None;
                instruction.text.retain(|character| !character.is_whitespace());
            }
            Statement::Block(statements) => forget_in(statements),
            Statement::Location(_) => {}
        }
    }
}

#[test]
fn a_tree_has_each_function_of_its_text() {
    for (name, text) in TEXTS {
        let module = parse(text).unwrap();
        let (entries, functions): (Vec<_>, Vec<_>) = module.functions.iter().partition(|function| function.is_entry);
        assert_eq!((entries.len(), functions.len()), (text.matches(".entry").count(), text.matches(".func ").count()));
        assert!(module.functions.iter().all(|function| function.body.is_some()), "{name}");
    }
}

#[test]
fn a_tree_prints_as_its_text() {
    for (name, text) in TEXTS {
        if name == "kernels by hand" {
            continue; // It has hexadecimal integers and omits alignments.
        }
        let (printed, expected) = (essence(&print::module(&parse(text).unwrap())), essence(text));
        let at = printed.bytes().zip(expected.bytes()).take_while(|(printed, expected)| printed == expected).count();
        let around = |text: &str| text[at.saturating_sub(60)..text.len().min(at + 60)].to_owned();
        assert!(printed == expected, "{name}: printed\n{}\nfor\n{}", around(&printed), around(&expected));
    }
}

#[test]
fn a_printed_tree_parses_to_itself() {
    for (name, text) in TEXTS {
        let module = parse(text).unwrap();
        let again = parse(&print::module(&module)).unwrap();
        let (module, again) = (without_lines(module), without_lines(again));
        assert!(module == again, "{name}");
    }
}

#[test]
fn lines_and_texts_of_instructions_match_the_source() {
    fn check(statements: &[Statement], lines: &[&str], name: &str) -> usize {
        let mut count = 0;
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => {
                    let line = lines[instruction.line as usize - 1];
                    let blank = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                    assert!(blank(line).contains(&instruction.text), "{name}: {instruction:?} in {line}");
                    count += 1;
                }
                Statement::Label { name: label, line } => {
                    assert!(lines[*line as usize - 1].contains(&format!("{label}:")), "{name}: {label}");
                }
                Statement::Block(statements) => count += check(statements, lines, name),
                _ => {}
            }
        }
        count
    }
    for (name, text) in TEXTS {
        let lines: Vec<&str> = text.lines().collect();
        for function in parse(text).unwrap().functions {
            assert!(lines[function.line as usize - 1].contains(&function.name), "{name}");
            assert!(check(&function.body.unwrap(), &lines, name) > 0, "{name}");
        }
    }
}
