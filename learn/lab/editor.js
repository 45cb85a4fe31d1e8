// ---- The editor: colors, line numbers, indentation, and marks at lines and columns ----

const editor = { marks: [], leaves: false, onChange: () => {}, onRun: () => {} };

// Colors of a source text, with the part at a mark's column underlined.
function colored(text, marks) {
  const code = make("code");
  text.split("\n").forEach((line, index) => {
    const here = marks.find(mark => mark.line === index + 1 && mark.column > 0);
    if (!here) paint(code, line, true);
    else {
      const from = here.column - 1,
        word = /^(\w+|.)/.exec(line.slice(from))?.[0] ?? "";
      paint(code, line.slice(0, from), true);
      code.append(make("span", `at ${here.kind}`, word || " "));
      paint(code, line.slice(from + word.length), true);
    }
    code.append("\n");
  });
  return code;
}

// Shows the text's colors, its line numbers, and the marks: a list of line, column, kind ("fault" or "other") and text.
function showMarks(marks) {
  editor.marks = marks;
  const field = element("editor-text"),
    lines = field.value.split("\n");
  field.rows = lines.length + 1;
  element("editor-colors").replaceChildren(colored(field.value, marks));
  element("editor-numbers").replaceChildren(
    ...lines.map((_, index) => {
      const kinds = marks.filter(mark => mark.line === index + 1).map(mark => mark.kind);
      return make("div", kinds.includes("fault") ? "fault" : (kinds[0] ?? ""), index + 1);
    }),
  );
  element("editor-marks").replaceChildren(
    ...marks
      .filter(mark => mark.text)
      .map(({ line, column, text }) =>
        rich(make("li"), `${column ? `Line ${line}, column ${column}` : `Line ${line}`}: ${text}`),
      ),
  );
}

function setText(text) {
  element("editor-text").value = text;
  showMarks([]);
}

// Replaces the selection, and keeps the browser's undo.
function insert(text) {
  const field = element("editor-text");
  if (!document.execCommand("insertText", false, text)) field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
}

// The line with the caret, up to the caret.
function beforeCaret(field) {
  return field.value.slice(field.value.lastIndexOf("\n", field.selectionStart - 1) + 1, field.selectionStart);
}

// Moves the selected lines by four columns to the right or to the left.
function indentLines(field, isBack) {
  const from = field.value.lastIndexOf("\n", field.selectionStart - 1) + 1;
  const found = field.value.indexOf("\n", field.selectionEnd);
  const to = found < 0 ? field.value.length : found;
  const lines = field.value.slice(from, to).split("\n");
  const moved = lines.map(line => (isBack ? line.replace(/^ {1,4}/, "") : line === "" ? line : `    ${line}`)).join("\n");
  const caret = field.selectionStart - from;
  field.setSelectionRange(from, to);
  insert(moved);
  if (lines.length > 1) field.setSelectionRange(from, from + moved.length);
  else field.setSelectionRange(...Array(2).fill(Math.max(from, from + caret + moved.length - (to - from))));
}

function pressedInEditor(event) {
  const field = event.target,
    { key } = event;
  if (field.readOnly) return;
  if (key === "Escape") {
    editor.leaves = true;
    element("editor-hint").textContent = "Tab now leaves the editor.";
    return;
  }
  const leaves = editor.leaves;
  if (key !== "Shift") editor.leaves = false;
  if (key === "Tab" && !leaves && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    const isBlock = field.value.slice(field.selectionStart, field.selectionEnd).includes("\n");
    if (event.shiftKey || isBlock) indentLines(field, event.shiftKey);
    else insert(" ".repeat(4 - (beforeCaret(field).length % 4)));
  } else if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    editor.onRun();
  } else if (key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    const line = beforeCaret(field),
      indentation = /^ */.exec(line)[0],
      opens = /\{\s*$/.test(line);
    const closes = opens && field.value[field.selectionEnd] === "}";
    insert(`\n${indentation}${opens ? "    " : ""}${closes ? `\n${indentation}` : ""}`);
    if (closes) field.setSelectionRange(...Array(2).fill(field.selectionStart - indentation.length - 1));
  } else if (key === "}" && /^ {4,}$/.test(beforeCaret(field)) && field.selectionStart === field.selectionEnd) {
    event.preventDefault();
    field.setSelectionRange(field.selectionStart - 4, field.selectionStart);
    insert("}");
  }
}

function connectEditor() {
  const field = element("editor-text");
  field.addEventListener("keydown", pressedInEditor);
  field.addEventListener("focus", () => {
    editor.leaves = false;
    element("editor-hint").textContent = "Ctrl+Enter runs at once. Escape, then Tab leaves the editor.";
  });
  field.addEventListener("input", () => {
    showMarks([]);
    editor.onChange(field.value);
  });
  field.addEventListener("scroll", () => (element("editor-colors").scrollLeft = field.scrollLeft));
}
