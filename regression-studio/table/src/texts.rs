//! String pool in one allocation, and a dictionary over it (string interning).

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// A vector's allocated size in bytes.
pub(crate) fn bytes_of<T>(vector: &Vec<T>) -> u64 {
    (vector.capacity() * size_of::<T>()) as u64
}

/// A list of texts, concatenated in one string with one offset each. There is no allocation per
/// text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    all: String,
    /// End offset of each text in `all`.
    ends: Vec<usize>,
}

impl Texts {
    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at `index`.
    pub fn get(&self, index: usize) -> Option<&str> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        self.all.get(start..*self.ends.get(index)?)
    }

    /// The number of rows with each text. `indices` has the index of each row's text, or an index
    /// of no text.
    pub(crate) fn counts(&self, indices: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.len()];
        for &index in indices {
            if let Some(count) = counts.get_mut(index as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// All texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
    }

    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }
}

/// Distinct texts with a hash index from text to code. Codes count up in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    texts: Texts,
    codes: HashTable<u32>,
    hasher: DefaultHashBuilder,
    last: u32,
}

impl Dictionary {
    /// The code of `text`, which is added if it is new.
    ///
    /// # Panics
    /// If there are already 2³² − 1 texts; tables have fewer rows.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        // Sorted and grouped columns often repeat the text of the previous row.
        if self.texts.get(self.last as usize) == Some(text) {
            return self.last;
        }
        let hash = self.hasher.hash_one(text);
        let known = self.codes.find(hash, |&code| self.texts.get(code as usize) == Some(text));
        self.last = match known {
            Some(&code) => code,
            None => self.add(text, hash),
        };
        self.last
    }

    /// Allocated size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let Texts { all, ends } = &self.texts;
        all.capacity() as u64 + bytes_of(ends) + self.codes.allocation_size() as u64
    }

    /// The texts, indexed by code.
    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The texts, indexed by code, without the hash index.
    pub(crate) fn into_texts(self) -> Texts {
        self.texts
    }

    fn add(&mut self, text: &str, hash: u64) -> u32 {
        // u32::MAX is the code of a missing cell.
        let code = u32::try_from(self.texts.len()).ok().filter(|&code| code != u32::MAX);
        let code = code.expect("a table has fewer than 2³² − 1 rows");
        self.texts.push(text);
        let (texts, hasher) = (&self.texts, &self.hasher);
        self.codes.insert_unique(hash, code, |&code| hasher.hash_one(texts.get(code as usize).unwrap_or_default()));
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_texts_by_first_appearance() {
        let mut dictionary = Dictionary::default();
        let codes = ["b", "b", "", "a", "b", "", "é", "aé"].map(|text| dictionary.code(text));
        assert_eq!(codes, [0, 0, 1, 2, 0, 1, 3, 4]);
        let texts = dictionary.into_texts();
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["b", "", "a", "é", "aé"]);
        assert_eq!((texts.len(), texts.get(4), texts.get(5), texts.get(usize::MAX)), (5, Some("aé"), None, None));
    }

    #[test]
    fn many_texts_are_found_again() {
        let mut dictionary = Dictionary::default();
        let texts: Vec<String> = (0..5000).map(|number| format!("{}", number * 7919 % 5000)).collect();
        for _ in 0..2 {
            for (code, text) in texts.iter().enumerate() {
                assert_eq!(dictionary.code(text), code as u32);
            }
        }
        assert!(dictionary.texts().iter().eq(texts.iter().map(String::as_str)));
    }

    #[test]
    fn texts_are_empty_until_one_is_there() {
        let mut dictionary = Dictionary::default();
        assert!(dictionary.texts().is_empty());
        dictionary.code("");
        assert!(!dictionary.texts().is_empty());
        assert!(dictionary.bytes() >= size_of::<usize>() as u64);
    }
}
