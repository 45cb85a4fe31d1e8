// Prints the launches of all lessons and kernels, with the lesson's size, as JSON.
// Usage: node launches.mjs LESSONS

import { readFileSync } from "node:fs";

const path = process.argv[2];
const { LESSONS, launchOf } = new Function(`${readFileSync(path, "utf8")}\nreturn { LESSONS, launchOf };`)();
const launches = LESSONS.flatMap(lesson =>
  lesson.kernels.map(({ name, file, launch }) => ({
    name,
    file,
    launch: launchOf(lesson, { name, launch }, lesson.size),
  })),
);
console.log(JSON.stringify(launches));
