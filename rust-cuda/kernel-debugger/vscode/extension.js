// Starts the debugger when VS Code begins a session of type "kernel": that in this extension's folder bin, where a package has one, or
// one that is built in the toolchain's workspace.

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");

// The path of the debugger that cargo builds; cargo's messages if it cannot.
const build = (cwd) =>
  new Promise((resolve, reject) => {
    const words = ["build", "--package", "kernel-debugger", "--message-format", "json-render-diagnostics"];
    // In the toolchain's folder, whose settings name the target folder that both workspaces share.
    const cargo = spawn("cargo", words, { cwd: join(cwd, "rust-cuda") });
    let artifacts = "";
    let messages = "";
    cargo.stdout.on("data", (text) => (artifacts += text));
    cargo.stderr.on("data", (text) => (messages += text));
    cargo.on("error", (error) => reject(new Error(`cargo cannot be started: ${error.message}`)));
    cargo.on("close", (code) => {
      const lines = artifacts.split("\n").filter((line) => line.startsWith("{"));
      const built = lines.map((line) => JSON.parse(line)).filter(({ executable }) => executable);
      const found = built.find(({ target }) => target.name === "kernel-debugger");
      return code === 0 && found ? resolve(found.executable) : reject(new Error(messages));
    });
  });

exports.activate = (context) => {
  const packaged = context.asAbsolutePath(join("bin", `kernel-debugger${process.platform === "win32" ? ".exe" : ""}`));
  const channel = vscode.window.createOutputChannel("Kernel debugger");
  const createDebugAdapterDescriptor = async ({ configuration, workspaceFolder }) => {
    const cwd = configuration.sourceRoot ?? workspaceFolder?.uri.fsPath;
    if (existsSync(packaged)) return new vscode.DebugAdapterExecutable(packaged, [], { cwd });
    const progress = { location: vscode.ProgressLocation.Notification, title: "Building the kernel debugger" };
    try {
      const executable = await vscode.window.withProgress(progress, () => build(cwd));
      return new vscode.DebugAdapterExecutable(executable, [], { cwd });
    } catch (error) {
      channel.append(error.message);
      channel.show(true);
      throw new Error("The kernel debugger cannot be built: see the output of \"Kernel debugger\"");
    }
  };
  context.subscriptions.push(
    channel,
    vscode.debug.registerDebugAdapterDescriptorFactory("kernel", { createDebugAdapterDescriptor }),
  );
};
