// What all pages that show kernels share: elements, numbers in words, values in memory, and painted source.

const element = id => document.getElementById(id);
const make = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const number = value => value.toLocaleString("en");
const plural = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

// The bytes in an element with text in base64, compressed by zlib.
async function unpack(id) {
  const bytes = Uint8Array.from(atob(element(id).textContent.trim()), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

const BYTES = { u8: 1, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8 };

// The value of an element of `view` at `position`, as a number or a BigInt.
function valueAt(view, position, type) {
  switch (type) {
    case "u8":
      return view.getUint8(position);
    case "u32":
      return view.getUint32(position, true);
    case "i32":
      return view.getInt32(position, true);
    case "f32":
      return view.getFloat32(position, true);
    case "u64":
      return view.getBigUint64(position, true);
    case "i64":
      return view.getBigInt64(position, true);
    default:
      return view.getFloat64(position, true);
  }
}

const KEYWORDS =
  "as break const continue else enum extern false fn for if impl in let loop match mod move mut pub ref return self " +
  "Self static struct super trait true type unsafe use where while";
const RUST = new RegExp(`(//.*$)|("(?:[^"\\\\]|\\\\.)*")|\\b(${KEYWORDS.replaceAll(" ", "|")})\\b`, "g");

function paint(into, text, isRust) {
  let last = 0;
  if (isRust)
    for (const match of text.matchAll(RUST)) {
      into.append(text.slice(last, match.index));
      into.append(make("span", match[1] ? "c" : match[2] ? "s" : "k", match[0]));
      last = match.index + match[0].length;
    }
  into.append(text.slice(last));
}
