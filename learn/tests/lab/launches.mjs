// Prints the launches of all lessons and kernels, with the lesson's size or with that of the second argument, as JSON.
// Usage: node launches.mjs LESSONS [SIZE]

import { readFileSync } from "node:fs";

const [path, size] = process.argv.slice(2);
const { LESSONS, launchOf } = new Function(`${readFileSync(path, "utf8")}\nreturn { LESSONS, launchOf };`)();
const launches = LESSONS.flatMap(lesson =>
  lesson.kernels.map(({ name, file, launch }, index) => ({
    name,
    file,
    role: lesson.kernels[index].role,
    launch: launchOf(lesson, { name, launch }, size === undefined ? lesson.size : Number(size)),
  })),
);
console.log(JSON.stringify(launches));
