//! The DWARF entries that describe functions, inlined calls, variables and types.

use std::collections::HashMap;

use gimli::{
    Attribute, AttributeValue, DebugAbbrev, DebugInfo, DebugLoc, DebugLocLists, DwTag, EndianSlice, EntriesTreeNode,
    LittleEndian, LocationLists, RawLocListEntry, UnitHeader,
};

use super::sections::Sections;

type Slice<'s> = EndianSlice<'s, LittleEndian>;

/// A debugging information entry (DIE). Other entries are referenced by their offset in
/// `.debug_info`.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) tag: DwTag,
    /// Indices of its children.
    pub(super) children: Vec<usize>,
    pub(super) name: Option<String>,
    /// The abstract entry that this one is an instance of, or its declaration.
    origin: Option<usize>,
    pub(super) r#type: Option<usize>,
    /// The lines of its code: the first, and the one after the last.
    pub(super) lines: Option<(u32, u32)>,
    /// The file number, line and column of an inlined call.
    pub(super) call: Option<(u64, u64, u64)>,
    pub(super) location: Location,
    pub(super) bytes: Option<u64>,
    pub(super) encoding: Option<gimli::DwAte>,
    /// Offset in its structure.
    pub(super) member_offset: Option<u64>,
    /// Number of elements of an array's dimension.
    pub(super) count: Option<u64>,
}

/// The location of a variable's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Location {
    /// None: the compiler has removed the variable.
    #[default]
    Nowhere,
    /// The value of an expression, valid wherever the variable is in scope.
    Everywhere(Vec<u8>),
    /// The values of expressions in ranges of lines: the first line, the one after the last, and
    /// the expression.
    Lines(Vec<(u32, u32, Vec<u8>)>),
    /// A constant.
    Constant(u64),
}

/// All entries of a module.
#[derive(Debug)]
pub(super) struct Dies {
    pub(super) entries: Vec<Die>,
    /// Their indices by offset in `.debug_info`.
    by_offset: HashMap<usize, usize>,
}

impl Dies {
    pub(super) fn read(sections: &Sections) -> gimli::Result<Self> {
        let info = DebugInfo::new(&sections.info, LittleEndian);
        let abbreviations = DebugAbbrev::new(&sections.abbreviations, LittleEndian);
        let lists =
            LocationLists::new(DebugLoc::new(&sections.locations, LittleEndian), DebugLocLists::new(&[], LittleEndian));
        let mut dies = Self { entries: Vec::new(), by_offset: HashMap::new() };
        let mut units = info.units();
        while let Some(header) = units.next()? {
            let abbreviations = header.abbreviations(&abbreviations)?;
            let mut tree = header.entries_tree(&abbreviations, None)?;
            dies.add(tree.root()?, &header, &lists)?;
        }
        Ok(dies)
    }

    /// Adds an entry and its children, and returns its index.
    fn add(
        &mut self,
        node: EntriesTreeNode<'_, '_, '_, Slice<'_>>,
        header: &UnitHeader<Slice<'_>>,
        lists: &LocationLists<Slice<'_>>,
    ) -> gimli::Result<usize> {
        let entry = node.entry();
        let index = self.entries.len();
        let mut die = Die {
            tag: entry.tag(),
            children: Vec::new(),
            name: None,
            origin: None,
            r#type: None,
            lines: None,
            call: None,
            location: Location::Nowhere,
            bytes: None,
            encoding: None,
            member_offset: None,
            count: None,
        };
        if let Some(offset) = entry.offset().to_debug_info_offset(header) {
            self.by_offset.insert(offset.0, index);
        }
        let (mut low, mut high, mut call) = (None, None, [None; 3]);
        let mut attributes = entry.attrs();
        while let Some(attribute) = attributes.next()? {
            match attribute.name() {
                gimli::DW_AT_name => die.name = text(&attribute),
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => die.origin = offset(&attribute, header),
                gimli::DW_AT_type => die.r#type = offset(&attribute, header),
                gimli::DW_AT_low_pc => low = line(&attribute),
                gimli::DW_AT_high_pc => high = line(&attribute),
                gimli::DW_AT_call_file => call[0] = attribute.udata_value().or_else(|| file(&attribute)),
                gimli::DW_AT_call_line => call[1] = attribute.udata_value(),
                gimli::DW_AT_call_column => call[2] = attribute.udata_value(),
                gimli::DW_AT_byte_size => die.bytes = attribute.udata_value(),
                gimli::DW_AT_data_member_location => die.member_offset = member_offset(&attribute),
                gimli::DW_AT_count => die.count = attribute.udata_value(),
                gimli::DW_AT_upper_bound => die.count = attribute.udata_value().and_then(|last| last.checked_add(1)),
                gimli::DW_AT_const_value => {
                    let value = attribute.udata_value();
                    let value = value.or_else(|| attribute.sdata_value().map(i64::cast_unsigned));
                    die.location = value.map_or(Location::Nowhere, Location::Constant);
                }
                gimli::DW_AT_encoding => {
                    if let AttributeValue::Encoding(encoding) = attribute.value() {
                        die.encoding = Some(encoding);
                    }
                }
                gimli::DW_AT_location => die.location = location(&attribute, header, lists)?,
                _ => {}
            }
        }
        die.lines = low.zip(high);
        if let [Some(file), Some(line), column] = call {
            die.call = Some((file, line, column.unwrap_or(0)));
        }
        self.entries.push(die);
        let mut children = node.children();
        while let Some(child) = children.next()? {
            let child = self.add(child, header, lists)?;
            self.entries[index].children.push(child);
        }
        Ok(index)
    }

    /// The entry at an offset in `.debug_info`.
    pub(super) fn at(&self, offset: usize) -> Option<&Die> {
        self.by_offset.get(&offset).map(|index| &self.entries[*index])
    }

    /// The name of an entry or of its abstract entry.
    pub(super) fn name<'d>(&'d self, die: &'d Die) -> Option<&'d str> {
        self.with_origins(die).find_map(|die| die.name.as_deref())
    }

    /// The type of a variable, by its offset.
    pub(super) fn type_of(&self, die: &Die) -> Option<usize> {
        self.with_origins(die).find_map(|die| die.r#type)
    }

    /// An entry, its abstract entry, and that entry's declaration.
    fn with_origins<'d>(&'d self, die: &'d Die) -> impl Iterator<Item = &'d Die> {
        std::iter::successors(Some(die), |die| self.at(die.origin?)).take(3)
    }
}

fn text(attribute: &Attribute<Slice<'_>>) -> Option<String> {
    match attribute.value() {
        AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
        _ => None,
    }
}

fn offset(attribute: &Attribute<Slice<'_>>, header: &UnitHeader<Slice<'_>>) -> Option<usize> {
    match attribute.value() {
        AttributeValue::UnitRef(offset) => Some(offset.to_debug_info_offset(header)?.0),
        AttributeValue::DebugInfoRef(offset) => Some(offset.0),
        _ => None,
    }
}

fn line(attribute: &Attribute<Slice<'_>>) -> Option<u32> {
    match attribute.value() {
        AttributeValue::Addr(line) => u32::try_from(line).ok(),
        _ => None,
    }
}

fn file(attribute: &Attribute<Slice<'_>>) -> Option<u64> {
    match attribute.value() {
        AttributeValue::FileIndex(index) => Some(index),
        _ => None,
    }
}

/// The offset of a member: a number or, in DWARF 2, the expression `DW_OP_plus_uconst OFFSET`.
fn member_offset(attribute: &Attribute<Slice<'_>>) -> Option<u64> {
    match attribute.value() {
        AttributeValue::Exprloc(expression) => {
            let mut bytes = expression.0;
            let [opcode] = bytes.slice().get(..1)? else { return None };
            if *opcode != gimli::DW_OP_plus_uconst.0 {
                return None;
            }
            gimli::Reader::skip(&mut bytes, 1).ok()?;
            gimli::Reader::read_uleb128(&mut bytes).ok()
        }
        _ => attribute.udata_value(),
    }
}

fn location(
    attribute: &Attribute<Slice<'_>>,
    header: &UnitHeader<Slice<'_>>,
    lists: &LocationLists<Slice<'_>>,
) -> gimli::Result<Location> {
    Ok(match attribute.value() {
        AttributeValue::Exprloc(expression) => Location::Everywhere(expression.0.slice().to_vec()),
        AttributeValue::LocationListsRef(offset) => {
            let mut lines = Vec::new();
            let mut entries = lists.raw_locations(offset, header.encoding())?;
            while let Some(entry) = entries.next()? {
                if let RawLocListEntry::AddressOrOffsetPair { begin, end, data } = entry
                    && let (Ok(begin), Ok(end)) = (u32::try_from(begin), u32::try_from(end))
                {
                    lines.push((begin, end, data.0.slice().to_vec()));
                }
            }
            Location::Lines(lines)
        }
        _ => Location::Nowhere,
    })
}
