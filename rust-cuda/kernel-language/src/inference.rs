//! Type inference.

use crate::types::{Float, Integer, Type};

/// What is known about a type.
#[derive(Clone, Debug)]
enum Known {
    Nothing,
    IsInteger,
    IsFloat,
    Is(Type),
}

/// The unknown types in a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inference {
    known: Vec<Known>,
}

impl Inference {
    fn add(&mut self, known: Known) -> Type {
        self.known.push(known);
        Type::Unknown(self.known.len() - 1)
    }

    pub(crate) fn any(&mut self) -> Type {
        self.add(Known::Nothing)
    }

    pub(crate) fn integer(&mut self) -> Type {
        self.add(Known::IsInteger)
    }

    pub(crate) fn float(&mut self) -> Type {
        self.add(Known::IsFloat)
    }

    /// The type itself, if it has been inferred. Its parts may be unknown.
    pub(crate) fn outer(&self, of: &Type) -> Type {
        let mut of = of;
        while let Type::Unknown(number) = of
            && let Known::Is(is) = &self.known[*number]
        {
            of = is;
        }
        of.clone()
    }

    /// The type with all inferred parts.
    pub(crate) fn whole(&self, of: &Type) -> Type {
        self.outer(of).with_parts(|part| self.whole(part))
    }

    pub(crate) fn is_integer(&self, of: &Type) -> bool {
        match self.outer(of) {
            Type::Integer(_) => true,
            Type::Unknown(number) => matches!(self.known[number], Known::IsInteger),
            _ => false,
        }
    }

    pub(crate) fn is_float(&self, of: &Type) -> bool {
        match self.outer(of) {
            Type::Float(_) => true,
            Type::Unknown(number) => matches!(self.known[number], Known::IsFloat),
            _ => false,
        }
    }

    /// Makes two types equal; false if they cannot be.
    pub(crate) fn unify(&mut self, a: &Type, b: &Type) -> bool {
        let (a, b) = (self.outer(a), self.outer(b));
        match (&a, &b) {
            (Type::Unknown(x), Type::Unknown(y)) if x == y => true,
            (Type::Unknown(x), Type::Unknown(y)) => {
                let (from, to) = match (&self.known[*x], &self.known[*y]) {
                    (Known::IsInteger, Known::IsFloat) | (Known::IsFloat, Known::IsInteger) => return false,
                    (Known::Nothing, _) => (x, b.clone()),
                    _ => (y, a.clone()),
                };
                self.known[*from] = Known::Is(to);
                true
            }
            (Type::Unknown(number), other) | (other, Type::Unknown(number)) => {
                let fits = match self.known[*number] {
                    Known::IsInteger => matches!(other, Type::Integer(_)),
                    Known::IsFloat => matches!(other, Type::Float(_)),
                    _ => !self.mentions(other, *number),
                };
                if fits {
                    self.known[*number] = Known::Is(other.clone());
                }
                fits
            }
            _ => {
                let is_same_kind = match (&a, &b) {
                    (Type::Struct(x, _), Type::Struct(y, _)) => x == y,
                    (Type::Atomic(_, x), Type::Atomic(_, y)) | (Type::Reference(_, x), Type::Reference(_, y)) => x == y,
                    _ => std::mem::discriminant(&a) == std::mem::discriminant(&b),
                };
                let (x, y) = (a.parts(), b.parts());
                if !is_same_kind || x.len() != y.len() {
                    return false;
                }
                if x.is_empty() {
                    return a == b;
                }
                x.iter().zip(y).all(|(x, y)| self.unify(x, y))
            }
        }
    }

    fn mentions(&self, of: &Type, number: usize) -> bool {
        match self.outer(of) {
            Type::Unknown(other) => other == number,
            outer => outer.parts().iter().any(|part| self.mentions(part, number)),
        }
    }

    /// Sets undetermined integers and floats to the language's defaults: i32 and f64.
    pub(crate) fn set_defaults(&mut self) {
        for known in &mut self.known {
            match known {
                Known::IsInteger => *known = Known::Is(Type::Integer(Integer::I32)),
                Known::IsFloat => *known = Known::Is(Type::Float(Float::F64)),
                _ => {}
            }
        }
    }
}
