"""Runs kernel-check over a folder of kernels whose races are known, and prints a table of what it reports.

    python3 check_suite.py FOLDER [--kernel-check PROGRAM] [OPTION ...]

For each launch file NAME.json in FOLDER, the file NAME.expected has the word "race" or "none". The OPTIONs, such as --orders 100, are
passed to kernel-check. Launches whose report differs from the label are listed before the table. Exit status: 0 if every launch with
a race is reported and no other one is, 1 if not, 2 if the folder or the program cannot be used.
"""

import json
import os
import subprocess
import sys

LABELS = ("race", "none")
REPORTS = ("race", "none", "other fault", "not checked")


def report(program, launch, options):
    """What kernel-check reports of a launch file: one of REPORTS, and the message of the fault or the error."""
    run = subprocess.run([program, "--launch", launch, "--json", "-", *options], capture_output=True, text=True, encoding="utf-8")
    if run.returncode not in (0, 1):
        return "not checked", run.stderr.strip()
    faults = json.loads(run.stdout)["faults"]
    races = [fault for fault in faults if fault["kind"] in ("race", "same-value-race")]
    if races:
        return "race", races[0]["message"]
    return ("other fault", faults[0]["message"]) if faults else ("none", "")


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    folder, *options = arguments
    program = "kernel-check"
    if options[:1] == ["--kernel-check"] and len(options) > 1:
        program, options = options[1], options[2:]
    try:
        names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".json"))
        if not names:
            sys.exit(f"{folder} has no launch files NAME.json")
        counts = {(label, found): 0 for label in LABELS for found in REPORTS}
        for name in names:
            path = os.path.join(folder, name)
            with open(path + ".expected", encoding="utf-8") as file:
                label = file.read().strip()
            if label not in LABELS:
                raise OSError(f"{path}.expected must have the word race or none")
            found, message = report(program, path + ".json", options)
            counts[label, found] += 1
            if found != label:
                print(f"{name}: expected {label}, reported {found}: {message!r}")
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("".join(f"{title:>14}" for title in ("expected", *REPORTS)))
    for label in LABELS:
        print("".join(f"{cell:>14}" for cell in (label, *(counts[label, found] for found in REPORTS))))
    missed = sum(counts["race", found] for found in REPORTS) - counts["race", "race"]
    return 1 if missed or counts["none", "race"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
