"""Grades a submission for Classroom 50, which runs this in the student's checkout and reads result.json there.

To try it without a network, PROJECT names a folder of this project and COURSE its compiled program course.
"""

import datetime
import json
import os
import subprocess
import tempfile

GRADE_OPTIONS = GRADE_LIST


def grade(project, course, results):
    subprocess.run([*course, "grade", os.getcwd(), "--json", results, *GRADE_OPTIONS], cwd=project, check=True)


with tempfile.TemporaryDirectory() as folder:
    results = os.path.join(folder, "results.json")
    if "PROJECT" in os.environ:
        grade(os.environ["PROJECT"], [os.environ["COURSE"]], results)
    else:
        # Ubuntu keeps the sandbox's user namespaces from programs without a profile.
        allow = ["sudo", "-n", "sysctl", "-w", "kernel.apparmor_restrict_unprivileged_userns=0"]
        subprocess.run(allow, check=False)
        project = os.path.join(folder, "project")
        subprocess.run(["git", "clone", "--quiet", "GIT_URL", project], check=True)
        subprocess.run(["git", "checkout", "--quiet", "--detach", "GIT_REV"], cwd=project, check=True)
        grade(project, ["cargo", "course"], results)
    with open(results, encoding="utf-8") as file:
        graded = json.load(file)

# Scores are integers there.
tests = [
    {
        "test-name": test["name"],
        "passed": test["status"] == "passed",
        "score": round(test["score"]),
        "max-score": round(test["max_score"]),
        "output": test["output"] if test["visibility"] == "visible" else "",
    }
    for test in graded["tests"]
]
result = {
    "schema": "classroom50/result/v1",
    "classroom": os.environ["CLASSROOM"],
    "assignment": os.environ["ASSIGNMENT"],
    "submission": os.environ["SUBMISSION_TAG"],
    "commit": os.environ["COMMIT_URL"],
    "release": os.environ["RELEASE_URL"],
    "review": os.environ.get("REVIEW_URL") or os.environ["COMMIT_URL"],
    "datetime": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "score": sum(test["score"] for test in tests),
    "max-score": sum(test["max-score"] for test in tests),
    "tests": tests,
}
with open("result.json", "w", encoding="utf-8") as file:
    json.dump(result, file, indent=2)
