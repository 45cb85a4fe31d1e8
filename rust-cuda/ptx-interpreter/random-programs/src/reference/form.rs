//! The name of an instruction form, split into opcode and modifiers.

/// An opcode and its modifiers.
#[derive(Clone)]
pub struct Form<'a> {
    /// The part of the name before the first dot.
    pub opcode: &'a str,
    /// The parts of the name after the first dot.
    pub modifiers: Vec<&'a str>,
}

impl<'a> Form<'a> {
    /// Splits a name such as `add.rn.f32`.
    pub fn parse(name: &'a str) -> Self {
        let mut parts = name.split('.');
        let opcode = parts.next().expect("split returns at least one part");
        Self { opcode, modifiers: parts.collect() }
    }

    /// Whether the form has this modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The modifier itself, if the form has it.
    pub fn name(&self, modifier: &'a str) -> Option<&'a str> {
        self.has(modifier).then_some(modifier)
    }

    /// The last modifier: usually the type of the sources.
    pub fn last(&self) -> &'a str {
        self.modifiers.last().copied().unwrap_or("")
    }

    /// The modifier before the last one: the type of the destination, if the form names two types.
    pub fn destination(&self) -> &'a str {
        self.modifiers[self.modifiers.len() - 2]
    }

    /// The form with another type as its last modifier.
    pub fn with_type<'b>(&self, name: &'b str) -> Form<'b>
    where
        'a: 'b,
    {
        let mut modifiers: Vec<&'b str> = self.modifiers.clone();
        *modifiers.last_mut().expect("a form with a type") = name;
        Form { opcode: self.opcode, modifiers }
    }
}
