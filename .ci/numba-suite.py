"""Runs tests of numba-cuda on the emulated driver, and compares those that fail with a list.

    PYTHON numba-suite.py RUNNER LIST

PYTHON has numba-cuda, filecheck and cffi; RUNNER is cuda-emulate; LIST is numba-suite.txt, which says what it is. Exit status: 0 if no other test fails
than those of the list, 1 if one does or the tests end early.
"""

import re
import subprocess
import sys
import tempfile

PREFIX = "numba.cuda.tests."


def main(runner, path):
    modules, expected = [], set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            name = line.split("#")[0].strip()
            if name and line[0].isspace():
                expected.add(f"{PREFIX}{modules[-1]}.{name}")
            elif name:
                modules.append(name)
    command = [sys.executable, "-W", "ignore", "-m", "numba.runtests", "-v", *(PREFIX + module for module in modules)]
    with tempfile.TemporaryDirectory() as folder:
        # What the tests write beside the program, such as dumps, is left there.
        output = {"capture_output": True, "text": True, "errors": "replace"}
        run = subprocess.run([runner, "run", *command], cwd=folder, timeout=1800, **output)
    said = run.stdout + run.stderr
    counts = re.search(r"^Ran (\d+) tests in .*\n\n(.*)", said, re.MULTILINE)
    if not counts:
        print(said[-5000:])
        print("the tests ended early")
        return 1
    failed = {}
    for report in said.split("=" * 70 + "\n")[1:]:
        for test in re.findall(r"^(?:ERROR|FAIL|UNEXPECTED SUCCESS): \S+ \(([^)]*)\)", report, re.MULTILINE):
            failed[test] = report
    new = sorted(failed.keys() - expected)
    for test in new:
        print(f"not on the list of failures: {test}\n{failed[test][:3000]}")
    for test in sorted(expected - failed.keys()):
        print(f"on the list of failures, but it passes or was not run: {test}")
    print(f"{counts[1]} tests of numba-cuda, {len(failed)} failed, {len(new)} of them new: {counts[2]}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
