// Starts the debugger in the workspace, when VS Code begins a session of type "kernel".

const vscode = require("vscode");

exports.activate = (context) => {
  const createDebugAdapterDescriptor = ({ configuration, workspaceFolder }) => {
    const cwd = configuration.sourceRoot ?? workspaceFolder?.uri.fsPath;
    return new vscode.DebugAdapterExecutable("cargo", ["run", "--quiet", "-p", "kernel-debugger"], { cwd });
  };
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("kernel", { createDebugAdapterDescriptor }),
  );
};
