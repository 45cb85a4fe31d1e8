"""Validates a trace of a debugger's messages, one a line, against the Debug Adapter Protocol's JSON schema.

The schema is the one that the package debugpy brings along. Usage: dap-schema.py TRACE
"""

import json
import pathlib
import sys

import debugpy
import jsonschema

SCHEMA = "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"


def definition(message):
    """The name of the message's definition in the schema."""
    if message["type"] == "event":
        name, kind = message["event"], "Event"
    elif message["success"]:
        name, kind = message["command"], "Response"
    else:
        name, kind = "error", "Response"
    return name[0].upper() + name[1:] + kind


definitions = json.loads((pathlib.Path(debugpy.__file__).parent / SCHEMA).read_text())["definitions"]
messages = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
if len(messages) < 50:
    sys.exit(f"{sys.argv[1]}: only {len(messages)} messages")
for message in messages:
    schema = {"$ref": f"#/definitions/{definition(message)}", "definitions": definitions}
    for error in jsonschema.Draft4Validator(schema).iter_errors(message):
        sys.exit(f"{json.dumps(message)}\n{error.message} at {list(error.absolute_path)}")
print(f"{len(messages)} messages of {len(set(map(definition, messages)))} kinds are valid")
